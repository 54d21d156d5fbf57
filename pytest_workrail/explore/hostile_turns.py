"""The turns of a hostile run, drawn from a seed, and the stores that crash at a chosen point."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Literal, TypeAlias, get_args

from msgspec import structs

from pytest_workrail.engine.model.ids import SessionId, SnapshotRef
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.model.words import METRICS_OUTCOMES
from pytest_workrail.engine.store.filesystem import Holder, on_files
from pytest_workrail.engine.store.gate import Gate, Home
from pytest_workrail.engine.store.memory import FixedClock, MemorySessionLock, SeededEntropy, TreeFiles, in_memory
from pytest_workrail.engine.store.plan import AppendPermit, AppendPlan, SessionEntry, SessionTruth, ValidatedPrefix
from pytest_workrail.engine.store.ports import ContentError, SessionStore, SnapshotStore, StoreError, Stores
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.scenario_words import Behaviour

# Where a process dies: around the write of the state, or around the write of the log.
CrashPoint: TypeAlias = Literal["before-state", "after-state", "before-log", "after-log"]
CRASH_POINTS: tuple[CrashPoint, ...] = get_args(CrashPoint)

Turn: TypeAlias = tuple[Any, ...]
BEHAVIOURS = tuple(behaviour.value for behaviour in Behaviour)
WRONG_TOKENS = ("checkpoint", "garbled", "cut", "empty")
OVERSIZE = ("notes", "artifact", "context")
MALFORMED = 8
# Variables that no workflow reads, and values that tell types apart.
_NAMES = ("x", "note", "metrics_outcome")
_VALUES: tuple[Json, ...] = (None, True, False, 0, 1, "", "other", [], {"a": 1})
_MOST_BLOCKS = 12
_MOST_ROUNDS = 5
_FAR_BACK = 6
KINDS = (
    "adv",
    "block",
    "around",
    "context",
    "look",
    "resend",
    "old",
    "wrong",
    "malformed",
    "oversize",
    "rewind",
    "restart",
    "crash",
    "join",
    "checkpoint",
    "resume",
    "printed",
)
# How often each is drawn; what leads on is drawn more often, or a run would never get anywhere.
_WEIGHTS = (8, 2, 2, 5, 2, 2, 2, 1, 1, 1, 3, 1, 2, 2, 1, 1, 1)


class Crash(BaseException):
    """The process died. No handler of the engine may catch it, so it is no Exception."""


class Fuse:
    """Blows once at the point it is set to."""

    def __init__(self) -> None:
        self.point: CrashPoint | None = None

    def reach(self, point: CrashPoint) -> None:
        if self.point == point:
            self.point = None
            raise Crash


class _MortalSessions:
    def __init__(self, inner: SessionStore, fuse: Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    def load(self, session_id: SessionId) -> Ok[SessionTruth] | Err[StoreError]:
        return self._inner.load(session_id)

    def load_validated_prefix(self, session_id: SessionId) -> Ok[ValidatedPrefix] | Err[StoreError]:
        return self._inner.load_validated_prefix(session_id)

    def list_sessions(self) -> Ok[tuple[SessionEntry, ...]] | Err[StoreError]:
        return self._inner.list_sessions()

    def append(self, permit: AppendPermit, plan: AppendPlan) -> Ok[None] | Err[StoreError]:
        self._fuse.reach("before-log")
        written = self._inner.append(permit, plan)
        self._fuse.reach("after-log")
        return written


class _MortalSnapshots:
    def __init__(self, inner: SnapshotStore, fuse: Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    def put(self, snapshot: ExecutionSnapshot) -> Ok[SnapshotRef] | Err[ContentError]:
        self._fuse.reach("before-state")
        kept = self._inner.put(snapshot)
        self._fuse.reach("after-state")
        return kept

    def get(self, ref: SnapshotRef) -> Ok[ExecutionSnapshot | None] | Err[ContentError]:
        return self._inner.get(ref)


class MortalHomes:
    """The homes of one session, one after the other: each takes over what the last one has stored."""

    def __init__(self, seed: str, *, files: bool) -> None:
        self.fuse = Fuse()
        self._clock = FixedClock(step_ms=1)
        self._entropy = SeededEntropy(seed)
        self._contents: dict[str, bytes] | None = {} if files else None
        self._kept: Home | None = None
        self._holders = 0

    def next(self) -> Home:
        """Return a home as the next process finds it: nothing that was only in memory is left, locks included."""
        if self._contents is not None:
            self._holders += 1
            holder = Holder(self._holders, "main", f"process{self._holders}", None)
            home = on_files(TreeFiles(self._contents), self._clock, self._entropy, holder)
        else:
            home = self._kept or in_memory(self._clock, self._entropy)
            self._kept = self._kept or home
        stores = home.stores
        sessions = _MortalSessions(stores.sessions, self.fuse)
        mortal = Stores(sessions, _MortalSnapshots(stores.snapshots, self.fuse), stores.workflows)
        # The gate of files reads the same log and holds the same lock; that in memory is made anew.
        gate = home.gate if self._contents is not None else Gate(sessions, MemorySessionLock())
        return structs.replace(home, stores=mortal, gate=gate)


def draw(random: Random, values: dict[str, list[Json]]) -> Turn:
    """Return a turn by chance. `values` are the variables of the workflow, each with values that make a difference."""
    kind = random.choices(KINDS, _WEIGHTS)[0]
    who = random.choice((0, 0, 1))
    makers: dict[str, Callable[[], tuple[Any, ...]]] = {
        "adv": lambda: (who, random.choice((*BEHAVIOURS, *("right",) * 14))),
        "block": lambda: (who, random.choice((1, 2, 3, 4, 9, 10, _MOST_BLOCKS))),
        "around": lambda: (who, random.randint(1, _MOST_ROUNDS)),
        "context": lambda: (who, *_change(random, values)),
        "resend": lambda: (who, random.randint(0, 2)),
        "old": lambda: (who, random.randint(1, _FAR_BACK)),
        "wrong": lambda: (who, random.choice(WRONG_TOKENS)),
        "malformed": lambda: (who, random.randrange(MALFORMED)),
        "oversize": lambda: (who, random.choice(OVERSIZE)),
        "rewind": lambda: (who, random.randint(1, _FAR_BACK)),
        "crash": lambda: (who, random.choice(CRASH_POINTS)),
        "restart": lambda: (),
        "join": lambda: (),
    }
    return (kind, *makers.get(kind, lambda: (who,))())


def _change(random: Random, values: dict[str, list[Json]]) -> tuple[str, Json]:
    name = random.choice((*_NAMES, *values, *values))
    if name == "metrics_outcome":
        return name, random.choice(METRICS_OUTCOMES)
    return name, random.choice((*_VALUES, *values.get(name, ())))


def simpler(turn: Turn) -> list[Turn]:
    """Plainer turns of the same kind, the plainest first: smaller numbers, plain behaviours, the first agent."""
    kind, *arguments = turn
    turns: list[Turn] = []
    if arguments and arguments[0] == 1:
        turns.append((kind, 0, *arguments[1:]))
    if kind == "adv":
        turns += [(kind, arguments[0], plain) for plain in ("right", "nothing") if arguments[1] != plain]
    if kind in ("block", "around", "resend", "old", "rewind") and isinstance(arguments[1], int):
        least = 0 if kind == "resend" else 1
        turns += [(kind, arguments[0], number) for number in range(least, arguments[1])]
    return turns


def describe(turn: Turn) -> str:
    """Return a turn in words."""
    kind, *arguments = turn
    agent = f"agent {arguments[0] + 1}" if arguments else ""
    rest = arguments[1:]
    match kind:
        case "adv":
            return f"{agent} submits the step: {rest[0].replace('_', ' ')}"
        case "block":
            return f"{agent} submits nothing, {rest[0]} times in a row"
        case "around":
            return f"{agent} goes around the loop, {rest[0]} times"
        case "context":
            verb = "removes" if rest[1] is None else "sets"
            return f"{agent} submits the step and {verb} {rest[0]}" + ("" if rest[1] is None else f" = {rest[1]!r}")
        case "look":
            return f"{agent} rehydrates"
        case "resend":
            return f"{agent} sends advance {-1 - rest[0]} again"
        case "old":
            return f"{agent} advances with its token {-1 - rest[0]}"
        case "wrong":
            return f"{agent} advances with a wrong token ({rest[0]})"
        case "malformed":
            return f"{agent} makes a malformed call (shape {rest[0] + 1})"
        case "oversize":
            return f"{agent} submits too much: {rest[0]}"
        case "rewind":
            return f"{agent} goes back to its token {-1 - rest[0]}"
        case "crash":
            return f"{agent} submits the step and the engine dies {rest[0].replace('-', ' the ')}"
        case "restart":
            return "the engine is restarted"
        case "join":
            return "agent 2 takes over the token of agent 1"
        case "checkpoint":
            return f"{agent} makes a checkpoint"
        case "resume":
            return f"{agent} asks for sessions to resume"
        case _:
            return f"{agent} makes the printed next call"

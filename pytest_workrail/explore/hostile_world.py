"""The world of a hostile run: one session, two agents, an engine that can be replaced, stores that can die."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_workrail.agents.agent import Exchange, StartView, StepView, Submit
from pytest_workrail.agents.correct import artifacts_of, correct_answer, notes_of, start_context
from pytest_workrail.agents.misbehaving import behave
from pytest_workrail.coverage.points import MISSING_KEY
from pytest_workrail.engine.core.profiles import ProfileName, profile_of
from pytest_workrail.engine.model.events import Event
from pytest_workrail.engine.model.ids import SessionId
from pytest_workrail.engine.model.snapshot import BlockedState, TerminalBlock
from pytest_workrail.engine.model.words import DEFAULT_PREFERENCES, MAX_NOTES_BYTES, PRESETS, Autonomy, Preferences
from pytest_workrail.engine.protocol.advance_outcome import asks_questions
from pytest_workrail.engine.protocol.requests import MAX_CONTEXT_BYTES
from pytest_workrail.engine.protocol.sessions import Program, frozen
from pytest_workrail.engine.tokens.issuer import NodeAddress
from pytest_workrail.explore.hostile_turns import Crash, CrashPoint, MortalHomes, Turn
from pytest_workrail.run.bench import GOAL, WORKSPACE, Bench, Setup
from pytest_workrail.run.driver import garbled
from pytest_workrail.run.history import Position, position_of, snapshot_of
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.scenario_words import Behaviour


@dataclass(slots=True)
class HostileAgent:
    """The state of one agent: its tokens, and what it sent."""

    token: str | None = None
    checkpoint: str | None = None
    tokens: list[str] = field(default_factory=list)
    advances: list[dict[str, Json]] = field(default_factory=list)
    next_call: dict[str, Any] | None = None
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call with the log around it. `exchange` is None when the engine died on the way."""

    who: int
    tool: str
    request: dict[str, Json]
    exchange: Exchange | None
    before: tuple[Event, ...]
    after: tuple[Event, ...]
    position: Position | None  # of the node the token names, before the call

    @property
    def added(self) -> tuple[Event, ...]:
        return self.after[len(self.before) :]

    @property
    def is_advance(self) -> bool:
        return self.tool == "continue_workflow" and self.request.get("intent") == "advance"


class Watcher(Protocol):
    """Looks at every call."""

    def started(self, world: World, exchange: Exchange, context: dict[str, Json]) -> None: ...
    def refused(self, world: World, exchange: Exchange, context: dict[str, Json]) -> None: ...
    def called(self, world: World, record: CallRecord) -> None: ...


class _HostileBench(Bench):
    """A bench whose home can be replaced by that of the next process."""

    def __init__(self, setup: Setup, homes: MortalHomes) -> None:
        super().__init__(setup)
        self._homes = homes
        self.restart()

    def restart(self) -> None:
        self.home = self._homes.next()
        super().restart()


class World:
    """One run under way. `tried` and `landed` count faults by the kind of their turn."""

    def __init__(
        self,
        ir: dict[str, Any],
        profile: ProfileName,
        mode: Autonomy,
        seed: str,
        watcher: Watcher,
        *,
        files: bool = False,
        restless: bool = False,
    ) -> None:
        pinned = frozen(ir, onboarding=False)
        assert isinstance(pinned, Ok), "an IR that was compiled has a canonical form"
        self.profile = profile_of(profile)
        self.preferences = next((each for each in PRESETS if each.autonomy == mode), DEFAULT_PREFERENCES)
        self.program = Program(*pinned.value, self.profile)
        self.agents = (HostileAgent(), HostileAgent())
        self.homes = MortalHomes(seed, files=files)
        self.bench = _HostileBench(Setup(ir, profile, self.preferences), self.homes)
        self.tried: dict[str, int] = {}
        self.landed: dict[str, int] = {}
        self.session_id: SessionId | None = None
        self.given: dict[str, list[str]] = {"continue": [], "checkpoint": []}  # every token, by age
        self.journal: list[dict[str, Any]] = []  # every call with symbols for its tokens, and every restart
        self._watcher = watcher
        self._restless = restless  # a new engine before every turn
        self._start()

    # --------------------------------------------------------------------------------------------------- the start

    def _start(self) -> None:
        goal: dict[str, Json] = {"goal": GOAL}
        added = start_context(StartView(self.program, self.profile, self.preferences, goal))
        request: dict[str, Json] = {
            "workflowId": self.program.definition.workflow_id,
            "workspacePath": WORKSPACE,
            "goal": GOAL,
            "preferences": self.preferences.to_wire(),
        }
        if added:
            request["initialContext"] = added
        exchange = self.bench.call("start_workflow", request)
        if exchange.is_error:
            self._watcher.refused(self, exchange, {**goal, **added})
            return
        token = str(exchange.response["continueToken"])
        place = self.bench.engine.place_of(token)
        if isinstance(place, Ok):
            self.session_id = place.value.session_id
        self._note_tokens(exchange.response)
        for agent in self.agents:
            _take(agent, exchange.response)
        self._watcher.started(self, exchange, {**goal, **added})

    @property
    def can_start(self) -> bool:
        return self.session_id is not None

    # ----------------------------------------------------------------------------------------------------- looking

    def log(self) -> tuple[Event, ...]:
        """Everything that is stored; empty when the session can't be loaded."""
        if self.session_id is None:
            return ()
        loaded = self.bench.home.stores.sessions.load(self.session_id)
        return () if isinstance(loaded, Err) else tuple(loaded.value.events)

    def place(self, token: str) -> NodeAddress | None:
        address = self.bench.engine.place_of(token)
        return address.value if isinstance(address, Ok) else None

    def position(self, token: str | None) -> Position | None:
        """Return the node of a token, if it can be looked at."""
        place = None if token is None else self.place(token)
        if place is None:
            return None
        try:
            return position_of(self.bench, place)
        except (AssertionError, KeyError):
            return None

    def is_final_block(self, position: Position) -> bool:
        """Return whether a node is a blocked attempt that can't be retried."""
        state = snapshot_of(self.bench, position.node).state
        return isinstance(state, BlockedState) and isinstance(state.blocked, TerminalBlock)

    def is_question(self, position: Position) -> bool:
        """Return whether a node asks for variables, which is no failed attempt."""
        state = snapshot_of(self.bench, position.node).state
        if not isinstance(state, BlockedState) or not asks_questions(self.profile):
            return False
        return [blocker.code for blocker in state.blocked.blockers.blockers] == [MISSING_KEY]

    def view(self, position: Position | None) -> StepView | None:
        """Return the pending step of a node as an agent sees it; None where there is none to submit."""
        if position is None or position.instance is None or position.node.kind == "gate_checkpoint":
            return None
        return StepView(
            self.program,
            self.profile,
            position.preferences,
            position.state,
            position.instance,
            position.context,
            position.earlier,
            1,
            1,
            None,
            {},
        )

    # ----------------------------------------------------------------------------------------------------- calling

    def call(self, who: int, tool: str, request: dict[str, Json]) -> CallRecord:
        """Make a call and let the watcher look at it. An engine that dies is replaced."""
        before = self.log()
        token = request.get("continueToken")
        position = self.position(token) if isinstance(token, str) else None
        exchange: Exchange | None = None
        self.journal.append(self._journal_entry(who, tool, request))
        try:
            exchange = self.bench.call(tool, request)
        except Crash:
            self.bench.restart()
        self.homes.fuse.point = None
        if exchange is not None and not exchange.is_error:
            self._note_tokens(exchange.response)
        record = CallRecord(who, tool, request, exchange, before, self.log(), position)
        self._watcher.called(self, record)
        return record

    def _note_tokens(self, response: dict[str, Any]) -> None:
        for name in ("continueToken", "retryContinueToken", "gateToken", "checkpointToken"):
            token, known = response.get(name), self.given["checkpoint" if name == "checkpointToken" else "continue"]
            if isinstance(token, str) and token not in known:
                known.append(token)

    def _journal_entry(self, who: int, tool: str, request: dict[str, Json]) -> dict[str, Any]:
        agent = self.agents[who]
        position = self.position(agent.token)
        step = None if position is None or position.instance is None else position.instance.step_id
        masked = {name: self.symbol(value) if name.endswith("Token") else value for name, value in request.items()}
        return {"who": who, "step": step, "tool": tool, "request": masked, "crash": self.homes.fuse.point}

    def symbol(self, token: Json) -> Json:
        """Return a token by its age, so that it means the same in another run."""
        for kind, known in self.given.items():
            for age, each in enumerate(reversed(known)):
                if token == each:
                    return f"${kind}-{age}"
                if kind == "continue" and token in (garbled(each), each[:-4]):
                    return f"${'cut' if token == each[:-4] else 'garbled'}-{age}"
        return token

    def token_of(self, symbol: Json) -> Json:
        """Return the token that a symbol stands for; anything else is itself."""
        if not isinstance(symbol, str) or not symbol.startswith("$"):
            return symbol
        kind, _, age = symbol[1:].partition("-")
        known = self.given["checkpoint" if kind == "checkpoint" else "continue"]
        if not age.isdigit() or int(age) >= len(known):
            return symbol
        token = known[-1 - int(age)]
        return {"garbled": garbled(token), "cut": token[:-4]}.get(kind, token)

    def submit(self, who: int, token: str, answer: Submit) -> CallRecord:
        """Advance with a token. Only the agent's own way on is followed."""
        agent = self.agents[who]
        request = advance_request(token, answer)
        record = self.call(who, "continue_workflow", request)
        agent.advances.append(request)
        self.follow(agent, record)
        return record

    def follow(self, agent: HostileAgent, record: CallRecord) -> None:
        """Let an agent take what it was answered."""
        if record.exchange is not None and not record.exchange.is_error:
            _take(agent, record.exchange.response)

    # ------------------------------------------------------------------------------------------------------- turns

    def play(self, turn: Turn) -> None:
        """Carry out a turn and count whether it landed."""
        if self._restless:
            self.bench.restart()
        kind, *arguments = turn
        landed, tried = _TURNS[kind](self, *arguments)
        self.tried[kind] = self.tried.get(kind, 0) + tried
        self.landed[kind] = self.landed.get(kind, 0) + landed

    def _adv(self, who: int, behaviour: str) -> tuple[int, int]:
        agent = self.agents[who]
        view = self.view(self.position(agent.token))
        answer = None if view is None else behave(Behaviour(behaviour), view)
        if agent.token is None or not isinstance(answer, Ok):
            return 0, 1
        self.submit(who, agent.token, answer.value)
        return 1, 1

    def _block(self, who: int, times: int) -> tuple[int, int]:
        agent, landed = self.agents[who], 0
        for _ in range(times):
            if agent.token is None:
                break
            record = self.submit(who, agent.token, Submit())
            landed += record.exchange is not None and "blockers" in record.exchange.response
        return landed, times

    def _around(self, who: int, times: int) -> tuple[int, int]:
        agent, landed = self.agents[who], 0
        for _ in range(times):
            view = self.view(self.position(agent.token))
            if agent.token is None or view is None:
                break
            landed += view.loop is not None
            self.submit(who, agent.token, staying_answer(view))
        return landed, times

    def _context(self, who: int, name: str, value: Json) -> tuple[int, int]:
        agent = self.agents[who]
        view = self.view(self.position(agent.token))
        if agent.token is None or view is None:
            return 0, 1
        right = correct_answer(view)
        record = self.submit(
            who, agent.token, Submit(right.notes, right.artifacts, {**(right.context or {}), name: value})
        )
        return int(bool(record.added)), 1

    def _look(self, who: int) -> tuple[int, int]:
        agent = self.agents[who]
        if agent.token is None:
            return 0, 1
        record = self.call(who, "continue_workflow", rehydration(agent.token))
        self.follow(agent, record)
        return int(record.exchange is not None and not record.exchange.is_error), 1

    def _resend(self, who: int, back: int) -> tuple[int, int]:
        agent = self.agents[who]
        if back >= len(agent.advances):
            return 0, 1
        record = self.call(who, "continue_workflow", agent.advances[-1 - back])
        return int(record.exchange is not None and not record.exchange.is_error and not record.added), 1

    def _old(self, who: int, back: int) -> tuple[int, int]:
        agent = self.agents[who]
        if back >= len(agent.tokens):
            return 0, 1
        token = agent.tokens[-1 - back]
        view = self.view(self.position(token))
        if view is None:
            return 0, 1
        was_used = any(each.get("continueToken") == token for other in self.agents for each in other.advances)
        right = correct_answer(view)
        self.submit(who, token, Submit(f"{right.notes or ''} Once more.", right.artifacts, right.context))
        return int(was_used), 1

    def _wrong(self, who: int, kind: str) -> tuple[int, int]:
        agent = self.agents[who]
        if agent.token is None:
            return 0, 1
        tokens = {
            "checkpoint": agent.checkpoint or "",
            "garbled": garbled(agent.token),
            "cut": agent.token[:-4],
            "empty": "",
        }
        record = self.call(who, "continue_workflow", {"continueToken": tokens[kind], "intent": "advance"})
        return int(record.exchange is not None and record.exchange.is_error), 1

    def _malformed(self, who: int, shape: int) -> tuple[int, int]:
        token = self.agents[who].token
        if token is None:
            return 0, 1
        record = self.call(who, "continue_workflow", malformed_request(token, shape))
        return int(record.exchange is not None and record.exchange.is_error), 1

    def _oversize(self, who: int, what: str) -> tuple[int, int]:
        agent = self.agents[who]
        view = self.view(self.position(agent.token))
        if agent.token is None or view is None:
            return 0, 1
        right = correct_answer(view)
        answers = {
            "notes": Submit("Long notes.\n" * (MAX_NOTES_BYTES // 4), right.artifacts, right.context),
            "artifact": Submit(
                right.notes, (*right.artifacts, {"kind": "demo.large", "text": "x" * 70_000}), right.context
            ),
            "context": Submit(
                right.notes, right.artifacts, {**(right.context or {}), "large": "x" * (MAX_CONTEXT_BYTES + 1)}
            ),
        }
        record = self.submit(who, agent.token, answers[what])
        return int(record.exchange is not None), 1

    def _rewind(self, who: int, back: int) -> tuple[int, int]:
        agent = self.agents[who]
        if back >= len(agent.tokens):
            return 0, 1
        position = self.position(agent.tokens[-1 - back])
        record = self.call(who, "continue_workflow", rehydration(agent.tokens[-1 - back]))
        self.follow(agent, record)
        return int(position is not None and not position.run.is_tip(position.node.node_id)), 1

    def _restart(self) -> tuple[int, int]:
        self.journal.append({"who": 0, "step": None, "tool": "restart"})
        self.bench.restart()
        return 1, 1

    def _crash(self, who: int, point: CrashPoint) -> tuple[int, int]:
        agent = self.agents[who]
        view = self.view(self.position(agent.token))
        if agent.token is None or view is None:
            return 0, 1
        self.homes.fuse.point = point
        record = self.submit(who, agent.token, correct_answer(view))
        return int(record.exchange is None), 1

    def _join(self) -> tuple[int, int]:
        first, second = self.agents
        second.token, second.checkpoint, second.is_done = first.token, first.checkpoint, first.is_done
        second.next_call = first.next_call
        if first.token is not None:
            second.tokens.append(first.token)
        return 1, 1

    def _checkpoint(self, who: int) -> tuple[int, int]:
        token = self.agents[who].checkpoint
        if token is None:
            return 0, 1
        record = self.call(who, "checkpoint_workflow", {"checkpointToken": token})
        return int(record.exchange is not None and not record.exchange.is_error), 1

    def _resume(self, who: int) -> tuple[int, int]:
        record = self.call(who, "resume_session", {"workspacePath": WORKSPACE})
        return int(record.exchange is not None and not record.exchange.is_error), 1

    def _printed(self, who: int) -> tuple[int, int]:
        agent = self.agents[who]
        if agent.next_call is None:
            return 0, 1
        request: dict[str, Json] = {"intent": "advance", **agent.next_call["params"]}
        record = self.call(who, agent.next_call["tool"], request)
        agent.advances.append(request)
        self.follow(agent, record)
        return int(record.exchange is not None and not record.exchange.is_error), 1

    def prefer(self, place: NodeAddress, preferences: Preferences) -> bool:
        """Return a person sets the preferences at a node."""
        return isinstance(self.bench.engine.prefer(place, preferences), Ok)


_TURNS: dict[str, Callable[..., tuple[int, int]]] = {
    "adv": World._adv,
    "block": World._block,
    "around": World._around,
    "context": World._context,
    "look": World._look,
    "resend": World._resend,
    "old": World._old,
    "wrong": World._wrong,
    "malformed": World._malformed,
    "oversize": World._oversize,
    "rewind": World._rewind,
    "restart": World._restart,
    "crash": World._crash,
    "join": World._join,
    "checkpoint": World._checkpoint,
    "resume": World._resume,
    "printed": World._printed,
}


def _take(agent: HostileAgent, response: dict[str, Any]) -> None:
    """Store the parts of an answer that the agent keeps."""
    agent.next_call = response.get("nextCall")
    if response.get("kind") == "gate_checkpoint":
        agent.token = str(response["gateToken"])
    elif response.get("pending") is None and response.get("isComplete", response.get("kind") == "complete"):
        agent.is_done = True
        agent.token = None
        return
    else:
        token = response.get("retryContinueToken") or response.get("continueToken")
        if not isinstance(token, str):
            return
        agent.token = token
        agent.checkpoint = response.get("checkpointToken") or agent.checkpoint
    agent.is_done = False
    if agent.token not in agent.tokens:
        agent.tokens.append(agent.token)


def advance_request(token: str, answer: Submit) -> dict[str, Json]:
    """Return the call that submits an answer."""
    request: dict[str, Json] = {"continueToken": token, "intent": "advance"}
    if answer.context is not None:
        request["context"] = dict(answer.context)
    output: dict[str, Json] = {}
    if answer.notes:
        output["notesMarkdown"] = answer.notes
    if answer.artifacts:
        output["artifacts"] = list(answer.artifacts)
    if output:
        request["output"] = output
    return request


def rehydration(token: str) -> dict[str, Json]:
    """Return the call that looks at a node again."""
    return {"continueToken": token, "intent": "rehydrate", "workspacePath": WORKSPACE}


def malformed_request(token: str, shape: int) -> dict[str, Json]:
    """Return a call that no reader of the protocol would make; there are eight."""
    shapes: tuple[dict[str, Json], ...] = (
        {"intent": "advance"},
        {"continueToken": token, "intent": "proceed"},
        {"continueToken": 7, "intent": "advance"},
        {"continueToken": token, "intent": "advance", "context": ["x"]},
        {"continueToken": token, "intent": "rehydrate", "output": {"notesMarkdown": "Done."}},
        {"continueToken": token, "intent": "advance", "context": {"__proto__": 1}},
        {"continueToken": token, "intent": "advance", "output": {"notesMarkdown": 7}},
        {"continueToken": token, "intent": "advance", "output": {"artifacts": "none"}},
    )
    return shapes[shape]


def staying_answer(view: StepView) -> Submit:
    """Return a right answer of an agent that never leaves a loop by itself."""
    kept = behave(Behaviour.KEEP_LOOPING, view)
    if isinstance(kept, Ok):
        return kept.value
    plain = Submit(notes_of(view), artifacts_of(view))
    return plain if view.loop is not None and isinstance(view.predict(plain), Ok) else correct_answer(view)

"""Parts of every simulated run: numbered events, blockers, scripted replies and answers, a temporary folder."""

from __future__ import annotations

import os
import stat
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeAlias, TypeVar

from pytest_workrail.engine.model.step_keys import collation_key, truncate_marked
from pytest_workrail.engine.model.words import MAX_BLOCKER_MESSAGE_BYTES, MAX_BLOCKER_SUGGESTED_FIX_BYTES, MAX_BLOCKERS
from pytest_workrail.scenarios.drivers import SimulatedClock
from workrail_lint.base.files import walk
from workrail_lint.findings import Finding

_MEMORY = "/dev/shm"
_ROOM = 2**30

Event: TypeAlias = dict[str, Any]
T = TypeVar("T")


class EventLog:
    """The events of a run, numbered from 1. The log of a driver decides what an event looks like."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    @property
    def n(self) -> int:
        """Return the number of the last event."""
        return len(self.events)

    def append(self, **members: Any) -> None:
        self.events.append({"n": self.n + 1, **members})


class RunState:
    """The shared state of a run: the clock, and everything collected on the way."""

    def __init__(self, clock: SimulatedClock) -> None:
        self.clock = clock
        self.blockers: list[Blocker] = []
        self.findings: list[Finding] = []


# ---------------------------------------------------------------------------------------------------------- blockers


@dataclass(frozen=True, slots=True)
class Blocker:
    """A reason why a run can't continue; `blocker` keeps it within its budgets."""

    code: Enum
    pointer: dict[str, str]
    message: str
    suggested_fix: str

    @property
    def key(self) -> str:
        """Return what decides the order: the code, then what the blocker is about."""
        about = "|".join(value for name, value in self.pointer.items() if name != "kind")
        return f"{self.code.value}|{self.pointer['kind']}|{about}"

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code.value,
            "pointer": self.pointer,
            "message": self.message,
            "suggestedFix": self.suggested_fix,
        }


def blocker(code: Enum, pointer: dict[str, str], message: str, fix: str) -> Blocker:
    return Blocker(
        code,
        pointer,
        truncate_marked(message, MAX_BLOCKER_MESSAGE_BYTES),
        truncate_marked(fix, MAX_BLOCKER_SUGGESTED_FIX_BYTES),
    )


def report(blockers: Iterable[Blocker], *, every_message: bool = False) -> tuple[Blocker, ...]:
    """Return the first ten blockers in a stable order: one for each key, or with `every_message` for each message."""
    unique: dict[tuple[str, str], Blocker] = {}
    for each in blockers:
        unique.setdefault((each.key, each.message if every_message else ""), each)
    return tuple(sorted(unique.values(), key=lambda each: collation_key(each.key))[:MAX_BLOCKERS])


# ------------------------------------------------------------------------------------------------ replies and answers


class Replies(Generic[T]):
    """Scripted replies by name or by name and number of the call (`name#2`), and which of them were used."""

    def __init__(self, replies: Mapping[str, T]) -> None:
        self._replies = replies
        self._calls: Counter[str] = Counter()
        self._used: set[str] = set()

    def key(self, name: str) -> str:
        """Return the key of the last call of a name."""
        return f"{name}#{self._calls[name]}"

    def take(self, name: str, *, every_call: bool) -> T | None:
        """Return the reply to the next call of a name.

        A reply without a number is for `every_call`, or for the first one only.
        """
        self._calls[name] += 1
        for key in (self.key(name), *([name] if every_call or self._calls[name] == 1 else [])):
            if key in self._replies:
                self._used.add(key)
                return self._replies[key]
        return None

    @property
    def unused(self) -> list[str]:
        return [key for key in self._replies if key not in self._used]


class Choices(Generic[T]):
    """Values by name, and which of them were asked for."""

    def __init__(self, values: Mapping[str, T]) -> None:
        self._values = values
        self._used: set[str] = set()

    def take(self, name: str) -> T | None:
        """Return the value of a name; None if there is none."""
        self._used.add(name)
        return self._values.get(name)

    def take_once(self, name: str) -> T | None:
        """Return the value of a name the first time it is asked for, and None afterwards."""
        return None if name in self._used else self.take(name)

    @property
    def unused(self) -> list[str]:
        return [name for name in self._values if name not in self._used]


class Answers(Generic[T]):
    """Queues of answers by question, and how many of each were given."""

    def __init__(self, queues: Mapping[str, Sequence[T]]) -> None:
        self._queues = queues
        self.given: Counter[str] = Counter()

    def has_next(self, question: str) -> bool:
        return self.given[question] < len(self._queues.get(question, ()))

    def take(self, question: str) -> T:
        self.given[question] += 1
        return self._queues[question][self.given[question] - 1]

    def unused(self) -> Iterator[tuple[str, int]]:
        """Yield the question and the index of each answer that was not asked for."""
        for question, queue in self._queues.items():
            yield from ((question, index) for index in range(self.given[question], len(queue)))


# -------------------------------------------------------------------------------------------------------------- files


def text_bytes(text: str) -> bytes:
    """Return a string as bytes; JSON can hold half surrogate pairs, which UTF-8 has no bytes for."""
    return text.encode("utf-8", "surrogatepass")


@contextmanager
def run_folder(prefix: str) -> Iterator[str]:
    """Yield a temporary folder that is removed afterwards, whatever agents did to its permissions."""
    with tempfile.TemporaryDirectory(prefix=prefix, dir=_memory_folder(), ignore_cleanup_errors=True) as folder:
        try:
            yield os.path.realpath(folder)
        finally:
            remove_tree(folder)


def _memory_folder() -> str | None:
    """Return a file system in memory with room for a run, unless TMPDIR says where temporary files go.

    A run writes and removes hundreds of small files. On a disk, that is most of its time.
    """
    if "TMPDIR" in os.environ:
        return None
    try:
        status = os.statvfs(_MEMORY)
    except (AttributeError, OSError):
        return None
    runs_programs = not status.f_flag & getattr(os, "ST_NOEXEC", 0)
    has_room = status.f_bavail * status.f_frsize >= _ROOM
    return _MEMORY if has_room and runs_programs and os.access(_MEMORY, os.W_OK | os.X_OK) else None


def remove_tree(folder: str) -> None:
    """Remove a folder, even if an agent took away the right to do so."""
    if os.path.islink(folder) or not os.path.isdir(folder):
        return
    os.chmod(folder, stat.S_IRWXU)
    places = []
    for parent, folders, names in walk(folder):
        for path in (os.path.join(parent, name) for name in folders):
            if os.path.islink(path):
                names.append(os.path.basename(path))
            else:
                os.chmod(path, stat.S_IRWXU)
        places.append((parent, names))
    # `shutil.rmtree` fails on Python 3.11 where folders are nested a thousand deep.
    for parent, names in reversed(places):
        with suppress(OSError):
            for name in names:
                os.unlink(os.path.join(parent, name))
            os.rmdir(parent)

"""Scenario files of every kind: read, checked against their schema, and played by the driver of their kind.

A scenario belongs to a kind by a member that only this kind has; a file without such a member is about a workflow.
A driver is imported when a file of its kind is played; another package can bring one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from pytest_workrail.agents.agent import Transcript
from pytest_workrail.golden.files import SCENARIO_ENDING
from pytest_workrail.run.result import ExpectationFailure
from workrail_lint.base.canonical import canonical_hash
from workrail_lint.base.files import read_file
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding, Severity
from workrail_lint.project.config import find_config
from workrail_lint.systems.base import resolved
from workrail_lint.systems.builtin import scenario_system
from workrail_lint.systems.scenario.system import ScenarioSystem

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
TICK_MS = 1000


class SimulatedClock:
    """A clock that never goes back. `elapsed_ms` is the time since its start."""

    def __init__(self, start: datetime = EPOCH) -> None:
        self._start = start
        self.elapsed_ms = 0.0

    def tick(self) -> None:
        self.elapsed_ms += TICK_MS

    def advance_to(self, elapsed_ms: float) -> None:
        self.elapsed_ms = max(self.elapsed_ms, elapsed_ms)

    @property
    def now(self) -> datetime:
        return self._start + timedelta(milliseconds=self.elapsed_ms)

    @property
    def timestamp(self) -> str:
        """The time as documents write it."""
        precision = "milliseconds" if self.now.microsecond else "seconds"
        return self.now.isoformat(timespec=precision).replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """Return the moment that a text names; without a zone it is UTC, wherever the run is played."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


# For these members the expected string need only be a part of the actual one.
_PARTS = ("message", "fix", "summary")
Playing: TypeAlias = "Ok[PlayedScenario] | Err[ScenarioFailure]"


class Place(NamedTuple):
    """A line and a column of the file, both from 1."""

    line: int
    column: int


class Fault(NamedTuple):
    """One difference from the scenario. `place` is set if the pointer can't be located."""

    message: str
    pointer: str
    place: Place | None = None
    expected: str = ""
    actual: str = ""


def differs(noun: str, expected: str, actual: str, pointer: str, more: str = "") -> Fault:
    """Return the fault of a value that is not the expected one."""
    return Fault(f"{noun}: expected {expected}, found {actual}{more}", pointer, None, expected, actual)


def fault_of(finding: Finding, document: JsonDocument) -> Fault:
    """Return what a check finds, at the place where it says so: about a member, its name."""
    span = finding.span or document.locate(finding.pointer, finding.on_name)
    return Fault(finding.message, finding.pointer, None if span is None else Place(span.start.line, span.start.column))


def place_of(document: JsonDocument, pointer: str) -> Place:
    """Return where a pointer leads, or the nearest place above it that exists."""
    while True:
        span = document.locate(pointer)
        if span is not None:
            return Place(span.start.line, span.start.column)
        if not pointer:
            return Place(1, 1)
        pointer = pointer.rpartition("/")[0]


class ScenarioFailure(ExpectationFailure):
    """A scenario that failed: every fault with its location, then what happened."""

    def __init__(
        self, file: str, document: JsonDocument, faults: Sequence[Fault], happened: Sequence[str] = (), turn: str = ""
    ) -> None:
        super().__init__(file)
        self.file = file
        self.document = document
        self.faults = tuple(faults)
        self.happened = tuple(happened)  # the run so far, a line each
        self.turn = turn  # the last one that was played

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def first(self) -> dict[str, Any]:
        """Return the first fault as JSON: its message and place, and what was expected and found there."""
        fault = self.faults[0]
        values = {name: value for name, value in (("expected", fault.expected), ("found", fault.actual)) if value}
        place = {"file": self.file, "line": self._place(fault).line, "pointer": fault.pointer}
        return {"message": fault.message, **place, **values}

    def reason(self) -> tuple[str, tuple[str, int]]:
        """Return the first fault, and the line of the file it is in."""
        fault = self.faults[0]
        return fault.message, (self.file, self._place(fault).line)

    def _place(self, fault: Fault) -> Place:
        return fault.place or place_of(self.document, fault.pointer)

    def lines(self) -> Iterator[str]:
        for fault in self.faults:
            line, column = self._place(fault)
            yield f"{self.file}:{line}:{column}: {fault.message} ({fault.pointer or '/'})"
        if self.turn:
            line, column = place_of(self.document, self.turn)
            yield f"last turn: {self.turn} ({self.file}:{line}:{column})"
        yield from self.happened


class ScenarioDocument(Struct, frozen=True):
    """A scenario whose shape is right, and the members that all kinds have. `file` is its name in messages."""

    path: Path
    file: str
    document: JsonDocument
    driver: str = ""  # what plays its kind

    @property
    def value(self) -> dict[str, Any]:
        value = self.document.value
        return value if isinstance(value, dict) else {}

    @property
    def folder(self) -> str:
        """Where the paths in the file start."""
        return os.fspath(self.path.parent)

    @property
    def name(self) -> str:
        return str(self.value.get("name") or self.path.name.removesuffix(SCENARIO_ENDING))

    @property
    def locks(self) -> tuple[str, ...]:
        """The locks that the scenario claims to enforce."""
        return tuple(self.value.get("enforces", ()))

    @property
    def wants_golden(self) -> bool:
        return self.value.get("golden") is not False

    def invalid(self, findings: Iterable[Finding]) -> Err[ScenarioFailure]:
        """Return the failure of a scenario that can't be played."""
        return Err(ScenarioFailure(self.file, self.document, [fault_of(each, self.document) for each in findings]))


@lru_cache(maxsize=256)
def _project_scenarios(folder: str) -> Ok[ScenarioSystem] | Err[str]:
    """Return the kinds of scenarios that a project can have: ours, and those of the plugins in its configuration."""
    config = find_config(folder)
    if isinstance(config, Err):
        return config
    plugins = config.value.strings("plugins")
    if not plugins:
        return Ok(scenario_system())
    from workrail_lint.project.plugins import load_plugins  # only a project with plugins needs it

    loaded = load_plugins(plugins)
    return Err(loaded.problems[0]) if loaded.problems else Ok(scenario_system(tuple(loaded.systems)))


def open_scenario(path: Path, file: str) -> Ok[ScenarioDocument] | Err[ScenarioFailure]:
    """Read a scenario file. `file` is what it is called in messages."""
    found_file = read_file(os.fspath(path))
    if isinstance(found_file, Err):
        return Err(ScenarioFailure(file, JsonDocument(""), [Fault(found_file.error.message, "")]))
    system = _project_scenarios(os.fspath(path.parent))
    if isinstance(system, Err):
        return Err(ScenarioFailure(file, JsonDocument(""), [Fault(system.error, "")]))
    read = system.value.read(found_file.value)
    scenario = ScenarioDocument(path, file, read.document, system.value.kind_of(read.value).driver)
    return scenario.invalid(read.findings) if read.findings else Ok(scenario)


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that keep a scenario from being played; warnings are for the linter to show."""
    return [finding for finding in findings if finding.severity is Severity.ERROR]


def status_faults(actual: str, expected: str | None, default: str, pointer: str) -> Iterator[Fault]:
    """Yield a run that did not end as expected, or not as `default` if the scenario expects nothing."""
    wanted = default if expected is None else expected
    if actual != wanted:
        says = "" if expected is not None else " (the default)"
        yield differs("status", f"{wanted}{says}", actual, pointer)


def first_difference(wanted: Sequence[str], actual: Sequence[str]) -> int | None:
    """Return the first index at which two lists differ, which may be the end of the shorter one."""
    pairs = enumerate(zip(wanted, actual, strict=False))
    shorter = None if len(wanted) == len(actual) else min(len(wanted), len(actual))
    return next((index for index, (one, other) in pairs if one != other), shorter)


def member_faults(
    wanted: Iterable[tuple[str, Any]], actual: Mapping[str, Any], pointer: str, describe: Callable[[Any], str]
) -> Iterator[Fault]:
    """Yield the expected members that differ in an object. Other members do not count."""
    for member, value in wanted:
        actual_value = actual.get(member)
        is_part = member in _PARTS
        if (value not in str(actual_value)) if is_part else actual_value != value:
            part = "a string that contains " if is_part else ""
            yield differs(member, f"{part}{describe(value)}", describe(actual_value), child(pointer, member))


class PlayedScenario(NamedTuple):
    """The result of a scenario. `golden` is None where the scenario wants none or did not hold."""

    scenario: ScenarioDocument
    faults: tuple[Fault, ...]
    happened: Sequence[str]  # for people, a line each
    golden: bytes | None
    locks: tuple[str, ...] = ()  # of those the scenario claims, the ones that the run gives evidence for
    turn: str = ""  # the pointer to the turn that was played last, if the kind has turns
    transcript: Transcript | None = None  # what workflow coverage counts
    label: str | None = None  # what tells its golden from others of the same file
    further: tuple[PlayedScenario, ...] = ()  # the same scenario under its other profiles

    @property
    def failure(self) -> ScenarioFailure | None:
        """Why the scenario did not hold; None when it did."""
        if not self.faults:
            return None
        return ScenarioFailure(self.scenario.file, self.scenario.document, self.faults, self.happened, self.turn)


class ScenarioDriver(Protocol):
    """Plays the scenarios of one kind. A scenario that can't be played is an Err, one that did not hold has faults."""

    def __call__(self, scenario: ScenarioDocument, /) -> Playing: ...


def play(path: Path, file: str) -> Playing:
    """Read a scenario file and play it. `file` is what it is called in messages."""
    opened = open_scenario(path, file)
    if isinstance(opened, Err):
        return opened
    driver: ScenarioDriver = resolved(opened.value.driver)
    return driver(opened.value)


BY = "workrail-test generate"
_MEMBER = "generated"
Goal = TypeVar("Goal")


def stamped(document: dict[str, Json], goals: Sequence[str]) -> dict[str, Json]:
    """Return the document with a note of who wrote it, and a digest that tells when somebody else changed it."""
    bare = {name: value for name, value in document.items() if name != _MEMBER}
    stamp: dict[str, Json] = {"by": BY, "goals": list[Json](goals), "digest": canonical_hash(bare)}
    return {**bare, _MEMBER: stamp}


def is_generated(document: Mapping[str, Any]) -> bool:
    return bool(document.get(_MEMBER, {}).get("by") == BY)


def is_untouched(document: Mapping[str, Any]) -> bool:
    """Return whether a file was generated, and nobody has edited it since."""
    bare = {name: value for name, value in document.items() if name != _MEMBER}
    return is_generated(document) and bool(document[_MEMBER].get("digest") == canonical_hash(bare))


def file_bytes(document: Any) -> bytes:
    """Return a JSON document as it is written to a file; half surrogate pairs are written as escapes."""
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "backslashreplace")


def redundant(shows: Mapping[str, Collection[Goal]], removable: Collection[str]) -> list[str]:
    """Of the removable scenarios those whose goals the others show as well; those that show least go first."""
    superfluous: list[str] = []
    for name in sorted(removable, key=lambda name: (len(shows[name]), name)):
        others: set[Goal] = set().union(
            *(shows[other] for other in shows if other != name and other not in superfluous)
        )
        if set(shows[name]) <= others:
            superfluous.append(name)
    return sorted(superfluous)

"""From a run to the verdict on its scenario: expectations, lock evidence, golden.

Each driver describes itself as a `Driver`: tables of its events, blockers, expectations and lock evidence. A test walks
these tables, so that none of their entries can lack a sample, a line in the docs or a check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from pytest_workrail.golden.encoding import map_strings
from pytest_workrail.scenarios.drivers import Fault, PlayedScenario, ScenarioDocument, first_difference, member_faults
from workrail_lint.base.suggest import nearest
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding

R = TypeVar("R")
E = TypeVar("E")
TIME, ABSOLUTE = "«TS»", "«ABS»"

Expectation: TypeAlias = Callable[[Any, R, str], Iterable[Fault]]
"""Compares a member of `expect` (None if it is not there) with a run; the last argument is its pointer."""


# ------------------------------------------------------------------------------------------------------- lock evidence


class LockEvidence(Generic[E]):
    """The locks of a contract, each with the check that tells whether a run demonstrates it."""

    def __init__(self) -> None:
        self.checks: dict[str, Callable[[E], bool]] = {}

    def of(self, lock: str) -> Callable[[Callable[[E], bool]], Callable[[E], bool]]:
        """Return a decorator that makes a function the check of a lock."""

        def register(check: Callable[[E], bool]) -> Callable[[E], bool]:
            self.checks[lock] = check
            return check

        return register

    def demonstrated(self, evidence: E) -> list[str]:
        """Return the locks that a run demonstrates."""
        return [lock for lock, check in self.checks.items() if check(evidence)]


@dataclass(frozen=True, slots=True)
class Driver(Generic[R, E]):
    """A driver in tables: everything that it can emit, expect and prove."""

    pack: str  # how its goldens and its locks begin
    event_member: str  # of an event: its kind
    events: tuple[str, ...]
    blockers: Mapping[Any, str]  # each code with the one that all contracts share
    expectations: Mapping[str, Expectation[R]]
    evidence: LockEvidence[E]
    docs: str  # the page that describes all of it
    samples: str  # the folder of the scenarios that show all of it
    hidden: tuple[str, ...] = field(default=())  # members of events that no golden shows

    def unmet(self, scenario: Mapping[str, Any], run: R, demonstrated: Iterable[str]) -> tuple[Fault, ...]:
        """Return everything that is not as the scenario expects it."""
        expect = scenario.get("expect") or {}
        faults = [
            fault
            for member, check in self.expectations.items()
            for fault in check(expect.get(member), run, f"/expect/{member}")
        ]
        return (*faults, *self._claim_faults(scenario.get("enforces") or (), set(demonstrated)))

    def _claim_faults(self, claims: Sequence[str], demonstrated: set[str]) -> Iterator[Fault]:
        """Yield the claims about locks of this contract that don't hold; others are for their own tests to judge."""
        for index, lock in enumerate(claims):
            pointer = child("/enforces", index)
            if lock in self.evidence.checks and lock not in demonstrated:
                yield Fault(f"this run does not demonstrate {lock}", pointer)
            elif lock.startswith(f"{self.pack}-") and lock not in self.evidence.checks:
                suggestion = nearest(lock, tuple(self.evidence.checks))
                hint = f"; did you mean {suggestion}?" if suggestion else ""
                yield Fault(f"unknown lock {lock}{hint}", pointer)


def played_scenario(
    scenario: ScenarioDocument,
    faults: tuple[Fault, ...],
    events: Sequence[str],
    golden: Callable[[], bytes],
    locks: Iterable[str],
) -> PlayedScenario:
    """Return the outcome of a scenario; one that failed has no golden."""
    kept = golden() if scenario.wants_golden and not faults else None
    return PlayedScenario(scenario, faults, events, kept, tuple(locks))


# -------------------------------------------------------------------------------------------------------- expectations


def in_order(
    item: str,
    key: str,
    actual: Callable[[R], Sequence[dict[str, Any]]],
    describe: Callable[[dict[str, Any]], str] | None = None,
) -> Expectation[R]:
    """Return the expectation of a list whose items are identified by a member.

    An expected item is the value of that member, or an object whose members must all be met. `item` is the word for one
    of them; `describe` says more about it than its key does.
    """

    def check(wanted: Any, run: R, pointer: str) -> Iterator[Fault]:
        if wanted is None:
            return
        items = actual(run)
        names = [str(each[key]) for each in items]
        expected = [each if isinstance(each, str) else str(each[key]) for each in wanted]
        index = first_difference(expected, names)
        if index is not None:
            place = child(pointer, index) if index < len(expected) else pointer
            name = names[index] if index < len(names) else "none"
            says = expected[index] if index < len(expected) else "none"
            everything = ", ".join(names if describe is None else map(describe, items)) or "none"
            title = pointer.rpartition("/")[2]
            yield Fault(f"{item} {index + 1}: expected {says}, found {name}; all {title}: {everything}", place)
            return
        for index, (one, other) in enumerate(zip(wanted, items, strict=True)):
            if isinstance(one, Mapping):
                yield from member_faults(one.items(), other, child(pointer, index), repr)

    return check


def by_name(actual: Callable[[R], Mapping[str, Any]], *, complete: bool = False) -> Expectation[R]:
    """Return the expectation of named values; `complete` means that there may be no others."""

    def check(wanted: Any, run: R, pointer: str) -> Iterator[Fault]:
        if wanted is None:
            return
        values = actual(run)
        for name, value in wanted.items():
            if values.get(name) != value:
                yield Fault(f"{name}: expected {_value(value)}, found {_value(values.get(name))}", child(pointer, name))
        for name in values if complete else ():
            if name not in wanted:
                yield Fault(f"{name}: expected nothing, found {_value(values[name])}", pointer)

    return check


def _value(value: Any) -> str:
    return "nothing" if value is None else repr(value)


# -------------------------------------------------------------------------------------------------------------- golden


class Normalizer:
    """Replaces what differs from run to run by symbols."""

    def __init__(self, *symbols: tuple[re.Pattern[str], str]) -> None:
        self._symbols = symbols

    def text(self, text: str) -> str:
        for pattern, symbol in self._symbols:
            text = pattern.sub(symbol, text)
        return text

    def member(self, text: str, name: str) -> str:
        """Return the normalised string of a member."""
        return self.text(text)

    def value(self, value: Any) -> Any:
        return map_strings(value, self.member, self.text)


def finding_entry(finding: Finding) -> dict[str, Any]:
    """Return a finding as goldens record it."""
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "file": finding.path,
        "pointer": finding.pointer,
        "message": finding.message,
    }

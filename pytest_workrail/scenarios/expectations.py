"""Holding what happened against what a scenario expects: what the expectations of all kinds have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_workrail.scenarios.failures import Fault
from workrail_lint.documents.pointer import child

# Expected texts of these members need only be a part of the real ones.
_PARTS = ("message", "summary")


def status_faults(actual: str, expected: str | None, default: str, pointer: str) -> Iterator[Fault]:
    """A run that ended otherwise than expected; where nothing is expected, otherwise than by `default`."""
    wanted = default if expected is None else expected
    if actual != wanted:
        says = "" if expected is not None else " (a scenario that says nothing else has to complete)"
        yield Fault(f"the run ended as {actual}, not as {wanted}{says}", pointer)


def first_difference(wanted: Sequence[str], actual: Sequence[str]) -> int | None:
    """The first index at which two lists differ, which may be the end of the shorter one."""
    pairs = enumerate(zip(wanted, actual, strict=False))
    shorter = None if len(wanted) == len(actual) else min(len(wanted), len(actual))
    return next((index for index, (one, other) in pairs if one != other), shorter)


def member_faults(
    wanted: Iterable[tuple[str, Any]], actual: Mapping[str, Any], pointer: str, shown: Callable[[Any], str]
) -> Iterator[Fault]:
    """The expected members that an object has otherwise. Those that are not expected do not count."""
    for member, value in wanted:
        found = actual.get(member)
        is_part = member in _PARTS
        if (value not in str(found)) if is_part else found != value:
            verb = "does not contain" if is_part else "is not"
            yield Fault(f"{member} {shown(found)} {verb} {shown(value)}", child(pointer, member))

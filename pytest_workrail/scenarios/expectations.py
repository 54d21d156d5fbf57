"""Comparing a run with what a scenario expects: the part that all kinds of scenarios share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_workrail.scenarios.failures import Fault
from workrail_lint.documents.pointer import child

# For these members the expected string need only be a part of the actual one.
_PARTS = ("message", "fix", "summary")


def status_faults(actual: str, expected: str | None, default: str, pointer: str) -> Iterator[Fault]:
    """A run that did not end as expected, or not as `default` if the scenario expects nothing."""
    wanted = default if expected is None else expected
    if actual != wanted:
        says = "" if expected is not None else " (the default)"
        yield Fault(f"status: expected {wanted}{says}, found {actual}", pointer)


def first_difference(wanted: Sequence[str], actual: Sequence[str]) -> int | None:
    """The first index at which two lists differ, which may be the end of the shorter one."""
    pairs = enumerate(zip(wanted, actual, strict=False))
    shorter = None if len(wanted) == len(actual) else min(len(wanted), len(actual))
    return next((index for index, (one, other) in pairs if one != other), shorter)


def member_faults(
    wanted: Iterable[tuple[str, Any]], actual: Mapping[str, Any], pointer: str, shown: Callable[[Any], str]
) -> Iterator[Fault]:
    """The expected members that differ in an object. Other members do not count."""
    for member, value in wanted:
        found = actual.get(member)
        is_part = member in _PARTS
        if (value not in str(found)) if is_part else found != value:
            part = "a string that contains " if is_part else ""
            yield Fault(f"{member}: expected {part}{shown(value)}, found {shown(found)}", child(pointer, member))

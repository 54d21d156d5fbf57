"""Which known name was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from workrail_lint.base.suggest import edit_distance

_LONG = 200
# Beyond these, only names that differ in case, hyphens and underscores are suggested.
_MANY_NAMES = 1000
_MANY_QUESTIONS = 100
_SHORT_PART = 5


class Near(NamedTuple):
    """A name that is near another; `close` unless it only begins or ends with the other."""

    name: str
    close: bool


class _Name:
    """A name that is not known, compared with many that are."""

    __slots__ = ("_folded", "_letters", "_limit", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._folded = fold(name)
        self._letters = set(name)
        self._limit = 1 if len(name) < 5 else 2 if len(name) < 12 else 3

    def distance(self, other: str, folded: str) -> tuple[bool, int] | None:
        """How far the other name is, and whether it only begins or ends with this one; None if it is not near."""
        name, limit = self._name, self._limit
        if other == name or len(other) > _LONG:
            return None
        if folded == self._folded:
            return False, 0
        difference = abs(len(other) - len(name))
        # An edit removes at most one letter and adds at most one.
        if difference <= limit and len(self._letters.symmetric_difference(other)) <= 2 * limit:
            distance = edit_distance(name, other, limit)
            if distance >= min(len(name), len(other)):
                return None  # short names with nothing in common
            if distance <= limit:
                return False, distance
        short, long = (folded, self._folded) if len(folded) < len(self._folded) else (self._folded, folded)
        if len(short) < _SHORT_PART or len(short) * 5 < len(long) * 3:
            return None  # not most of it
        return (True, difference) if long.startswith(short) or long.endswith(short) else None


def nearest_name(name: str, known: Iterable[str]) -> Near | None:
    """The nearest of the known names; of equally near ones the first by code points."""
    if len(name) > _LONG:
        return None
    wanted = _Name(name)
    best: tuple[bool, int, str] | None = None
    for other in known:
        found = wanted.distance(other, fold(other))
        if found is not None and (best is None or (*found, other) < best):
            best = (*found, other)
    return None if best is None else Near(best[2], not best[0])


class KnownNames:
    """Names to suggest from, some of those in a workflow, asked about many unknown ones."""

    def __init__(self, names: Iterable[str], in_workflow: int) -> None:
        self._names = [(name, fold(name)) for name in names]
        self._is_many = in_workflow > _MANY_NAMES
        self._questions = 0
        self._folded: dict[str, list[str]] = {}
        for name, folded in self._names:
            self._folded.setdefault(folded, []).append(name)

    def near(self, name: str) -> list[str]:
        """All that are near the name."""
        self._questions += 1
        if self._is_many or self._questions > _MANY_QUESTIONS:
            return self._folded.get(fold(name), [])
        if len(name) > _LONG:
            return []
        wanted = _Name(name)
        return [other for other, folded in self._names if wanted.distance(other, folded) is not None]


def fold(name: str) -> str:
    """A name without case, hyphens and underscores."""
    return name.replace("_", "").replace("-", "").lower()

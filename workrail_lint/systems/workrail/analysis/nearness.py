"""Which known name was probably meant."""

from __future__ import annotations

from collections.abc import Iterable

from workrail_lint.base.suggest import edit_distance
from workrail_lint.base.typed import NamedTuple

_LONG = 200
# Beyond these, only names that differ in case, hyphens and underscores are suggested.
_MANY_NAMES = 1000
_MANY_QUESTIONS = 100
_SHORT_PART = 5


class Near(NamedTuple):
    """A name that is near another; `close` unless it only begins or ends with the other."""

    name: str
    close: bool


def nearest_name(name: str, known: Iterable[str]) -> Near | None:
    """The nearest of the known names; of equally near ones the first by code points."""
    if len(name) > _LONG:
        return None
    folded = fold(name)
    letters = set(name)
    limit = 1 if len(name) < 5 else 2 if len(name) < 12 else 3
    best: tuple[int, str] | None = None
    partial: tuple[int, str] | None = None
    for other in known:
        if other == name or len(other) > _LONG:
            continue
        if fold(other) == folded:
            distance = 0
        elif abs(len(other) - len(name)) <= limit:
            # An edit takes away one letter at most and adds one.
            is_far = len(letters.symmetric_difference(other)) > 2 * limit
            distance = limit + 1 if is_far else edit_distance(name, other, limit)
            if distance >= min(len(name), len(other)):
                continue  # short names with nothing in common
        else:
            distance = limit + 1
        if distance <= limit:
            best = min(best or (distance, other), (distance, other))
        elif _is_part(folded, fold(other)):
            difference = abs(len(other) - len(name))
            partial = min(partial or (difference, other), (difference, other))
    if best is not None:
        return Near(best[1], True)
    return Near(partial[1], False) if partial is not None else None


class KnownNames:
    """Names to suggest from, some of those in a workflow, asked about many unknown ones."""

    def __init__(self, names: Iterable[str], in_workflow: int) -> None:
        self._names = sorted(names)
        self._is_many = in_workflow > _MANY_NAMES
        self._questions = 0
        self._folded: dict[str, list[str]] = {}
        for name in self._names:
            self._folded.setdefault(fold(name), []).append(name)

    def near(self, name: str) -> list[str]:
        """All that are near the name."""
        self._questions += 1
        if self._is_many or self._questions > _MANY_QUESTIONS:
            return self._folded.get(fold(name), [])
        return [other for other in self._names if nearest_name(name, (other,)) is not None]


def fold(name: str) -> str:
    """A name without case, hyphens and underscores."""
    return name.replace("_", "").replace("-", "").lower()


def _is_part(a: str, b: str) -> bool:
    """Whether one of the names begins or ends with the other, which is most of it."""
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    is_most = len(short) >= _SHORT_PART and len(short) * 5 >= len(long) * 3
    return is_most and (long.startswith(short) or long.endswith(short))

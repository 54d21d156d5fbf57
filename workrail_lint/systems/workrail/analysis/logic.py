"""Whether conditions of a workflow can hold together, and under which values: what rules ask the solver.

Only conditions that the engine evaluates in full are judged. Three truths: only "impossible" is a proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from workrail_lint.base.suggest import edit_distance
from workrail_lint.systems.workrail.condition_logic import BOUNDS, LOGIC
from workrail_lint.systems.workrail.model.workflow import Condition
from workrail_lint.systems.workrail.solver.expression import (
    IMPOSSIBLE,
    POSSIBLE,
    UNKNOWN,
    UNSET,
    Answer,
    Comparison,
    Expression,
    Pending,
    Values,
    is_impossible,
    made_comparison,
)

__all__ = [
    "BOUNDS",
    "IMPOSSIBLE",
    "ONLY_UNSET",
    "POSSIBLE",
    "UNKNOWN",
    "UNSET",
    "Answer",
    "Comparison",
    "Node",
    "Values",
    "exclusive",
    "implies",
    "impossible",
    "parse",
    "satisfy",
]
# Larger conditions are not judged: they are not written by hand.
_MAX_NODES = 200
_MAX_DEPTH = 30
_KNOWN = frozenset(("var", "equals", "not_equals", *BOUNDS, "contains", "in", *LOGIC))
ONLY_UNSET = Values((), True, True)
_EMPTY: Mapping[str, Values] = {}

Node = Expression


def parse(condition: Condition) -> Node | None:
    """A condition as a tree; None when the engine would not evaluate all of it, or it is too large to be judged."""
    if not condition.raw:
        return Expression("and")  # of nothing, which holds
    return _parsed(condition, 0, [_MAX_NODES])


def _parsed(condition: Condition, depth: int, left: list[int]) -> Expression | None:
    """A part at some depth, with as many parts as are left."""
    left[0] -= 1
    members = condition.raw.keys()
    if left[0] < 0 or depth > _MAX_DEPTH or condition.is_partial or not members <= _KNOWN:
        return None
    if "var" in members:
        return _comparison(condition)
    if len(members) != 1:
        return None
    (logic,) = members
    inner: Sequence[Condition] = ()
    match logic:
        case "and":
            inner = condition.and_
        case "or":
            inner = condition.or_
        case "not" if condition.not_ is not None:
            inner = (condition.not_,)
        case _:
            return None
    parts = []
    for part in inner:
        member = _parsed(part, depth + 1, left)
        if member is None:
            return None
        parts.append(member)
    return Expression(logic, tuple(parts))


def _comparison(condition: Condition) -> Expression | None:
    """One comparison, or none at all."""
    if len(condition.raw) > 2:
        return None
    operator, operand = next(((name, value) for name, value in condition.raw.items() if name != "var"), ("", None))
    if operator in LOGIC:
        return None
    return Expression("is", (), made_comparison(condition.var or "", operator, operand))


def satisfy(
    positive: Iterable[Node | None], negative: Iterable[Node | None] = (), values: Mapping[str, Values] = _EMPTY
) -> Answer:
    """Is there an assignment under which all of `positive` hold and none of `negative` does?"""
    from workrail_lint.systems.workrail.solver.search import Solver  # most questions are answered without a search

    wanted = [*((node, True) for node in positive), *((node, False) for node in negative)]
    return Solver().decide(wanted, values=values)


def impossible(
    positive: Sequence[Node | None], negative: Sequence[Node | None] = (), values: Mapping[str, Values] = _EMPTY
) -> bool:
    """Return whether it is certain that no solution exists, which is mostly known without a search."""
    pending: Pending = None
    for node in reversed(negative):
        pending = pending if node is None else (node, False, pending)
    for node in reversed(positive):
        pending = pending if node is None else (node, True, pending)
    answer = is_impossible(pending, values)
    return satisfy(positive, negative, values).verdict == IMPOSSIBLE if answer is None else answer


def exclusive(first: Condition | None, second: Condition | None) -> bool:
    """Return whether no context satisfies both conditions; false wherever that is not certain."""
    if first is None or second is None or not first.raw or not second.raw:
        return False
    return impossible((parse(first), parse(second)))


def implies(first: Condition | None, second: Condition | None) -> bool:
    """Return whether the second condition holds whenever the first does; false wherever that is not certain."""
    if first is None or second is None or not first.raw or not second.raw:
        return False
    return impossible((parse(first),), (parse(second),))


# Which known name was probably meant.


_LONG = 200
# Beyond these, only names that differ in case, hyphens and underscores are suggested.
_MANY_NAMES = 1000
_MANY_QUESTIONS = 100
_SHORT_PART = 5


class Near:
    """A name that is near another; `close` unless it only begins or ends with the other."""

    __slots__ = ("close", "name")

    def __init__(self, name: str, close: bool) -> None:
        self.name = name
        self.close = close


class _Name:
    """A name that is not known, compared with many that are."""

    __slots__ = ("_folded", "_letters", "_limit", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._folded = fold(name)
        self._letters = set(name)
        self._limit = 1 if len(name) < 5 else 2 if len(name) < 12 else 3

    def distance(self, other: str, folded: str) -> tuple[bool, int] | None:
        """Return how far the other name is, and whether it only begins or ends with this one; None if not near."""
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
        distance = wanted.distance(other, fold(other))
        if distance is not None and (best is None or (*distance, other) < best):
            best = (*distance, other)
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

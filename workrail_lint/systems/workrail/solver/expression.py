"""Questions and answers of the solver: conditions as trees whose leaves are comparisons (equal comparisons are one
object), and the possible values of variables.

Also a shortcut to most answers: try the values that the conditions themselves name. Values that satisfy them are an
answer. If none do, that is a proof only where no other value needs to be tried: all values of a variable are known, or
a condition names the one it must have. Everything else is left to the search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from workrail_lint.base import js
from workrail_lint.base.result import Record
from workrail_lint.systems.workrail.condition_logic import FALSE_WORDS, TRUE_WORDS, compare, comparisons, normal_text
from workrail_lint.systems.workrail.model.workflow import Condition

POSSIBLE, IMPOSSIBLE, UNKNOWN = "possible", "impossible", "unknown"
# Larger conditions are not written by hand, and are not judged.
_MAX_NODES = 2_000
_MAX_DEPTH = 60


class Unset:
    """The value of a variable that nothing set."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()


class Values(Record):
    """The possible values of a variable: the known ones, whether there are others, and whether it may be unset."""

    __slots__ = ("closed", "may_be_unset", "values")

    def __init__(self, values: tuple[Any, ...] = (), closed: bool = False, may_be_unset: bool = True) -> None:
        self.values = values
        self.closed = closed
        self.may_be_unset = may_be_unset


ANYTHING = Values()


class Answer(Record):
    """Whether it can be, and a value for every variable that was asked about.

    `change` is what differs from the context that was given: null takes a variable away.
    """

    __slots__ = ("assignment", "change", "verdict")

    def __init__(
        self, verdict: str, assignment: dict[str, Any] | None = None, change: dict[str, Any] | None = None
    ) -> None:
        self.verdict = verdict
        self.assignment = assignment
        self.change = change


class Comparison(Record):
    """One variable against one operand; without an operator the variable is asked for its truth.

    `key` tells comparisons apart: in Python 1 and true are equal, written down they are not.
    """

    __slots__ = ("key", "operand", "operator", "variable")

    def __init__(self, key: str, variable: str, operator: str, operand: Any) -> None:
        self.key = key
        self.variable = variable
        self.operator = operator
        self.operand = operand

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Comparison) and self.key == other.key

    def __ne__(self, other: object) -> bool:
        return not self == other

    def holds(self, value: object) -> bool | None:
        """Return what the engine would say about a value; None where it can't."""
        return compare(self.operator, value, self.operand)


class Expression:
    """A part of a condition: a comparison, a combination, or something that can't be evaluated.

    `logic` is `and`, `or`, `not`, `is` for a comparison, and `broken`.
    """

    __slots__ = ("_leaves", "comparison", "is_sound", "logic", "members", "size")

    def __init__(self, logic: str, members: tuple[Expression, ...] = (), comparison: Comparison | None = None) -> None:
        self.logic = logic
        self.members = members
        self.comparison = comparison
        self._leaves: dict[Comparison, None] | None = None
        self.size: int = 0 if comparison is None else 1  # counts repeated ones
        # Whether each part has a value whatever the context is, so that parts can be looked at in any order.
        self.is_sound: bool = logic != "broken"
        for member in members:
            self.size += member.size
            self.is_sound = self.is_sound and member.is_sound

    @property
    def leaves(self) -> dict[Comparison, None]:
        """The comparisons, each once."""
        if self._leaves is None:
            self._leaves = {} if self.comparison is None else {self.comparison: None}
            for member in self.members:
                self._leaves |= member.leaves
        return self._leaves

    def value(self, truths: dict[Comparison, bool | None]) -> bool | None:
        """Return what it comes out as; None while too few comparisons are known."""
        match self.logic:
            case "is":
                return truths.get(self.comparison)  # type: ignore[arg-type]  # a comparison has one
            case "not":
                inner = self.members[0].value(truths)
                return None if inner is None else not inner
            case "broken":
                return None
        decisive = self.logic == "or"
        is_open = False
        for member in self.members:
            value = member.value(truths)
            if value is decisive:
                return decisive
            is_open = is_open or value is None
        return None if is_open else not decisive

    def evaluate(self, truths: dict[Comparison, bool | None]) -> bool:
        """Return what the engine makes of it once every comparison has its value: false where a part has none."""
        return self._in_order(truths) is True

    def _in_order(self, truths: dict[Comparison, bool | None]) -> bool | None:
        """Left to right and only as far as needed. A part without a value that is reached leaves none to the whole."""
        if self.logic in ("is", "broken", "not"):
            return self.value(truths) if self.logic != "not" else _negated(self.members[0]._in_order(truths))
        decisive = self.logic == "or"
        for member in self.members:
            value = member._in_order(truths)
            if value is None or value is decisive:
                return value
        return not decisive


def _negated(value: bool | None) -> bool | None:
    return None if value is None else not value


ALWAYS = Expression("and")
_BROKEN = Expression("broken")


def read(condition: Condition | None) -> Expression | None:
    """Return a condition as the engine evaluates it, whatever parts it has; None for one too large to be judged."""
    if condition is None or not condition.raw:
        return ALWAYS
    return _Reader().expression(condition.raw, 0)


class _Reader:
    def __init__(self) -> None:
        self._count = 0

    def expression(self, node: object, depth: int) -> Expression | None:
        self._count += 1
        if self._count > _MAX_NODES or depth > _MAX_DEPTH:
            return None
        if not isinstance(node, dict):
            return _BROKEN
        if "var" in node:
            comparison = _comparison(node)
            if comparison.operator == "in" and not isinstance(comparison.operand, list):
                return _BROKEN
            return Expression("is", comparison=comparison)
        for logic in ("and", "or"):
            if logic in node:
                return self._combination(logic, node[logic], depth)
        return self._combination("not", [node["not"]], depth) if "not" in node else _BROKEN

    def _combination(self, logic: str, members: object, depth: int) -> Expression | None:
        if not isinstance(members, list):
            return _BROKEN
        inner = []
        for member in members:
            read_member = self.expression(member, depth + 1)
            if read_member is None:
                return None
            inner.append(read_member)
        return Expression(logic, tuple(inner))


def comparison_of(condition: Condition) -> Comparison:
    """Return the comparison that decides among those of a condition on a variable."""
    return _comparison(condition.raw)


def _comparison(node: dict[str, Any]) -> Comparison:
    variable = node["var"] if type(node["var"]) is str else js.text(node["var"])
    named = comparisons(node)
    operator = named[0] if named else ""
    operand = node[operator] if operator else None
    return made_comparison(variable, operator, operand)


def made_comparison(variable: str, operator: str, operand: Any) -> Comparison:
    return Comparison(repr((variable, operator, operand)), variable, operator, operand)


def comparisons_in(*conditions: Condition | None) -> Iterator[Comparison]:
    """Yield every comparison of some conditions, each once, in the order of reading."""
    seen: dict[Comparison, None] = {}
    for condition in conditions:
        expression = read(condition)
        if expression is not None:
            seen |= expression.leaves
    return iter(seen)


# Comparisons that are looked at before the search takes over.
_MOST_STEPS = 300
_LARGEST = 2**53
_TRUE, _FALSE = (True, *TRUE_WORDS), (False, *FALSE_WORDS)
_OTHERS = (True, False, 0, 1, "other")

# Expressions that have to come out in a certain way, as a linked list.
Pending: TypeAlias = "tuple[Expression, bool, Pending] | None"


def is_impossible(pending: Pending, values: Mapping[str, Values]) -> bool | None:
    """Return whether no values make all of them come out as wanted; None where only the search can tell."""
    attempt = _Attempt(values)
    if attempt.meets(pending):
        return False
    return True if attempt.is_exhaustive else None


class _Attempt:
    """A walk through the alternatives. Along each, a variable has comparisons to meet, and a value that meets them."""

    __slots__ = ("_demands", "_held", "_steps", "_values", "is_exhaustive")

    def __init__(self, values: Mapping[str, Values]) -> None:
        self._values = values
        self._demands: dict[str, list[tuple[Comparison, bool]]] = {}
        self._held: dict[str, Any] = {}
        self._steps = 0
        self.is_exhaustive = True

    def meets(self, pending: Pending) -> bool:
        trail: list[str] = []
        while pending is not None:
            expression, wanted, pending = pending
            comparison = expression.comparison
            if comparison is not None:
                trail.append(comparison.variable)
                if not self._add(comparison, wanted):
                    self._undo(trail)
                    return False
                continue
            members = expression.members
            if expression.logic == "not":
                pending = (members[0], not wanted, pending)
            elif wanted is (expression.logic == "and"):
                for member in reversed(members):
                    pending = (member, wanted, pending)
            else:
                if any(self.meets((member, wanted, pending)) for member in members):
                    return True
                self._undo(trail)
                return False
        return True

    def _undo(self, trail: list[str]) -> None:
        # What the variable holds stays: it meets the demands that are left as well.
        for name in trail:
            self._demands[name].pop()

    def _add(self, comparison: Comparison, wanted: bool) -> bool:
        """Return whether the variable has a value that meets this too."""
        self._steps += 1
        name = comparison.variable
        demands = self._demands.setdefault(name, [])
        demands.append((comparison, wanted))
        if self._steps > _MOST_STEPS:
            self.is_exhaustive = False
            return False
        if name in self._held and compare(comparison.operator, self._held[name], comparison.operand) is wanted:
            return True
        allowed = self._values.get(name, ANYTHING)
        if not (allowed.closed or allowed.may_be_unset):
            self.is_exhaustive = False  # the search has its own choice of values for these
            return False
        trials = _all_values(demands, allowed)
        for value in _some_values(demands, allowed) if trials is None else trials:
            for demand, truth in demands:
                if demand.holds(value) is not truth:
                    break
            else:
                self._held[name] = value
                return True
        if trials is None:
            self.is_exhaustive = False
        return False


def _all_values(demands: list[tuple[Comparison, bool]], allowed: Values) -> tuple[Any, ...] | None:
    """Return one value for each class that has to be tried, where that is known; None stands for a missing value."""
    if allowed.closed:
        return (*allowed.values, None) if allowed.may_be_unset else allowed.values
    result: tuple[Any, ...] | None = None
    for demand, wanted in demands:
        operator, operand = demand.operator, demand.operand
        if operator == "contains":
            return None
        if result is None and operator in ("equals", "not_equals") and wanted is (operator == "equals"):
            result = _equal_values(operand)
        elif result is None and operator == "in" and wanted:
            result = ()
            for item in operand:
                equal = _equal_values(item)
                if equal is None:
                    result = None
                    break
                result += equal
    return result


def _equal_values(operand: Any) -> tuple[Any, ...] | None:
    """Return what equals an operand; None where many spellings do, as with numbers."""
    if operand is None:
        return (None,)
    if operand is True:
        return _TRUE
    if operand is False:
        return _FALSE
    if isinstance(operand, str):
        text = normal_text(operand)
        # Words for true and false equal these too, and what may be a number equals that.
        if text[:1].isalpha() and text not in _TRUE and text not in _FALSE and text != "infinity":
            return (operand,)
    return None


def _some_values(demands: list[tuple[Comparison, bool]], allowed: Values) -> Iterator[Any]:
    """Yield values that may do; None stands for a missing one."""
    yield None
    yield from allowed.values
    for demand, _ in demands:
        for item in demand.operand if demand.operator == "in" else (demand.operand,):
            if isinstance(item, str | bool):
                yield item
            elif isinstance(item, int | float) and -_LARGEST < item < _LARGEST:
                yield item
                yield item + 1
                yield item - 1
    yield from _OTHERS

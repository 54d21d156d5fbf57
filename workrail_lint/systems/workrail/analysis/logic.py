"""Whether conditions can hold together, and under which values.

A condition tells values of a variable apart only by what its comparisons answer. So every variable is tried with one
value for each distinct list of answers, and the search runs over those few. Three truths: where a value can't speak for
its whole kind (what a text contains that we know nothing about) the answer is None, and only "impossible" is a proof.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.systems.workrail.condition_logic import LOGIC, comparisons, lenient_equal, normal_text

POSSIBLE, IMPOSSIBLE, UNKNOWN = "possible", "impossible", "unknown"
MAX_COMBINATIONS = 20_000
# Larger conditions are left alone: nobody writes them by hand.
_MAX_NODES = 200
_MAX_DEPTH = 30
_BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}
BOUNDS = frozenset(_BOUNDS)
_KNOWN = frozenset(("var", "equals", "not_equals", *_BOUNDS, "contains", "in", *LOGIC))
_TRUE_WORDS = ("true", "1", "yes")
_FALSE_WORDS = ("false", "0", "no")


class Unset:
    """The value of a variable that nothing set."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()


class Node:
    """A part of a well-formed condition: `and`, `or`, `not` with children, or one comparison."""

    __slots__ = ("children", "leaves", "literal", "logic", "operator", "variable")

    def __init__(self) -> None:
        self.logic: str | None = None
        self.children: list[Node] = []
        self.leaves: tuple[Node, ...] = ()  # of the root only
        self.variable = ""
        self.operator: str | None = None  # None asks for truth
        self.literal: Any = None


def parse(condition: object) -> Node | None:
    """A condition as a tree; None when the engine would not evaluate all of it, or it is too large to be judged."""
    root = Node()
    if condition == {}:
        root.logic = "and"  # of nothing, which holds
        return root
    pending: list[tuple[object, Node, int]] = [(condition, root, 0)]
    leaves: list[Node] = []
    count = 0
    while pending:
        value, node, depth = pending.pop()
        count += 1
        if count > _MAX_NODES or depth > _MAX_DEPTH or not isinstance(value, dict) or not value.keys() <= _KNOWN:
            return None
        if "var" in value:
            if not _read_comparison(node, value):
                return None
            leaves.append(node)
            continue
        if len(value) != 1 or not value.keys() <= {"and", "or", "not"}:
            return None
        ((logic, inner),) = value.items()
        node.logic = logic
        if logic == "not":
            inner = [inner]
        elif not isinstance(inner, list):
            return None
        for part in inner:
            child = Node()
            node.children.append(child)
            pending.append((part, child, depth + 1))
    leaves.reverse()
    root.leaves = tuple(leaves)
    return root


def _read_comparison(node: Node, value: dict[str, Any]) -> bool:
    variable = value["var"]
    if type(variable) is not str or len(value) > 2:
        return False
    node.variable = variable
    if len(value) == 1:
        return True
    named = comparisons(value)
    if not named:
        return False
    name = named[0]
    node.operator, literal = name, value[name]
    node.literal = literal
    if name in _BOUNDS:
        return js.is_number(literal)
    if name == "in":
        return isinstance(literal, list)
    return name != "contains" or isinstance(literal, str)


class Sample(NamedTuple):
    """A value that stands for its kind. `whole`: for its text as well."""

    value: Any
    whole: bool


def compare(node: Node, sample: Sample) -> bool | None:
    """What a comparison answers for a value, by the engine's rules."""
    value, literal = sample.value, node.literal
    if value is UNSET:
        value = None
    match node.operator:
        case "equals":
            return lenient_equal(value, literal)
        case "not_equals":
            return not lenient_equal(value, literal)
        case None:
            return js.truthy(value)
        case "in":
            return any(lenient_equal(value, item) for item in literal)
        case "contains":
            needle = normal_text(literal)
            if not needle:
                return True
            text = "" if value is None else js.text(value)
            return needle in normal_text(text) if sample.whole else None
        case bound:
            return js.is_number(value) and _BOUNDS[bound](value, js.to_number(literal))


class Values(NamedTuple):
    """What a variable may hold: the values we know of, whether there are others, and whether it may be unset."""

    values: tuple[Any, ...] = ()
    closed: bool = False
    may_be_unset: bool = True


ANYTHING = Values()
ONLY_UNSET = Values((), True, True)
_EMPTY: Mapping[str, Values] = {}


class Answer(NamedTuple):
    """Whether an assignment exists, and the first one that was found."""

    verdict: str
    assignment: dict[str, Any] | None = None


_NEVER, _PERHAPS = Answer(IMPOSSIBLE), Answer(UNKNOWN)
_Vector = tuple[bool | None, ...]


def satisfy(
    positive: Iterable[Node | None], negative: Iterable[Node | None] = (), values: Mapping[str, Values] = _EMPTY
) -> Answer:
    """Is there an assignment under which all of `positive` hold and none of `negative` does?"""
    wanted: list[tuple[Node, bool]] = []
    is_open = False
    for nodes, truth in ((positive, True), (negative, False)):
        for node in nodes:
            if node is None:
                is_open = True  # a condition we can't judge proves nothing, but must not hide a contradiction
            else:
                wanted.append((node, truth))
    by_variable: dict[str, list[Node]] = {}
    for node, _ in wanted:
        for leaf in node.leaves:
            by_variable.setdefault(leaf.variable, []).append(leaf)
    choices = [
        (name, leaves, _vectors(leaves, values.get(name, ANYTHING), is_single=len(leaves) == 1))
        for name, leaves in by_variable.items()
    ]
    found = _Search(wanted, choices).run()
    return _PERHAPS if is_open and found.verdict == POSSIBLE else found


def exclusive(first: object, second: object) -> bool:
    """Whether no context satisfies both conditions; false wherever that is not certain."""
    if not isinstance(first, dict) or not isinstance(second, dict) or not first or not second:
        return False
    return satisfy((parse(first), parse(second))).verdict == IMPOSSIBLE


def _vectors(leaves: list[Node], allowed: Values, *, is_single: bool) -> list[tuple[_Vector, Any]]:
    """One value for each list of answers that the comparisons can give."""
    found: dict[_Vector, Any] = {}
    for sample in _samples(leaves, allowed):
        vector = tuple([compare(leaf, sample) for leaf in leaves])
        if vector not in found:
            found[vector] = sample.value
            if is_single and (True,) in found and (False,) in found:
                break
    return list(found.items())


class _Search:
    """Tries the choices one variable after the other, and turns back as soon as a condition is decided wrongly."""

    def __init__(
        self, wanted: list[tuple[Node, bool]], choices: list[tuple[str, list[Node], list[tuple[_Vector, Any]]]]
    ) -> None:
        self.wanted = wanted
        self.choices = choices
        self.truths: dict[int, bool | None] = {}
        self.assignment: dict[str, Any] = {}
        self.tried = 0
        self.is_open = False

    def run(self) -> Answer:
        if self._search(0):
            return Answer(POSSIBLE, dict(self.assignment))
        return _PERHAPS if self.is_open else _NEVER

    def _search(self, depth: int) -> bool:
        undecided = False
        for node, truth in self.wanted:
            value = self._value(node)
            if value is None:
                undecided = True
            elif value is not truth:
                return False
        if depth == len(self.choices):
            if undecided:
                self.is_open = True
            return not undecided
        name, leaves, vectors = self.choices[depth]
        for vector, value in vectors:
            self.tried += 1
            if self.tried > MAX_COMBINATIONS:
                self.is_open = True
                return False
            for leaf, answer in zip(leaves, vector, strict=True):
                self.truths[id(leaf)] = answer
            self.assignment[name] = value
            if self._search(depth + 1):
                return True
        for leaf in leaves:
            del self.truths[id(leaf)]
        self.assignment.pop(name, None)
        return False

    def _value(self, node: Node) -> bool | None:
        logic = node.logic
        if logic is None:
            return self.truths.get(id(node))
        if logic == "not":
            inner = self._value(node.children[0])
            return None if inner is None else not inner
        decisive = logic == "or"
        undecided = False
        for child in node.children:
            value = self._value(child)
            if value is decisive:
                return decisive
            undecided = undecided or value is None
        return None if undecided else not decisive


_UNSET_SAMPLE = Sample(UNSET, True)


def _samples(leaves: list[Node], allowed: Values) -> Iterator[Sample]:
    """Unset, the known values, and unless those are all: one value of each kind that the comparisons tell apart."""
    if allowed.may_be_unset:
        yield _UNSET_SAMPLE
    for value in allowed.values:
        yield Sample(value, True)
    if allowed.closed:
        return
    literals: list[Any] = []
    bounds: list[float] = []
    needles: list[str] = []
    for leaf in leaves:
        if leaf.operator == "in":
            literals += leaf.literal
        elif leaf.operator in _BOUNDS:
            bounds.append(js.to_number(leaf.literal))
        elif leaf.operator == "contains":
            needles.append(leaf.literal)
        elif leaf.operator is not None:
            literals.append(leaf.literal)
    for literal in literals:
        if literal is not None and not isinstance(literal, dict | list):
            yield Sample(literal, True)
    for needle in needles:
        yield Sample(needle, True)
    texts = [literal for literal in literals if isinstance(literal, str)]
    numbers = [js.to_number(literal) for literal in literals if js.is_number(literal)]
    yield from _number_samples(bounds)
    yield _other(texts, needles)
    yield from (Sample(True, True), Sample(False, True), Sample({}, True), Sample([], False))
    yield from _text_samples(texts, numbers)
    converted = [number for number in map(js.to_number, texts) if not math.isnan(number)]
    yield from _number_samples({0.0, *numbers, *converted, *bounds})


def _number_samples(points: Iterable[float]) -> Iterator[Sample]:
    """Every number that is named, and one from each gap before, between and after them."""
    ordered = sorted(points)
    for index, point in enumerate(ordered):
        if not index:
            yield Sample(point - 1, False)
        yield Sample(point, True)
        following = ordered[index + 1] if index + 1 < len(ordered) else math.inf
        yield Sample(point + 1 if point + 1 < following else math.nextafter(point, math.inf), False)
    if ordered:
        yield Sample(math.nextafter(ordered[0], -math.inf), False)


def _other(texts: list[str], needles: list[str]) -> Sample:
    """A text unlike all that are named."""
    taken = {normal_text(text) for text in (*texts, *needles)}
    other = "other"
    while other in taken:
        other += "?"
    return Sample(other, False)


def _text_samples(texts: list[str], numbers: list[float]) -> Iterator[Sample]:
    """The named texts as conditions compare them, and other spellings of the named numbers."""
    # Blank text is 0 as a number; only without any character is it false as well.
    named = {"": None, " ": None, **dict.fromkeys((*_TRUE_WORDS, *_FALSE_WORDS))}
    for text in texts:
        # JavaScript reads "Infinity" as a number, but not in lower case, and conditions take both for one text.
        lowered = normal_text(text)
        named.update(dict.fromkeys((text, lowered, lowered.replace("infinity", "Infinity"))))
    for text in named:
        yield Sample(text, True)
    taken = {normal_text(text) for text in named}
    for number in numbers:
        yield Sample(_respelled(number, taken), False)


def _respelled(number: float, taken: set[str]) -> str:
    """A text that converts to the number and is none of the taken ones."""
    sign = "-" if number < 0 else ""
    digits = "1e400" if math.isinf(number) else js.number_text(abs(number))
    while f"{sign}{digits}" in taken:
        digits = f"0{digits}"
    return sign + digits

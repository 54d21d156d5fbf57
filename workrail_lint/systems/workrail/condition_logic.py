"""What can be said about a condition without knowing the context.

A condition looks at one variable at a time, and only a few kinds of values make a difference to it: the
literals it names, the numbers between its bounds, text that is none of its literals, and so on. Trying one
sample of each kind decides whether a conjunction can hold at all and whether a disjunction can fail.

Wherever a sample can't speak for its whole kind (what a text contains that we know nothing about), the answer
is "unknown", and so is every test on another variable. A verdict is given only when nothing is left open:
a condition that some context satisfies is never called a contradiction.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from workrail_lint.base import js

LOGIC = ("and", "or", "not")
# The first of these beside `var` decides; the others are not looked at.
COMPARISONS = ("equals", "not_equals", "gt", "gte", "lt", "lte", "contains", "startsWith", "endsWith", "matches", "in")
_BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}
_EQUALITY = ("equals", "not_equals", "in")
_KNOWN = frozenset(("var", "equals", "not_equals", *_BOUNDS, "contains", "in", *LOGIC))
_TRUE_WORDS = ("true", "1", "yes")
_FALSE_WORDS = ("false", "0", "no")
# Larger conditions are left alone: nobody writes them by hand, and trying samples is not free.
_MAX_NODES = 60
_MAX_DEPTH = 30


class Constant(NamedTuple):
    """A conjunction that never holds (`value` false) or a disjunction that always does (`value` true)."""

    pointer: str
    variable: str
    value: bool


def lenient_equal(a: object, b: object) -> bool:
    """The equality of conditions; None stands for a missing value too."""
    if a is None or b is None:
        return a is b
    if isinstance(a, str) and isinstance(b, str):
        return normal_text(a) == normal_text(b)
    if isinstance(b, str):
        a, b = b, a
    if isinstance(a, str):
        if isinstance(b, bool):
            return normal_text(a) in (_TRUE_WORDS if b else _FALSE_WORDS)
        if js.is_number(b):
            return js.to_number(a) == js.to_number(b)
    return js.strict_equal(a, b)


def normal_text(text: str) -> str:
    """What is left of a text when a condition compares it: case and surrounding space do not count."""
    return js.lower(js.trim(text))


def comparisons(condition: dict[str, Any]) -> list[str]:
    """The comparisons a condition names, the one that decides first."""
    return [name for name in COMPARISONS if name in condition]


def constants(condition: object, pointer: str = "") -> Iterator[Constant]:
    """The parts of a condition that hold never or always, innermost first.

    A part is not reported for what a part inside it, or a single comparison, already brings about.
    """
    if not isinstance(condition, dict) or _plainly_open(condition):
        return
    root = _parse(condition, pointer)
    if root is None:
        return
    for node in root.walk():
        if node.logic in ("and", "or"):
            value = node.logic == "or"
            for variable in node.repeated_variables():
                if all(_evaluate(node, variable, sample) is value for sample in _samples(node, variable)):
                    node.constant = True
                    yield Constant(node.pointer, variable, value)
                    break


def _plainly_open(condition: dict[str, Any]) -> bool:
    """Whether a glance shows that the condition may hold and may fail; most are like that."""
    if "var" in condition:
        return True
    items = condition.get("and") or condition.get("or")
    if not isinstance(items, list) or not all(isinstance(item, dict) and "var" in item for item in items):
        return False
    if "and" not in condition and all(isinstance(item.get("equals"), str) for item in items):
        return True  # fails as long as the variables are missing
    names = [item["var"] for item in items]
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


class _Node:
    """A part of a well-formed condition: `and`, `or`, `not` with children, or one comparison."""

    __slots__ = ("children", "constant", "literal", "logic", "operator", "pointer", "variable")

    def __init__(self, pointer: str) -> None:
        self.pointer = pointer
        self.logic: str | None = None
        self.children: list[_Node] = []
        self.variable = ""
        self.operator: str | None = None  # None asks for truth
        self.literal: Any = None
        self.constant = False  # its fault is reported elsewhere, so whatever contains it takes it for unknown

    def walk(self) -> Iterator[_Node]:
        """The parts from the innermost outwards."""
        for child in self.children:
            yield from child.walk()
        yield self

    def comparisons(self) -> Iterator[_Node]:
        return (node for node in self.walk() if node.logic is None)

    def repeated_variables(self) -> list[str]:
        """Those compared more than once; a single comparison that decides nothing is a fault of its own."""
        names = [node.variable for node in self.comparisons()]
        return [name for name in dict.fromkeys(names) if names.count(name) > 1]


def _parse(condition: dict[str, Any], pointer: str) -> _Node | None:
    """The condition as a tree, or None when it is malformed or too large to be judged."""
    root = _Node(pointer)
    pending: list[tuple[object, _Node, int]] = [(condition, root, 0)]
    count = 0
    while pending:
        value, node, depth = pending.pop()
        count += 1
        if count > _MAX_NODES or depth > _MAX_DEPTH or not isinstance(value, dict) or not value.keys() <= _KNOWN:
            return None
        logic = [name for name in LOGIC if name in value]
        if "var" in value:
            if logic or not _read_comparison(node, value):
                return None
            continue
        if len(value) != 1 or len(logic) != 1:
            return None
        node.logic = logic[0]
        inner = value[node.logic]
        if node.logic == "not":
            parts = [(inner, f"{node.pointer}/not")]
        elif isinstance(inner, list):
            parts = [(item, f"{node.pointer}/{node.logic}/{index}") for index, item in enumerate(inner)]
        else:
            return None
        for part, place in parts:
            child = _Node(place)
            node.children.append(child)
            pending.append((part, child, depth + 1))
    return root


def _read_comparison(node: _Node, value: dict[str, Any]) -> bool:
    named = comparisons(value)
    if len(named) > 1 or not isinstance(value["var"], str):
        return False
    node.variable = value["var"]
    if named:
        node.operator, node.literal = named[0], value[named[0]]
    literal = node.literal
    if node.operator in _BOUNDS:
        node.literal = js.to_number(literal)
        return js.is_number(literal)
    if node.operator == "in" and not isinstance(literal, list):
        return False
    if node.operator == "contains" and not isinstance(literal, str):
        return False
    node.constant = _is_constant(node)
    return True


def _is_constant(node: _Node) -> bool:
    """Whether a single comparison decides nothing: no value equals a list or object, all texts contain nothing."""
    literal = node.literal
    if node.operator in ("equals", "not_equals"):
        return isinstance(literal, dict | list)
    if node.operator == "in":
        return all(isinstance(item, dict | list) for item in literal)
    return node.operator == "contains" and not normal_text(literal)


def _evaluate(node: _Node, variable: str, sample: _Sample) -> bool | None:
    if node.constant:
        return None
    if node.logic is None:
        return _compare(node, sample) if node.variable == variable else None
    truths = [_evaluate(child, variable, sample) for child in node.children]
    if node.logic == "not":
        return None if truths[0] is None else not truths[0]
    decisive = node.logic == "or"
    if decisive in truths:
        return decisive
    return None if None in truths else not decisive


class _Sample(NamedTuple):
    """A value that stands for its kind. `whole`: for its text as well."""

    value: Any
    whole: bool


def _compare(node: _Node, sample: _Sample) -> bool | None:
    value, literal = sample.value, node.literal
    match node.operator:
        case None:
            return js.truthy(value)
        case "equals":
            return lenient_equal(value, literal)
        case "not_equals":
            return not lenient_equal(value, literal)
        case "in":
            return any(lenient_equal(value, item) for item in literal)
        case "contains":
            needle = normal_text(literal)
            if not needle:
                return True
            text = "" if value is None else js.text(value)
            return needle in normal_text(text) if sample.whole else None
        case bound:
            return js.is_number(value) and _BOUNDS[bound](value, literal)


# Tried before anything is worked out: they already show for most conditions that they decide something.
_FIRST_SAMPLES = (_Sample(None, True), _Sample(True, True), _Sample(False, True), _Sample({}, True), _Sample([], False))


def _samples(node: _Node, variable: str) -> Iterator[_Sample]:
    """One value for each kind that the comparisons of the variable can tell apart."""
    yield from _FIRST_SAMPLES
    literals: list[object] = []
    bounds: list[float] = []
    for part in node.comparisons():
        if part.variable != variable:
            continue
        if part.operator == "in":
            literals += part.literal
        elif part.operator in _EQUALITY:
            literals.append(part.literal)
        elif part.operator in _BOUNDS:
            bounds.append(part.literal)
    texts = [literal for literal in literals if isinstance(literal, str)]
    numbers = [js.to_number(literal) for literal in literals if js.is_number(literal)]
    converted = [number for number in map(js.to_number, texts) if not math.isnan(number)]
    yield from _text_samples(texts, numbers)
    yield from _number_samples({0.0, *numbers, *converted, *bounds})


def _number_samples(points: Iterable[float]) -> Iterator[_Sample]:
    """Every number that is named, and one from each gap before, between and after them."""
    ordered = sorted(points)
    yield _Sample(math.nextafter(ordered[0], -math.inf), False)
    for point in ordered:
        yield _Sample(point, True)
        yield _Sample(math.nextafter(point, math.inf), False)


def _text_samples(texts: list[str], numbers: list[float]) -> Iterator[_Sample]:
    """Every text that is named, other spellings of the named numbers, and text that is nothing of the kind."""
    # Blank text is 0 as a number; only without any character is it false as well.
    named = {"": None, " ": None, **dict.fromkeys((*_TRUE_WORDS, *_FALSE_WORDS))}
    for text in texts:
        # JavaScript reads "Infinity" as a number, but not in lower case, and conditions take both for one text.
        lowered = normal_text(text)
        named.update(dict.fromkeys((text, lowered, lowered.replace("infinity", "Infinity"))))
    taken = {normal_text(text) for text in named}
    for text in named:
        yield _Sample(text, True)
    for number in numbers:
        yield _Sample(_respelled(number, taken), False)
    other = "?"
    while other in taken:
        other += "?"
    yield _Sample(other, False)


def _respelled(number: float, taken: set[str]) -> str:
    """A text that converts to the number and is none of the taken ones."""
    sign = "-" if number < 0 else ""
    digits = "1e400" if math.isinf(number) else js.number_text(abs(number))
    while f"{sign}{digits}" in taken:
        digits = f"0{digits}"
    return sign + digits

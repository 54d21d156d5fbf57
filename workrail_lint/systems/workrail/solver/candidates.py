"""Values of a variable that comparisons can tell apart: at least one for each list of answers they can give.

A value is missing, a boolean, a number, a string, a list or an object. Missing values and booleans are all there.
Numbers fall into the named ones and the gaps between them. Strings are those that are named, other spellings of named
numbers, and what contains, begins or ends with the named parts: the readable ones in `candidates`, one for each class
in `distinct_texts`. A list equals nothing and reads as any string. Only patterns, and parts of strings that numbers
are written with, leave classes of which no representative may be known: `is_open`.

`distinct_texts` walks a finite automaton. Reading a string from left to right, all that matters is which parts have
been seen, which could still be completed by what comes next, whether the beginning is one of those asked for, and
whether the whole may be one of the named strings. In the order of length, that finds a shortest string for each state.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations
from typing import Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.ecma_regex import matching_texts
from workrail_lint.systems.workrail.condition_logic import BOUNDS, FALSE_WORDS, TRUE_WORDS, normal_text
from workrail_lint.systems.workrail.solver.expression import UNSET, Comparison

_MAX_STATES = 4_000
_FOREIGN_LETTERS = "~#%¤¬◊"


class _State(NamedTuple):
    tail: str  # the longest end of the string that a part begins with
    seen: frozenset[str]  # of the parts
    begun: frozenset[str]  # of the parts, those that the string begins with
    head: str | None  # the string itself while something named begins with it; None from then on


def distinct_texts(parts: Sequence[str], named: Sequence[str]) -> Iterator[str] | None:
    """Return a string for each class that the parts and the named strings can tell apart; None for too many."""
    words = [text for text in dict.fromkeys(map(normal_text, (*parts, *named))) if text]
    letters = sorted({letter for word in words for letter in word})
    letters.append(
        next(letter for letter in (*_FOREIGN_LETTERS, *map(chr, range(0x2460, 0x24FF))) if letter not in letters)
    )
    automaton = _Automaton([part for part in map(normal_text, parts) if part], words)
    texts: dict[_State, str] = {_State("", frozenset(), frozenset(), ""): ""}
    ready: list[str] = []
    waiting = deque(texts)
    while waiting:
        state = waiting.popleft()
        text = texts[state]
        # One that begins or ends with white space is read as another one.
        if text and js.trim(text) == text:
            ready.append(text)
        for letter in letters:
            if not text and js.is_blank(letter):
                continue
            following = automaton.after(state, letter)
            if following not in texts:
                if len(texts) >= _MAX_STATES:
                    return None
                texts[following] = text + letter
                waiting.append(following)
    return iter(ready)


class _Automaton:
    def __init__(self, parts: Sequence[str], words: Sequence[str]) -> None:
        self._parts = parts
        self._beginnings = {""} | {part[:size] for part in parts for size in range(len(part) + 1)}
        self._heads = {word[:size] for word in words for size in range(len(word) + 1)}

    def after(self, state: _State, letter: str) -> _State:
        text = state.tail + letter
        seen = state.seen.union(part for part in self._parts if text.endswith(part))
        tail = next(text[at:] for at in range(len(text) + 1) if text[at:] in self._beginnings)
        head = None if state.head is None else state.head + letter
        if head is None or head not in self._heads:
            return _State(tail, seen, state.begun, None)
        return _State(tail, seen, state.begun | {head} if head in self._parts else state.begun, head)


TEXTUAL = frozenset(("contains", "startsWith", "endsWith"))
# With more parts than these, not all orders and not all selections are written down: those are left to `texts`.
_MOST_ORDERED = 4
_MOST_JOINED = 7
_FOREIGN_WORDS = ("other", "another", "further", "unrelated")
_DECIMAL = frozenset("0123456789.e+-")  # what a number is written with as a string
_NUMERAL = frozenset("0123456789.+-abcdefinotxy")  # what a string that converts to a number is made of


def candidates(comparisons: Sequence[Comparison]) -> Iterator[Any]:
    """Yield values of one variable, the plainest first; some may be told apart by nothing."""
    operands = [*_operands(comparisons)]
    literals = [each for each in operands if not isinstance(each, dict | list) and each is not None]
    yield from (each for each in literals if not isinstance(each, float) or math.isfinite(each))
    numbers = {js.to_number(each) for each in literals if js.is_number(each)}
    bounds = {js.to_number(each.operand) for each in comparisons if each.operator in BOUNDS}
    numbers |= {bound for bound in bounds if not math.isnan(bound)}
    yield from map(_plain, _around(numbers))
    yield from (True, False)
    strings = [each for each in literals if isinstance(each, str)]
    parts = _parts(comparisons)
    foreign = _foreign((*strings, *parts))
    yield foreign[0]
    yield UNSET
    for comparison in comparisons:
        if comparison.operator == "matches":
            yield from matching_texts(js.text(comparison.operand), "i")
    yield from _joined(parts, foreign)
    yield from ("", " ")
    yield from (*TRUE_WORDS, *FALSE_WORDS)
    for text in strings:
        # JavaScript reads "Infinity" as a number, but not in lower case, and conditions take both for one string.
        lowered = normal_text(text)
        yield from (lowered, lowered.replace("infinity", "Infinity"))
    numbers |= {number for number in map(js.to_number, strings) if not math.isnan(number)}
    yield from map(_plain, _around({0.0, *numbers}))
    used = {normal_text(text) for text in (*strings, *TRUE_WORDS, *FALSE_WORDS)}
    for number in sorted(numbers):
        yield from _spellings(number, used)
    if any(_DECIMAL.issuperset(part) for part in parts):
        yield from _written_with(parts, numbers)
    yield []
    yield {}
    for text in (*strings, *parts, foreign[0], *_joined(parts, foreign)):
        yield [text]


def _written_with(parts: Sequence[str], numbers: Iterable[float]) -> Iterator[int | float]:
    """Yield numbers near the named ones, and such as have one of the parts in their spelling."""
    finite = sorted(filter(math.isfinite, numbers))
    yield from (_plain(number + 0.5) for number in finite)
    for part in parts:
        whole = [str(abs(math.floor(number))) for number in finite]
        spelled = [part, *(f"{digit}{part}" for digit in range(1, 10)), *(f"{part}{digit}" for digit in range(10))]
        spelled += [f"{number}.{part}" for number in whole] + [f"{number}{part}" for number in whole]
        for text in spelled:
            number = js.to_number(text)
            if math.isfinite(number):
                yield _plain(number)


def _operands(comparisons: Iterable[Comparison]) -> Iterator[Any]:
    for comparison in comparisons:
        if comparison.operator == "in" and isinstance(comparison.operand, list):
            yield from comparison.operand
        elif comparison.operator in TEXTUAL:
            yield "" if comparison.operand is None else js.text(comparison.operand)
        elif comparison.operator not in ("", "matches"):
            yield comparison.operand


def _parts(comparisons: Iterable[Comparison]) -> list[str]:
    """Return what strings are searched for, without what all of them have."""
    parts = [
        normal_text(js.text(each.operand))
        for each in comparisons
        if each.operator in TEXTUAL and each.operand is not None
    ]
    return [part for part in dict.fromkeys(parts) if part]


def _foreign(texts: Iterable[str]) -> tuple[str, str]:
    """Return two strings unlike all that are named, none of which is part of one of them or has one as its part."""
    named = [text for text in map(normal_text, texts) if text]

    def is_free(word: str) -> bool:
        return not any(word in text or text in word for text in named)

    words = [word for word in (*_FOREIGN_WORDS, "~", "#", "%", "§", "¤", "¬") if is_free(word)][:2]
    number = 0
    while len(words) < 2:
        words += [chr(0x2460 + number)] if is_free(chr(0x2460 + number)) else []
        number += 1
    return words[0], words[1]


def _joined(parts: Sequence[str], foreign: tuple[str, str]) -> Iterator[str]:
    """Yield strings with any selection of the parts, in any order, bare and among other words."""
    is_short = len(parts) <= _MOST_ORDERED
    for size in range(1, len(parts[:_MOST_JOINED]) + 1):
        for chosen in combinations(parts[:_MOST_JOINED], size):
            for ordered in permutations(chosen) if is_short else (chosen,):
                text = " ".join(ordered)
                if size > 1:
                    yield text
                yield from (f"{text} {foreign[0]}", f"{foreign[0]} {text}", f"{foreign[0]} {text} {foreign[1]}")
                if size > 1:
                    yield f" {foreign[0]} ".join(ordered)
    yield f"{foreign[0]} {foreign[1]}"


def _around(points: Iterable[float]) -> Iterator[float]:
    """Yield every number that is named, and one from each gap before, between and after them.

    No context holds infinity.
    """
    ordered = sorted(filter(math.isfinite, points))
    for index, point in enumerate(ordered):
        if not index:
            yield point - 1 if point - 1 < point else math.nextafter(point, -math.inf)
        yield point
        following = ordered[index + 1] if index + 1 < len(ordered) else math.inf
        yield _between(point, following)


def _between(low: float, high: float) -> float:
    """Return a number between two others, a whole one if possible; the lower one itself if there is none."""
    if low + 1 < high and low + 1 > low:
        return float(math.floor(low + 1))
    middle = low + (high - low) / 2
    if low < middle < high:
        return middle
    above = math.nextafter(low, math.inf)
    return above if above < high else low


def _plain(number: int | float) -> int | float:
    """Return a number as JSON writes it."""
    number = float(number)
    is_whole = number.is_integer() and abs(number) <= js.MAX_SAFE_INTEGER
    return int(number) if is_whole else number


def _spellings(number: float, existing: set[str]) -> Iterator[str]:
    """Yield strings that convert to the number: its usual spelling, and one that is none of the taken ones."""
    sign = "-" if number < 0 else ""
    digits = "1e400" if math.isinf(number) else js.number_text(abs(number))
    yield sign + digits
    if digits.isdigit():
        yield f"{sign}{digits}.0"
    while f"{sign}{digits}" in existing:
        digits = f"0{digits}"
    yield sign + digits


def is_numeric(value: Any) -> bool:
    """Return whether a value is a number, or a string that converts to one."""
    return js.is_number(value) or (isinstance(value, str) and not math.isnan(js.to_number(value)))


def is_open(comparison: Comparison, others: Sequence[Comparison]) -> bool:
    """Return whether a comparison of a variable can have answers for which no value is known, beside these others.

    Patterns can. So can a part that numerals are made of, where a number is compared with as well: which numbers
    below ten hold a 7, and which spellings of 100 an e, is for nobody to enumerate.
    """
    if comparison.operator == "matches":
        return True
    if comparison.operator not in TEXTUAL:
        return False
    part = normal_text(js.text(comparison.operand)) if comparison.operand is not None else ""
    if not part or not _NUMERAL.issuperset(part):
        return False
    if any(js.is_number(operand) for each in others if each.operator not in BOUNDS for operand in _operands([each])):
        return True
    return _DECIMAL.issuperset(part) and any(each.operator in BOUNDS for each in others)


def is_open_for_numbers(comparison: Comparison) -> bool:
    """Return whether numbers themselves can have such a part, and not only strings that convert to one, like `0x1f`."""
    return comparison.operator == "matches" or _DECIMAL.issuperset(normal_text(js.text(comparison.operand)))

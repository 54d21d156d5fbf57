"""All strings that `contains`, `startsWith` and `endsWith` can tell apart: one for each class, the shortest.

Reading a string from left to right, all that matters is which parts have been seen, which could still be completed by
what comes next, whether the beginning is one of those asked for, and whether the whole may be one of the named strings.
That is a finite automaton; walking it in the order of length finds a shortest string for every state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from workrail_lint.base import js
from workrail_lint.systems.workrail.condition_logic import normal_text

_MAX_STATES = 4_000
_FOREIGN = "~#%¤¬◊"


class _State(NamedTuple):
    tail: str  # the longest end of the string that a part begins with
    seen: frozenset[str]  # of the parts
    begun: frozenset[str]  # of the parts, those that the string begins with
    head: str | None  # the string itself while something named begins with it; None from then on


def distinct_texts(parts: Sequence[str], named: Sequence[str]) -> Iterator[str] | None:
    """A string for each class that the parts and the named strings can tell apart; None when there are too many."""
    words = [text for text in dict.fromkeys(map(normal_text, (*parts, *named))) if text]
    letters = sorted({letter for word in words for letter in word})
    letters.append(next(letter for letter in (*_FOREIGN, *map(chr, range(0x2460, 0x24FF))) if letter not in letters))
    automaton = _Automaton([part for part in map(normal_text, parts) if part], words)
    found: dict[_State, str] = {_State("", frozenset(), frozenset(), ""): ""}
    ready: list[str] = []
    waiting = deque(found)
    while waiting:
        state = waiting.popleft()
        text = found[state]
        # One that begins or ends with white space is read as another one.
        if text and js.trim(text) == text:
            ready.append(text)
        for letter in letters:
            if not text and js.is_blank(letter):
                continue
            following = automaton.after(state, letter)
            if following not in found:
                if len(found) >= _MAX_STATES:
                    return None
                found[following] = text + letter
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

"""Patterns on which a backtracking engine can take for ever.

A pattern becomes the automaton of its positions: one state for each character it names, and an edge for each
way to get from one to the next. An engine that fails tries every way, so what matters is how many there are:

- two ways around a loop for one text double the work with every character, as in `(a+)+`, `(a|a)*`,
  `(\\w+\\s*)+`;
- two loops side by side that take the same characters share a text in as many ways as it is long, as in `a*a*b`.
  If nothing after them can fail, nothing is tried again;
- a loop that starts a pattern and has to reach the end is tried anew from each character of a long run, as in `\\s+$`.

A repetition with a high limit is as good as one without: `(a{1,30}){1,30}` has as many ways as anybody can wait for. So
has one that demands many rounds of a part that may be empty, as in `(a?){40}`.
"""

from __future__ import annotations

from itertools import pairwise

from workrail_lint.base.regex_analysis.characters import EVERYTHING, NOTHING, Ranges, overlap
from workrail_lint.base.regex_analysis.syntax import Assertion, Atom, Either, Join, Look, Program, Reference, Repeat

_MAX_POSITIONS = 2000
_MAX_EDGES = 20_000
_MAX_PAIRS = 20_000
_MANY_ROUNDS = 10

EXPONENTIAL = "a repeated part can match the same text in several ways"
POLYNOMIAL = "two repetitions side by side match the same characters"
UNANCHORED = "it must reach the end of the text, and is tried again from each character of a long run; start it with ^"


class _TooLarge(Exception):  # noqa: N818 - a signal, not an error
    """More states than are worth looking at."""


class _Part:
    """A part of the automaton: the positions it starts and ends with, and whether it can be left out."""

    __slots__ = ("first", "last", "nullable", "start")

    def __init__(self, first: list[int], last: list[int], nullable: bool, start: int) -> None:
        self.first = first
        self.last = last
        self.nullable = nullable
        self.start = start  # its positions are those from here to the end, at the time it is made


def slow(program: Program) -> str | None:
    """Return why matching can take very long; None when it can't, or when the pattern is too large to tell."""
    if not any(isinstance(op, Repeat) and (op.high is None or op.high >= _MANY_ROUNDS) for op in program.operations):
        return None
    automaton = _Automaton()
    final: list[int] = []
    try:
        whole = automaton.build(program)
        final = whole.last
        if automaton.is_exponential():
            return EXPONENTIAL
        if not automaton.is_polynomial(final) and automaton.is_unanchored(whole):
            return UNANCHORED
    except _TooLarge:
        # What was built is part of the whole: a loop found in it is one of the pattern.
        if automaton.has_double_edge():
            return EXPONENTIAL
    return POLYNOMIAL if automaton.is_polynomial(final) else None


class _Automaton:
    def __init__(self) -> None:
        self.sets: list[Ranges] = []
        self.edges: list[dict[int, int]] = []  # with the number of ways
        self.count = 0
        self.ends: set[int] = set()  # the positions that stand for `$`
        self.has_empty_rounds = False

    def build(self, program: Program) -> _Part:
        stack: list[_Part] = []
        for operation in program.operations:
            match operation:
                case Atom(ranges, _):
                    stack.append(self._position(ranges))
                case Assertion(is_end):
                    if is_end:
                        self.ends.add(len(self.sets))
                    # It consumes nothing, but what follows can't go on as if it were not there.
                    stack.append(self._position(NOTHING))
                case Reference():
                    stack.append(_Part([], [], True, len(self.sets)))
                case Join(size):
                    stack.append(self._join(_pop(stack, size)))
                case Either(size):
                    stack.append(_either(_pop(stack, size)))
                case Repeat(low, high):
                    stack.append(self._repeat(stack.pop(), low, high))
                case Look():
                    body = stack.pop()
                    barrier = self._position(NOTHING)
                    stack.append(_Part(barrier.first, barrier.last, False, body.start))
        return stack[0]

    def _position(self, ranges: Ranges) -> _Part:
        if len(self.sets) >= _MAX_POSITIONS:
            raise _TooLarge
        here = len(self.sets)
        self.sets.append(ranges)
        self.edges.append({})
        return _Part([here], [here], False, here)

    def _connect(self, sources: list[int], targets: list[int]) -> None:
        self.count += len(sources) * len(targets)
        if self.count > _MAX_EDGES:
            raise _TooLarge
        for source in sources:
            ways = self.edges[source]
            for target in targets:
                ways[target] = ways.get(target, 0) + 1

    def _join(self, parts: list[_Part]) -> _Part:
        if not parts:
            return _Part([], [], True, len(self.sets))
        first, last, nullable = parts[0].first, parts[0].last, parts[0].nullable
        for part in parts[1:]:
            self._connect(last, part.first)
            if nullable:
                first = first + part.first
            last = part.last + last if part.nullable else part.last
            nullable = nullable and part.nullable
        return _Part(first, last, nullable, parts[0].start)

    def _repeat(self, part: _Part, low: int, high: int | None) -> _Part:
        """Return what a repetition matches. A few rounds stand for many: two required ones, two optional ones."""
        if high == 0:
            return _Part([], [], True, part.start)
        if part.nullable and part.first and low >= _MANY_ROUNDS:
            self.has_empty_rounds = True
        if high is not None and high - low >= _MANY_ROUNDS:
            high = None
        if high is None:
            rounds = self._rounds(part, max(min(low, 2), 1))
            self._connect(rounds[-1].last, rounds[-1].first)
            demanded = min(low, 2)
        else:
            demanded = min(low, 2)
            rounds = self._rounds(part, max(demanded + min(high - low, 2), 1))
        # Each round can be reached only through the one before, so a round more is never a second way.
        first, last = list(rounds[0].first), list(rounds[-1].last)
        for position, (before, after) in enumerate(pairwise(rounds), start=1):
            self._connect(before.last, after.first)
            if all(other.nullable for other in rounds[:position]):
                first += after.first
            if position >= demanded or all(other.nullable for other in rounds[position:]):
                last += before.last
        nullable = demanded == 0 or all(other.nullable for other in rounds)
        return _Part(first, last, nullable, part.start)

    def _rounds(self, part: _Part, count: int) -> list[_Part]:
        """Return the part and copies of it."""
        start, end = part.start, len(self.sets)
        rounds = [part]
        for _ in range(count - 1):
            offset = len(self.sets) - start
            if end + offset > _MAX_POSITIONS:
                raise _TooLarge
            self.sets += self.sets[start:end]
            self.edges += [{target + offset: n for target, n in ways.items()} for ways in self.edges[start:end]]
            first, last = ([place + offset for place in places] for places in (part.first, part.last))
            rounds.append(_Part(first, last, part.nullable, start + offset))
        return rounds

    def _inner(self) -> list[list[int]]:
        """Return, for each position, those after it from which there is a way back."""
        component = _components(self.edges)
        return [
            [target for target in ways if component[target] == component[source]]
            for source, ways in enumerate(self.edges)
        ]

    def has_double_edge(self) -> bool:
        """Return whether a loop has a step that can be taken in two ways."""
        return any(
            self.edges[source][target] > 1 and self.sets[target]
            for source, targets in enumerate(self._inner())
            for target in targets
        )

    def is_exponential(self) -> bool:
        """Return whether some position comes back to itself in two ways over one text."""
        if self.has_empty_rounds or self.has_double_edge():
            return True
        inner = self._inner()
        # Two travellers start together, take different ways over the same text, and meet again.
        seen: set[tuple[int, int]] = set()
        pending = [(place, place) for place, targets in enumerate(inner) if targets]
        steps = 0
        while pending:
            left, right = pending.pop()
            for a in inner[left]:
                for b in inner[right]:
                    steps += 1
                    if (a == b and left == right) or not overlap(self.sets[a], self.sets[b]):
                        continue
                    if a == b:
                        return True
                    pair = (a, b) if a < b else (b, a)
                    if pair not in seen:
                        seen.add(pair)
                        pending.append(pair)
            if steps > _MAX_PAIRS:
                raise _TooLarge
        return False

    def is_unanchored(self, whole: _Part) -> bool:
        """Return whether a loop starts the pattern and must be followed by the end of the text."""
        inner = {target for source, ways in enumerate(self.edges) for target in ways if target != source}
        return any(
            place in self.edges[place] and self.sets[place] != EVERYTHING and self.ends.intersection(self.edges[place])
            for place in whole.first
            if not self.edges[place].keys() - self.ends - {place} and place not in whole.last and place not in inner
        )

    def is_polynomial(self, final: list[int]) -> bool:
        """Return whether two loops of one character each follow each other, share a character, and can fail after."""
        for source, ways in enumerate(self.edges):
            if source not in ways:
                continue
            for target in ways:
                if target == source or target not in self.edges[target] or target in final:
                    continue
                if overlap(self.sets[source], self.sets[target]):
                    return True
        return False


def _pop(stack: list[_Part], size: int) -> list[_Part]:
    parts = stack[len(stack) - size :]
    del stack[len(stack) - size :]
    return parts


def _either(parts: list[_Part]) -> _Part:
    return _Part(
        [place for part in parts for place in part.first],
        [place for part in parts for place in part.last],
        any(part.nullable for part in parts),
        parts[0].start,
    )


def _components(edges: list[dict[int, int]]) -> list[int]:
    """Return the strongly connected component of each position (Tarjan, without recursion)."""
    order: list[int] = [-1] * len(edges)
    low: list[int] = [0] * len(edges)
    component: list[int] = [-1] * len(edges)
    path: list[int] = []
    counter = 0
    for root in range(len(edges)):
        if order[root] >= 0:
            continue
        order[root] = low[root] = counter
        counter += 1
        path.append(root)
        work = [(root, iter(edges[root]))]
        while work:
            node, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    while True:
                        member = path.pop()
                        component[member] = node
                        if member == node:
                            break
            elif order[target] < 0:
                order[target] = low[target] = counter
                counter += 1
                path.append(target)
                work.append((target, iter(edges[target])))
            elif component[target] < 0:
                low[node] = min(low[node], order[target])
    return component

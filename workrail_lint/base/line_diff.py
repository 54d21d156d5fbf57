"""Unified diffs in time that grows with the texts.

`difflib` looks at all that is left for every stretch that two texts share: thousands of small changes in a large file
take minutes. Lines that occur once in both texts divide the work first; between them little is left to compare.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher

# Below so many lines nothing has to be divided.
_FEW = 1_000


def unified_diff(old: Sequence[str], new: Sequence[str], path: str | None = None, *, context: int = 3) -> Iterator[str]:
    """Yield the lines of a unified diff without line ends; with a path, its two header lines come first."""
    matcher = _Matcher(old, new)
    shows_path = path is not None
    for group in matcher.get_grouped_opcodes(context):
        if shows_path:
            yield f"--- {path}"
            yield f"+++ {path}"
            shows_path = False
        yield f"@@ -{_range(group[0][1], group[-1][2])} +{_range(group[0][3], group[-1][4])} @@"
        for kind, i, j, k, m in group:
            if kind == "equal":
                yield from (f" {line}" for line in old[i:j])
                continue
            yield from (f"-{line}" for line in old[i:j])
            yield from (f"+{line}" for line in new[k:m])


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


class _Matcher(SequenceMatcher[str]):
    """Finds what two texts share, divided at lines that occur once in both."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new)
        self._old, self._new = old, new

    def get_matching_blocks(self) -> list[Match]:
        if len(self._old) + len(self._new) < _FEW:
            return super().get_matching_blocks()
        return _joined([*self._between_anchors(), Match(len(self._old), len(self._new), 0)])

    def _between_anchors(self) -> Iterator[Match]:
        at_old = at_new = 0
        for old, new in [*_anchors(self._old, self._new), (len(self._old), len(self._new))]:
            left, right = self._old[at_old:old], self._new[at_new:new]
            if left and right:
                for block in SequenceMatcher(None, left, right).get_matching_blocks()[:-1]:
                    yield Match(block.a + at_old, block.b + at_new, block.size)
            if old < len(self._old):
                yield Match(old, new, 1)
            at_old, at_new = old + 1, new + 1


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return where lines are that occur once in both texts: as many as come in the same order in both."""
    once_old, once_new = ({line for line, count in Counter(lines).items() if count == 1} for lines in (old, new))
    places = {line: at for at, line in enumerate(new) if line in once_new}
    pairs = [(at, places[line]) for at, line in enumerate(old) if line in once_old and line in places]
    # The longest sequence in which both rise, by patience sorting.
    tops: list[int] = []
    piles: list[int] = []
    before: list[int] = []
    for number, (_, at) in enumerate(pairs):
        pile = bisect_left(tops, at)
        before.append(piles[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [at]
        piles[pile : pile + 1] = [number]
    anchors: list[tuple[int, int]] = []
    number = piles[-1] if piles else -1
    while number >= 0:
        anchors.append(pairs[number])
        number = before[number]
    return anchors[::-1]


def _joined(blocks: list[Match]) -> list[Match]:
    """Return the blocks with neighbours made one."""
    result: list[Match] = []
    for block in blocks:
        last = result[-1] if result else None
        if last is not None and block.size and (last.a + last.size, last.b + last.size) == (block.a, block.b):
            result[-1] = Match(last.a, last.b, last.size + block.size)
        else:
            result.append(block)
    return result

"""Unified diffs that stay cheap: what `patch` makes of them is the new text, and small ones are those of difflib."""

from __future__ import annotations

import difflib
import random
import re
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from tests.effort import lines_run
from workrail_lint.base.line_diff import unified_diff

LINES = st.lists(st.sampled_from(["{", "}", "  a", "  b", "c", ""]), max_size=30)


def applied(old: list[str], patch: Iterable[str]) -> list[str]:
    """What a patch makes of a text, by the letter of its hunks."""
    made: list[str] = []
    at = 0
    for line in patch:
        if match := re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@", line):
            start = int(match[1]) - (0 if match[2] == "0" else 1)
            made += old[at:start]
            at = start
        elif line.startswith(("---", "+++")):
            continue
        elif line.startswith("+"):
            made.append(line[1:])
        else:
            assert old[at] == line[1:]
            at += 1
            if line.startswith(" "):
                made.append(line[1:])
    return made + old[at:]


@given(LINES, LINES)
def test_small_texts_have_the_diff_of_difflib(old: list[str], new: list[str]) -> None:
    expected = list(difflib.unified_diff(old, new, "a.json", "a.json", lineterm=""))
    assert list(unified_diff(old, new, "a.json")) == expected


def test_large_texts_are_made_of_one_another() -> None:
    for seed in range(5):
        chance = random.Random(seed)
        old = [f"line {number}" if chance.random() < 0.5 else "  }," for number in range(1_500)]
        new = [line for line in old if chance.random() < 0.9]
        for _ in range(100):
            new.insert(chance.randrange(len(new)), chance.choice(["  },", f"new {chance.random()}"]))
        assert applied(old, unified_diff(old, new)) == new


def test_many_changes_cost_no_more_each_than_few() -> None:
    def cost(count: int) -> int:
        old = [line for number in range(count) for line in ("{", f"  {number}", "  old", "}")]
        new = [line.replace("old", "new") for line in old]
        return lines_run(lambda: list(unified_diff(old, new)))

    assert cost(2_000) < 5 * cost(500)

"""Static analysis of ECMAScript patterns: what a text must contain to match.

Used to check the patterns that authors write: how little satisfies one, which words it spells, whether it can
backtrack forever, and which syntax only JavaScript understands. Total on any text, valid or not.
"""

from __future__ import annotations

from functools import lru_cache

from workrail_lint.base.ecma_regex import LONGEST
from workrail_lint.base.regex_analysis.backtracking import slow
from workrail_lint.base.regex_analysis.required_text import Facts
from workrail_lint.base.regex_analysis.syntax import parse

__all__ = ["LONG", "Facts", "analyze", "why_slow"]

LONG = 1000  # characters; a longer pattern is a risk as such


@lru_cache(maxsize=4096)
def analyze(pattern: str, flags: str = "") -> Facts | None:
    """Return the facts about a pattern; None if it is too long to analyze."""
    return Facts(parse(pattern, flags)) if len(pattern) <= LONGEST else None


@lru_cache(maxsize=4096)
def why_slow(pattern: str, flags: str = "") -> str | None:
    """Return why matching the pattern can take very long; None if there is no reason."""
    if len(pattern) > LONG:
        return f"the pattern has {len(pattern):,} characters"
    return slow(parse(pattern, flags))

"""Static analysis of ECMAScript patterns: what a text must contain to match.

Used to check the patterns that authors write: how little satisfies one, which words it spells, whether it can
backtrack forever, and which syntax only JavaScript understands. Total on any text, valid or not.
"""

from __future__ import annotations

from functools import lru_cache

from workrail_lint.base.ecma_regex import compile_pattern
from workrail_lint.base.regex_analysis.backtracking import slow
from workrail_lint.base.regex_analysis.required_text import Facts
from workrail_lint.base.regex_analysis.syntax import parse
from workrail_lint.base.result import Err

__all__ = ["FLAGS", "LONG", "LONGEST", "Facts", "analyze", "why_invalid", "why_invalid_flags", "why_slow"]

FLAGS = "dgimsuvy"
LONG = 1000  # characters; a longer pattern is a risk as such
LONGEST = 20_000  # a longer one is not looked into
# What the translation can't evaluate although it may well be valid.
_NOT_JUDGED = (
    "groups nested too deeply",
    "set notation of the 'v' flag is not supported",
    "too many repetitions to evaluate",
)


@lru_cache(maxsize=4096)
def analyze(pattern: str, flags: str = "") -> Facts | None:
    """The facts about a pattern; None if it is too long to analyze."""
    return Facts(parse(pattern, flags)) if len(pattern) <= LONGEST else None


@lru_cache(maxsize=4096)
def why_slow(pattern: str, flags: str = "") -> str | None:
    """Why matching the pattern can take very long; None if there is no reason."""
    if len(pattern) > LONG:
        return f"the pattern has {len(pattern):,} characters"
    return slow(parse(pattern, flags))


def why_invalid_flags(flags: str) -> str | None:
    """Why an engine rejects the flags of a pattern; None if it accepts them."""
    unknown = [flag for flag in dict.fromkeys(flags) if flag not in FLAGS]
    if unknown:
        return f"unknown {_flags(unknown)}; expected {', '.join(FLAGS)}"
    repeated = [flag for flag in dict.fromkeys(flags) if flags.count(flag) > 1]
    if repeated:
        return f"repeated {_flags(repeated)}"
    return "flags u and v can't be combined" if "u" in flags and "v" in flags else None


def _flags(flags: list[str]) -> str:
    return f"{'flag' if len(flags) == 1 else 'flags'} {', '.join(map(repr, flags))}"


def why_invalid(pattern: str, flags: str = "") -> str | None:
    """Why an engine rejects the pattern; None if it accepts it, or if that can't be determined here."""
    if len(pattern) > LONGEST:
        return None

    # Only these flags change the grammar; folding cases would cost time for nothing.
    result = compile_pattern(pattern, "".join(flag for flag in "uv" if flag in flags))
    return result.error if isinstance(result, Err) and result.error not in _NOT_JUDGED else None

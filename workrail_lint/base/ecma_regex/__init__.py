"""ECMAScript regular expressions on top of the `regex` package.

Authors write patterns for a JavaScript engine. Handing them to a Python engine unchanged gives wrong
answers (`$`, `.`, `\\d`, case folding, UTF-16) and wrong verdicts (`(?i)`, `a++`, `\\A` mean something
else or nothing), so a pattern is parsed by ECMAScript's grammar, including the legacy part for the web,
and written out again with every character class spelled out.

Case-insensitive search canonicalizes both sides: the translated pattern and the text. Then one plain
comparison answers for literals, classes and back references alike.

Known limits: a group inside a repeated group keeps its last capture, where ECMAScript forgets it at each
round (only a reference from inside the repeated group can see it); the set notation of the `v` flag is
refused; so are groups nested more than a hundred deep and lower bounds that multiply to many thousands.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Literal

from workrail_lint.base.result import Err, Ok

__all__ = [
    "DEFAULT_TIMEOUT",
    "FLAGS",
    "LONGEST",
    "Pattern",
    "compile_pattern",
    "matching_texts",
    "shared_time",
    "why_invalid",
    "why_invalid_flags",
]

DEFAULT_TIMEOUT = 1.0
FLAGS = "dgimsuvy"
LONGEST = 20_000  # a longer pattern is not looked into
# What the translation can't evaluate although it may well be valid.
_NOT_JUDGED = (
    "groups nested too deeply",
    "set notation of the 'v' flag is not supported",
    "too many repetitions to evaluate",
)
_spent: ContextVar[float] = ContextVar("spent", default=0.0)  # seconds of searches, in all
_limit: ContextVar[float] = ContextVar("limit", default=float("inf"))  # as far as `spent` may grow


@contextmanager
def shared_time(seconds: float) -> Iterator[None]:
    """Let all searches inside share some seconds of processor time. What is searched later times out at once."""
    outer = _limit.set(min(_limit.get(), _spent.get() + seconds))
    try:
        yield
    finally:
        _limit.reset(outer)


class Pattern:
    """A pattern that is valid ECMAScript, ready to search."""

    __slots__ = ("_find", "flags", "source")

    def __init__(self, source: str, flags: str, find: Callable[[str, float], bool]) -> None:
        self.source = source
        self.flags = flags
        self._find = find  # in a text, in so many seconds

    def __repr__(self) -> str:
        return f"Pattern({self.source!r}, {self.flags!r})"

    def search(self, text: str, timeout: float = DEFAULT_TIMEOUT) -> Ok[bool] | Err[Literal["timeout"]]:
        """Return whether the pattern is found; the search gives up after `timeout` seconds of processor time."""
        limit = _limit.get() - _spent.get()
        if limit <= 0:
            return Err("timeout")
        begun = time.process_time()
        try:
            return Ok(self._find(text, min(timeout, limit)))
        except TimeoutError:
            return Err("timeout")
        finally:
            _spent.set(_spent.get() + time.process_time() - begun)


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str, flags: str = "") -> Ok[Pattern] | Err[str]:
    """Return the pattern, or why ECMAScript does not accept it."""
    from workrail_lint.base.ecma_regex.syntax import InvalidPatternError, Translation  # few documents have patterns

    try:
        return Ok(Pattern(pattern, flags, Translation(pattern, flags).find))
    except InvalidPatternError as error:
        return Err(str(error))


def why_invalid_flags(flags: str) -> str | None:
    """Return why an engine rejects the flags of a pattern; None if it accepts them."""
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
    """Return why an engine rejects the pattern; None if it accepts it, or if that can't be determined here."""
    if len(pattern) > LONGEST:
        return None

    # Only these flags change the grammar; folding cases would cost time for nothing.
    result = compile_pattern(pattern, "".join(flag for flag in "uv" if flag in flags))
    return result.error if isinstance(result, Err) and result.error not in _NOT_JUDGED else None


@lru_cache(maxsize=256)
def matching_texts(pattern: str, flags: str = "") -> tuple[str, ...]:
    """Return short texts in which the pattern is found, the simplest first; none when no guess was right."""
    compiled = compile_pattern(pattern, flags)
    if isinstance(compiled, Err) or len(pattern) > LONGEST:
        return ()
    from workrail_lint.base.pattern_texts import texts_for  # few runs need a text for a pattern

    return tuple(dict.fromkeys(texts_for(compiled.value)))

"""TOML to a value, at a cost that grows with the text.

The parser of the standard library compares every part of a key with all parts before it, so that one key of many parts
takes as long as it likes. What no configuration needs is refused before the text is parsed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok

MAX_KEY_PARTS = 16
MAX_DIGITS = 400  # no double has more, and every Python converts as many
_SHOWN = 20
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"?|'[^'\n]*+'?)"""
_KEY_PART = Pattern(_PART)
# A comment, a string of several lines, or what may be a key; a string that is not closed ends with its text or line.
_TOKEN = Pattern(
    r'#[^\n]*+|"""(?:[^"\\]|\\(?s:.)|""?(?!"))*+"{0,5}|' + r"'''(?:[^']|''?(?!'))*+'{0,5}|"
    rf"(?P<key>{_PART}(?:[ \t]*+\.[ \t]*+{_PART})*+)"
)
_NUMBER = Pattern(r"-?[0-9][0-9A-Za-z_]*+")


class TomlProblem(NamedTuple):
    """Why a text can't be read, and the number of the line if it is known."""

    message: str
    line: int | None


def read_toml(text: str) -> Ok[dict[str, Any]] | Err[TomlProblem]:
    """Return the value of a TOML text, or why it has none."""
    for start, message in _excesses(text):
        line = text.count("\n", 0, start) + 1
        return Err(TomlProblem(f"{message} (at line {line})", line))
    try:
        return Ok(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        return Err(TomlProblem(str(error), _line_of(str(error))))
    except RecursionError:
        return Err(TomlProblem("nested too deeply", None))


def _excesses(text: str) -> Iterator[tuple[int, str]]:
    """Yield the place of each key or number that is too long, and what to say about it."""
    for match in _TOKEN.finditer(text):
        key = match["key"]
        if key is None:
            continue
        if key.count(".") >= MAX_KEY_PARTS and len(_KEY_PART.findall(key)) > MAX_KEY_PARTS:
            yield match.start(), f"the key {key[:_SHOWN]}… has more than {MAX_KEY_PARTS} parts"
        if len(key) > MAX_DIGITS:
            number = _NUMBER.match(key)
            if number is not None and len(number[0]) > MAX_DIGITS:
                yield match.start(), f"the number {key[:_SHOWN]}… has more than {MAX_DIGITS} digits"


def _line_of(message: str) -> int | None:
    place = Pattern(r"\(at line (\d+), column \d+\)").search(message)
    return None if place is None else int(place[1])

"""Orders, budgets and keys of the engine. JavaScript's value semantics are in `workrail_lint.base.js`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok

TRUNCATION_MARKER = "\n\n[TRUNCATED]"
_MARKER_BYTES = js.u8_length(TRUNCATION_MARKER)

_PRIMARY = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ASCII = 128
CollationKey: TypeAlias = tuple[str, str]


def _weights() -> dict[int, int]:
    """The primary weight of each ASCII character, below all others; control characters, which no id has, come first."""
    ranked = [*_PRIMARY, *_LETTERS]
    control = [chr(code) for code in range(_ASCII) if chr(code).lower() not in ranked]
    weights = {ord(char): rank for rank, char in enumerate([*control, *ranked])}
    return weights | {ord(char.upper()): weights[ord(char)] for char in _LETTERS}


_WEIGHTS = _weights()
_CASES = {code: int(chr(code).isupper()) for code in range(_ASCII)}


# Keys of a run are sorted again with every step, nearly all of them for the second time.
@lru_cache(maxsize=8192)
def collation_key(text: str) -> CollationKey:
    """Sorts as the root Unicode collation does for ASCII; other characters follow `z` by code point."""
    return text.translate(_WEIGHTS), text.translate(_CASES)


def collated(texts: Iterable[str]) -> list[str]:
    """The texts in collation order."""
    return sorted(texts, key=collation_key)


def utf8_prefix(text: str, limit: int) -> str:
    """The longest prefix of at most `limit` UTF-8 bytes; never cuts a character."""
    if limit <= 0:
        return ""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return text
    end = limit
    while raw[end] & 0xC0 == 0x80:
        end -= 1
    return raw[:end].decode("utf-8", "surrogatepass")


def truncate_marked(text: str, limit: int) -> str:
    """The text within `limit` bytes; what was cut is marked at the end, inside the limit."""
    if len(text) * 4 <= limit or js.u8_length(text) <= limit:
        return text
    return utf8_prefix(text, limit - _MARKER_BYTES) + utf8_prefix(TRUNCATION_MARKER, limit)


class LoopPosition(NamedTuple):
    """A loop and the iteration it is in, counted from zero."""

    loop_id: str
    iteration: int


LoopPath: TypeAlias = tuple[LoopPosition, ...]


class StepKeyError(NamedTuple):
    """Why a text is not the key of a step instance."""

    code: Literal["STEP_INSTANCE_KEY_EMPTY", "STEP_INSTANCE_KEY_BAD_FORMAT"]
    message: str


_SAFE = "abcdefghijklmnopqrstuvwxyz0123456789_-"
_STEP_ID = Pattern(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
# Bounded because Python refuses to read a number of many thousand digits.
_ITERATION = Pattern(r"[0-9]{1,1000}")


def is_safe_id(text: str) -> bool:
    """Whether an id can stand between delimiters."""
    return bool(text) and not text.strip(_SAFE)


def is_step_id(text: str) -> bool:
    """Whether this can be the id of a step after template expansion, dots included."""
    return is_safe_id(text) or _STEP_ID.fullmatch(text) is not None


def step_key(step_id: str, loop_path: LoopPath = ()) -> str:
    """The name under which a step instance is counted as completed."""
    if not loop_path:
        return step_id
    path = "/".join(f"{loop_id}@{iteration}" for loop_id, iteration in loop_path)
    return f"{path}::{step_id}"


@lru_cache(maxsize=8192)
def parse_step_key(key: str) -> Ok[tuple[str, LoopPath]] | Err[StepKeyError]:
    """The step id and the loop path of a key."""
    if not key:
        return Err(StepKeyError("STEP_INSTANCE_KEY_EMPTY", "A step instance key must not be empty"))
    path, separator, step_id = key.rpartition("::")
    positions: list[LoopPosition] = []
    for segment in path.split("/") if separator else ():
        loop_id, _, iteration = segment.partition("@")
        if not is_safe_id(loop_id) or not _ITERATION.fullmatch(iteration):
            return Err(_bad_format(key))
        positions.append(LoopPosition(loop_id, int(iteration)))
    if not is_step_id(step_id):
        return Err(_bad_format(key))
    return Ok((step_id, tuple(positions)))


def _bad_format(key: str) -> StepKeyError:
    return StepKeyError("STEP_INSTANCE_KEY_BAD_FORMAT", f"Not a step instance key: '{key}'")

"""Places in a run: step instances, the loops around them, their keys; and the order and budgets of strings."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.model.base import Closed, Index
from pytest_workrail.engine.model.ids import SafeId, StepId
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


class LoopPosition(Closed, frozen=True):
    """A loop and the iteration it is in, counted from zero."""

    loop_id: SafeId
    iteration: Index


LoopPath: TypeAlias = tuple[LoopPosition, ...]


class StepKeyError(Struct, frozen=True):
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
    path = "/".join([f"{at.loop_id}@{at.iteration}" for at in loop_path])
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


def check_step_key(key: str) -> None:
    """Raise ValueError for a string that is not the key of a step instance."""
    if isinstance(parse_step_key(key), Err):
        raise ValueError("must be the key of a step instance")


class LoopFrame(Closed, frozen=True):
    """A loop under way: its iteration and the body step it has reached, both counted from zero."""

    loop_id: SafeId
    iteration: Index
    body_index: Index


class StepInstance(Closed, frozen=True, omit_defaults=False):
    """A step in the loop iteration it belongs to."""

    step_id: StepId
    loop_path: LoopPath = ()

    @property
    def key(self) -> str:
        """The name under which it is counted as completed."""
        return step_key(self.step_id, self.loop_path)


class CompletedKeys:
    """A set of keys that only grows, and shares what it holds with the sets it grew from.

    The keys lie in chunks whose sizes fall like the digits of a binary number, but for the last few: adding
    some keys merges chunks of equal size, so a run of n steps copies each key about log n times and never all
    of them at every step. The sorted order is computed on first use and kept.
    """

    __slots__ = ("_chunks", "_last", "_new", "_ordered")

    def __init__(self, keys: Iterable[str] = ()) -> None:
        chunk = dict.fromkeys(keys)
        self._chunks: tuple[dict[str, None], ...] = (chunk,) if chunk else ()
        self._last: tuple[str, ...] = ()
        # Keys in collation order, and those that were added since; None until first needed.
        self._ordered: tuple[str, ...] | None = None
        self._new: tuple[str, ...] = ()

    @classmethod
    def from_ordered(cls, keys: tuple[str, ...]) -> "CompletedKeys":
        """The set of keys that a reader has checked and found in collation order."""
        result = cls(keys)
        result._ordered = keys
        return result

    def in_order(self, check: Callable[[str], object]) -> tuple[str, ...]:
        """The keys in collation order; `check` sees each key the first time the order is asked for with it."""
        ordered = self._ordered
        if ordered is None:
            for key in self:
                check(key)
            ordered = tuple(collated(self))
        elif self._new:
            keys = list(ordered)
            for key in self._new:
                check(key)
                keys.insert(bisect_left(keys, collation_key(key), key=collation_key), key)
            ordered = tuple(keys)
        self._ordered, self._new = ordered, ()
        return ordered

    def to_json(self) -> tuple[str, ...]:
        """Return the keys as they are stored. Raise ValueError for one that is not the key of a step instance."""
        return self.in_order(check_step_key)

    @classmethod
    def from_json(cls, keys: Any) -> "CompletedKeys":
        """Return the set that was stored. Raise ValueError unless its keys are sorted and unique."""
        if type(keys) is not list:
            raise ValueError("completed keys are a list")
        for key in keys:
            if type(key) is not str:
                raise ValueError("a completed key is a string")
            check_step_key(key)
        order = [collation_key(key) for key in keys]
        if any(not before < after for before, after in pairwise(order)):
            raise ValueError("completed keys are sorted and unique")
        return cls.from_ordered(tuple(keys))

    def with_key(self, key: str) -> "CompletedKeys":
        """The same set and one key more."""
        return self if key in self else self.with_new_key(key)

    def with_new_key(self, key: str) -> "CompletedKeys":
        """The same for a key that is known not to be among them."""
        chunks, last = self._chunks, (*self._last, key)
        if len(last) == _FEW:
            chunks, last = _merged(chunks, dict.fromkeys(last)), ()
        result = _new_keys(CompletedKeys)
        result._chunks = chunks
        result._last = last
        ordered = result._ordered = self._ordered
        result._new = () if ordered is None else (*self._new, key)
        return result

    def __contains__(self, key: object) -> bool:
        for chunk in self._chunks:
            if key in chunk:
                return True
        return key in self._last

    def __iter__(self) -> Iterator[str]:
        """The keys in the order they were completed."""
        for chunk in self._chunks:
            yield from chunk
        yield from self._last

    def __len__(self) -> int:
        return sum(map(len, self._chunks)) + len(self._last)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CompletedKeys) and set(self) == set(other)

    def __hash__(self) -> int:
        return hash(frozenset(self))

    def __repr__(self) -> str:
        return f"CompletedKeys({list(self)!r})"


_FEW = 16
_new_keys = CompletedKeys.__new__


def _merged(chunks: tuple[dict[str, None], ...], grown: dict[str, None]) -> tuple[dict[str, None], ...]:
    end = len(chunks)
    while end and len(chunks[end - 1]) <= len(grown):
        end -= 1
        grown = chunks[end] | grown
    return (*chunks[:end], grown)

"""Execution states: immutable values, so that a run can be continued from any of them at any time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import Any, NamedTuple, TypeAlias

from pytest_workrail.engine.core.values import LoopPath, LoopPosition, collated, collation_key, step_key
from pytest_workrail.records import Record


class LoopFrame(NamedTuple):
    """A loop under way: its iteration and the body step it has reached, both counted from zero."""

    loop_id: str
    iteration: int
    body_index: int


class StepInstance(Record):
    """A step in the loop iteration it belongs to."""

    step_id: str
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
    def from_ordered(cls, keys: tuple[str, ...]) -> CompletedKeys:
        """The set of keys that a reader has checked and found in collation order."""
        made = cls(keys)
        made._ordered = keys
        return made

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

    def with_key(self, key: str) -> CompletedKeys:
        """The same set and one key more."""
        return self if key in self else self.with_new_key(key)

    def with_new_key(self, key: str) -> CompletedKeys:
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


class Init(Record):
    """Nothing was selected yet."""


class Running(Record, guarded=False):
    """Under way; a step is pending between its selection and its completion.

    `progress` is the interpreter's own note of where to look next. It follows from the other members, so
    it takes no part in comparisons and may be left out.
    """

    completed: CompletedKeys = CompletedKeys()
    loop_stack: tuple[LoopFrame, ...] = ()
    pending: StepInstance | None = None
    progress: tuple[object, int] | None = field(default=None, compare=False, repr=False)


class Complete(Record):
    """Over: no eligible step remained."""


State: TypeAlias = Init | Running | Complete


def state_from_json(value: dict[str, Any]) -> State:
    """A state from its durable form, which a reader has checked; a blocked state is a running one here."""
    match value["kind"]:
        case "init":
            return Init()
        case "complete":
            return Complete()
        case _:
            pending = value["pending"]
            return Running(
                CompletedKeys(value["completed"]["values"]),
                tuple(LoopFrame(f["loopId"], f["iteration"], f["bodyIndex"]) for f in value["loopStack"]),
                _pending_from_json(pending["step"]) if pending["kind"] == "some" else None,
            )


def _pending_from_json(step: dict[str, Any]) -> StepInstance:
    path = tuple(LoopPosition(at["loopId"], at["iteration"]) for at in step["loopPath"])
    return StepInstance(step["stepId"], path)

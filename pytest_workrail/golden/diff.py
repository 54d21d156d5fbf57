"""What changed between two goldens: which response, which field; then the text.

A run that takes one call more moves every later response and renumbers every later symbol. Neither is a change of
its own, so responses are aligned first, and symbols are compared by what they stand for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import SequenceMatcher, unified_diff
from typing import Any, Literal, NamedTuple

from pytest_workrail.golden.symbols import joined
from workrail_lint.base.terminal import printable
from workrail_lint.documents import pointer

_SYMBOL = re.compile(r"(«[A-Z]+[0-9]+(?: altered)?»)")
_NUMBER = re.compile(r"(?<=[A-Z])[0-9]+(?= altered»|»)")
_MISSING = object()
Change = Literal["changed", "added", "removed"]


class Difference(NamedTuple):
    """One change. `place` says in words what `pointer` says to programs: where in the golden it is.

    `pointer` leads into the new golden, or into the old one where something was removed; `field` is the part of
    it below `place`.
    """

    change: Change
    place: str
    field: str
    pointer: str
    old: Any = None
    new: Any = None

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"change": self.change, "place": self.place, "pointer": self.pointer}
        if self.change != "added":
            shown["old"] = self.old
        if self.change != "removed":
            shown["new"] = self.new
        return shown


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """All changes between two goldens, in reading order."""
    before, after = joined(dict(old)), joined(dict(new))
    comparison = _Comparison()
    for name in {**after, **before}:
        if name not in ("transcript", "final"):
            at = pointer.child("", name)
            comparison.value(before.get(name, _MISSING), after.get(name, _MISSING), "run", at, at)
    comparison.transcripts(_exchanges(before), _exchanges(after))
    comparison.value(before.get("final", _MISSING), after.get("final", _MISSING), "final", "", "/final")
    return comparison.found


def _exchanges(golden: Mapping[str, Any]) -> list[Any]:
    transcript = golden.get("transcript")
    return transcript if isinstance(transcript, list) else []


class _Comparison:
    """Collects differences, and remembers which old symbol is which new one."""

    def __init__(self) -> None:
        self.found: list[Difference] = []
        self._new_of: dict[str, str] = {}
        self._old_of: dict[str, str] = {}

    def transcripts(self, old: list[Any], new: list[Any]) -> None:
        for pair in _aligned(old, new, _anonymous, _skeleton):
            at = f"/transcript/{pair.now}"
            if pair.old is _MISSING or pair.new is _MISSING:
                exchange = pair.old if pair.new is _MISSING else pair.new
                self.value(pair.old, pair.new, _place(exchange, pair.now), "", at)
                continue
            place = _place(pair.new, pair.now, "" if pair.was == pair.now else f", was {pair.was + 1}")
            if not isinstance(pair.old, dict) or not isinstance(pair.new, dict):
                self.value(pair.old, pair.new, place, "", at)
                continue
            for name in {**pair.new, **pair.old}:
                # Fields of a response need no mention of the response; those of a request do.
                field = "" if name == "response" else pointer.child("", name)
                was, is_now = pair.old.get(name, _MISSING), pair.new.get(name, _MISSING)
                self.value(was, is_now, place, field, pointer.child(at, name))

    def value(self, old: Any, new: Any, place: str, field: str, at: str) -> None:
        """Differences between two values at one place."""
        if old is _MISSING or new is _MISSING:
            if old is not new:
                change: Change = "added" if old is _MISSING else "removed"
                gone, come = (None if side is _MISSING else side for side in (old, new))
                self.found.append(Difference(change, place, field, at, gone, come))
        elif isinstance(old, dict) and isinstance(new, dict):
            for name in {**new, **old}:
                below = pointer.child(field, name), pointer.child(at, name)
                self.value(old.get(name, _MISSING), new.get(name, _MISSING), place, *below)
        elif isinstance(old, list) and isinstance(new, list):
            self._lists(old, new, place, field, at)
        elif not self._equal(old, new):
            self.found.append(Difference("changed", place, field, at, old, new))

    def _lists(self, old: list[Any], new: list[Any], place: str, field: str, at: str) -> None:
        for pair in _aligned(old, new, _anonymous, _kind):
            below = pointer.child(field, pair.now), pointer.child(at, pair.now)
            self.value(pair.old, pair.new, place, *below)

    def _equal(self, old: Any, new: Any) -> bool:
        if not isinstance(old, str) or not isinstance(new, str):
            return type(old) is type(new) and bool(old == new)
        if "«" not in old and "«" not in new:
            return old == new
        was, is_now = _SYMBOL.split(old), _SYMBOL.split(new)
        if was[::2] != is_now[::2]:
            return False
        return all(self._same_symbol(a, b) for a, b in zip(was[1::2], is_now[1::2], strict=True))

    def _same_symbol(self, old: str, new: str) -> bool:
        if _NUMBER.sub("", old) != _NUMBER.sub("", new):
            return False
        return self._new_of.setdefault(old, new) == new and self._old_of.setdefault(new, old) == old


class _Pair(NamedTuple):
    """Two items that belong together, or one that has no counterpart. `now` is where a reader finds it."""

    old: Any
    new: Any
    was: int
    now: int


Key = Callable[[Any], str]


def _aligned(old: list[Any], new: list[Any], exact: Key, alike: Key) -> Iterator[_Pair]:
    """Items in pairs, in reading order: first those that are the same, between them those that are alike."""
    for tag, i1, i2, j1, j2 in _opcodes(old, new, exact):
        if tag == "equal":
            yield from (_Pair(old[i], new[j], i, j) for i, j in zip(range(i1, i2), range(j1, j2), strict=True))
            continue
        for _, k1, k2, l1, l2 in _opcodes(old[i1:i2], new[j1:j2], alike):
            first, second = range(i1 + k1, i1 + k2), range(j1 + l1, j1 + l2)
            yield from (_Pair(old[i], new[j], i, j) for i, j in zip(first, second, strict=False))
            yield from (_Pair(old[i], _MISSING, i, i) for i in first[len(second) :])
            yield from (_Pair(_MISSING, new[j], j, j) for j in second[len(first) :])


def _opcodes(old: list[Any], new: list[Any], key: Key) -> list[tuple[str, int, int, int, int]]:
    return list(SequenceMatcher(None, [key(item) for item in old], [key(item) for item in new], False).get_opcodes())


def _anonymous(value: Any) -> str:
    """A value without the numbers of its symbols."""
    return _NUMBER.sub("", json.dumps(value, ensure_ascii=False, sort_keys=True))


def _skeleton(exchange: Any) -> str:
    """What an exchange is about: the call, the kind of its answer and the step it leads to."""
    response = exchange.get("response", {}) if isinstance(exchange, dict) else {}
    kind = response.get("kind", "") if isinstance(response, dict) else ""
    return f"{exchange.get('tool') if isinstance(exchange, dict) else ''} {kind} {_step(exchange)}"


def _kind(value: Any) -> str:
    """What an item of a list is, as far as it says so."""
    if not isinstance(value, dict):
        return type(value).__name__
    return next(
        (str(value[name]) for name in ("code", "id", "kind", "stepId", "event", "type", "node") if name in value), ""
    )


def _step(exchange: Any) -> str:
    response = exchange.get("response") if isinstance(exchange, dict) else None
    if not isinstance(response, dict):
        return ""
    pending = response.get("pending")
    step = pending.get("stepId") if isinstance(pending, dict) else response.get("stepId")
    return str(step) if step is not None else ""


def _place(exchange: Any, index: int, remark: str = "") -> str:
    tool = exchange.get("tool", "?") if isinstance(exchange, dict) else "?"
    noun = "error" if isinstance(exchange, dict) and "error" in exchange else "response"
    step = _step(exchange)
    about = f"{tool} to {step}" if step else str(tool)
    return f"{noun} {index + 1} ({about}{remark})"


def described(differences: list[Difference], most: int | None = 20) -> list[str]:
    """Differences for people, at most so many."""
    lines = [line for difference in differences[:most] for line in _described(difference)]
    left = 0 if most is None else len(differences) - most
    if left > 0:
        lines.append(f"... and {left} more")
    return lines or ["only the order of members, white space or the numbers of symbols differ"]


def _described(difference: Difference) -> list[str]:
    where = f"{difference.place}: {printable(difference.field)}" if difference.field else difference.place
    match difference.change:
        case "added":
            return [f"{where} is new", f"    + {_value(difference.new)}"]
        case "removed":
            return [f"{where} is gone", f"    - {_value(difference.old)}"]
        case "changed":
            old, new = difference.old, difference.new
            if isinstance(old, str) and isinstance(new, str) and ("\n" in old or "\n" in new):
                return _changed_lines(where, old, new)
            return [where, f"    - {_value(old)}", f"    + {_value(new)}"]


def _changed_lines(where: str, old: str, new: str) -> list[str]:
    before, after = old.split("\n"), new.split("\n")
    shown: list[str] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, False).get_opcodes():
        if tag != "equal":
            shown.append(f"{where} line {j1 + 1}")
            shown += [f"    - {printable(line)}" for line in before[i1:i2]]
            shown += [f"    + {printable(line)}" for line in after[j1:j2]]
    return shown


_LONGEST = 300


def _value(value: Any) -> str:
    text = printable(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def text_diff(old: bytes, new: bytes, name: str, most: int | None = 80) -> list[str]:
    """The usual diff of the two files, at most so many lines."""
    before, after = (data.decode("utf-8", "replace").splitlines() for data in (old, new))
    lines = [printable(line) for line in unified_diff(before, after, name, "this run", lineterm="")]
    if most is not None and len(lines) > most:
        return [*lines[:most], f"... and {len(lines) - most} more lines"]
    return lines

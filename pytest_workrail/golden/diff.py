"""The differences between two goldens, a golden between the two, and the few changes that caused the differences.

Agent and engine take turns: an answer of the engine, and what the agent then asks for. A run that takes one turn more
moves all later ones and renumbers their symbols. Neither is a change, so turns are aligned first, and symbols are
compared by what they stand for. One walk over both goldens serves both questions: it reports each difference, and for
each it is given whether to take the new golden. Texts are compared word by word.

A step that is new adds its turn, its output at the end of the run, a line to later recaps, and moves every number
after it. Only the first of these is a cause. A difference has no cause of its own when it merely repeats what another
one says in a place that repeats things, or when only numbers moved while turns came or went.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from pytest_workrail.agents.agent import answer_kind
from pytest_workrail.golden.encoding import METADATA, prompt_parts
from pytest_workrail.golden.symbols import joined, renumbered, split
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.wording import counted, quoted
from workrail_lint.documents import pointer

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_IS_WORD = re.compile(r"\w+")
# Comparing every word with every other one takes its time, and nobody reads such a change word by word.
_MOST_PAIRS = 1_000_000

_SYMBOL = re.compile(r"(«[A-Z]+[0-9]+(?: altered)?»)")
_NUMBER = re.compile(r"(?<=[A-Z])[0-9]+(?= altered»|»)")
_MISSING: Any = object()
# The member that says which step, or which node, an object is about.
_STEP_MEMBERS = ("stepId", "step", "node", "nodeId")
_COUNTERS = ("n", "stepIndex")
_ANSWERS = ("response", "error")
# What stands in a transcript that somebody edited, and is no exchange.
_OTHER = "other"
Change = Literal["changed", "added", "removed"]
# turn: a whole turn. input: what the agent sent. answer: what the engine answered. echo: what the engine adds to a
# prompt, and how the run ended, which may repeat any of the others. symbol, counter: only numbers moved.
Sort = Literal["turn", "input", "answer", "echo", "symbol", "counter"]
# Which edits of a difference are taken over; by the number of the difference, in the order of `compare`.
Decision = Callable[[int, int], bool]
Key = Callable[[Any], str]


class Piece(NamedTuple):
    """A part of the text before and after; the same in both where nothing was edited."""

    old: str
    new: str

    @property
    def is_edit(self) -> bool:
        return self.old != self.new


@lru_cache(maxsize=512)
def pieces(old: str, new: str) -> tuple[Piece, ...]:
    """Return both texts in pieces, in order. First by lines, then by words within the lines that changed."""
    result: list[Piece] = []
    before, after = _LINE.findall(old), _LINE.findall(new)
    for i, j in _blocks(before, after):
        if i == j:
            result.append(Piece("".join(i), "".join(j)))
        else:
            result += _words("".join(i), "".join(j))
    return tuple(_tidied(result))


def edits(old: str, new: str) -> tuple[Piece, ...]:
    """Return what was edited, without what stayed."""
    return tuple(piece for piece in pieces(old, new) if piece.is_edit)


def word_count(changes: Iterable[Piece]) -> int:
    """Return how many words some edits touch: those that went or those that came, whichever are more."""
    return sum(max(1, len(_IS_WORD.findall(each.old)), len(_IS_WORD.findall(each.new))) for each in changes)


def _words(old: str, new: str) -> Iterator[Piece]:
    before, after = _WORD.findall(old), _WORD.findall(new)
    changed = [(a, b) for a, b in _blocks(before, after) if a != b]
    touched = max(sum(len(a) for a, _ in changed), sum(len(b) for _, b in changed))
    # Where hardly a word stayed, crumbs of the old text between those of the new one can't be read.
    if 2 * touched > max(len(before), len(after)) and len(changed) > 2:
        yield Piece(old, new)
        return
    for a, b in _blocks(before, after):
        yield Piece("".join(a), "".join(b))


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Items that stayed and items that changed, in turns."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    yield old[:start], new[:start]
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    if len(middle_old) * len(middle_new) > _MOST_PAIRS:
        yield middle_old, middle_new
    else:
        for _, i1, i2, j1, j2 in SequenceMatcher(None, middle_old, middle_new, False).get_opcodes():
            yield middle_old[i1:i2], middle_new[j1:j2]
    yield old[len(old) - end :], new[len(new) - end :]


def _tidied(raw: Iterable[Piece]) -> list[Piece]:
    """No empty pieces; edits with nothing but white space between them are one edit."""
    result: list[Piece] = []
    for piece in raw:
        if piece == ("", ""):
            continue
        if result and result[-1].is_edit == piece.is_edit:
            result[-1] = Piece(result[-1].old + piece.old, result[-1].new + piece.new)
        elif piece.is_edit and len(result) > 1 and result[-1].old.strip() == "" and "\n" not in result[-1].old:
            gap, last = result.pop(), result.pop()
            result.append(Piece(last.old + gap.old + piece.old, last.new + gap.new + piece.new))
        else:
            result.append(piece)
    return result


class Difference(NamedTuple):
    """One difference. `pointer` leads into the new golden, or into the old one where something was removed.

    `step` is the step it is about, if any; `field` is the way to it below the turn of that step, or below the run.
    """

    change: Change
    sort: Sort
    step: str
    field: str
    pointer: str
    old: Any = None
    new: Any = None

    @property
    def edits(self) -> tuple[Piece, ...]:
        """The edits of a text that changed; a difference of any other kind counts as a single edit."""
        if self.change == "changed" and isinstance(self.old, str) and isinstance(self.new, str):
            return edits(self.old, self.new)
        return (Piece("", ""),)

    def to_json(self) -> dict[str, Any]:
        members: dict[str, Any] = {
            "change": self.change,
            "step": self.step,
            "field": self.field,
            "pointer": self.pointer,
        }
        if self.change != "added":
            members["old"] = self.old
        if self.change != "removed":
            members["new"] = self.new
        return members


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """Return all differences between two goldens, in reading order."""
    walk = _Walk(lambda _, __: True)
    walk.golden(joined(dict(old)), joined(dict(new)))
    return walk.differences


def merged(old: Mapping[str, Any], new: Mapping[str, Any], takes: Decision) -> Ok[dict[str, Any]] | Err[str]:
    """Return the old golden with some of the differences taken over from the new one."""
    walk = _Walk(takes)
    golden = walk.golden(joined(dict(old)), joined(dict(new)))
    if walk.is_torn:
        return Err("the turns that change depend on one another")
    # Other contracts write their texts in one piece, and number nothing by first appearance.
    return Ok(split(renumbered(golden)) if "format" in golden else golden)


class _Place(NamedTuple):
    """Where the walk is. `was` is the pointer into the old golden where that is another one."""

    sort: Sort
    step: str
    field: str
    pointer: str
    was: str

    def member(self, name: str | int, old_name: str | int | None = None) -> _Place:
        was = pointer.child(self.was, name if old_name is None else old_name)
        return self._replace(field=_below(self.field, name), pointer=pointer.child(self.pointer, name), was=was)


def _below(field: str, name: str | int) -> str:
    return f"{field}/{name}" if field else str(name)


class _Walk:
    """Goes over two goldens side by side."""

    def __init__(self, takes: Decision) -> None:
        self.differences: list[Difference] = []
        self.is_torn = False
        self._takes = takes
        self._new_of: dict[str, str] = {}
        self._old_of: dict[str, str] = {}

    def golden(self, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name in {**new, **old}:
            was, is_now = old.get(name, _MISSING), new.get(name, _MISSING)
            if name == METADATA:
                members[name] = is_now if is_now is not _MISSING else was
            elif name == "transcript" and isinstance(was, list) and isinstance(is_now, list):
                members[name] = self._transcripts(was, is_now)
            else:
                sort: Sort = "echo" if name == "final" else "answer"
                at = pointer.child("", name)
                members[name] = self.value(was, is_now, _Place(sort, "", name, at, at))
        return {name: value for name, value in members.items() if value is not _MISSING}

    def _transcripts(self, old: list[Any], new: list[Any]) -> list[Any]:
        turns: list[_Turn] = []
        for pair in _aligned(_turns(old), _turns(new), _turn_text, _turn_name, only_alike=True):
            turn: _Turn = pair.old if pair.new is _MISSING else pair.new
            if pair.old is _MISSING or pair.new is _MISSING:
                sides = [None if side is _MISSING else dict(side.parts) for side in (pair.old, pair.new)]
                change: Change = "added" if pair.old is _MISSING else "removed"
                is_taken = self._report(Difference(change, "turn", turn.step, turn.kind, turn.pointer, *sides))
                if is_taken == (change == "added"):
                    turns.append(self._from_new(turn) if change == "added" else turn)
                continue
            turns.append(self._turn(pair.old, pair.new))
        return self._chained(turns)

    def _turn(self, old: _Turn, new: _Turn) -> _Turn:
        parts: dict[str, Any] = {}
        for name in {"response": 0, "error": 0, **new.parts, **old.parts}:
            sort: Sort = "answer" if name in _ANSWERS else "input"
            field = "" if name == "response" else name
            at = _Place(sort, new.step, field, new.place(name), old.place(name))
            parts[name] = self.value(old.parts.get(name, _MISSING), new.parts.get(name, _MISSING), at)
        return new._replace(parts={name: value for name, value in parts.items() if value is not _MISSING})

    def _from_new(self, turn: _Turn) -> _Turn:
        """Return a turn of the new golden alone; its symbols are known by their old names where they have one."""
        return turn._replace(parts={name: self._as_old(value) for name, value in turn.parts.items()})

    def _chained(self, turns: list[_Turn]) -> list[Any]:
        """Turns as exchanges again: what was asked for, and the answer that the next turn begins with."""
        exchanges: list[Any] = []
        for turn, following in pairwise(turns):
            answer = {name: following.parts[name] for name in _ANSWERS if name in following.parts}
            asked = {name: value for name, value in turn.parts.items() if name not in _ANSWERS}
            self.is_torn = self.is_torn or len(answer) > 1 or ("request" in asked) != bool(answer)
            exchanges.append(asked.get(_OTHER, {**asked, **answer}))
        return exchanges

    def value(self, old: Any, new: Any, at: _Place) -> Any:
        """Two values at one place; the answer is the value between them."""
        if old is _MISSING or new is _MISSING:
            return self._one_sided(old, new, at)
        if isinstance(old, dict) and isinstance(new, dict):
            return self._members(old, new, at)
        if isinstance(old, list) and isinstance(new, list):
            return self._items(old, new, at)
        if isinstance(old, str) and isinstance(new, str):
            return self._text(old, new, at)
        if _are_same_scalars(old, new):
            return new
        sort: Sort = "counter" if at.field.rpartition("/")[2] in _COUNTERS else at.sort
        is_taken = self._report(Difference("changed", sort, at.step, at.field, at.pointer, old, new))
        return self._as_old(new) if is_taken else old

    def _one_sided(self, old: Any, new: Any, at: _Place) -> Any:
        if old is new:
            return _MISSING
        if old is _MISSING:
            is_taken = self._report(Difference("added", at.sort, at.step, at.field, at.pointer, None, new))
            return self._as_old(new) if is_taken else _MISSING
        return _MISSING if self._report(Difference("removed", at.sort, at.step, at.field, at.was, old, None)) else old

    def _members(self, old: dict[str, Any], new: dict[str, Any], at: _Place) -> Any:
        if at.field == "pending" and isinstance(old.get("prompt"), str) and isinstance(new.get("prompt"), str):
            return {**self._members(_without(old, "prompt"), _without(new, "prompt"), at), **self._prompt(old, new, at)}
        members = {}
        for name in {**new, **old}:
            was, is_now = old.get(name, _MISSING), new.get(name, _MISSING)
            members[name] = was if _are_same_scalars(was, is_now) else self.value(was, is_now, at.member(name))
        return {name: value for name, value in members.items() if value is not _MISSING}

    def _prompt(self, old: dict[str, Any], new: dict[str, Any], at: _Place) -> dict[str, str]:
        """Return the author's text for itself, and what the engine puts around it."""
        was, is_now = prompt_parts(old["prompt"]), prompt_parts(new["prompt"])
        here = at.member("prompt")._replace(field="prompt")
        around = here._replace(sort="echo", field="around the prompt")
        before = self._text(was.before, is_now.before, around)
        text = self._text(was.text, is_now.text, here)
        return {"prompt": before + text + self._text(was.behind, is_now.behind, around)}

    def _items(self, old: list[Any], new: list[Any], at: _Place) -> list[Any]:
        items = []
        for pair in _aligned(old, new, _item_text, _item_name):
            item = pair.old if pair.new is _MISSING else pair.new
            below = at.member(pair.now, pair.was)
            step = next((item[name] for name in _STEP_MEMBERS if name in item), "") if isinstance(item, dict) else ""
            below = below._replace(step=step) if isinstance(step, str) and step else below
            items.append(self.value(pair.old, pair.new, below))
        return [item for item in items if item is not _MISSING]

    def _text(self, old: str, new: str, at: _Place) -> str:
        if _are_same_scalars(old, new):
            return old
        was, is_now = _SYMBOL.split(old), _SYMBOL.split(new)
        if was[::2] == is_now[::2]:
            same = [self._same_symbol(a, b) for a, b in zip(was[1::2], is_now[1::2], strict=True)]
            if all(same):
                return old
            is_taken = self._report(Difference("changed", "symbol", at.step, at.field, at.pointer, old, new))
            return str(self._as_old(new)) if is_taken else old
        number = len(self.differences)
        self.differences.append(Difference("changed", at.sort, at.step, at.field, at.pointer, old, new))
        parts, edit = [], 0
        for piece in pieces(old, new):
            parts.append(str(self._as_old(piece.new)) if piece.is_edit and self._takes(number, edit) else piece.old)
            edit += piece.is_edit
        return "".join(parts)

    def _report(self, difference: Difference) -> bool:
        self.differences.append(difference)
        return self._takes(len(self.differences) - 1, 0)

    def _same_symbol(self, old: str, new: str) -> bool:
        if _NUMBER.sub("", old) != _NUMBER.sub("", new):
            return False
        return self._new_of.setdefault(old, new) == new and self._old_of.setdefault(new, old) == old

    def _as_old(self, value: Any) -> Any:
        """A value of the new golden among those of the old one: no symbol may be taken for one of the old golden."""
        if isinstance(value, str):
            return _SYMBOL.sub(lambda match: self._old_of.get(match[0]) or _marked_new(match[0]), value)
        if isinstance(value, list):
            return [self._as_old(item) for item in value]
        if isinstance(value, dict):
            return {str(self._as_old(name)): self._as_old(item) for name, item in value.items()}
        return value


def _are_same_scalars(old: Any, new: Any) -> bool:
    """Return whether two values are one scalar, without a symbol in it: nothing to report and nothing to remember."""
    if type(old) is not type(new) or isinstance(old, dict | list):
        return False
    return bool(old == new) and not (isinstance(old, str) and "«" in old)


def _marked_new(symbol: str) -> str:
    # Symbols are numbered anew afterwards; until then a large number keeps the two goldens apart.
    return _NUMBER.sub(lambda match: f"9{match[0]:0>9}", symbol)


def _without(value: dict[str, Any], name: str) -> dict[str, Any]:
    return {each: item for each, item in value.items() if each != name}


class _Turn(NamedTuple):
    """An answer and what the agent asked for then. The first turn has no answer, the last one no request."""

    parts: dict[str, Any]
    number: int

    @property
    def pointer(self) -> str:
        return self.place("response" if self.number else "request")

    def place(self, name: str) -> str:
        """Return the pointer to a part: the answer belongs to the exchange before."""
        return f"/transcript/{self.number - 1 if name in _ANSWERS else self.number}/{name}"

    @property
    def _answer(self) -> dict[str, Any]:
        answer = self.parts.get("response", self.parts.get("error"))
        return answer if isinstance(answer, dict) else {}

    @property
    def kind(self) -> str:
        """The kind of answer."""
        if "error" in self.parts:
            return f"error {self._answer.get('code', '')}".rstrip()
        if "response" not in self.parts:
            return "start"
        return answer_kind(self._answer)

    @property
    def step(self) -> str:
        pending = self._answer.get("pending")
        step = pending.get("stepId") if isinstance(pending, dict) else self._answer.get("stepId")
        return str(step) if step is not None else ""


def _turns(transcript: list[Any]) -> list[_Turn]:
    turns: list[_Turn] = []
    answer: dict[str, Any] = {}
    for number, exchange in enumerate(transcript):
        if not isinstance(exchange, dict):
            turns.append(_Turn({**answer, _OTHER: exchange}, number))
            answer = {}
            continue
        asked = {name: value for name, value in exchange.items() if name not in _ANSWERS}
        turns.append(_Turn({**answer, **asked}, number))
        answer = {name: exchange[name] for name in _ANSWERS if name in exchange}
    return [*turns, _Turn(answer, len(transcript))]


def _turn_text(turn: _Turn) -> str:
    return _anonymous(turn.parts)


def _turn_name(turn: _Turn) -> str:
    return f"{turn.kind} {turn.step}"


class _Pair(NamedTuple):
    """Two items that belong together, or one that has no counterpart. `now` is where a reader finds it."""

    old: Any
    new: Any
    was: int
    now: int


def _aligned(old: list[Any], new: list[Any], exact: Key, alike: Key, *, only_alike: bool = False) -> Iterator[_Pair]:
    """Items in pairs, in reading order: first those that are the same, between them those that are alike."""
    for tag, i1, i2, j1, j2 in _opcodes(old, new, exact):
        if tag == "equal":
            yield from (_Pair(old[i], new[j], i, j) for i, j in zip(range(i1, i2), range(j1, j2), strict=True))
            continue
        for inner, k1, k2, l1, l2 in _opcodes(old[i1:i2], new[j1:j2], alike):
            first, second = range(i1 + k1, i1 + k2), range(j1 + l1, j1 + l2)
            paired = 0 if only_alike and inner != "equal" else min(len(first), len(second))
            yield from (_Pair(old[i], new[j], i, j) for i, j in zip(first[:paired], second[:paired], strict=True))
            yield from (_Pair(old[i], _MISSING, i, i) for i in first[paired:])
            yield from (_Pair(_MISSING, new[j], j, j) for j in second[paired:])


def _opcodes(old: list[Any], new: list[Any], key: Key) -> list[tuple[str, int, int, int, int]]:
    return list(SequenceMatcher(None, [key(item) for item in old], [key(item) for item in new], False).get_opcodes())


def _anonymous(value: Any) -> str:
    """Return a value without the numbers of its symbols."""
    return _NUMBER.sub("", json.dumps(value, ensure_ascii=False, sort_keys=True))


def _item_text(item: Any) -> str:
    if isinstance(item, dict) and any(name in item for name in _COUNTERS):
        item = {name: value for name, value in item.items() if name not in _COUNTERS}
    return _anonymous(item)


def _item_name(value: Any) -> str:
    """Return what an item of a list is, as far as it says so."""
    if not isinstance(value, dict):
        return type(value).__name__
    names = ("code", "id", "kind", "event", "type", *_STEP_MEMBERS)
    return " ".join(str(value[name]) for name in names if isinstance(value.get(name), str | int))


_INDEX = re.compile(r"(?<=/)[0-9]+(?=/|$)")
_DIGEST = re.compile(r"(?:^|[a-z])(?:[sS]ha256|[hH]ash)$")


# What the first answer of a run has and later ones have not, or the other way round.
_BY_POSITION = ("kind", "references")
# What depends on the turns before it.
_BY_PATH = ("around the prompt", "final/trace")


class CauseKey(NamedTuple):
    """The identity of a change: differences with the same workflow, step, field and edit are one."""

    workflow: str
    change: str
    step: str
    field: str
    edit: str

    @property
    def id(self) -> str:
        """A short name to call it by."""
        return sha256(json.dumps(self).encode("utf-8", "surrogatepass")).hexdigest()[:6]


class Cause(NamedTuple):
    """A change in one golden: the difference that shows it best."""

    key: CauseKey
    difference: Difference


class Causes:
    """The differences between two goldens, each with the causes it goes back to."""

    def __init__(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        self._old = old
        self._new = new
        self.differences = compare(old, new)
        # The same edit at the same node is one change, whichever scenarios of another contract show it.
        self._workflow = str(new.get("workflow") or new.get("pack") or "")
        self._keys: dict[int, tuple[tuple[CauseKey, ...], ...]] = {}
        self._own: dict[CauseKey, Difference] = {}
        self._attribute()

    def __iter__(self) -> Iterator[Cause]:
        return (Cause(*item) for item in self._own.items())

    def with_only(self, chosen: Iterable[str]) -> Ok[dict[str, Any]] | Err[str]:
        """Return the old golden with the chosen causes, by their ids, and whatever follows from them."""
        ids = set(chosen)
        return merged(self._old, self._new, lambda number, edit: any(key.id in ids for key in self._keys[number][edit]))

    def _attribute(self) -> None:
        """Causes first: what the agent sent explains answers, and both explain what repeats them."""
        order = {"turn": 0, "input": 1, "answer": 2, "echo": 3, "symbol": 4, "counter": 4}
        ranked = sorted(enumerate(self.differences), key=lambda item: (order[item[1].sort], _is_digest(item[1])))
        for number, difference in ranked:
            known = self._explained(difference)
            if known is None:
                key = self._key(difference)
                self._own.setdefault(key, difference)
                known = ((key,),) * len(difference.edits)
            self._keys[number] = known
        # People read from the beginning.
        rank = {id(difference): number for number, difference in enumerate(self.differences)}
        self._own = dict(sorted(self._own.items(), key=lambda item: rank[id(item[1])]))

    def _explained(self, difference: Difference) -> tuple[tuple[CauseKey, ...], ...] | None:
        """Return the causes of each edit of a difference; None when it is a cause of its own."""
        candidates = [Cause(*item) for item in self._own.items()]
        structural = [cause for cause in candidates if cause.difference.sort == "turn" or _is_listed(cause.difference)]
        match difference.sort:
            case "turn":
                return None
            case "input":
                # An agent that sends more or less to the end of a run does so because the run goes on or not.
                return _all(difference, structural if difference.field in ("request", "tool") else [])
            case "symbol" | "counter":
                return _all(difference, structural)
            case "answer" if difference.field in _BY_POSITION and structural:
                return _all(difference, structural)
            case "answer" if not _is_digest(difference):
                candidates = [cause for cause in candidates if cause.difference.sort == "input"]
            case _:
                if difference.field.startswith(_BY_PATH) and structural:
                    return _all(difference, structural)
        if _is_digest(difference):
            parent = difference.pointer.rpartition("/")[0]
            return _all(difference, [each for each in candidates if each.difference.pointer.startswith(f"{parent}/")])
        keys = [tuple(c.key for c in candidates if _explains(c.difference, difference, e)) for e in difference.edits]
        return tuple(keys) if keys and all(keys) else None

    def _key(self, difference: Difference) -> CauseKey:
        if difference.sort == "turn":
            edit: Any = None
        elif isinstance(difference.old, str) and isinstance(difference.new, str):
            edit = difference.edits
        else:
            edit = [difference.old, difference.new]
        text = _NUMBER.sub("", json.dumps(edit, ensure_ascii=False, sort_keys=True))
        where = _INDEX.sub("*", difference.field)
        return CauseKey(self._workflow, difference.change, difference.step, where, text)


def _all(difference: Difference, causes: Sequence[Cause]) -> tuple[tuple[CauseKey, ...], ...] | None:
    return (tuple(cause.key for cause in causes),) * len(difference.edits) if causes else None


def _is_listed(difference: Difference) -> bool:
    return difference.change != "changed" and _INDEX.search(difference.field) is not None


def _is_digest(difference: Difference) -> bool:
    return _DIGEST.search(difference.field) is not None


def _explains(cause: Difference, difference: Difference, edit: Piece) -> bool:
    """Return whether an edit says only what a cause says already."""
    if edit.is_edit:
        sides = cause.edits if cause.change == "changed" else (Piece(_strings(cause.old), _strings(cause.new)),)
        return any(edit.old.strip() in side.old and edit.new.strip() in side.new for side in sides)
    if cause.sort == "turn":
        return cause.change == difference.change and bool(difference.step) and cause.step == difference.step
    is_alike = cause.field.rpartition("/")[2] == difference.field.rpartition("/")[2]
    return is_alike and _json(cause.old) == _json(difference.old) and _json(cause.new) == _json(difference.new)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _strings(value: Any) -> str:
    """Return all texts of a value, below one another."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(_strings(item) for item in value.values())
    if isinstance(value, list):
        return "\n".join(map(_strings, value))
    return ""


@dataclass(frozen=True)
class Group:
    """One change, and the goldens that have it."""

    key: CauseKey
    difference: Difference
    goldens: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        return f"{headline(self.difference)}, in {counted(len(self.goldens), 'run')}"


def grouped(goldens: Iterable[tuple[str, Iterable[Cause]]]) -> list[Group]:
    """Return the changes of many goldens, each once: those of most goldens first, else in the order they come in."""
    groups: dict[CauseKey, Group] = {}
    for name, causes in goldens:
        for cause in causes:
            groups.setdefault(cause.key, Group(*cause)).goldens.append(name)
    return sorted(groups.values(), key=lambda group: -len(group.goldens))


_PLAIN_NAMES = {
    "request/output/notesMarkdown": "notes of the agent",
    "request/notes": "notes of the agent",
    "around the prompt": "what the engine adds to the prompt",
}


def headline(difference: Difference) -> str:
    """Return a change in one line: what, where, how much."""
    where = f" at {quoted(difference.step)}" if difference.step else ""
    if difference.sort == "turn":
        what = f"turn{where} ({difference.field})" if difference.field else f"turn{where}"
        return f"{what} is {'new' if difference.change == 'added' else 'gone'}"
    if difference.field in ("prompt", "pending/title") or difference.field.endswith("/prompt"):
        what = f"{difference.field.rpartition('/')[2]} of {quoted(difference.step)}"
    elif difference.field.startswith("final/"):
        what = f"end of the run: {_named(difference.field.removeprefix('final/'))}{where}"
    else:
        what = f"{_PLAIN_NAMES.get(difference.field) or _named(difference.field)}{where}"
    match difference.change:
        case "added":
            return f"{what} is new"
        case "removed":
            return f"{what} is gone"
        case _ if difference.sort == "symbol":
            return f"{what}: another token or id"
        case _ if isinstance(difference.old, str) and isinstance(difference.new, str):
            words = word_count(difference.edits)
            return f"{what}: {'one word' if words == 1 else counted(words, 'word')}"
        case _:
            return f"{what} changed"


def _named(field_path: str) -> str:
    return quoted(_INDEX.sub("*", field_path))[1:-1]

"""The few changes that a person made, among the many differences that follow from them.

A step that is new adds its turn, its output at the end of the run, a line to later recaps, and moves every number
behind it. Only the first of these is a cause. A difference has no cause of its own when it merely repeats what another
one says in a place that repeats things, or when only numbers moved while turns came or went.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from pytest_workrail.golden.diff import Difference, Piece, compare, merged, word_count
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.wording import counted, quoted

_INDEX = re.compile(r"(?<=/)[0-9]+(?=/|$)")
_SYMBOL_NUMBER = re.compile(r"(?<=[A-Z])[0-9]+(?= altered»|»)")
_DIGEST = re.compile(r"(?:^|[a-z])(?:[sS]ha256|[hH]ash)$")


# What the first answer of a run has and later ones have not, or the other way round.
_BY_POSITION = ("kind", "references")
# What depends on the turns before it.
_BY_PATH = ("around the prompt", "final/trace")


class CauseKey(NamedTuple):
    """What makes two differences one change: the same workflow, step, field and edit."""

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
        self._workflow = str(new.get("workflow") or new.get("scenario") or "")
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
        found = [tuple(c.key for c in candidates if _explains(c.difference, difference, e)) for e in difference.edits]
        return tuple(found) if found and all(found) else None

    def _key(self, difference: Difference) -> CauseKey:
        if difference.sort == "turn":
            edit: Any = None
        elif isinstance(difference.old, str) and isinstance(difference.new, str):
            edit = difference.edits
        else:
            edit = [difference.old, difference.new]
        text = _SYMBOL_NUMBER.sub("", json.dumps(edit, ensure_ascii=False, sort_keys=True))
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

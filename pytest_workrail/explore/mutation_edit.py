"""A mutant of an IR: one small change, described and made without compiling anything."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, TypeAlias

from pytest_workrail.records import Record
from workrail_lint.base.js import Json
from workrail_lint.documents.pointer import child

Path: TypeAlias = tuple[str | int, ...]


class Removed(Enum):
    """What stands in the place of a member that is taken away."""

    REMOVED = "removed"


REMOVED: Final = Removed.REMOVED


class Mutant(Record):
    """One change of one IR.

    `place` is the step or loop it is about, as coverage names it, and empty for the workflow as a whole. `beside` are
    the places next to it that show the change too. `path` is the changed member of the IR, `at` the member that a
    reader would look at. `change` says what is different, as a clause: "step 'review' is removed".
    """

    operator: str
    place: str
    path: Path
    value: Json | Removed
    change: str
    at: Path
    beside: tuple[str, ...] = ()
    number: int = 0

    @property
    def id(self) -> str:
        """The name of the mutant, unique in its workflow and the same in the next run."""
        return f"{self.operator}:{self.place}" + (f":{self.number}" if self.number else "")

    @property
    def pointer(self) -> str:
        """The JSON pointer of `at` in the IR."""
        pointer = ""
        for part in self.at:
            pointer = child(pointer, part)
        return pointer

    def apply(self, ir: dict[str, Any]) -> dict[str, Any]:
        """The mutated IR; what it has in common with the sound one is shared."""
        changed: dict[str, Any] = _changed(ir, self.path, self.value)
        return changed


def _changed(node: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    first, rest = path[0], path[1:]
    if isinstance(first, int):
        items = list(node)
        if not rest and value is REMOVED:
            del items[first]
        else:
            items[first] = _changed(items[first], rest, value)
        return items
    if not rest and value is REMOVED:
        return {name: member for name, member in node.items() if name != first}
    return {**node, first: _changed(node.get(first), rest, value)}


def value_at(node: Any, path: Path) -> Any:
    """What an IR holds at a path; None where there is nothing."""
    for part in path:
        if isinstance(part, int):
            node = node[part] if isinstance(node, list) and part < len(node) else None
        else:
            node = node.get(part) if isinstance(node, dict) else None
    return node

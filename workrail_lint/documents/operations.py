"""Changes of a document as operations on places, and the resulting text edits.

An operation says *what* should change ("remove this member", "put this value there"); `json_edit` finds the characters
and keeps the author's formatting.
"""

from __future__ import annotations

from typing import Protocol

from workrail_lint.base.js import Json
from workrail_lint.base.result import Record
from workrail_lint.documents.source_text import Edit as Edit


class Operation(Record):
    """One change."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))  # a value may be a list or an object


class Replace(Operation):
    """Replace a value with another."""

    __match_args__ = ("pointer", "value")
    __slots__ = ("pointer", "value")

    def __init__(self, pointer: str, value: Json) -> None:
        self.pointer = pointer
        self.value = value


class ReplaceText(Operation):
    """Replace every occurrence of a substring in one string value."""

    __match_args__ = ("pointer", "old", "new")
    __slots__ = ("new", "old", "pointer")

    def __init__(self, pointer: str, old: str, new: str) -> None:
        self.pointer = pointer
        self.old = old
        self.new = new


class Remove(Operation):
    """Remove a member or an array element."""

    __match_args__ = ("pointer",)
    __slots__ = ("pointer",)

    def __init__(self, pointer: str) -> None:
        self.pointer = pointer


class Rename(Operation):
    """Rename a member; its value and place stay."""

    __match_args__ = ("pointer", "name")
    __slots__ = ("name", "pointer")

    def __init__(self, pointer: str, name: str) -> None:
        self.pointer = pointer
        self.name = name


class Insert(Operation):
    """Add a member (`name`) to an object, last, or an element (`index`) to an array; `pointer` is the container."""

    __match_args__ = ("pointer", "name", "index", "value")
    __slots__ = ("index", "name", "pointer", "value")

    def __init__(self, pointer: str, name: str | None, index: int | None, value: Json) -> None:
        self.pointer = pointer
        self.name = name
        self.index = index
        self.value = value


class Cut(Operation):
    """Remove raw characters: comments, commas, marks that are not part of a value."""

    __match_args__ = ("start", "end")
    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end


class Respell(Operation):
    """Write the same value differently: replace raw characters."""

    __match_args__ = ("start", "end", "text")
    __slots__ = ("end", "start", "text")

    def __init__(self, start: int, end: int, text: str) -> None:
        self.start = start
        self.end = end
        self.text = text


class Change(Protocol):
    """Operations that belong together: applied all or not at all."""

    @property
    def operations(self) -> tuple[Operation, ...]: ...

"""Fixes as operations on places, turned into text edits only when they are shown or applied.

A rule says *what* should change ("remove this member", "put this value there"); where the characters are,
and how the author's formatting is kept, is worked out by `workrail_lint.documents.json_edit`.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from workrail_lint.js import Json


class Safety(str, Enum):
    """safe: the canonical bytes stay the same (or the text could not be read before)."""

    SAFE = "safe"
    UNSAFE = "unsafe"


class Replace(NamedTuple):
    """Put a value in the place of another."""

    pointer: str
    value: Json


class ReplaceText(NamedTuple):
    """Replace every occurrence of a text inside one string value."""

    pointer: str
    old: str
    new: str


class Remove(NamedTuple):
    """Take a member or an array element out."""

    pointer: str


class Rename(NamedTuple):
    """Give a member another name; its value and place stay."""

    pointer: str
    name: str


class Insert(NamedTuple):
    """Add a member (`name`) to an object, last, or an element (`index`) to an array."""

    pointer: str  # of the container
    name: str | None
    index: int | None
    value: Json


class Cut(NamedTuple):
    """Remove raw characters: comments, commas, marks that are no part of any value."""

    start: int
    end: int


class Respell(NamedTuple):
    """Write the same value differently: raw characters replaced by others."""

    start: int
    end: int
    text: str


Operation = Replace | ReplaceText | Remove | Rename | Insert | Cut | Respell


class Fix(NamedTuple):
    """A change that resolves a finding."""

    title: str
    safety: Safety
    operations: tuple[Operation, ...]


def safe(title: str, *operations: Operation) -> Fix:
    return Fix(title, Safety.SAFE, operations)


def unsafe(title: str, *operations: Operation) -> Fix:
    return Fix(title, Safety.UNSAFE, operations)


class Edit(NamedTuple):
    """Replace the characters `start` to `end` (code points) by `text`."""

    start: int
    end: int
    text: str

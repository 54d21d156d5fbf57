"""Closed sets of words, as enums."""

from __future__ import annotations

from enum import Enum
from typing import TypeGuard


def words(members: type[Enum]) -> tuple[str, ...]:
    """Return the words of a closed set, in their order."""
    return tuple(member.value for member in members)


def is_member(value: object, members: type[Enum]) -> TypeGuard[str]:
    """Return whether a value of any type is a word of a closed set."""
    return isinstance(value, str) and value in members._value2member_map_

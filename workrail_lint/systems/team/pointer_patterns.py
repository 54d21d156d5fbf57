"""Places in a value, by patterns."""

from __future__ import annotations

from typing import Any

from workrail_lint.documents.pointer import child
from workrail_lint.systems.team.vocabulary import items_of, members_of


def places(root: Any, pattern: str) -> list[tuple[str, Any]]:
    """The places that a pattern names; `*` matches every member or element."""
    found: list[tuple[str, Any]] = [("", root)]
    for token in pattern.split("/")[1:]:
        below: list[tuple[str, Any]] = []
        for pointer, value in found:
            if token == "*":
                entries = value.items() if type(value) is dict else enumerate(items_of(value))
                below += [(child(pointer, name), item) for name, item in entries]
            elif token in members_of(value):
                below.append((child(pointer, token), value[token]))
        found = below
    return found

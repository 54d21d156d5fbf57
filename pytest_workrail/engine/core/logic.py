"""`and`, `or` and `not` over anything, with short-circuit and without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias


class Members(NamedTuple):
    """A combination: `decisive` is the member value that settles it at once; without one, its opposite holds."""

    decisive: bool
    members: list[Any]


class Negation(NamedTuple):
    """The opposite of what it holds."""

    member: Any


# Conditions nested deeper than this are not explained: the explanation would be unreadable, and the search recurses.
MAX_DEPTH = 100

# None: the node can't be evaluated.
Expansion: TypeAlias = bool | Members | Negation | None


class _Frame(NamedTuple):
    decisive: bool
    rest: Iterator[Any] | None


_NEGATING = _Frame(False, None)
_END: Any = object()


def combination(node: dict[str, Any]) -> Members | Negation | None:
    """What `and`, else `or`, else `not` says; None when there is none of them or its members are no list."""
    for name, decisive in (("and", False), ("or", True)):
        if name in node:
            members = node[name]
            return Members(decisive, members) if isinstance(members, list) else None
    return Negation(node["not"]) if "not" in node else None


def fold(node: Any, expand: Callable[[Any], Expansion]) -> bool | None:
    """The value of a tree, left to right and only as far as needed; None once a needed node has no value."""
    frames: list[_Frame] = []
    while True:
        match expand(node):
            case None:
                return None
            case bool(value):
                pass
            case Members(decisive, members):
                value = not decisive
                frames.append(_Frame(decisive, iter(members)))
            case Negation(member):
                frames.append(_NEGATING)
                node = member
                continue
        node = _END
        while frames and node is _END:
            decisive, rest = frames[-1]
            if rest is None:
                value = not value
                frames.pop()
            elif value is decisive or (node := next(rest, _END)) is _END:
                frames.pop()
        if node is _END:
            return value

"""JSON Pointers (RFC 6901): the one way findings name a place."""

from __future__ import annotations

from collections.abc import Iterable

Token = str | int


def encode(tokens: Iterable[Token]) -> str:
    """`["steps", 0, "a/b"]` as `/steps/0/a~1b`."""
    return "".join(f"/{str(token).replace('~', '~0').replace('/', '~1')}" for token in tokens)


def child(pointer: str, token: Token) -> str:
    """The pointer of a member or element below another."""
    return f"{pointer}/{token if type(token) is int else str(token).replace('~', '~0').replace('/', '~1')}"


def decode(pointer: str) -> list[str]:
    """The reference tokens of a pointer, unescaped. Raises ValueError for an invalid pointer."""
    if not pointer:
        return []
    if pointer[0] != "/":
        raise ValueError(f"a JSON Pointer starts with '/': {pointer!r}")
    tokens = pointer[1:].split("/")
    return tokens if "~" not in pointer else [token.replace("~1", "/").replace("~0", "~") for token in tokens]


def parent(pointer: str) -> str:
    """The pointer one level up; the root is its own parent."""
    return pointer.rpartition("/")[0]


def resolve(root: object, pointer: str) -> object:
    """The value at a pointer. Raises KeyError if there is none."""
    value = root
    for token in decode(pointer):
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and token.isascii() and token.isdigit() and int(token) < len(value):
            value = value[int(token)]
        else:
            raise KeyError(pointer)
    return value


def sort_key(pointer: str) -> list[tuple[int, int, str]]:
    """A document order that does not depend on the order of members: indices count as numbers."""
    return [(0, int(token), "") if token.isascii() and token.isdigit() else (1, 0, token) for token in decode(pointer)]

"""JSON Pointers (RFC 6901): the one way findings name a place; and places that name elements by id, not by position."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase

Token = str | int


def encode(tokens: Iterable[Token]) -> str:
    """Return `["steps", 0, "a/b"]` as `/steps/0/a~1b`."""
    return "".join(f"/{str(token).replace('~', '~0').replace('/', '~1')}" for token in tokens)


def child(pointer: str, token: Token) -> str:
    """Return the pointer of a member or element below another."""
    return f"{pointer}/{token if type(token) is int else str(token).replace('~', '~0').replace('/', '~1')}"


def decode(pointer: str) -> list[str]:
    """Return the reference tokens of a pointer, unescaped. Raises ValueError for an invalid pointer."""
    if not pointer:
        return []
    if pointer[0] != "/":
        raise ValueError(f"a JSON Pointer starts with '/': {pointer!r}")
    tokens = pointer[1:].split("/")
    return tokens if "~" not in pointer else [token.replace("~1", "/").replace("~0", "~") for token in tokens]


def parent(pointer: str) -> str:
    """Return the pointer one level up; the root is its own parent."""
    return pointer.rpartition("/")[0]


def resolve(root: object, pointer: str) -> object:
    """Return the value at a pointer. Raises KeyError if there is none."""
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
    """Return a document order that does not depend on the order of members: indices count as numbers."""
    return [(0, int(token), "") if token.isascii() and token.isdigit() else (1, 0, token) for token in decode(pointer)]


_ID_MEMBERS = ("id", "slotId", "name", "workflowId")


def id_pointer(root: object, pointer: str) -> str:
    """Return a pointer that names array elements by their id, if they have one."""
    parts = pointer.split("/")
    if parts[0]:
        return pointer
    value = root
    for at, part in enumerate(parts[1:], 1):
        if isinstance(value, dict):
            value = value.get(part if "~" not in part else decode(f"/{part}")[0])
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
            ident = _id_of(value)
            if ident is not None:
                parts[at] = ident.replace("~", "~0").replace("/", "~1")
        else:
            break
    return "/".join(parts)


def _id_of(value: object) -> str | None:
    if not isinstance(value, dict):
        return None
    for member in _ID_MEMBERS:
        if isinstance(value.get(member), str) and value[member]:
            return str(value[member])
    return None


def relative_to(root: str, path: str) -> str:
    """Return a path relative to `root`, independent of the working directory."""
    return os.path.relpath(path, root).replace(os.sep, "/") if path else ""


def place_matches(pattern: str, path: str, pointer: str) -> bool:
    """Return whether `file#/steps/plan/prompt` (both halves may contain `*`) names a place or a parent of it."""
    file, _, wanted = pattern.partition("#")
    if not file_matches(file, path):
        return False
    wanted = wanted.rstrip("/")
    if not wanted:
        return True
    if "*" not in wanted:
        return pointer == wanted or pointer.startswith(f"{wanted}/")
    parts, have = wanted.split("/"), pointer.split("/")

    return len(have) >= len(parts) and all(fnmatchcase(h, w) for h, w in zip(have, parts, strict=False))


def file_matches(pattern: str, path: str) -> bool:
    """Return whether the first half of a place names a file, by its path or the end of it."""
    if path == pattern or path.endswith(f"/{pattern}"):
        return True

    return fnmatchcase(path, pattern)

"""Places named by ids instead of positions: they stay valid if a step moves or the file is reformatted."""

from __future__ import annotations

import os

from workrail_lint.documents import pointer as pointers

_ID_MEMBERS = ("id", "slotId", "name", "workflowId")


def id_pointer(root: object, pointer: str) -> str:
    """A pointer that names array elements by their id, if they have one."""
    parts = pointer.split("/")
    if parts[0]:
        return pointer
    value = root
    for at, part in enumerate(parts[1:], 1):
        if isinstance(value, dict):
            value = value.get(part if "~" not in part else pointers.decode(f"/{part}")[0])
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
    """A path relative to `root`, independent of the working directory."""
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
    from fnmatch import fnmatchcase  # here and below, because most places have no pattern

    return len(have) >= len(parts) and all(fnmatchcase(h, w) for h, w in zip(have, parts, strict=False))


def file_matches(pattern: str, path: str) -> bool:
    """Return whether the first half of a place names a file, by its path or the end of it."""
    if path == pattern or path.endswith(f"/{pattern}"):
        return True
    from fnmatch import fnmatchcase

    return fnmatchcase(path, pattern)

"""Path patterns as configurations write them."""

from __future__ import annotations

import os


def matches(path: str, root: str, patterns: list[str]) -> bool:
    """Whether a path matches one of the patterns, as a whole or by one of its parts."""
    if not patterns:
        return False
    from fnmatch import fnmatchcase  # here, because most projects have no pattern

    relative = os.path.relpath(path, root).replace(os.sep, "/")
    whole = os.path.normpath(path).replace(os.sep, "/")
    parts = relative.split("/")
    for pattern in patterns:
        wanted = pattern.rstrip("/")
        if any(fnmatchcase(candidate, wanted) for candidate in (relative, whole, parts[-1])):
            return True
        if "/" not in wanted and any(fnmatchcase(part, wanted) for part in parts):
            return True
        if fnmatchcase(relative, f"{wanted}/*") or fnmatchcase(relative, f"*/{wanted}"):
            return True
    return False

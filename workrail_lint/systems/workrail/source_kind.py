"""Which kind of source a workflow file belongs to, told by the folder it stands in."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from functools import lru_cache

from workrail_lint.systems.workrail import identity

ROUTINE_PREFIX = "wr.routine-"
# Members of the closed set of source kinds; the enum itself is not worth loading here.
BUNDLED, CUSTOM, PROJECT, USER = "bundled", "custom", "project", "user"
_ROOTED = f"/.workrail/{identity.SOURCE_FOLDER}"


def source_kind_of(path: str, bundled_ids: Callable[[], Collection[str]]) -> str:
    """The source kind of a file on disk, when nobody configured one.

    The engine's own folder is known by its routines: most of the bundled ones lie beside it under their names. Only
    where there are routines is it worth asking which ones are bundled.
    """
    root = identity.source_root(os.path.abspath(path).replace(os.sep, "/"))
    if not root:
        return PROJECT
    if _has_routines(root) and _is_engine_folder(root, frozenset(bundled_ids())):
        return BUNDLED
    if not root.endswith(_ROOTED):
        return PROJECT
    home = os.path.abspath(os.path.expanduser("~")).replace(os.sep, "/")
    return USER if root == f"{home.rstrip('/')}{_ROOTED}" else CUSTOM


@lru_cache(maxsize=64)
def _has_routines(root: str) -> bool:
    return os.path.isdir(os.path.join(root, "routines"))


@lru_cache(maxsize=64)
def _is_engine_folder(root: str, bundled_ids: frozenset[str]) -> bool:
    names = {f"{ident.removeprefix(ROUTINE_PREFIX)}.json" for ident in bundled_ids if ident.startswith(ROUTINE_PREFIX)}
    try:
        present = names.intersection(os.listdir(os.path.join(root, "routines")))
    except OSError:
        return False
    return len(names) > 1 and 2 * len(present) > len(names)

"""Which kind of document a file is, by its name and its content."""

from __future__ import annotations

import os
from enum import Enum

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern


class Kind(str, Enum):
    """The kinds of documents the product reads."""

    WORKFLOW = "workflow"
    ROUTINE = "routine"
    CATALOG = "catalog"
    BINDINGS = "bindings"
    SCENARIO = "scenario"
    LOCKFILE = "lockfile"
    LOCK_REGISTRY = "lock-registry"
    IR = "ir"
    GOLDEN = "golden"
    BASELINE = "baseline"
    UNKNOWN = "unknown"


_NAMESPACED_ID = Pattern(r"[a-z][a-z0-9_-]*\.[a-z][a-z0-9_-]*\Z")
_SOURCE_FOLDER = "workflows"
_IDENTITY = {"id", "name", "description", "version"}


def kind_of(path: str, value: object) -> Kind:
    """Return the kind of a document that was read; UNKNOWN for JSON that is none of ours."""
    named = kind_by_name(path)
    if named is not None:
        return named
    if not isinstance(value, dict):
        return Kind.UNKNOWN
    if "catalogFormat" in value:
        return Kind.CATALOG
    if (js.string_in(value, "format") or "").startswith("workrail.ir/"):
        return Kind.IR
    if "lockRegistryVersion" in value:
        return Kind.LOCK_REGISTRY
    if value.get("sourceKind") == "v1_pinned":
        return Kind.UNKNOWN  # what the public engine keeps of a workflow for its sessions; no author writes it
    ident = js.string_in(value, "id") or ""
    has_steps = js.list_in(value, "steps") is not None or js.object_in(value, "steps") is not None
    if has_steps or len(_IDENTITY & value.keys()) >= 3 or _is_loaded(path, ident):
        return Kind.ROUTINE if is_routine(path, ident) else Kind.WORKFLOW
    return Kind.UNKNOWN


def _is_loaded(path: str, ident: str) -> bool:
    """Return whether the engine takes a file for a workflow by its place and id alone, and then fails for all it lacks.

    Other tools keep files in folders of that name too, so only an id that says whose it is counts.
    """
    return bool(_NAMESPACED_ID.match(ident)) and _SOURCE_FOLDER in _folders(path)


def kind_by_name(path: str) -> Kind | None:
    """Return the kind that a file name alone decides."""
    base = os.path.basename(path)
    if base == "workrail.lock.json":
        return Kind.LOCKFILE
    if base.endswith(".scenario.json"):
        return Kind.SCENARIO
    if base.endswith(".golden.json"):
        return Kind.GOLDEN
    if base == "bindings.json" and os.path.basename(os.path.dirname(path)) == ".workrail":
        return Kind.BINDINGS
    return None


def is_routine(path: str, ident: str) -> bool:
    """Return whether this is a routine: it is in a `routines` folder, or its file name or id says so."""
    return (
        in_routines_folder(path)
        or path.replace("\\", "/").rpartition("/")[2].startswith("routine-")
        or ident.startswith(("wr.routine-", "routine-"))
    )


def in_routines_folder(path: str) -> bool:
    """Return whether a file stands where routines are loaded from; only those are ever injected."""
    folders = _folders(path)
    while _SOURCE_FOLDER in folders:  # what lies above a source says nothing about the files in it
        folders = folders[folders.index(_SOURCE_FOLDER) + 1 :]
    return "routines" in folders


def _folders(path: str) -> list[str]:
    return path.replace("\\", "/").split("/")[:-1]


def may_be_ours(path: str, text: str) -> bool:
    """Return whether a file that can't be parsed was meant as a workflow, and is not some other tool's dialect."""
    folders = path.replace("\\", "/").split("/")
    return "workflows" in folders or "routines" in folders or '"steps"' in text

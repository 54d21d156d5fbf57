"""Who a workflow is: the grammar of its id, what the place and name of its file say, and the kind of source it is from.

Only `source_kind_of` looks at a disk. All of it is on the path of every check, so it gets by without regular
expressions and without the models.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from enum import Enum
from functools import lru_cache

from workrail_lint.base.canonical import digest
from workrail_lint.base.result import Record
from workrail_lint.systems.workrail.document_kinds import is_routine

MIN_LENGTH = 3
MAX_LENGTH = 64
RESERVED_NAMESPACE = "wr"

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ID_CHARACTERS = f"{_LETTERS}0123456789_-"
# The namespace that goes with a source. Bundled workflows have theirs already.
_NAMESPACES = {
    "user": "user",
    "project": "project",
    "custom": "project",
    "git": "repo",
    "remote": "repo",
    "plugin": "repo",
}


# ---------------------------------------------------------------------------------------------------- ids


class IdStatus(str, Enum):
    """Whether an id says whose it is."""

    NAMESPACED = "namespaced"
    LEGACY = "legacy"


class WorkflowId(Record):
    """An id taken apart; a legacy id has an empty namespace."""

    __slots__ = ("name", "namespace")

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace = namespace
        self.name = name

    @property
    def status(self) -> IdStatus:
        return IdStatus.NAMESPACED if self.namespace else IdStatus.LEGACY

    @property
    def reserved(self) -> bool:
        return self.namespace == RESERVED_NAMESPACE


def parse(ident: str) -> WorkflowId | None:
    """Return the parts of an id, or None when the id policy knows no such form. Length is the schema's matter."""
    namespace, dot, name = ident.partition(".")
    if not dot:
        return WorkflowId("", ident) if _consists_of(ident, _ID_CHARACTERS) else None
    return WorkflowId(namespace, name) if _is_segment(namespace) and _is_segment(name) else None


def _is_segment(text: str) -> bool:
    return text[:1] in _LETTERS and _consists_of(text, _ID_CHARACTERS)


def _consists_of(text: str, characters: str) -> bool:
    return bool(text) and not text.strip(characters)


def is_valid(ident: str) -> bool:
    """Return whether the schema accepts an id. It asks for two characters in a segment, where the policy takes one."""
    parsed = parse(ident) if MIN_LENGTH <= len(ident) <= MAX_LENGTH else None
    return parsed is not None and (not parsed.namespace or min(len(parsed.namespace), len(parsed.name)) > 1)


def is_reserved(ident: str) -> bool:
    return ident.startswith(f"{RESERVED_NAMESPACE}.")


def is_test(ident: str) -> bool:
    """Workflows that exist for tests are not judged by how they are kept up to date."""
    return ident.startswith("test-")


class IdVerdict(str, Enum):
    """The verdict of the id policy on loading or saving a workflow."""

    OK = "ok"
    LEGACY = "legacy"  # accepted with the warning legacy_workflow_id when loading, refused when saving
    RESERVED = "reserved"
    INVALID = "invalid"


def verdict_of_id(ident: str, source_kind: str) -> IdVerdict:
    """Return what the id policy says about a workflow from a source."""
    parsed = parse(ident)
    if parsed is None:
        return IdVerdict.INVALID
    if parsed.status is IdStatus.LEGACY:
        return IdVerdict.LEGACY
    if parsed.reserved and source_kind != "bundled":
        return IdVerdict.RESERVED
    return IdVerdict.OK


def suggest(ident: str, source_kind: str, existing: Collection[str] = ()) -> str | None:
    """Return the namespaced id a legacy one should get; the same on every machine and at any time.

    Bundled workflows have no namespace to suggest.
    """
    space = _NAMESPACES.get(source_kind)
    if space is None:
        return None
    name = ident.lower().replace("-", "_")
    if name[:1] not in _LETTERS:
        name = f"w_{name}"
    if len(name) < 2:
        name += "_"
    candidate = f"{space}.{name}"
    if len(candidate) <= MAX_LENGTH and candidate not in existing:
        return candidate
    seed = "\n".join((source_kind, ident)).encode("utf-8", "surrogatepass")
    suffix = "_" + digest(seed).removeprefix("sha256:")[:4]
    return candidate[: MAX_LENGTH - len(suffix)] + suffix


# ------------------------------------------------------------------------------------- files and variants


class Variant(str, Enum):
    """Which of several files with one id a file is."""

    STANDARD = "standard"
    LEAN = "lean"
    V2 = "v2"
    AGENTIC = "agentic"


# In the order in which a path is asked, and in which a variant is chosen. The flag shows the variant.
_MARKED = ((Variant.LEAN, "leanWorkflows"), (Variant.V2, "v2Tools"), (Variant.AGENTIC, "agenticRoutines"))
SOURCE_FOLDER = "workflows"
UNLISTED_FOLDERS = ("examples", "internal")


def variant_of(path: str) -> Variant:
    """Return the variant a path is marked as, by the first marker in it."""
    return next((variant for variant, _ in _MARKED if f".{variant.value}." in path), Variant.STANDARD)


def source_root(path: str) -> str:
    """Return the folder a file is discovered from: the nearest one named `workflows`, "" when there is none."""
    parts = _parts(path)
    for index in range(len(parts) - 2, -1, -1):
        if parts[index] == SOURCE_FOLDER:
            return "/".join(parts[: index + 1])
    return ""


def inside_source(path: str) -> str:
    """Return a path as discovery sees it: below its source, or just the name when an absolute path has no source."""
    root = source_root(path)
    parts = _parts(path)
    if root:
        return "/".join(parts)[len(root) + 1 :]
    return parts[-1] if parts[0] == "" or parts[0].endswith(":") else "/".join(parts)


@lru_cache(maxsize=4)
def hidden_because(path: str) -> str | None:
    """Why discovery does not list a file by default; None when it does."""
    inside = inside_source(path)
    for folder in UNLISTED_FOLDERS:
        if folder in _parts(inside)[:-1]:
            return f"it lies in a folder named {folder}"
    if is_routine(inside, ""):
        return "it is a routine, which the flag agenticRoutines shows"
    variant = variant_of(inside)
    if variant in (Variant.LEAN, Variant.V2):
        flag = next(flag for marked, flag in _MARKED if marked is variant)
        return f"its name marks the variant {variant.value}, which the flag {flag} shows"
    return None


def _parts(path: str) -> list[str]:
    return path.replace("\\", "/").split("/")


ROUTINE_PREFIX = "wr.routine-"
# Members of the closed set of source kinds; the enum itself is not worth loading here.
BUNDLED, CUSTOM, PROJECT, USER = "bundled", "custom", "project", "user"
_ROOTED = f"/.workrail/{SOURCE_FOLDER}"


def source_kind_of(path: str, bundled_ids: Callable[[], Collection[str]]) -> str:
    """Return the source kind of a file on disk, when nobody configured one.

    The engine's own folder is known by its routines: most of the bundled ones lie beside it under their names. Only
    where there are routines is it worth asking which ones are bundled.
    """
    root = source_root(os.path.abspath(path).replace(os.sep, "/"))
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

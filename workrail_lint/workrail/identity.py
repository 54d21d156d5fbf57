"""Who a workflow is: the grammar of its id, its kind and variant, and which of several files with one id counts.

Everything here is a function of ids and paths; nothing looks at a disk.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from enum import Enum
from typing import Any, NamedTuple

from workrail_lint.documents.kinds import is_routine
from workrail_lint.workrail.model.enums import SourceKind

MIN_LENGTH = 3
MAX_LENGTH = 64
RESERVED_NAMESPACE = "wr"

# What the engine's schema accepts, and the two forms of the id policy. The schema is the stricter one about
# segments: each needs two characters.
SCHEMA_ID = re.compile(r"(?:[a-z0-9_-]+|[a-z][a-z0-9_-]+\.[a-z][a-z0-9_-]+)")
_LEGACY = re.compile(r"[a-z0-9_-]+")
_SEGMENT = re.compile(r"[a-z][a-z0-9_-]*")
_LOOKUP = re.compile(r"[a-zA-Z0-9_.-]+")

# Lowest priority first: of files with one id, that of the later source wins.
PRECEDENCE = (
    SourceKind.BUNDLED,
    SourceKind.PLUGIN,
    SourceKind.USER,
    SourceKind.CUSTOM,
    SourceKind.GIT,
    SourceKind.REMOTE,
    SourceKind.PROJECT,
)
_NAMESPACES = {
    SourceKind.USER: "user",
    SourceKind.PROJECT: "project",
    SourceKind.CUSTOM: "project",
    SourceKind.GIT: "repo",
    SourceKind.REMOTE: "repo",
    SourceKind.PLUGIN: "repo",
}
# Durable events know fewer kinds.
_DURABLE = {SourceKind.CUSTOM: SourceKind.PROJECT, SourceKind.GIT: SourceKind.REMOTE}


# ---------------------------------------------------------------------------------------------------- ids


class IdStatus(str, Enum):
    """Whether an id says whose it is."""

    NAMESPACED = "namespaced"
    LEGACY = "legacy"


class WorkflowId(NamedTuple):
    """An id taken apart; a legacy id has an empty namespace."""

    namespace: str
    name: str

    @property
    def status(self) -> IdStatus:
        return IdStatus.NAMESPACED if self.namespace else IdStatus.LEGACY

    @property
    def reserved(self) -> bool:
        return self.namespace == RESERVED_NAMESPACE


def parse(ident: str) -> WorkflowId | None:
    """The parts of an id, or None when the id policy knows no such form. Length is the schema's matter."""
    if "." not in ident:
        return WorkflowId("", ident) if _LEGACY.fullmatch(ident) else None
    segments = ident.split(".")
    if len(segments) != 2 or not all(_SEGMENT.fullmatch(segment) for segment in segments):
        return None
    return WorkflowId(segments[0], segments[1])


def is_valid(ident: str) -> bool:
    """Whether the schema accepts an id."""
    return MIN_LENGTH <= len(ident) <= MAX_LENGTH and SCHEMA_ID.fullmatch(ident) is not None


def lookup_form(text: str) -> str | None:
    """An id as it is looked up, normalized; None for text that is never looked up."""
    if text.isascii():
        return text if _LOOKUP.fullmatch(text) else None
    import unicodedata

    normal = unicodedata.normalize("NFC", text)
    return normal if _LOOKUP.fullmatch(normal) else None


class Verdict(str, Enum):
    """What the id policy says to loading or saving a workflow."""

    OK = "ok"
    LEGACY = "legacy"  # accepted with the warning legacy_workflow_id when loading, refused when saving
    RESERVED = "reserved"
    INVALID = "invalid"


def judge(ident: str, source_kind: str) -> Verdict:
    """The id policy for a workflow from a source."""
    parsed = parse(ident)
    if parsed is None:
        return Verdict.INVALID
    if parsed.status is IdStatus.LEGACY:
        return Verdict.LEGACY
    if parsed.reserved and source_kind != SourceKind.BUNDLED:
        return Verdict.RESERVED
    return Verdict.OK


def suggest(ident: str, source_kind: str, taken: Collection[str] = (), *, namespace: str | None = None) -> str | None:
    """The namespaced id a legacy one should get; the same on every machine and at any time.

    `namespace` overrides the one that goes with the source. Bundled workflows have none to suggest.
    """
    kind = SourceKind(source_kind)
    space = namespace or _NAMESPACES.get(kind)
    if space is None:
        return None
    name = ident.lower().replace("-", "_")
    if not ("a" <= name[:1] <= "z"):
        name = f"w_{name}"
    if len(name) < 2:
        name += "_"
    candidate = f"{space}.{name}"
    if len(candidate) <= MAX_LENGTH and candidate not in taken:
        return candidate
    import hashlib

    seed = f"{kind.value}\n{ident}".encode("utf-8", "surrogatepass")
    suffix = "_" + hashlib.sha256(seed).hexdigest()[:4]
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
    """The variant a path is marked as, by the first marker in it."""
    return next((variant for variant, _ in _MARKED if f".{variant.value}." in path), Variant.STANDARD)


def plain_stem(path: str) -> str:
    """A file's name without folder, extension and variant markers."""
    name = _parts(path)[-1]
    stem, dot, extension = name.rpartition(".")
    parts = (stem if dot and extension.lower() == "json" else name).split(".")
    markers = {variant.value for variant, _ in _MARKED}
    return ".".join(part for index, part in enumerate(parts) if index == 0 or part not in markers)


def source_root(path: str) -> str:
    """The folder a file is discovered from: the nearest one named `workflows`, "" when there is none."""
    parts = _parts(path)
    for index in range(len(parts) - 2, -1, -1):
        if parts[index] == SOURCE_FOLDER:
            return "/".join(parts[: index + 1])
    return ""


def inside_source(path: str) -> str:
    """A path as discovery sees it: below its source, or just the name when an absolute path has no source."""
    root = source_root(path)
    parts = _parts(path)
    if root:
        return "/".join(parts)[len(root) + 1 :]
    return parts[-1] if parts[0] == "" or parts[0].endswith(":") else "/".join(parts)


def hidden_because(path: str) -> str | None:
    """Why discovery does not list a file by default; None when it does."""
    inside = inside_source(path)
    for folder in UNLISTED_FOLDERS:
        if folder in _parts(inside)[:-1]:
            return f"it lies in a folder named {folder}"
    if is_routine(inside, None):
        return "it is a routine, which the flag agenticRoutines shows"
    variant = variant_of(inside)
    if variant in (Variant.LEAN, Variant.V2):
        flag = next(flag for marked, flag in _MARKED if marked is variant)
        return f"its name marks the variant {variant.value}, which the flag {flag} shows"
    return None


def select_variant(paths: Iterable[str], flags: Collection[str] = ()) -> str:
    """Which of several files with one id in one source counts, given the feature flags that are on."""
    found: dict[Variant, str] = {}
    for path in sorted(paths):
        found.setdefault(variant_of(path), path)
    flagged = [variant for variant, flag in _MARKED if flag in flags]
    order = (*flagged, Variant.STANDARD, *(variant for variant, _ in _MARKED))
    return next(found[variant] for variant in order if variant in found)


def _parts(path: str) -> list[str]:
    return path.replace("\\", "/").split("/")


# ------------------------------------------------------------------------------------------------ sources


class ResolutionKind(str, Enum):
    """Why one candidate was chosen among several."""

    UNIQUE = "unique"
    SOURCE_PRIORITY = "source_priority"
    BUNDLED_PROTECTED = "bundled_protected"


class Resolution(NamedTuple):
    """The source whose workflow an id means, and the sources that also offered one."""

    kind: ResolutionKind
    winner: SourceKind
    others: tuple[SourceKind, ...]


def resolve(ident: str, sources: Collection[str]) -> Resolution:
    """Which source provides an id that several have."""
    ranked = sorted({SourceKind(source) for source in sources}, key=PRECEDENCE.index)
    winner = ranked[-1]
    if len(ranked) == 1:
        return Resolution(ResolutionKind.UNIQUE, winner, ())
    if is_reserved(ident) and SourceKind.BUNDLED in ranked:
        return Resolution(ResolutionKind.BUNDLED_PROTECTED, SourceKind.BUNDLED, tuple(ranked[1:]))
    return Resolution(ResolutionKind.SOURCE_PRIORITY, winner, tuple(ranked[:-1]))


def is_reserved(ident: str) -> bool:
    return ident.startswith(f"{RESERVED_NAMESPACE}.")


def durable_source(kind: str) -> SourceKind:
    """The source kind as durable events record it."""
    return _DURABLE.get(SourceKind(kind), SourceKind(kind))


# ---------------------------------------------------------------------------------------------- listings


class Staleness(str, Enum):
    """Whether a workflow was last validated against the authoring rules in force."""

    NONE = "none"
    POSSIBLE = "possible"
    LIKELY = "likely"


def staleness(ident: str, validated: object, current: int) -> Staleness | None:
    """How old the validation of a workflow is; None for ids that are not judged."""
    if ident.startswith("test-"):
        return None
    if validated is None:
        return Staleness.POSSIBLE
    return Staleness.NONE if validated == current else Staleness.LIKELY


class Record(NamedTuple):
    """A workflow as a listing shows it."""

    id: str
    kind: str  # workflow or routine
    id_status: IdStatus
    suggested_id: str | None
    source_kind: SourceKind
    name: str
    description: str
    version: str
    examples: tuple[str, ...]
    staleness: Staleness | None

    def as_json(self) -> dict[str, Any]:
        """The record under its published names, absent members left out."""
        members: dict[str, Any] = {
            "id": self.id,
            "kind": self.kind,
            "idStatus": self.id_status.value,
            "suggestedId": self.suggested_id,
            "sourceKind": self.source_kind.value,
            "name": self.name,
            "description": self.description,
            "version": self.version,
            "examples": list(self.examples) or None,
            "staleness": self.staleness.value if self.staleness else None,
        }
        return {name: value for name, value in members.items() if value is not None}


def record_of(
    definition: dict[str, Any], path: str, source_kind: str, spec_version: int, taken: Collection[str] = ()
) -> Record:
    """The discovery record of a valid workflow."""
    ident = definition["id"]
    parsed = parse(ident)
    status = IdStatus.NAMESPACED if parsed is None else parsed.status
    return Record(
        ident,
        "routine" if is_routine(path, ident) else "workflow",
        status,
        suggest(ident, source_kind, taken) if status is IdStatus.LEGACY else None,
        SourceKind(source_kind),
        definition["name"],
        definition["description"],
        definition["version"],
        tuple(definition.get("examples", ())),
        staleness(ident, definition.get("validatedAgainstSpecVersion"), spec_version),
    )


def listing_key(record: Record, *, engine: bool = False) -> tuple[str, ...]:
    """The order of listings: namespace (legacy ids first), workflows before routines, id. The engine's is the id."""
    if engine:
        return (record.id,)
    namespace, dot, _ = record.id.partition(".")
    # Valid ids are ASCII, so that code points and code units sort alike.
    return (namespace if dot else "", "1" if record.kind == "routine" else "0", record.id)

"""Where workflows come from and how they are listed: precedence of sources, discovery records, sort order."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import Any, NamedTuple

from workrail_lint.systems.workrail.identity import IdStatus, is_reserved, is_test, parse, suggest
from workrail_lint.systems.workrail.kinds import is_routine


class SourceKind(str, Enum):
    """Where a workflow file was found."""

    BUNDLED = "bundled"
    USER = "user"
    PROJECT = "project"
    CUSTOM = "custom"
    GIT = "git"
    REMOTE = "remote"
    PLUGIN = "plugin"


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
# Durable events know fewer kinds.
_DURABLE = {SourceKind.CUSTOM: SourceKind.PROJECT, SourceKind.GIT: SourceKind.REMOTE}


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


def durable_source(kind: str) -> SourceKind:
    """The source kind as durable events record it."""
    return _DURABLE.get(SourceKind(kind), SourceKind(kind))


class Staleness(str, Enum):
    """Whether a workflow was last validated against the authoring rules in force."""

    NONE = "none"
    POSSIBLE = "possible"
    LIKELY = "likely"


def staleness(ident: str, validated: object, current: int) -> Staleness | None:
    """Return how old the validation of a workflow is; None for ids that are not judged."""
    if is_test(ident):
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

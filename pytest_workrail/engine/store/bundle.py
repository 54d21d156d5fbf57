"""Bundles: a whole session in one JSON document, with the digest of every part.

Checking is pure and complete: when it says yes, storing can fail only because a disk does. No tokens, keys or
aliases are ever part of a bundle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from pytest_workrail.engine.model.base import (
    Index,
    JsonObject,
    NonEmpty,
    Shape,
    ShapeError,
    StoredRecord,
    Value,
    decode_json,
)
from pytest_workrail.engine.model.events import Event, NodeCreated, RunStarted, event_from
from pytest_workrail.engine.model.ids import Digest, SessionId, SnapshotRef, WorkflowHash
from pytest_workrail.engine.model.ids import SnapshotRef as Ref
from pytest_workrail.engine.model.ids import WorkflowHash as Hash
from pytest_workrail.engine.model.manifest import ManifestRecord, escapes, manifest_record_from, pins
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.store.plan import SessionTruth
from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok

BundleErrorCode: TypeAlias = Literal[
    "BUNDLE_INVALID_FORMAT",
    "BUNDLE_UNSUPPORTED_VERSION",
    "BUNDLE_INTEGRITY_FAILED",
    "BUNDLE_EVENT_ORDER_INVALID",
    "BUNDLE_MANIFEST_ORDER_INVALID",
    "BUNDLE_MISSING_SNAPSHOT",
    "BUNDLE_MISSING_PINNED_WORKFLOW",
]


class BundleError(Struct, frozen=True):
    """Why a bundle is refused. Nothing was written, and trying again will not help."""

    code: BundleErrorCode
    message: str
    details: Mapping[str, str] = msgspec.field(default_factory=dict)


ExportCode: TypeAlias = Literal[
    "EXPORT_SESSION_STORE_ERROR",
    "EXPORT_SNAPSHOT_STORE_ERROR",
    "EXPORT_PINNED_WORKFLOW_STORE_ERROR",
    "EXPORT_MISSING_SNAPSHOT",
    "EXPORT_MISSING_PINNED_WORKFLOW",
    "EXPORT_BUILD_FAILED",
    "BUNDLE_BUILD_EMPTY_EVENTS",
]
ImportCode: TypeAlias = Literal[
    "IMPORT_SNAPSHOT_PARSE_ERROR",
    "IMPORT_SNAPSHOT_STORE_ERROR",
    "IMPORT_PINNED_WORKFLOW_STORE_ERROR",
    "IMPORT_SESSION_STORE_ERROR",
]


class ExportFailure(Struct, frozen=True):
    """Why a session could not be taken out."""

    code: ExportCode
    message: str


class ImportFailure(Struct, frozen=True):
    """Why a bundle that was in order could not be stored."""

    code: ImportCode
    message: str
    out_of_space: bool = False


class Producer(Value, frozen=True):
    """Who made a bundle."""

    app_version: NonEmpty
    applied_config_hash: NonEmpty | None = None


class PartDigest(Value, frozen=True):
    """The digest of one part."""

    path: NonEmpty
    sha256: Digest
    bytes: Index

    def __post_init__(self) -> None:
        if escapes(self.path):
            raise ValueError("must be a relative path without '..'")


class _Integrity(Value, frozen=True, tag_field="kind", tag="sha256_manifest_v1"):
    entries: Annotated[tuple[PartDigest, ...], Meta(min_length=1)]


class _Session(Value, frozen=True):
    session_id: SessionId
    events: tuple[JsonObject, ...]
    manifest: tuple[JsonObject, ...]
    snapshots: dict[SnapshotRef, JsonObject]
    pinned_workflows: dict[WorkflowHash, JsonObject]


# A moment as ISO 8601 writes it.
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})\Z"


class _Bundle(StoredRecord, frozen=True):
    bundle_schema_version: Literal[1]
    bundle_id: NonEmpty
    exported_at: Annotated[str, Meta(pattern=_MOMENT)]
    producer: Producer
    integrity: _Integrity
    session: _Session


_BUNDLE: Shape[_Bundle] = Shape(_Bundle)


class CheckedBundle(Struct, frozen=True):
    """A bundle that holds together. Snapshots are still to be read: their shape is the engine's business."""

    session_id: str
    events: tuple[Event, ...]
    manifest: tuple[ManifestRecord, ...]
    snapshots: dict[Ref, JsonObject]
    pinned_workflows: dict[Hash, JsonObject]


def required_snapshots(truth: SessionTruth) -> list[Ref]:
    """Every snapshot a session needs, in order of appearance."""
    named = [pin.snapshot_ref for pin in pins(truth.manifest)]
    created = [event.data.snapshot_ref for event in truth.events if isinstance(event, NodeCreated)]
    return list(dict.fromkeys(named + created))


def required_workflows(truth: SessionTruth) -> list[Hash]:
    """Every workflow a session needs, in order of appearance."""
    named = [event.data.workflow_hash for event in truth.events if isinstance(event, RunStarted | NodeCreated)]
    return list(dict.fromkeys(named))


def build(
    *,
    bundle_id: str,
    exported_at: str,
    producer: Producer,
    session_id: str,
    truth: SessionTruth,
    snapshots: dict[Ref, ExecutionSnapshot],
    pinned_workflows: dict[Hash, dict[str, Json]],
) -> dict[str, Json]:
    """The bundle of a session, as JSON."""
    session: dict[str, Json] = {
        "sessionId": session_id,
        "events": [event.to_wire() for event in truth.events],
        "manifest": [record.to_wire() for record in truth.manifest],
        "snapshots": {ref: snapshots[ref].to_wire() for ref in sorted(snapshots)},
        "pinnedWorkflows": {name: pinned_workflows[name] for name in sorted(pinned_workflows)},
    }
    entries: list[Json] = [
        {"path": path, "sha256": digest(raw), "bytes": len(raw)}
        for path, raw in ((path, canonical_bytes(part)) for path, part in _parts(session).items())
    ]
    return {
        "bundleSchemaVersion": 1,
        "bundleId": bundle_id,
        "exportedAt": exported_at,
        "producer": producer.to_wire(),
        "integrity": {"kind": "sha256_manifest_v1", "entries": entries},
        "session": session,
    }


def _parts(session: dict[str, Json]) -> dict[str, Json]:
    """Every part of a session that has a digest, by its path, in the order of the entries."""
    parts = {"session/events": session["events"], "session/manifest": session["manifest"]}
    for member in ("snapshots", "pinnedWorkflows"):
        group = session[member]
        if isinstance(group, dict):
            parts |= {f"session/{member}/{name}": group[name] for name in sorted(group)}
    return parts


def check(raw: bytes) -> Ok[CheckedBundle] | Err[BundleError]:
    """Everything there is to verify about a bundle, in fixed phases; the first failure is the answer."""
    decoded = decode_json(raw)
    if isinstance(decoded, Err):
        return _refused("BUNDLE_INVALID_FORMAT", f"The bundle is not JSON: {decoded.error}")
    document = decoded.value
    if isinstance(document, dict) and not js.strict_equal(document.get("bundleSchemaVersion", 1), 1):
        return _refused("BUNDLE_UNSUPPORTED_VERSION", "Bundles of this version are not known here.")
    try:
        bundle = _BUNDLE.read(document)
    except ShapeError as problem:
        return _refused("BUNDLE_INVALID_FORMAT", str(problem))
    records = _records(bundle.session)
    if isinstance(records, Err):
        return records
    checked = records.value
    session = document["session"] if isinstance(document, dict) else {}
    problem_found = (
        _integrity_problem(bundle.integrity.entries, session if isinstance(session, dict) else {})
        or _order_problem(checked)
        or _missing_problem(checked)
        or _address_problem(checked)
    )
    return Ok(checked) if problem_found is None else Err(problem_found)


def _refused(code: BundleErrorCode, message: str) -> Err[BundleError]:
    return Err(BundleError(code, message))


def _records(session: _Session) -> Ok[CheckedBundle] | Err[BundleError]:
    events: list[Event] = []
    manifest: list[ManifestRecord] = []
    for place, value in enumerate(session.events):
        event = event_from(value)
        if isinstance(event, Err):
            return _refused("BUNDLE_INVALID_FORMAT", f"event {place}: {event.error.message}")
        events.append(event.value)
    for place, value in enumerate(session.manifest):
        record = manifest_record_from(value)
        if isinstance(record, Err):
            return _refused("BUNDLE_INVALID_FORMAT", f"manifest record {place}: {record.error.message}")
        manifest.append(record.value)
    if any(record.session_id != session.session_id for record in [*events, *manifest]):
        return _refused("BUNDLE_INVALID_FORMAT", "The bundle holds records of another session.")
    if not events:
        return _refused("BUNDLE_INVALID_FORMAT", "The bundle holds no events.")
    return Ok(
        CheckedBundle(session.session_id, tuple(events), tuple(manifest), session.snapshots, session.pinned_workflows)
    )


def _integrity_problem(entries: tuple[PartDigest, ...], session: dict[str, Json]) -> BundleError | None:
    """Each part has exactly one entry, each entry a part, and the digests are right."""
    parts = _parts(session)
    paths = [entry.path for entry in entries]
    if sorted(paths) != sorted(parts):
        odd = sorted(set(paths) ^ set(parts)) or sorted({path for path in paths if paths.count(path) > 1})
        return BundleError("BUNDLE_INTEGRITY_FAILED", "Entries and parts do not match.", {"path": odd[0]})
    for entry in entries:
        raw = canonical_bytes(parts[entry.path])
        if len(raw) != entry.bytes or digest(raw) != entry.sha256:
            message = "A part differs from what its entry attests."
            return BundleError("BUNDLE_INTEGRITY_FAILED", message, {"path": entry.path})
    return None


def _order_problem(bundle: CheckedBundle) -> BundleError | None:
    if [event.event_index for event in bundle.events] != list(range(len(bundle.events))):
        return BundleError("BUNDLE_EVENT_ORDER_INVALID", "Events are not numbered from 0 on without a gap.")
    if [record.manifest_index for record in bundle.manifest] != list(range(len(bundle.manifest))):
        return BundleError(
            "BUNDLE_MANIFEST_ORDER_INVALID", "Manifest records are not numbered from 0 on without a gap."
        )
    return None


def _missing_problem(bundle: CheckedBundle) -> BundleError | None:
    truth = SessionTruth(bundle.events, bundle.manifest)
    for ref in required_snapshots(truth):
        if ref not in bundle.snapshots:
            return BundleError("BUNDLE_MISSING_SNAPSHOT", "A snapshot is missing.", {"missingRef": ref})
    for name in required_workflows(truth):
        if name not in bundle.pinned_workflows:
            details = {"missingHash": name}
            return BundleError("BUNDLE_MISSING_PINNED_WORKFLOW", "A pinned workflow is missing.", details)
    return None


def _address_problem(bundle: CheckedBundle) -> BundleError | None:
    """Content is stored under the address it has, not the one a bundle gives it."""
    for address, content in [*bundle.snapshots.items(), *bundle.pinned_workflows.items()]:
        if digest(canonical_bytes(content)) != address:
            return BundleError("BUNDLE_INTEGRITY_FAILED", "Content does not have its address.", {"path": address})
    return None

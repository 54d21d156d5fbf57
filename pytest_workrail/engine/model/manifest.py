"""The manifest: the control stream that says which segments exist and which snapshots they need."""

import functools
import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

from pytest_workrail.engine.model.base import CorruptionReason, Index, NonEmpty, Shape, StoredRecord
from pytest_workrail.engine.model.ids import Digest, EventId, SessionId, SnapshotRef
from workrail_lint.base.js import Json
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok

_DRIVE = Pattern(r"[A-Za-z]:")


def escapes(path: str) -> bool:
    """Return whether a path could name something outside the folder it is relative to."""
    return path.startswith(("/", "\\")) or _DRIVE.match(path) is not None or ".." in re.split(r"[/\\]", path)


def segment_path(first: int, last: int) -> str:
    """Return where the segment that holds these events lies, relative to its session."""
    return f"events/{first:08d}-{last:08d}.jsonl"


class _Record(StoredRecord, frozen=True, tag_field="kind"):
    v: Literal[1]
    manifest_index: Index
    session_id: SessionId


class SegmentClosed(_Record, frozen=True, tag="segment_closed"):
    """A segment is complete: its events, its bytes and their digest."""

    first_event_index: Index
    last_event_index: Index
    segment_rel_path: NonEmpty
    sha256: Digest
    bytes: Index

    def __post_init__(self) -> None:
        if self.first_event_index > self.last_event_index:
            raise ValueError("a segment holds at least one event")
        if self.segment_rel_path != segment_path(self.first_event_index, self.last_event_index):
            raise ValueError("the path of a segment names its events")


class SnapshotPinned(_Record, frozen=True, tag="snapshot_pinned"):
    """A snapshot that an event introduced and that has to be kept."""

    event_index: Index
    snapshot_ref: SnapshotRef
    created_by_event_id: EventId


ManifestRecord: TypeAlias = SegmentClosed | SnapshotPinned
RECORDS: Shape[ManifestRecord] = Shape(ManifestRecord)


# Manifests only grow: nearly every line was read before.
@functools.lru_cache(maxsize=4096)
def read_manifest_record(raw: bytes) -> Ok[ManifestRecord] | Err[CorruptionReason]:
    """The manifest record in one line."""
    return RECORDS.read_line(raw)


def manifest_record_from(value: Json) -> Ok[ManifestRecord] | Err[CorruptionReason]:
    """The manifest record in a decoded JSON value."""
    return RECORDS.read_value(value)


def segments(records: Iterable[ManifestRecord]) -> list[SegmentClosed]:
    """The segments, in order."""
    return [record for record in records if isinstance(record, SegmentClosed)]


def pins(records: Iterable[ManifestRecord]) -> list[SnapshotPinned]:
    """The pins, in order."""
    return [record for record in records if isinstance(record, SnapshotPinned)]

"""The manifest: the control stream that says which segments exist and which snapshots they need."""

import functools
import re
from collections.abc import Iterable
from typing import Annotated, Literal, TypeAlias

from pytest_workrail.engine.events.fields import Digest, EventId, SessionId, SnapshotRef
from pytest_workrail.engine.events.shapes import Holds, Shape, Tagged
from pytest_workrail.engine.events.wire import CorruptionReason, Index, NonEmpty, Wire, read_record, read_value
from workrail_lint.base.js import Json
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok

_DRIVE = Pattern(r"[A-Za-z]:")


def escapes(path: str) -> bool:
    """True for a path that could name something outside the folder it is relative to."""
    return path.startswith(("/", "\\")) or _DRIVE.match(path) is not None or ".." in re.split(r"[/\\]", path)


def _relative_path(path: str) -> str:
    if escapes(path):
        raise ValueError("must be a relative path without '..'")
    return path


RelativePath: TypeAlias = Annotated[NonEmpty, Holds(_relative_path)]


def segment_path(first: int, last: int) -> str:
    """Where the segment that holds these events lies, relative to its session."""
    return f"events/{first:08d}-{last:08d}.jsonl"


class _Record(Wire):
    v: Literal[1] = 1
    manifest_index: Index
    session_id: SessionId


class SegmentClosed(_Record):
    """A segment is complete: its events, its bytes and their digest."""

    kind: Literal["segment_closed"] = "segment_closed"
    first_event_index: Index
    last_event_index: Index
    segment_rel_path: RelativePath
    sha256: Digest
    bytes: Index

    def check_together(self) -> None:
        if self.first_event_index > self.last_event_index:
            raise ValueError("a segment holds at least one event")
        if self.segment_rel_path != segment_path(self.first_event_index, self.last_event_index):
            raise ValueError("the path of a segment names its events")


class SnapshotPinned(_Record):
    """A snapshot that an event introduced and that has to be kept."""

    kind: Literal["snapshot_pinned"] = "snapshot_pinned"
    event_index: Index
    snapshot_ref: SnapshotRef
    created_by_event_id: EventId


ManifestRecord: TypeAlias = SegmentClosed | SnapshotPinned
_RECORD: Shape[ManifestRecord] = Shape(Annotated[ManifestRecord, Tagged("kind")])


# Manifests only grow: nearly every line was read before.
@functools.lru_cache(maxsize=4096)
def read_manifest_record(raw: bytes) -> Ok[ManifestRecord] | Err[CorruptionReason]:
    """The manifest record in one line."""
    return read_record(raw, _RECORD)


def manifest_record_from(value: Json) -> Ok[ManifestRecord] | Err[CorruptionReason]:
    """The manifest record in a decoded JSON value."""
    return read_value(value, _RECORD)


def segments(records: Iterable[ManifestRecord]) -> list[SegmentClosed]:
    """The segments, in order."""
    return [record for record in records if isinstance(record, SegmentClosed)]


def pins(records: Iterable[ManifestRecord]) -> list[SnapshotPinned]:
    """The pins, in order."""
    return [record for record in records if isinstance(record, SnapshotPinned)]

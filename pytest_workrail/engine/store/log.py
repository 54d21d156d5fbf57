"""Reading and extending a session log, without any I/O: what the adapters in memory and on disk share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from pytest_workrail.engine.model.base import (
    MAX_NESTING,
    CorruptionCode,
    CorruptionReason,
    canonical,
    nesting,
    record_line,
)
from pytest_workrail.engine.model.events import (
    EVENTS,
    Event,
    Log,
    NodeCreated,
    read_event,
)
from pytest_workrail.engine.model.ids import Digest, SessionId
from pytest_workrail.engine.model.manifest import (
    RECORDS,
    ManifestRecord,
    SegmentClosed,
    SnapshotPinned,
    pins,
    read_manifest_record,
    segment_path,
)
from pytest_workrail.engine.projections.incremental import log_index, of_kind
from pytest_workrail.engine.store.plan import AppendPlan, SessionTruth, SnapshotPin, pins_of
from pytest_workrail.engine.store.ports import StoreCorruption, StoreInvariantViolation
from workrail_lint.base import js
from workrail_lint.base.canonical import CanonicalError, digest
from workrail_lint.base.result import Err, Ok

T = TypeVar("T")
Reader: TypeAlias = Callable[[bytes], Ok[T] | Err[CorruptionReason]]


def _corrupt(at_head: bool, code: CorruptionCode, message: str) -> StoreCorruption:
    return StoreCorruption("head" if at_head else "tail", CorruptionReason(code, message))


def read_lines(raw: bytes, read: Reader[T]) -> tuple[list[T], CorruptionReason | None]:
    """The records of a file up to the first bad line, and what is wrong with that one."""
    *lines, rest = raw.split(b"\n")
    records: list[T] = []
    for number, line in enumerate(lines):
        record = read(line)
        if isinstance(record, Err):
            return records, CorruptionReason(record.error.code, f"line {number + 1}: {record.error.message}")
        records.append(record.value)
    # Without its line end a record may look whole, but whatever is added next would be glued to it.
    if rest:
        return records, CorruptionReason("non_contiguous_indices", f"line {len(lines) + 1}: cut short")
    return records, None


class ManifestReading(Struct, frozen=True):
    """The valid start of a manifest, and the first thing wrong after it."""

    records: tuple[ManifestRecord, ...]
    fault: StoreCorruption | None
    # What stops a salvage: the same as `fault`, or an earlier break in a manifest that has both.
    cut: StoreCorruption | None


def read_manifest(
    session_id: SessionId, raw: bytes, read: Reader[ManifestRecord] = read_manifest_record
) -> ManifestReading:
    """Verify a manifest. A blank one belongs to a session without events. `read` decides what a line may hold."""
    if js.is_blank(raw.decode("utf-8", "replace")):
        return ManifestReading((), None, None)
    # The store reads a manifest again after each append: `read_manifest_record` remembers its lines.
    at_once = None if read is read_manifest_record else RECORDS.read_lines(raw, any_ids=True)
    records, broken = read_lines(raw, read) if at_once is None else (at_once, None)
    unreadable = None
    if broken is not None:
        unreadable = StoreCorruption("tail" if records else "head", broken)
    valid, gap = _contiguous(session_id, records)
    return ManifestReading(tuple(valid), unreadable or gap, gap or unreadable)


def _contiguous(
    session_id: SessionId, records: list[ManifestRecord]
) -> tuple[list[ManifestRecord], StoreCorruption | None]:
    """The start of a manifest in which indexes follow each other and pins follow their segment."""
    next_event = 0
    for place, record in enumerate(records):
        at_head = place == 0
        if record.session_id != session_id:
            fault = _corrupt(at_head, "schema_validation_failed", f"record {place} is of {record.session_id}")
        elif record.manifest_index != place:
            message = f"record {place} has index {record.manifest_index}"
            fault = _corrupt(at_head, "non_contiguous_indices", message)
        elif isinstance(record, SnapshotPinned) and record.event_index >= next_event:
            message = f"record {place} pins event {record.event_index} before its segment is closed"
            fault = _corrupt(at_head, "non_contiguous_indices", message)
        elif isinstance(record, SegmentClosed) and record.first_event_index != next_event:
            message = f"record {place} begins at event {record.first_event_index}, not {next_event}"
            fault = _corrupt(at_head, "non_contiguous_indices", message)
        else:
            if isinstance(record, SegmentClosed):
                next_event = record.last_event_index + 1
            continue
        return records[:place], fault
    return records, None


def read_segment(
    session_id: SessionId, record: SegmentClosed, raw: bytes, read: Reader[Any] = read_event
) -> Ok[tuple[Event, ...]] | Err[StoreCorruption]:
    """The events of a segment whose bytes were verified. `read` decides what a line may hold."""
    events: Sequence[Event] | None = EVENTS.read_lines(raw, any_ids=read is not read_event)
    broken: CorruptionReason | None = None
    if events is None:  # something is wrong somewhere, so one line after the other
        events, broken = read_lines(raw, read)
    if broken is not None:
        at_head = not events and record.first_event_index == 0
        return Err(StoreCorruption("head" if at_head else "tail", broken))
    indexes = [event.event_index for event in events]
    if indexes != list(range(record.first_event_index, record.last_event_index + 1)):
        message = f"{record.segment_rel_path} does not hold the events it is named after"
        return Err(_corrupt(False, "non_contiguous_indices", message))
    if any(event.session_id != session_id for event in events):
        message = f"{record.segment_rel_path} holds events of another session"
        return Err(_corrupt(False, "schema_validation_failed", message))
    return Ok(tuple(events))


def missing_segment(record: SegmentClosed) -> StoreCorruption:
    """The manifest attests a file that is not there."""
    return _corrupt(False, "missing_attested_segment", f"{record.segment_rel_path} is missing")


def altered_segment(record: SegmentClosed) -> StoreCorruption:
    """The file is not the one the manifest attests."""
    return _corrupt(False, "digest_mismatch", f"{record.segment_rel_path} differs from what was written")


def unpinned_node(events: Log, manifest: Iterable[ManifestRecord]) -> StoreCorruption | None:
    """The first node whose snapshot is not pinned: its append was cut short inside the manifest."""
    pinned = {(pin.event_index, pin.created_by_event_id, pin.snapshot_ref) for pin in pins(manifest)}
    for event in of_kind(events, NodeCreated):
        if (event.event_index, event.event_id, event.data.snapshot_ref) not in pinned:
            message = f"the snapshot of event {event.event_index} is not pinned"
            return _corrupt(False, "missing_attested_segment", message)
    return None


class Prepared(Struct, frozen=True):
    """A plan that may be written: its segment, its manifest records, its events as they will be read."""

    segment: bytes
    records: tuple[ManifestRecord, ...]
    events: tuple[Event, ...]

    @property
    def path(self) -> str:
        """Where the segment goes, relative to the session."""
        return segment_path(self.events[0].event_index, self.events[-1].event_index)

    @property
    def manifest_lines(self) -> bytes:
        """The new lines of the manifest, in one piece."""
        return b"".join(record_line(record) for record in self.records)


def prepare(
    session_id: SessionId, truth: SessionTruth, plan: AppendPlan
) -> Ok[Prepared | None] | Err[StoreInvariantViolation]:
    """Return the records to write for a plan; None when the log already has them."""
    find = log_index(truth.events).find
    known = [event for event in plan.events if find(event.dedupe_key) is not None]
    if known:
        if len(known) == len(plan.events):
            return Ok(None)
        return Err(StoreInvariantViolation("some events of the plan are stored already and some are not"))
    problem = _shape_problem(session_id, truth, plan)
    if problem is not None:
        return Err(StoreInvariantViolation(problem))
    encoded = _encode(plan)
    if isinstance(encoded, Err):
        return encoded
    segment, events = encoded.value
    return Ok(Prepared(segment, _manifest_records(session_id, truth, plan, segment), events))


def _shape_problem(session_id: SessionId, truth: SessionTruth, plan: AppendPlan) -> str | None:
    if not plan.events:
        return "a plan holds at least one event"
    first = truth.next_index
    if [event.event_index for event in plan.events] != list(range(first, first + len(plan.events))):
        return f"the events of a plan are numbered from {first} on"
    if {event.session_id for event in plan.events} != {session_id}:
        return f"every event of the plan belongs to {session_id}"
    if len({event.dedupe_key for event in plan.events}) != len(plan.events):
        return "a dedupe key occurs twice in the plan"
    if _in_order(plan.snapshot_pins) != _in_order(pins_of(plan.events)):
        return "the plan pins exactly the snapshots of the nodes it creates"
    return None


def _encode(plan: AppendPlan) -> Ok[tuple[bytes, tuple[Event, ...]]] | Err[StoreInvariantViolation]:
    """The bytes of a segment. Each line is read back first: what can't be read is not written."""
    lines: list[bytes] = []
    for event in plan.events:
        try:
            line = canonical(event)
        except CanonicalError as problem:
            return Err(StoreInvariantViolation(f"event {event.event_index}: {problem}"))
        lines.append(line + b"\n")
        if line.count(b"{") + line.count(b"[") > MAX_NESTING and nesting(event.to_wire()) > MAX_NESTING:
            return Err(StoreInvariantViolation(f"event {event.event_index} is nested too deeply"))
    segment = b"".join(lines)
    events = EVENTS.read_lines(segment)
    return _read_singly(plan, lines) if events is None else Ok((segment, tuple(events)))


def _read_singly(
    plan: AppendPlan, lines: list[bytes]
) -> Ok[tuple[bytes, tuple[Event, ...]]] | Err[StoreInvariantViolation]:
    """The same where not every line is exactly as it would be written again."""
    known: list[Event] = []
    for event, line in zip(plan.events, lines, strict=True):
        again = read_event(line.removesuffix(b"\n"))
        if isinstance(again, Err):
            return Err(StoreInvariantViolation(f"event {event.event_index}: {again.error.message}"))
        known.append(again.value)
    return Ok((b"".join(lines), tuple(known)))


def _in_order(pins: Sequence[SnapshotPin]) -> Sequence[SnapshotPin]:
    """Pins in the order of a manifest: by what they pin."""
    order = attrgetter("snapshot_ref", "event_index", "created_by_event_id")
    return pins if len(pins) == 1 else sorted(pins, key=order)


def _manifest_records(
    session_id: SessionId, truth: SessionTruth, plan: AppendPlan, segment: bytes
) -> tuple[ManifestRecord, ...]:
    first, last = plan.events[0].event_index, plan.events[-1].event_index
    place = len(truth.manifest)
    closed = SegmentClosed(
        v=1,
        manifest_index=place,
        session_id=session_id,
        first_event_index=first,
        last_event_index=last,
        segment_rel_path=segment_path(first, last),
        sha256=Digest(digest(segment)),
        bytes=len(segment),
    )
    pinned = [
        SnapshotPinned(
            v=1,
            manifest_index=place + 1 + offset,
            session_id=session_id,
            event_index=pin.event_index,
            snapshot_ref=pin.snapshot_ref,
            created_by_event_id=pin.created_by_event_id,
        )
        for offset, pin in enumerate(_in_order(plan.snapshot_pins))
    ]
    return (closed, *pinned)

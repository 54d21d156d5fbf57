"""Broken stores: each switch gives up one promise of the append-only log."""

from __future__ import annotations

import itertools
import os

from changed import replace

from pytest_workrail.locks.sabotage import breaks
from workrail_lint.base.result import Err, Ok

STORE = "pytest_workrail.engine.store.filesystem:FileSessionStore"


@breaks("event-index-zero-based", at="pytest_workrail.engine.store.plan:SessionTruth.next_index")
def events_count_from_one(original):
    """The first event of a session gets index 1."""
    return property(lambda truth: len(truth.events) + 1)


@breaks("event-index-monotonic-contiguous", at="pytest_workrail.engine.store.log:_shape_problem")
def gaps_between_events_are_stored(original):
    """A plan may leave out indexes."""

    def lenient(session_id, truth, plan):
        problem = original(session_id, truth, plan)
        return None if problem is not None and "numbered from" in problem else problem

    return lenient


@breaks("crash-safe-append", at="pytest_workrail.engine.store.filesystem:write_soon")
def nothing_is_synced(original):
    """A segment gets its name before its bytes are safe."""

    def write(files, path, data, *, aside):
        with files.create(aside) as handle:
            handle.write(data)
        files.replace(aside, path)

    return write


@breaks(
    "single-writer-per-session",
    at=(
        "pytest_workrail.engine.store.filesystem:FileSessionLock.acquire",
        "pytest_workrail.engine.store.memory:MemorySessionLock.acquire",
    ),
)
def everybody_gets_the_lock(original):
    """A session that somebody holds is given to somebody else."""
    return lambda self, session_id: Ok(None)


@breaks("orphan-segment-ignored", at=f"{STORE}._segments")
def segments_are_found_on_disk(original):
    """A segment counts because it lies there, whether the manifest names it or not."""

    def found(self, session_id, reading):
        events, records, fault = original(self, session_id, reading)
        named = {record.segment_rel_path for record in reading.records if record.kind == "segment_closed"}
        lying = self._files.list_dir(f"sessions/{session_id}/events")
        extra = [name for name in lying if f"events/{name}" not in named]
        return events + events[-len(extra) :] if extra else events, records, fault

    return found


@breaks("segment-digest-verification", at=f"{STORE}.is_attested")
def any_bytes_will_do(original):
    """The bytes of a segment are not compared with the recorded digest."""
    return lambda self, record, size, sha256: True


@breaks("manifest-index-monotonic-contiguous", at="pytest_workrail.engine.store.log:_contiguous")
def manifest_gaps_are_overlooked(original):
    """Manifest records may skip numbers."""

    def lenient(session_id, records):
        renumbered = [type(r).from_wire({**r.to_wire(), "manifestIndex": at}) for at, r in enumerate(records)]
        return original(session_id, renumbered)

    return lenient


@breaks("pin-after-close", at="pytest_workrail.engine.store.log:_contiguous")
def pins_may_come_first(original):
    """A pin before its segment is put in its place in silence."""

    def lenient(session_id, records):
        ordered = sorted(
            records, key=lambda r: r.last_event_index if r.kind == "segment_closed" else r.event_index + 99
        )
        back = [type(r).from_wire({**r.to_wire(), "manifestIndex": at}) for at, r in enumerate(ordered)]
        return original(session_id, back)

    return lenient


@breaks("crash-state-detection", at="pytest_workrail.engine.store.log:unpinned_node")
def missing_pins_are_overlooked(original):
    """A closed segment without its pins passes for whole."""
    return lambda events, manifest: None


@breaks("append-plan-atomic", at=f"{STORE}.append")
def plans_are_written_in_halves(original):
    """The first event of a plan can be seen without the others."""

    def append(self, permit, plan):
        from pytest_workrail.engine.store.plan import AppendPlan, pins_of

        for events in (plan.events[:1], plan.events[1:]):
            if events:
                outcome = original(self, permit, AppendPlan(events, pins_of(events)))
                if isinstance(outcome, Err):
                    return outcome
        return outcome

    return append


@breaks("dedupe-key-idempotent", at="pytest_workrail.engine.store.log:prepare")
def a_known_plan_is_refused(original):
    """Saying the same again is an error."""

    def prepare(session_id, truth, plan):
        from pytest_workrail.engine.store.ports import StoreInvariantViolation

        prepared = original(session_id, truth, plan)
        return Err(StoreInvariantViolation("stored already")) if prepared == Ok(None) else prepared

    return prepare


@breaks("dedupe-key-stable", at="pytest_workrail.engine.model.keys:advance_recorded")
def keys_hold_something_fresh(original):
    """The key of an advance is another one each time."""
    numbers = itertools.count()
    return lambda session, node, attempt: f"{original(session, node, attempt)}:{next(numbers)}"


@breaks("snapshot-content-addressed", at="pytest_workrail.engine.model.snapshot:ExecutionSnapshot.ref")
def snapshots_are_named_by_their_size(original):
    """The name of a snapshot says nothing about its content."""
    return property(lambda snapshot: f"sha256:{len(snapshot.to_bytes()):064x}")


@breaks("data-dir-workrail-owned", at="pytest_workrail.engine.store.disk:data_root")
def data_may_lie_among_workflows(original):
    """Folders with workflows are not looked at."""
    return lambda environ, home, *, override=None, workflow_folders=(): original(environ, home, override=override)


@breaks("paths-relative-only", at="pytest_workrail.engine.model.manifest:escapes")
def paths_may_lead_anywhere(original):
    """An absolute path in a manifest or bundle is accepted."""
    return lambda path: False


@breaks("projection-cache-rebuildable", at=f"{STORE}._segment")
def the_cache_answers_otherwise(original):
    """What was read before comes out of the cache backwards."""

    def segment(self, session_id, record):
        known = len(self._parsed)
        found = original(self, session_id, record)
        from_cache = isinstance(found, Ok) and len(self._parsed) == known and len(found.value) > 1
        return Ok(found.value[::-1]) if from_cache else found

    return segment


@breaks("parallel-stat-correctness", at=f"{STORE}.list_sessions")
def what_can_not_be_looked_at_is_listed(original):
    """A session whose time can't be told is on the list."""

    def listed(self):
        from pytest_workrail.engine.store.layout import SESSION_NAME
        from pytest_workrail.engine.store.plan import SessionEntry

        names = [name for name in self._files.list_dir("sessions") if SESSION_NAME.fullmatch(name)]
        found = [SessionEntry(name, self._files.modified_ms(f"sessions/{name}") or 0) for name in names]
        return Ok(tuple(sorted(found, key=lambda entry: (-entry.modified_ms, entry.session_id))))

    return listed


@breaks("parallel-segment-order", at="pytest_workrail.engine.store.filesystem:segments")
def segments_come_backwards(original):
    """The last segment is read first."""
    return lambda records: original(records)[::-1]


@breaks("single-manifest-fsync", at=f"{STORE}._write")
def every_record_is_synced_alone(original):
    """The record that closes a segment reaches the disk before its pins."""

    def write(self, session_id, prepared, *, is_first):
        for at in range(1, len(prepared.records)):
            original(self, session_id, replace(prepared, records=prepared.records[at - 1 : at]), is_first=is_first)
        original(self, session_id, replace(prepared, records=prepared.records[-1:]), is_first=is_first)

    return write


@breaks("data-dir-workrail-owned", at="pytest_workrail.engine.store.disk:data_root")
def data_lies_in_the_working_folder(original):
    """Without a setting, data lands wherever the program was started."""
    return lambda environ, home, **others: Ok(others.get("override") or home.__class__(os.curdir))

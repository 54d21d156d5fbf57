"""The log of a session: its events in order, checked against the manifest, as far as they can be trusted.

A damaged log gives its intact start and a sentence about the rest. Events of kinds or versions that are not known here
are kept where they stand and count as unknown; they are never dropped.
"""

from __future__ import annotations

from dataclasses import field
from hashlib import sha256
from typing import Any

from pytest_workrail.records import Record
from pytest_workrail.sessions.data_folder import DataFolder, decoded, decoded_lines
from pytest_workrail.sessions.log_shapes import is_known, shape_problem

# What one session may hold altogether: far more than any agent writes, little enough to be read at once.
MAX_SESSION_BYTES = 256 * 1024 * 1024


class SessionLog(Record, frozen=False):
    """What was read. `damage` is the first thing wrong; everything before it is in `events`."""

    session_id: str
    events: list[dict[str, Any]] = field(default_factory=list)
    damage: str | None = None
    unknown: int = 0  # events kept without being understood
    ends: list[int] = field(default_factory=list)  # the last event of each segment: what one call wrote


def read_log(folder: DataFolder, session_id: str) -> SessionLog:
    """The log of a session. Never raises, whatever the files hold."""
    known = folder.log(session_id)
    if known is not None:
        return known
    log = SessionLog(session_id)
    if not folder.has_folder(session_id):
        log.damage = "the session is a link, which is not followed"
        return log
    try:
        raw = folder.read_of_session(session_id, "manifest.jsonl")
    except OSError as problem:
        log.damage = f"the manifest can't be read ({problem.strerror})"
        return log
    if raw is None or not raw.strip():
        log.damage = "the session has no manifest"
        return log
    records, broken = _records(session_id, raw)
    has_events = folder.has_folder(session_id, "events")
    size = 0
    for place, record in enumerate(records):
        if record["kind"] != "segment_closed":
            continue
        size += record["bytes"]
        if size > MAX_SESSION_BYTES:
            log.damage = f"the log has more than {MAX_SESSION_BYTES:,} bytes"
            return log
        damage = _add_segment(folder, log, record) if has_events else f"{record['segmentRelPath']} is missing"
        if damage is not None:
            log.damage = f"{damage} (manifest line {place + 1})"
            return log
    log.damage = broken or _pin_problem(records, log)
    return log


def _records(session_id: str, raw: bytes) -> tuple[list[dict[str, Any]], str | None]:
    """The valid start of a manifest, and what is wrong after it."""
    values = decoded_lines(raw)
    rest = b""
    if values is None:  # something is wrong somewhere, so one line after the other
        *lines, rest = raw.split(b"\n")
        values = [decoded(line) for line in lines]
    next_event = 0
    for place, record in enumerate(values):
        problem = _record_problem(session_id, record, place, next_event)
        if problem is not None:
            return values[:place], f"manifest line {place + 1} {problem}"
        if record["kind"] == "segment_closed":
            next_event = record["lastEventIndex"] + 1
    return values, f"manifest line {len(values) + 1} is cut short" if rest else None


def _record_problem(session_id: str, record: Any, place: int, next_event: int) -> str | None:
    if not isinstance(record, dict):
        return "is not a record"
    if record.get("v") != 1:
        return f"is of version {str(record.get('v'))[:20]}, which is not known here"
    if record.get("sessionId") != session_id:
        return "belongs to another session"
    if record.get("manifestIndex") != place:
        return f"has index {str(record.get('manifestIndex'))[:20]}"
    if record.get("kind") == "snapshot_pinned":
        index = record.get("eventIndex")
        return None if type(index) is int and 0 <= index < next_event else "pins an event before its segment"
    if record.get("kind") != "segment_closed":
        return f"is of the unknown kind {str(record.get('kind'))[:40]}"
    first, last = record.get("firstEventIndex"), record.get("lastEventIndex")
    if first != next_event or type(first) is not int or type(last) is not int or last < first:
        return f"does not continue at event {next_event}"
    if record.get("segmentRelPath") != f"events/{first:08}-{last:08}.jsonl":
        return "names a file that no engine writes"
    if type(record.get("bytes")) is not int or record["bytes"] < 0 or type(record.get("sha256")) is not str:
        return "does not attest its segment"
    return None


def _add_segment(folder: DataFolder, log: SessionLog, record: dict[str, Any]) -> str | None:
    """Take in the events of a segment as a whole, or say what is wrong with it."""
    name = record["segmentRelPath"]
    try:
        raw = folder.read_of_session(log.session_id, name)
    except OSError as problem:
        return f"{name} can't be read ({problem.strerror})"
    if raw is None:
        return f"{name} is missing"
    if len(raw) != record["bytes"] or f"sha256:{sha256(raw).hexdigest()}" != record["sha256"]:
        return f"{name} differs from what was written"
    events = decoded_lines(raw)
    if events is None:
        return f"{name} holds a line that is not JSON"
    if len(events) != record["lastEventIndex"] - record["firstEventIndex"] + 1:
        return f"{name} does not hold the events it is named after"
    unknown, index, session_id = 0, record["firstEventIndex"], log.session_id
    for event in events:
        if event.get("eventIndex") != index:
            return f"{name} does not hold the events it is named after"
        if event.get("sessionId") != session_id:
            return f"{name} holds events of another session"
        index += 1
        if not is_known(event):
            unknown += 1
            continue
        problem_found = shape_problem(event)
        if problem_found is not None:
            return f"event {index - 1}: {problem_found}"
    log.events += events
    log.unknown += unknown
    log.ends.append(record["lastEventIndex"])
    return None


def _pin_problem(records: list[dict[str, Any]], log: SessionLog) -> str | None:
    """The first node whose snapshot is not pinned: its append was cut short inside the manifest."""
    pinned = {
        (record["eventIndex"], str(record.get("createdByEventId")), str(record.get("snapshotRef")))
        for record in records
        if record["kind"] == "snapshot_pinned"
    }
    for event in log.events:
        if event.get("kind") != "node_created" or not is_known(event):
            continue
        if (event["eventIndex"], event["eventId"], event["data"]["snapshotRef"]) not in pinned:
            return f"the snapshot of event {event['eventIndex']} is not pinned"
    return None

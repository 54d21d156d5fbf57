"""Damaged sessions: located, named, salvaged as far as possible, never repaired, never written to.

@enforces segment-digest-verification
@enforces crash-state-detection
@enforces manifest-index-monotonic-contiguous
@enforces pin-after-close
@enforces salvage-read-only
@enforces session-health-closed-set
@enforces execution-gated-by-health
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from sample_sessions import Story, tell_short

from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.filesystem import FileSessionStore, Holder, on_files
from pytest_workrail.engine.store.gate import assess, health_data
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, TreeFiles
from pytest_workrail.engine.store.plan import AppendPermit, Complete, SessionTruth, Truncated, preferences_plan
from pytest_workrail.engine.store.ports import StoreCorruption
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.result import Err, Ok

OTHER_SESSION = "sess_" + "a" * 26


class Patient:
    """A finished session of three plans, six manifest records, and ways to harm it."""

    def __init__(self) -> None:
        self.files = TreeFiles()
        home = on_files(self.files, FixedClock(), SeededEntropy("damage"), Holder(1, "main", "one"))
        self.story = tell_short(Story(home))
        self.manifest = layout.manifest(self.story.session_id)
        self.records = [json.loads(line) for line in self.files.contents[self.manifest].splitlines()]

    @property
    def store(self) -> FileSessionStore:
        return FileSessionStore(self.files)

    def segment(self, record: int) -> str:
        return f"{layout.session_dir(self.story.session_id)}/{self.records[record]['segmentRelPath']}"

    def write(self, *records: object) -> None:
        """Replace the manifest."""
        self.files.contents[self.manifest] = _lines(records)

    def change(self, record: int, **members: object) -> None:
        """Replace the manifest with one record changed."""
        self.records[record] = {**self.records[record], **members}
        self.write(*self.records)

    def renumber(self, *records: dict) -> None:
        self.write(*({**record, "manifestIndex": at} for at, record in enumerate(records)))

    def tail(self, edit: Callable[[bytes], bytes]) -> None:
        """Edit the bytes of the manifest."""
        self.files.contents[self.manifest] = edit(self.files.contents[self.manifest])

    def forge(self, record: int, line: int, edit: Callable[[dict], object]) -> None:
        """Alter an event and attest the alteration: the digest is right, the content is not."""
        events: list[object] = [json.loads(raw) for raw in self.files.contents[self.segment(record)].splitlines()]
        events[line] = edit(events[line])
        raw = _lines(events)
        self.files.contents[self.segment(record)] = raw
        self.change(record, sha256=digest(raw), bytes=len(raw))


def _lines(records) -> bytes:
    return b"".join((each if isinstance(each, bytes) else canonical_bytes(each)) + b"\n" for each in records)


SEQUENCE, VERSION, SHAPE = "non_contiguous_indices", "unknown_schema_version", "schema_validation_failed"
MISSING, DIGEST = "missing_attested_segment", "digest_mismatch"

# What is done, where it must be located, how it must be named, and how many plans can be salvaged.
DAMAGE: dict[str, tuple[Callable[[Patient], object], str, str, int | None]] = {
    "first line torn": (lambda p: p.write(b'{"v":1,', *p.records[1:]), "head", SEQUENCE, None),
    "last line torn": (lambda p: p.tail(lambda raw: raw[:-10]), "tail", SEQUENCE, 3),
    "last segment line torn": (lambda p: p.write(*p.records[:4], b'{"bytes":12'), "tail", SEQUENCE, 2),
    "line end missing": (lambda p: p.tail(lambda raw: raw[:-1]), "tail", SEQUENCE, 3),
    "blank line inside": (lambda p: p.write(p.records[0], b"", *p.records[1:]), "tail", SEQUENCE, 1),
    "zeros at the end": (lambda p: p.tail(lambda raw: raw + bytes(20)), "tail", SEQUENCE, 3),
    "zeros only": (lambda p: p.tail(lambda raw: bytes(len(raw))), "head", SEQUENCE, None),
    "later version at the head": (lambda p: p.change(0, v=2), "head", VERSION, None),
    "later version at the tail": (lambda p: p.change(5, v=2), "tail", VERSION, 3),
    "unknown record": (lambda p: p.change(5, kind="other"), "tail", SHAPE, 3),
    "manifest gap": (lambda p: p.change(4, manifestIndex=6), "tail", SEQUENCE, 2),
    "manifest without its start": (lambda p: p.write(*p.records[1:]), "head", SEQUENCE, None),
    "segment gap": (lambda p: p.renumber(*p.records[:2], *p.records[4:]), "tail", SEQUENCE, 1),
    "pin before its segment": (lambda p: p.renumber(*p.records[:4], p.records[5], p.records[4]), "tail", SEQUENCE, 2),
    "another session's record": (lambda p: p.change(4, sessionId=OTHER_SESSION), "tail", SHAPE, 2),
    "another session's first record": (lambda p: p.change(0, sessionId=OTHER_SESSION), "head", SHAPE, None),
    "segment missing": (lambda p: p.files.contents.pop(p.segment(4)), "tail", MISSING, 2),
    "first segment missing": (lambda p: p.files.contents.pop(p.segment(0)), "tail", MISSING, 0),
    "segment altered": (lambda p: p.files.contents.update({p.segment(2): b"{}\n"}), "tail", DIGEST, 1),
    "byte count wrong": (lambda p: p.change(4, bytes=1), "tail", DIGEST, 2),
    "pin missing": (lambda p: p.write(*p.records[:5]), "tail", MISSING, 3),
    "pin of another snapshot": (lambda p: p.change(5, snapshotRef="sha256:" + "0" * 64), "tail", MISSING, 3),
    "pin of another event": (lambda p: p.change(5, eventIndex=0), "tail", MISSING, 3),
    "event of a later version": (lambda p: p.forge(4, 1, lambda e: {**e, "v": 2}), "tail", VERSION, 2),
    "event of an unknown kind": (lambda p: p.forge(4, 1, lambda e: {**e, "kind": "x"}), "tail", SHAPE, 2),
    "event unreadable": (lambda p: p.forge(4, 1, lambda e: b"{"), "tail", SEQUENCE, 2),
    "first event unreadable": (lambda p: p.forge(0, 0, lambda e: b"{"), "head", SEQUENCE, 0),
    "event out of order": (lambda p: p.forge(4, 1, lambda e: {**e, "eventIndex": 99}), "tail", SEQUENCE, 2),
    "another session's event": (
        lambda p: p.forge(4, 1, lambda e: {**e, "sessionId": OTHER_SESSION}),
        "tail",
        SHAPE,
        2,
    ),
}
ONLY_PINS = {"pin missing", "pin of another snapshot", "pin of another event"}


@pytest.fixture
def patient() -> Patient:
    return Patient()


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_located_and_named(name, patient):
    harm, location, code, salvaged = DAMAGE[name]
    harm(patient)
    session_id, plans = patient.story.session_id, patient.story.plans
    damaged = dict(patient.files.contents)
    error = patient.store.load(session_id).error
    assert isinstance(error, StoreCorruption)
    assert (error.location, error.reason.code) == (location, code)

    prefix = patient.store.load_validated_prefix(session_id)
    if salvaged is None:
        assert prefix.error.location == "head"
    else:
        truth = prefix.value.truth
        assert truth.events == tuple(event for plan in plans[:salvaged] for event in plan.events)
        assert prefix.value.extent == (Complete() if name in ONLY_PINS else Truncated(error.reason))
        assert [record.manifest_index for record in truth.manifest] == list(range(len(truth.manifest)))

    # Nobody continues it, nobody repairs it, nobody writes on top of it.
    kind = "unknown_version" if code == VERSION else f"corrupt_{location}"
    assert health_data(assess(Err(error)).value) == {
        "kind": kind,
        "reason": {"code": code, "message": error.reason.message},
    }
    refused = patient.story.home.gate.with_healthy_session_lock(session_id, lambda permit, truth: "inside")
    assert (refused.error.code, refused.error.health.kind) == ("SESSION_NOT_HEALTHY", kind)
    builder = patient.story.builder(SessionTruth(plans[0].events))
    more = preferences_plan(builder, patient.story.root, patient.story.preferences("more", "guided"))
    assert patient.store.append(AppendPermit(session_id), more) == Err(error)
    assert patient.files.contents == damaged


def test_of_two_faults_the_unreadable_line_is_reported_and_the_earlier_one_ends_the_salvage(patient):
    records = patient.records
    patient.write(*records[:2], {**records[2], "manifestIndex": 9}, records[3], b"{")
    assert patient.store.load(patient.story.session_id).error.reason.message.startswith("line 5")
    prefix = patient.store.load_validated_prefix(patient.story.session_id).value
    assert prefix.extent.reason.message == "record 2 has index 9"
    assert prefix.truth.events == patient.story.plans[0].events


def test_the_undamaged_session_is_healthy(patient):
    loaded = patient.store.load(patient.story.session_id)
    assert health_data(assess(loaded).value) == {"kind": "healthy"}
    prefix = patient.store.load_validated_prefix(patient.story.session_id).value
    assert prefix.extent == Complete()
    assert Ok(prefix.truth) == loaded


def test_a_log_that_contradicts_itself_is_a_damaged_tail(patient):
    """The bytes are what was written, but an edge leads nowhere."""
    patient.forge(4, 3, lambda event: {**event, "data": {**event["data"], "toNodeId": "node_" + "a" * 26}})
    loaded = patient.store.load(patient.story.session_id)
    assert loaded.is_ok
    health = health_data(assess(loaded).value)
    assert (health["kind"], health["reason"]["code"]) == ("corrupt_tail", SEQUENCE)

"""Sessions on files: what is written, what is read, what is refused.

@enforces event-index-zero-based
@enforces event-index-monotonic-contiguous
@enforces manifest-index-monotonic-contiguous
@enforces pin-after-close
@enforces orphan-segment-ignored
@enforces segment-digest-verification
@enforces crash-safe-append
@enforces single-manifest-fsync
@enforces dedupe-key-idempotent
@enforces witness-required-for-append
@enforces witness-scope-enforced
@enforces salvage-read-only
@enforces parallel-segment-order
@enforces parallel-stat-correctness
@enforces projection-cache-rebuildable
@enforces no-throws-across-boundaries
"""

from __future__ import annotations

import pytest
from crash_files import RecordingFiles
from msgspec import structs
from sample_sessions import Story, long_story, tell_short

from pytest_workrail.engine.model.base import record_line
from pytest_workrail.engine.model.events import NodeCreated, SessionCreated
from pytest_workrail.engine.model.manifest import SegmentClosed, SnapshotPinned, segments
from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.disk import DiskFiles
from pytest_workrail.engine.store.durable import prepare_root
from pytest_workrail.engine.store.filesystem import (
    FilePinnedWorkflowStore,
    FileSessionStore,
    FileSnapshotStore,
    Holder,
    on_files,
)
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, TreeFiles
from pytest_workrail.engine.store.plan import (
    AppendPermit,
    AppendPlan,
    Complete,
    SessionTruth,
    SnapshotPin,
    preferences_plan,
)
from pytest_workrail.engine.store.ports import StoreInvariantViolation, StoreIoError
from workrail_lint.base.result import Err, Ok


def a_home(files):
    prepare_root(files)
    return on_files(files, FixedClock(), SeededEntropy("files"), Holder(1, "main", "one"))


@pytest.fixture
def files() -> RecordingFiles:
    return RecordingFiles()


@pytest.fixture
def story(files) -> Story:
    return tell_short(Story(a_home(files)))


def load(files, story):
    return FileSessionStore(files).load(story.session_id)


def salvage(files, story):
    return FileSessionStore(files).load_validated_prefix(story.session_id)


def test_one_plan_is_one_segment_named_by_its_events(files, story):
    folder = layout.session_dir(story.session_id)
    names = sorted(path.removeprefix(folder) for path in files.contents if path.startswith(folder))
    assert names == [
        "/events/00000000-00000006.jsonl",
        "/events/00000007-00000013.jsonl",
        "/events/00000014-00000018.jsonl",
        "/manifest.jsonl",
    ]
    for number, plan in enumerate(story.plans):
        raw = files.contents[folder + names[number]]
        assert raw == b"".join(record_line(event) for event in plan.events)


def test_the_manifest_attests_segments_then_their_pins(story):
    records = story.truth.manifest
    assert [record.manifest_index for record in records] == list(range(6))
    assert [type(record) for record in records] == [SegmentClosed, SnapshotPinned] * 3
    assert [event.event_index for event in story.truth.events] == list(range(19))


# @enforces crash-safe-append
def test_the_exact_sequence_of_an_append(files, story):
    folder = layout.session_dir(story.session_id)
    segment = f"{folder}/events/00000007-00000013.jsonl"
    start = next(at for at, op in enumerate(files.ops) if op.path == f"{segment}.tmp")
    snapshot = layout.snapshot(story.plans[1].snapshot_pins[0].snapshot_ref)
    assert [(op.name, op.path, op.other) for op in files.ops[start : start + 9]] == [
        ("create", f"{segment}.tmp", ""),
        ("write", f"{segment}.tmp", ""),
        ("replace", f"{segment}.tmp", segment),
        # Everything that the manifest is about to attest is made safe together.
        ("sync", snapshot, ""),
        ("sync", segment, ""),
        ("sync_dir", layout.SNAPSHOTS, ""),
        ("sync_dir", f"{folder}/events", ""),
        ("write", f"{folder}/manifest.jsonl", ""),
        ("sync", f"{folder}/manifest.jsonl", ""),
    ]


def test_what_was_written_is_read_by_another_store(files, story):
    again = load(files, story).value
    assert again == story.truth
    assert again.events == tuple(event for plan in story.plans for event in plan.events)


def test_an_unknown_session_is_an_empty_one(files):
    story = Story(a_home(files))
    assert load(files, story) == Ok(SessionTruth())
    assert salvage(files, story).value.extent == Complete()


@pytest.mark.parametrize("blank", [b"", b"\n", b"  \n\t\n"])
def test_a_blank_manifest_is_an_empty_session(files, blank):
    story = Story(a_home(files))
    files.contents[layout.manifest(story.session_id)] = blank
    assert load(files, story) == Ok(SessionTruth())


def test_what_the_manifest_does_not_name_does_not_exist(files, story):
    folder = f"{layout.session_dir(story.session_id)}/events"
    before = load(files, story)
    files.contents[f"{folder}/00000019-00000020.jsonl"] = b"{}\n"
    files.contents[f"{folder}/00000000-00000006.jsonl.tmp"] = b"half"
    assert load(files, story) == before


def test_a_forgotten_cache_changes_no_answer(files, story):
    store = FileSessionStore(files)
    assert store.load(story.session_id) == store.load(story.session_id) == load(files, story)


def changed(event, **changes):
    return type(event).from_wire({**event.to_wire(), **changes})


def test_append_rules(files):
    story = Story(a_home(files))
    store = story.home.stores.sessions
    story.start()
    truth = story.truth
    good = preferences_plan(story.builder(truth), story.root, story.preferences("x", "guided"))
    event = good.events[0]
    node = next(event for event in truth.events if isinstance(event, NodeCreated))

    def refused(plan, part):
        before = dict(files.contents)
        error = store.append(AppendPermit(story.session_id), plan).error
        assert isinstance(error, StoreInvariantViolation)
        assert part in error.message
        assert files.contents == before

    refused(AppendPlan((), ()), "at least one event")
    refused(AppendPlan((changed(event, eventIndex=truth.next_index + 1),), ()), "numbered from")
    refused(AppendPlan((changed(event, eventIndex=0),), ()), "numbered from")
    refused(AppendPlan((changed(event, sessionId="sess_" + "a" * 26),), ()), "belongs to")
    twin = changed(event, eventIndex=event.event_index + 1)
    refused(AppendPlan((event, twin), ()), "occurs twice")
    refused(AppendPlan((event, changed(truth.events[0], eventIndex=event.event_index + 1)), ()), "some are not")
    new_node = changed(node, eventIndex=event.event_index, dedupeKey="node_created:new")
    refused(AppendPlan((new_node,), ()), "pins exactly")
    right = SnapshotPin(new_node.event_index, new_node.data.snapshot_ref, new_node.event_id)
    for wrong in (
        structs.replace(right, event_index=0),
        structs.replace(right, snapshot_ref="sha256:" + "0" * 64),
        structs.replace(right, created_by_event_id="evt_" + "a" * 26),
    ):
        refused(AppendPlan((new_node,), (wrong,)), "pins exactly")
    refused(AppendPlan((new_node,), (right, right)), "pins exactly")
    refused(AppendPlan((event,), (right,)), "pins exactly")
    assert store.append(AppendPermit(story.session_id), good) == Ok(None)


def test_a_known_plan_is_a_success_that_writes_nothing(files, story):
    before, ops = dict(files.contents), len(files.ops)
    for plan in story.plans:
        assert story.home.stores.sessions.append(AppendPermit(story.session_id), plan) == Ok(None)
    assert files.contents == before
    assert all(op.name not in ("write", "create", "replace") for op in files.ops[ops:])


def test_without_a_witness_nothing_is_touched(story):
    class Untouchable(TreeFiles):
        def read(self, path, offset=0):
            raise AssertionError("touched")

    permit = AppendPermit(story.session_id)
    permit.revoke()
    outcome = FileSessionStore(Untouchable()).append(permit, story.plans[0])
    assert outcome.error.code == "SESSION_STORE_INVARIANT_VIOLATION"


def context_plan(story, context):
    event = next(e for e in story.plans[0].events if e.kind == "context_set")
    data = event.data.replaced(context_id="c", context=context, source="agent_delta")
    made = event.replaced(data=data, event_index=story.truth.next_index, dedupe_key="context_set:bad")
    return AppendPlan((made,), ())


def deep(levels):
    value = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "context",
    [{"a": float("nan")}, {"a": float("inf")}, {"a": object()}, {"a": {1: 2}}, deep(5000), deep(300)],
    ids=["nan", "infinity", "object", "number as name", "very deep", "deep"],
)
def test_what_could_not_be_read_back_is_not_written(files, story, context):
    before = dict(files.contents)
    outcome = story.home.stores.sessions.append(AppendPermit(story.session_id), context_plan(story, context))
    assert outcome.error.code == "SESSION_STORE_INVARIANT_VIOLATION"
    assert files.contents == before


def test_what_is_stored_does_not_follow_the_caller_s_objects(files):
    story = Story(a_home(files))
    context = {"list": [1]}
    story.advance(story.start(), context=context)
    context["list"].append(2)
    assert [e.data.context for e in story.truth.events if e.kind == "context_set"][-1] == {"list": [1]}


class Failing(TreeFiles):
    """Files that fail at one kind of operation."""

    broken = ""

    def _maybe(self, name):
        if self.broken == name:
            raise OSError(28, "No space left on device")

    def read(self, path, offset=0):
        self._maybe("read")
        return super().read(path, offset)

    def stamp(self, path):
        self._maybe("read")
        return super().stamp(path)

    def list_dir(self, path):
        self._maybe("list_dir")
        return super().list_dir(path)

    def create(self, path):
        self._maybe("create")
        return super().create(path)

    def extend(self, path):
        self._maybe("extend")
        return super().extend(path)

    def replace(self, source, target):
        self._maybe("replace")
        super().replace(source, target)

    def sync_dir(self, path):
        self._maybe("sync_dir")


@pytest.mark.parametrize("broken", ["read", "create", "extend", "replace", "sync_dir"])
def test_a_failing_disk_is_a_value(broken):
    files = Failing()
    story = tell_short(Story(a_home(files)))
    plan = preferences_plan(story.builder(story.truth), story.root, story.preferences("x", "guided"))
    files.broken = broken
    store = story.home.stores.sessions
    assert store.append(AppendPermit(story.session_id), plan) == Err(
        StoreIoError("No space left on device", out_of_space=True)
    )
    if broken == "read":
        assert store.load(story.session_id) == Err(StoreIoError("No space left on device", out_of_space=True))
        assert store.load_validated_prefix(story.session_id) == Err(
            StoreIoError("No space left on device", out_of_space=True)
        )
    files.broken = ""
    assert store.append(AppendPermit(story.session_id), plan) == Ok(None)
    assert store.load(story.session_id).value.events[-1] == plan.events[-1]


def test_a_failing_disk_is_a_value_for_content_too():
    files = Failing()
    story = tell_short(Story(a_home(files)))
    ref = next(e.data.snapshot_ref for e in story.truth.events if isinstance(e, NodeCreated))
    snapshot = story.home.stores.snapshots.get(ref).value
    workflow = story.home.stores.workflows.get(story.run.started.workflow_hash).value
    files.broken = "read"
    assert story.home.stores.snapshots.get(ref).error.code == "SNAPSHOT_STORE_IO_ERROR"
    assert story.home.stores.workflows.get(ref).error.code == "PINNED_WORKFLOW_STORE_IO_ERROR"
    assert story.home.stores.snapshots.put(snapshot).error.code == "SNAPSHOT_STORE_IO_ERROR"
    assert story.home.stores.workflows.put(workflow).error.code == "PINNED_WORKFLOW_STORE_IO_ERROR"
    files.broken = "list_dir"
    assert story.home.stores.sessions.list_sessions().error.code == "SESSION_STORE_IO_ERROR"


def test_content_is_left_alone_when_it_is_there(files, story):
    ref = next(e.data.snapshot_ref for e in story.truth.events if isinstance(e, NodeCreated))
    store = FileSnapshotStore(files)
    at = len(files.ops)
    assert store.put(store.get(ref).value) == Ok(ref)
    assert files.ops[at:] == []
    # Whoever wrote it may have died before it was safe, so the next append sees to that.
    assert files.is_pending(layout.snapshot(ref))
    files.sync_pending()
    assert [op.name for op in files.ops[at:]] == ["sync", "sync_dir"]


def test_content_that_a_power_failure_tore_is_written_again(files, story):
    ref = next(e.data.snapshot_ref for e in story.truth.events if isinstance(e, NodeCreated))
    snapshot, path = story.home.stores.snapshots.get(ref).value, layout.snapshot(ref)
    files.contents[path] = files.contents[path][:-5]
    assert FileSnapshotStore(files).put(snapshot) == Ok(ref)
    assert FileSnapshotStore(files).get(ref) == Ok(snapshot)


class Unsyncable(TreeFiles):
    """Files that can't be synced for a while."""

    broken = True

    def sync(self, path):
        if self.broken:
            raise OSError(5, "Input/output error")


def test_what_could_not_be_synced_waits_on():
    files = Unsyncable()
    files.sync_later("a/b")
    with pytest.raises(OSError, match="Input/output"):
        files.sync_pending()
    assert files.is_pending("a/b")
    files.broken = False
    files.sync_pending()
    assert not files.is_pending("a/b")


def test_content_that_was_altered_is_refused(files, story):
    workflow_hash = story.run.started.workflow_hash
    store = FilePinnedWorkflowStore(files)
    assert store.get(workflow_hash).value["workflowId"] == "demo-linear"
    for raw in (b'{"other":1}', b"{", b"[]"):
        files.contents[layout.pinned_workflow(workflow_hash)] = raw
        assert store.get(workflow_hash).error.code == "PINNED_WORKFLOW_STORE_CORRUPTION_DETECTED"
    assert FileSnapshotStore(files).get("sha256:" + "0" * 64) == Ok(None)
    assert store.get("sha256:" + "0" * 64) == Ok(None)
    assert store.put({"a": float("nan")}).error.code == "PINNED_WORKFLOW_STORE_CORRUPTION_DETECTED"


def test_a_digest_becomes_a_file_name():
    assert layout.snapshot("sha256:ab") == "snapshots/sha256_ab.json"
    assert layout.pinned_workflow("sha256:ab") == "workflows/pinned/sha256_ab.json"


def test_sessions_are_listed_last_modified_first(files):
    home = a_home(files)
    stories = [Story(home) for _ in range(3)]
    for story in stories:
        story.start()
    stories[0].advance(stories[0].root)
    files.contents["sessions/not a session/x"] = b""
    files.contents["sessions/other"] = b""
    listed = [entry.session_id for entry in home.stores.sessions.list_sessions().value]
    assert listed == [stories[0].session_id, stories[2].session_id, stories[1].session_id]


def test_a_session_that_can_not_be_looked_at_is_not_listed(files):
    class Blind(RecordingFiles):
        def modified_ms(self, path):
            return None if path.endswith(hidden) else super().modified_ms(path)

    blind = Blind()
    home = a_home(blind)
    hidden = ""
    first, second = Story(home), Story(home)
    first.start()
    second.start()
    hidden = first.session_id
    assert [entry.session_id for entry in home.stores.sessions.list_sessions().value] == [second.session_id]


def test_a_manifest_that_is_being_written_is_not_taken_for_damaged(files, story):
    """Reading takes no lock, so a reader can see half of a write; looking again it sees the whole."""
    path = layout.manifest(story.session_id)

    class IncrementalProjection(TreeFiles):
        shown = 300

        def read(self, name, offset=0):
            raw = super().read(name, offset)
            if name == path:
                self.shown += 400
                return raw[: self.shown]
            return raw

    assert FileSessionStore(IncrementalProjection(dict(files.contents))).load(story.session_id) == load(files, story)


def test_segments_come_out_in_manifest_order_whatever_the_disk_lists(files):
    story = long_story(a_home(files))
    assert [event.event_index for event in load(files, story).value.events] == list(range(len(story.truth.events)))
    assert len(segments(story.truth.manifest)) == len(story.plans)


def test_the_log_as_it_stood_after_each_append(story):
    truth = story.truth
    for plan in story.plans:
        for event in plan.events:
            assert truth.as_of(event.event_index) == truth.events[: plan.events[-1].event_index + 1]
    with pytest.raises(IndexError):
        truth.as_of(len(truth.events))
    assert truth.find(story.plans[1].events[0].dedupe_key) == story.plans[1].events[0]
    assert truth.find("nothing") is None


def test_on_a_real_disk(tmp_path):
    disk = DiskFiles(tmp_path)
    story = long_story(a_home(disk))
    again = FileSessionStore(DiskFiles(tmp_path))
    assert again.load(story.session_id).value.events == story.truth.events
    assert [entry.session_id for entry in again.list_sessions().value] == [story.session_id]
    assert isinstance(story.truth.events[0], SessionCreated)
    kept = sorted(path.relative_to(tmp_path).parts[0] for path in tmp_path.iterdir())
    assert kept == ["keys", "sessions", "snapshots", "workflows"]
    # Nothing temporary is left, and nothing is open to other users.
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix == ".tmp" or path.name == ".lock"]
    assert {path.stat().st_mode & 0o077 for path in files} == {0}

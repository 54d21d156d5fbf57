"""Crash safety by enumeration: every state a crash may leave is opened and judged.

@enforces crash-safe-append
@enforces append-plan-atomic
@enforces crash-state-detection
@enforces orphan-segment-ignored
@enforces segment-digest-verification
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pytest
from crash_files import CrashState, Disk, Op, RecordingFiles, crash_states
from effort import times
from msgspec import structs
from sample_sessions import Story, tell_medium, tell_short

from pytest_workrail.engine.model.base import CorruptionReason
from pytest_workrail.engine.model.events import NodeCreated
from pytest_workrail.engine.store import layout, log
from pytest_workrail.engine.store.durable import prepare_root, write_durably
from pytest_workrail.engine.store.filesystem import (
    FileSessionLock,
    FileSessionStore,
    FileSnapshotStore,
    Holder,
    on_files,
)
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, TreeFiles
from pytest_workrail.engine.store.plan import AppendPermit, AppendPlan, Complete, SessionTruth, preferences_plan
from pytest_workrail.engine.store.ports import StoreCorruption, Stores
from workrail_lint.base.result import Err, Ok

pytestmark = pytest.mark.promise("Writes stay", "every state a power failure can leave")

WRITER = Holder(4711, "main", "first-life")
REOPENER = Holder(4712, "main", "second-life")
ACKNOWLEDGED = "acknowledged"


def record(
    files: RecordingFiles, tell: Callable[[Story], Story], store_type: type[FileSessionStore] = FileSessionStore
) -> Story:
    """Tell a story on recording files, noting which plan is under way and when it was acknowledged."""
    prepare_root(files)
    home = on_files(files, FixedClock(), SeededEntropy("crash"), WRITER)
    sessions = store_type(files)
    stores = Stores(sessions, home.stores.snapshots, home.stores.workflows)
    story = Story(structs.replace(home, stores=stores))
    story.before_append = files.note
    story.after_append = lambda: files.note(ACKNOWLEDGED)
    return tell(story)


class Judge:
    """Opens what a crash left and says what is wrong with it."""

    def __init__(self, story: Story, store_type: type[FileSessionStore] = FileSessionStore) -> None:
        self.session_id = story.session_id
        self.files = TreeFiles()
        self.store = store_type(self.files)
        self.snapshots = FileSnapshotStore(self.files)
        self.outcomes: Counter[str] = Counter()
        self._known_snapshots: dict[bytes | None, bool] = {}
        self._compared: dict[tuple[int, int], tuple[object, object, bool]] = {}

    def _same(self, events: tuple[object, ...], expected: tuple[object, ...]) -> bool:
        """Equality, looked up where two events were compared before: the same ones come up all the time."""
        return len(events) == len(expected) and all(map(self._equal, events, expected))

    def _equal(self, event: object, expected: object) -> bool:
        key = (id(event), id(expected))
        if key not in self._compared:
            self._compared[key] = (event, expected, event == expected)  # kept, so that no id is used twice
        return self._compared[key][2]

    def problem(self, state: CrashState) -> str | None:
        acknowledged, under_way = _progress(state.notes)
        attempted = acknowledged + under_way
        self.files.contents = state.contents
        match self.store.load(self.session_id):
            case Ok(SessionTruth(events=events)):
                self.outcomes["healthy"] += 1
                if not self._same(events, acknowledged) and not self._same(events, attempted):
                    return f"healthy with {len(events)} events, {len(acknowledged)} were acknowledged"
                return self._snapshot_problem(events)
            case Err(StoreCorruption(location=location, reason=CorruptionReason(code=code))):
                self.outcomes[f"{location} {code}"] += 1
                if not under_way:
                    return f"corrupt ({code}) although nothing was under way"
                prefix = self.store.load_validated_prefix(self.session_id)
                return self._salvage_problem(prefix, location, code, acknowledged, attempted)
            case other:
                return f"neither healthy nor corrupt: {other}"

    def _snapshot_problem(self, events: tuple[object, ...]) -> str | None:
        for event in events:
            if isinstance(event, NodeCreated):
                raw = self.files.contents.get(layout.snapshot(event.data.snapshot_ref))
                if raw not in self._known_snapshots:
                    found = self.snapshots.get(event.data.snapshot_ref)
                    self._known_snapshots[raw] = isinstance(found, Ok) and found.value is not None
                if not self._known_snapshots[raw]:
                    return f"the snapshot of event {event.event_index} is lost"
        return None

    def _salvage_problem(self, prefix, location, code, acknowledged, attempted) -> str | None:
        if isinstance(prefix, Err):
            return None if location == "head" and not acknowledged else "acknowledged events can't be salvaged"
        events = prefix.value.truth.events
        kept = self._same(events[: len(acknowledged)], acknowledged)
        if not kept or not self._same(events, attempted[: len(events)]):
            return "salvage found something else than what was written"
        # Salvage does not ask for pins. When it stops all the same, the manifest attests a file that is not there.
        if code in ("missing_attested_segment", "digest_mismatch") and prefix.value.extent != Complete():
            return "an attested segment is missing or altered"
        return None


def _progress(notes: Iterable[object]) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """The acknowledged events and those of the plan under way."""
    acknowledged: tuple[object, ...] = ()
    under_way: tuple[object, ...] = ()
    for note in notes:
        if isinstance(note, AppendPlan):
            under_way = note.events
        else:
            acknowledged, under_way = acknowledged + under_way, ()
    return acknowledged, under_way


def violations(states: Iterable[CrashState], judge: Judge) -> Iterator[str]:
    for state in states:
        problem = judge.problem(state)
        if problem is not None:
            yield f"after {state.after}: {problem}"


@pytest.mark.search
def test_every_crash_state_is_a_healthy_prefix_or_says_what_is_wrong():
    files = RecordingFiles()
    story = record(files, tell_medium if times(0, deep=1) else tell_short)
    judge = Judge(story)
    assert next(violations(crash_states(files.ops), judge), None) is None
    assert judge.outcomes.total() > times(5_000, deep=25_000)
    # All that the crash table foresees has been seen: a torn manifest line, pins that are missing.
    assert judge.outcomes["head non_contiguous_indices"] > times(10, deep=100)
    assert judge.outcomes["tail non_contiguous_indices"] > times(10, deep=100)
    # Exactly between the two lines, for each plan that makes a node; the lock is there, or gone, or never was.
    assert judge.outcomes["tail missing_attested_segment"] >= times(1, deep=4)
    assert set(judge.outcomes) == {
        "healthy",
        "head non_contiguous_indices",
        "tail non_contiguous_indices",
        "tail missing_attested_segment",
    }


def tell_on_and_on(story: Story, turns: int) -> Story:
    """More plans than anybody wants to wait for."""
    node = story.start()
    for turn in range(turns):
        node = story.advance(
            node, f"turn {turn}", artifacts=[{"x": turn}, None], context={"goal": "demo", "turn": turn}
        )
    return story


def spread(ops: list[Op], wanted: int) -> Iterator[CrashState]:
    """At least so many states, from the first operation to the last: writes are torn as often as that takes."""
    stride = 10_007
    while (count := sum(1 for _ in crash_states(ops, stride))) < wanted:
        stride //= 3
    return itertools.islice(crash_states(ops, stride), 0, None, count // wanted)


@pytest.mark.search
def test_crash_states_of_a_long_session():
    """The usual number of states only shows that the test works."""
    wanted = times(500, deep=20_000)
    files = RecordingFiles()
    story = record(files, lambda story: tell_on_and_on(story, 60 if wanted > 5_000 else 5))
    judge, moments = Judge(story), set()

    def states() -> Iterator[CrashState]:
        for state in spread(files.ops, wanted):
            moments.add(len(state.notes))
            yield state

    assert list(violations(states(), judge)) == []
    assert judge.outcomes.total() >= wanted
    assert len(moments) == sum(op.name == "note" for op in files.ops) + 1  # before, during and after every plan


@pytest.mark.search
def test_after_a_crash_the_same_plan_can_be_written_again():
    files = RecordingFiles()
    story = record(files, tell_short)
    outcomes: Counter[str] = Counter()
    # Torn writes differ in nothing but their length here, so a sample of them will do.
    for state in itertools.islice(crash_states(files.ops), 0, None, times(191, deep=67)):
        plans = [note for note in state.notes if isinstance(note, AppendPlan)]
        if not plans:
            continue
        tree = TreeFiles(dict(state.contents))
        store = FileSessionStore(tree)
        loaded = store.load(story.session_id)
        appended = store.append(AppendPermit(story.session_id), plans[-1])
        if isinstance(loaded, Err):
            # Whoever finds a damaged session leaves it as it is.
            assert appended == loaded
            assert tree.contents == state.contents
            outcomes["refused"] += 1
            continue
        acknowledged, under_way = _progress(state.notes)
        assert appended == Ok(None)
        again = store.load(story.session_id).value
        assert again.events == acknowledged + under_way
        assert store.append(AppendPermit(story.session_id), plans[-1]) == Ok(None)
        assert store.load(story.session_id).value == again
        outcomes["written"] += 1
    assert outcomes["written"] > times(30, deep=100)
    assert outcomes["refused"] > times(5, deep=20)


def second_life_violations(store_type: type[FileSessionStore]) -> Iterator[str]:
    """Kill the writer after each operation, let another process find what it left, then cut the power.

    A killed process loses nothing but leaves things unsynced. Whatever the second process has seen and
    answered for must outlive the power failure, although it wrote none of it.
    """
    files = RecordingFiles()
    story = record(files, tell_short)
    for count in range(len(files.ops) + 1):
        notes = [op.note for op in files.ops[:count] if op.name == "note"]
        acknowledged, under_way = _progress(notes)
        for retries in (False, True):
            second = RecordingFiles.after(files.ops[:count])
            store = store_type(second)
            loaded = store.load(story.session_id)
            if isinstance(loaded, Err):
                yield f"a killed process left {loaded.error}"
                continue
            promised = loaded.value.events
            if retries and under_way:
                plan = next(note for note in reversed(notes) if isinstance(note, AppendPlan))
                assert store.append(AppendPermit(story.session_id), plan) == Ok(None)
                promised = acknowledged + under_way
            for contents in Disk.after(second.ops).states(stride=101):
                survived = FileSessionStore(TreeFiles(contents)).load(story.session_id)
                if isinstance(survived, Err) or survived.value.events != promised:
                    yield f"killed after {files.ops[count - 1]}: {len(promised)} events were promised"


def test_what_a_second_process_has_seen_outlives_a_power_failure():
    assert list(second_life_violations(FileSessionStore)) == []


@pytest.mark.search
def test_a_crashed_writer_never_leaves_a_session_locked():
    files = RecordingFiles()
    story = record(files, tell_short)
    locks = set()
    for state in crash_states(files.ops, times(13, deep=1)):
        lock = state.contents.get(layout.lock(story.session_id))
        if lock in locks:
            continue
        locks.add(lock)
        tree = TreeFiles(dict(state.contents))
        mine = FileSessionLock(tree, REOPENER, FixedClock(), is_alive=lambda pid: pid != WRITER.pid)
        assert mine.acquire(story.session_id) == Ok(None)
    # Held or not held, and nothing in between.
    assert len(locks) == 2


def rot_violations(story: Story, contents: dict[str, bytes], store_type: type[FileSessionStore]) -> Iterator[str]:
    """Flip one bit in every byte of a finished session: what can't be read must say so."""
    whole = tuple(event for plan in story.plans for event in plan.events)
    tree = TreeFiles()
    store = store_type(tree)
    for path, raw in contents.items():
        if not path.startswith(layout.session_dir(story.session_id)):
            continue
        for place in range(len(raw)):
            tree.contents = {**contents, path: bytes([*raw[:place], raw[place] ^ 1, *raw[place + 1 :]])}
            loaded = store.load(story.session_id)
            if isinstance(loaded, Ok) and loaded.value.events != whole:
                yield f"{path}:{place} reads as another session"
            if isinstance(loaded, Err) and not isinstance(loaded.error, StoreCorruption):
                yield f"{path}:{place} {loaded.error}"


def test_every_flipped_bit_is_noticed():
    files = RecordingFiles()
    story = record(files, tell_short)
    assert list(rot_violations(story, files.contents, FileSessionStore)) == []


def test_every_flipped_bit_of_a_snapshot_is_noticed():
    files = RecordingFiles()
    story = record(files, tell_short)
    ref = next(event.data.snapshot_ref for event in story.truth.events if isinstance(event, NodeCreated))
    path = layout.snapshot(ref)
    raw = files.contents[path]
    for place in range(len(raw)):
        tree = TreeFiles({path: bytes([*raw[:place], raw[place] ^ 1, *raw[place + 1 :]])})
        assert FileSnapshotStore(tree).get(ref).error.code == "SNAPSHOT_STORE_CORRUPTION_DETECTED"


# Planted bugs: the enumeration is worth something only if it finds these.


class AcknowledgesBeforeSync(RecordingFiles):
    """Files whose sync returns at once."""

    @contextmanager
    def _deaf(self, opened):
        with opened as handle:
            handle.sync = lambda: None
            yield handle

    def create(self, path):
        return self._deaf(super().create(path))

    def extend(self, path):
        return self._deaf(super().extend(path))


class NeverSyncsFolders(RecordingFiles):
    """Files that forget the names."""

    def sync_dir(self, path: str) -> None:
        pass


class ChecksNoDigest(FileSessionStore):
    """A store that believes what it reads."""

    def is_attested(self, record, size, sha256):
        return True


class TrustsWhatItSees(FileSessionStore):
    """A store that takes what another process wrote for safe."""

    def _make_durable(self, session_id, records):
        pass


def test_a_planted_trust_in_unsynced_bytes_is_found():
    assert next(second_life_violations(TrustsWhatItSees), None) is not None


class WritesManifestFirst(FileSessionStore):
    """A store that promises before it delivers."""

    def _write(self, session_id, prepared, *, is_first):
        with self._files.extend(layout.manifest(session_id)) as manifest:
            manifest.write(prepared.manifest_lines)
            manifest.sync()
        folder = layout.session_dir(session_id)
        self._files.make_dir(f"{folder}/events")
        self._files.sync_dir(folder)
        self._files.sync_dir(layout.SESSIONS)
        segment = f"{folder}/{prepared.path}"
        write_durably(self._files, segment, prepared.segment, aside=f"{segment}.tmp")


class AppendsToTheSegment(FileSessionStore):
    """A store that writes segments in place, without a temporary name or a sync."""

    def _write(self, session_id, prepared, *, is_first):
        folder = layout.session_dir(session_id)
        self._files.make_dir(f"{folder}/events")
        with self._files.create(f"{folder}/{prepared.path}") as segment:
            segment.write(prepared.segment)
        with self._files.extend(layout.manifest(session_id)) as manifest:
            manifest.write(prepared.manifest_lines)
            manifest.sync()
        for name in (f"{folder}/events", folder, layout.SESSIONS):
            self._files.sync_dir(name)


@pytest.mark.parametrize(
    ("files_type", "store_type", "symptom"),
    [
        pytest.param(AcknowledgesBeforeSync, FileSessionStore, "were acknowledged", id="no file sync"),
        pytest.param(NeverSyncsFolders, FileSessionStore, "were acknowledged", id="no folder sync"),
        pytest.param(RecordingFiles, AppendsToTheSegment, "attested segment", id="no segment sync"),
        pytest.param(RecordingFiles, WritesManifestFirst, "attested segment", id="manifest first"),
    ],
)
def test_the_enumeration_finds_a_planted_bug(files_type, store_type, symptom):
    files = files_type()
    story = record(files, tell_short, store_type)
    found = violations(crash_states(files.ops), Judge(story))
    assert next((problem for problem in found if symptom in problem), None) is not None


def test_a_planted_missing_digest_check_is_found():
    files = RecordingFiles()
    story = record(files, tell_short)
    assert any("another session" in problem for problem in rot_violations(story, files.contents, ChecksNoDigest))


def test_a_planted_glued_line_is_found(monkeypatch):
    """A reader that takes a record without its line end for whole lets the next one be glued to it."""

    def lenient(raw, read):
        return honest(raw if raw.endswith(b"\n") else raw + b"\n", read)

    honest = log.read_lines
    files = RecordingFiles()
    story = record(files, tell_short)
    last = story.plans[-1]
    raw = files.contents[layout.manifest(story.session_id)]
    torn = {**files.contents, layout.manifest(story.session_id): raw[:-1]}

    def goes_on() -> bool:
        """Open the torn session, add one more plan, and see whether everything acknowledged is there."""
        tree = TreeFiles(dict(torn))
        store = FileSessionStore(tree)
        opened = store.load(story.session_id)
        if isinstance(opened, Err):
            return True  # refused, nothing acknowledged on top of it
        step = Story(story.home)
        step.session_id, step.run_id, step.steps = story.session_id, story.run_id, story.steps
        more = step.preferences("more", "guided")
        builder = step.builder(opened.value)
        plan = preferences_plan(builder, story.root, more)
        assert store.append(AppendPermit(story.session_id), plan) == Ok(None)
        return FileSessionStore(tree).load(story.session_id).is_ok

    assert last.events
    assert goes_on()
    monkeypatch.setattr(log, "read_lines", lenient)
    assert not goes_on()

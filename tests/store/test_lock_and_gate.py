"""The lock and the gate: one writer, healthy sessions, and always unlocked again.

@enforces single-writer-per-session
@enforces witness-required-for-append
@enforces witness-scope-enforced
@enforces execution-gated-by-health
@enforces error-retry-via-field
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from sample_sessions import Story, tell_short

from pytest_workrail.engine.model.base import CorruptionReason
from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.disk import DiskFiles
from pytest_workrail.engine.store.filesystem import FileSessionLock, Holder, Machine, process_is_alive
from pytest_workrail.engine.store.gate import Gate
from pytest_workrail.engine.store.memory import FixedClock, MemorySessionLock, MemorySessionStore, TreeFiles
from pytest_workrail.engine.store.plan import SessionTruth
from pytest_workrail.engine.store.ports import LockBusy, LockIoError, StoreCorruption, StoreIoError
from workrail_lint.base.result import Err, Ok

SESSION = "sess_" + "a" * 26
ME = Holder(100, "main", "mine")
LOCK = layout.lock(SESSION)


def a_lock(files, holder=ME, alive=()):
    return FileSessionLock(files, holder, FixedClock(), is_alive=lambda pid: pid in alive)


def test_the_lock_says_who_holds_it():
    files = TreeFiles()
    lock = a_lock(files)
    assert lock.acquire(SESSION) == Ok(None)
    assert json.loads(files.contents[LOCK]) == {
        "v": 1,
        "sessionId": SESSION,
        "pid": 100,
        "workerId": "main",
        "instanceId": "mine",
        "startedAtMs": 1_700_000_000_000,
    }
    assert list(files.contents) == [LOCK]
    assert lock.release(SESSION) == Ok(None)
    assert files.contents == {}


HELD = {"v": 1, "sessionId": SESSION, "pid": 200, "workerId": "main", "instanceId": "other", "startedAtMs": 1}
VERDICTS = {
    "unparsable": (b"{", "busy"),
    "empty": (b"", "busy"),
    "not an object": (b"[]", "busy"),
    "no pid": ({"v": 1}, "busy"),
    "pid that is no number": ({**HELD, "pid": "200"}, "busy"),
    "pid that is a boolean": ({**HELD, "pid": True}, "busy"),
    "other process, dead": (HELD, "stale"),
    "other process, alive": ({**HELD, "pid": 300}, "busy"),
    "same process, no worker": ({"v": 1, "pid": 100, "instanceId": "other"}, "busy"),
    "same number, another life, perhaps in another container": ({**HELD, "pid": 100}, "busy"),
    "same process, worker and life": ({**HELD, "pid": 100, "instanceId": "mine"}, "busy"),
    "same process, other worker": ({**HELD, "pid": 100, "workerId": "helper"}, "busy"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_whose_lock_may_be_taken_over(name):
    content, verdict = VERDICTS[name]
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    files = TreeFiles({LOCK: raw})
    outcome = a_lock(files, alive=(100, 300)).acquire(SESSION)
    if verdict == "busy":
        assert isinstance(outcome.error, LockBusy)
        assert outcome.error.retry_after_ms == 250
        assert files.contents == {LOCK: raw}
    else:
        assert outcome == Ok(None)
        assert json.loads(files.contents[LOCK])["instanceId"] == "mine"


@pytest.mark.parametrize(
    ("started_ms", "is_stale"), [(4_999, True), (5_000, False), (5_001, False)], ids=["before", "with", "after"]
)
def test_a_lock_from_before_this_machine_started_is_stale(started_ms, is_stale):
    """Another boot of the same host: what was locked before the kernel started belongs to nobody alive."""
    here = Holder(100, "main", "mine", Machine("box", "boot-2", 5_000, "ns", "1"))
    held = {**HELD, "host": "box", "boot": "boot-1", "namespace": "ns", "startedAtMs": started_ms}
    outcome = a_lock(TreeFiles({LOCK: json.dumps(held).encode()}), here, alive=(200,)).acquire(SESSION)
    assert outcome.is_ok is is_stale


def test_only_the_holder_gives_a_lock_back():
    files = TreeFiles()
    assert isinstance(a_lock(files).release(SESSION).error, LockIoError)
    assert a_lock(files).acquire(SESSION).is_ok
    assert isinstance(a_lock(files, Holder(100, "main", "other")).release(SESSION).error, LockIoError)
    assert LOCK in files.contents


def test_two_that_find_the_same_dead_owner_do_not_both_take_its_place(tmp_path):
    """At the moment when one removes the dead owner's lock, the other one tries as well."""
    outcomes = []

    class Interrupted(DiskFiles):
        def remove(self, path):
            super().remove(path)
            if path == LOCK:
                outcomes.append(a_lock(DiskFiles(tmp_path), Holder(101, "main", "rival")).acquire(SESSION))

    disk = Interrupted(tmp_path)
    disk.make_dir(layout.session_dir(SESSION))
    (tmp_path / LOCK).write_text(json.dumps(HELD))
    assert a_lock(disk).acquire(SESSION) == Ok(None)
    assert isinstance(outcomes[0].error, LockBusy)
    assert json.loads((tmp_path / LOCK).read_text())["instanceId"] == "mine"


def test_a_disk_that_refuses_the_lock_is_a_value(tmp_path):
    (tmp_path / "sessions").write_text("a file where a folder should be")
    lock = a_lock(DiskFiles(tmp_path))
    assert lock.acquire(SESSION).error.code == "SESSION_LOCK_IO_ERROR"
    assert lock.release(SESSION).error.code == "SESSION_LOCK_IO_ERROR"


@pytest.mark.skipif(sys.platform == "win32", reason="processes can't be probed there")
def test_real_processes_are_told_dead_from_alive():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert process_is_alive(os.getpid())
    assert process_is_alive(1)
    assert not process_is_alive(process.pid)
    assert not process_is_alive(2**70)


@pytest.mark.skipif(sys.platform == "win32", reason="processes can't be probed there")
@pytest.mark.parametrize(
    ("refusal", "is_alive"), [(PermissionError, True), (OSError, True), (ProcessLookupError, False), (None, True)]
)
def test_a_process_is_alive_unless_there_is_certainly_none(monkeypatch, refusal, is_alive):
    def kill(pid, signal):
        assert (pid, signal) == (77, 0)
        if refusal is not None:
            raise refusal

    monkeypatch.setattr(os, "kill", kill)
    assert process_is_alive(77) is is_alive


def test_locks_in_memory():
    lock = MemorySessionLock()
    assert lock.acquire(SESSION).is_ok
    assert lock.acquire(SESSION).error.code == "SESSION_LOCK_BUSY"
    assert lock.release(SESSION).is_ok
    assert lock.release(SESSION).error.code == "SESSION_LOCK_IO_ERROR"
    assert lock.acquire(SESSION).is_ok


class Store(MemorySessionStore):
    """A store whose loads can be made to fail, one after the other."""

    def __init__(self, *failures):
        super().__init__()
        self.failures = list(failures)

    def load(self, session_id):
        failure = self.failures.pop(0) if self.failures else None
        return super().load(session_id) if failure is None else Err(failure)


class Lock(MemorySessionLock):
    """A lock that counts and can fail to be given back."""

    def __init__(self, release_fails=False):
        super().__init__()
        self.log = []
        self.release_fails = release_fails

    def acquire(self, session_id):
        self.log.append("acquire")
        return super().acquire(session_id)

    def release(self, session_id):
        self.log.append("release")
        released = super().release(session_id)
        return Err(LockIoError("gone")) if self.release_fails else released


CORRUPTION = StoreCorruption("tail", CorruptionReason("digest_mismatch", "altered"))


def test_the_gate_hands_out_a_witness_that_dies_with_the_call():
    lock = Lock()
    gate = Gate(Store(), lock)
    kept = []

    def call(permit, truth):
        kept.append(permit)
        assert permit.is_held
        assert permit.session_id == SESSION
        assert truth == SessionTruth()
        return "done"

    assert gate.with_healthy_session_lock(SESSION, call) == Ok("done")
    assert not kept[0].is_held
    assert lock.log == ["acquire", "release"]


def test_inside_the_gate_the_same_session_is_closed_and_others_are_open():
    gate = Gate(Store(), Lock())
    other = "sess_" + "b" * 26

    def call(permit, truth):
        inner = gate.with_healthy_session_lock(SESSION, lambda permit, truth: None)
        return inner.error.code, gate.with_healthy_session_lock(other, lambda permit, truth: "open")

    assert gate.with_healthy_session_lock(SESSION, call).value == ("SESSION_LOCK_REENTRANT", Ok("open"))
    assert gate.with_healthy_session_lock(SESSION, lambda permit, truth: "again") == Ok("again")


@pytest.mark.parametrize(
    ("store", "code", "log"),
    [
        (Store(CORRUPTION), "SESSION_NOT_HEALTHY", []),
        (Store(None, CORRUPTION), "SESSION_NOT_HEALTHY", ["acquire", "release"]),
        (Store(StoreIoError("disk")), "SESSION_LOAD_FAILED", []),
        (Store(None, StoreIoError("disk")), "SESSION_LOAD_FAILED", ["acquire", "release"]),
    ],
    ids=["unhealthy before", "unhealthy inside", "unreadable before", "unreadable inside"],
)
def test_the_lock_is_given_back_on_every_path(store, code, log):
    lock = Lock()
    outcome = Gate(store, lock).with_healthy_session_lock(SESSION, lambda permit, truth: pytest.fail("inside"))
    assert outcome.error.code == code
    assert lock.log == log
    assert lock.acquire(SESSION).is_ok


def test_an_exception_inside_is_a_value_and_unlocks():
    lock = Lock()
    gate = Gate(Store(), lock)
    kept = []

    def call(permit, truth):
        kept.append(permit)
        raise RuntimeError("oops")

    outcome = gate.with_healthy_session_lock(SESSION, call)
    assert outcome.error.code == "GATE_CALLBACK_FAILED"
    assert isinstance(outcome.error.cause, RuntimeError)
    assert not kept[0].is_held
    assert lock.log == ["acquire", "release"]
    assert gate.with_healthy_session_lock(SESSION, lambda permit, truth: 1) == Ok(1)


def test_a_busy_lock_and_a_lock_that_is_not_given_back():
    lock = Lock()
    lock.acquire(SESSION)
    assert Gate(Store(), lock).with_healthy_session_lock(SESSION, lambda w, t: 1).error.code == "SESSION_LOCKED"
    failing = Gate(Store(), Lock(release_fails=True))
    assert failing.with_healthy_session_lock(SESSION, lambda w, t: 1).error.code == "LOCK_RELEASE_FAILED"


def test_a_lock_that_can_not_be_taken(tmp_path):
    (tmp_path / "sessions").write_text("a file where a folder should be")
    gate = Gate(Store(), a_lock(DiskFiles(tmp_path)))
    assert gate.with_healthy_session_lock(SESSION, lambda w, t: 1).error.code == "LOCK_ACQUIRE_FAILED"


def test_the_truth_inside_is_what_is_stored():
    story = tell_short(Story())
    inside = story.home.gate.with_healthy_session_lock(story.session_id, lambda permit, truth: truth)
    assert inside == Ok(story.truth)

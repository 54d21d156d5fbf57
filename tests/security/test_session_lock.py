"""The session lock is never taken from the living, and always from the dead.

@enforces single-writer-per-session
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.disk import DiskFiles, SystemClock, SystemEntropy, on_disk
from pytest_workrail.engine.store.filesystem import FileSessionLock
from pytest_workrail.engine.store.gate import Gate, Home
from pytest_workrail.engine.store.memory import FixedClock, MemorySessionLock, MemorySessionStore
from workrail_lint.base.result import Ok

SESSION = "sess_" + "a" * 26
LOCK = layout.lock(SESSION)
pytestmark = [
    pytest.mark.promise("An untrusted agent", "threads, forks, namespaces, kills, interrupts"),
    pytest.mark.skipif(sys.platform == "win32", reason="needs the kernel's locks"),
]
# Takes the lock of the session, says so, and keeps it until it may end or is killed.
HOLDER = """
import sys
from pathlib import Path
from pytest_workrail.engine.store.disk import SystemClock, SystemEntropy
from pytest_workrail.engine.store.disk import on_disk

home = on_disk(Path(sys.argv[1]), SystemClock(), SystemEntropy()).value

def inside(permit, truth):
    print("inside", flush=True)
    sys.stdin.readline()

outcome = home.gate.with_healthy_session_lock(sys.argv[2], inside)
print("left" if outcome.is_ok else outcome.error.code, flush=True)
"""
CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc"]


def home(root: Path, worker: str = "main") -> Home:
    return on_disk(root, SystemClock(), SystemEntropy(), worker).value


def tried(root: Path) -> str:
    """What a newcomer is told."""
    outcome = home(root).gate.with_healthy_session_lock(SESSION, lambda permit, truth: None)
    return "entered" if outcome.is_ok else outcome.error.code


def holder(root: Path, *prefix: str) -> subprocess.Popen[str]:
    command = [*prefix, sys.executable, "-c", HOLDER, str(root), SESSION]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def told(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate("go\n")
    return out.strip()


def has_namespaces() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode == 0


def test_three_homes_of_one_process_take_turns(tmp_path: Path) -> None:
    """All of them have the same process number and the same worker."""
    homes = [home(tmp_path) for _ in range(3)]
    inside: list[str] = []
    outcomes: list[str] = []
    overlaps: list[int] = []

    def write(each: Home) -> None:
        for _ in range(60):

            def call(permit: object, truth: object) -> None:
                inside.append("x")
                overlaps.append(len(inside))
                inside.pop()

            outcome = each.gate.with_healthy_session_lock(SESSION, call)
            outcomes.append("entered" if outcome.is_ok else outcome.error.code)

    threads = [threading.Thread(target=write, args=(each,)) for each in homes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(overlaps) == {1}
    assert set(outcomes) <= {"entered", "SESSION_LOCKED"}
    assert not (tmp_path / LOCK).exists()


def test_a_second_home_is_told_to_wait_while_the_first_is_inside(tmp_path: Path) -> None:
    outcome = home(tmp_path).gate.with_healthy_session_lock(SESSION, lambda permit, truth: tried(tmp_path))
    assert outcome == Ok("SESSION_LOCKED")
    assert tried(tmp_path) == "entered"


def test_the_file_names_the_machine_the_boot_the_namespace_and_the_start(tmp_path: Path) -> None:
    def read(permit: object, truth: object) -> dict[str, object]:
        return json.loads((tmp_path / LOCK).read_text())

    lock = home(tmp_path).gate.with_healthy_session_lock(SESSION, read).value
    assert lock["pid"] == os.getpid()
    assert {"host", "boot", "namespace", "processStarted"} <= lock.keys()


@pytest.mark.skipif(not has_namespaces(), reason="process namespaces need rights that are missing here")
def test_two_containers_on_one_volume(tmp_path: Path) -> None:
    """Each holder is process 1 of its namespace."""
    first = holder(tmp_path, *CONTAINER)
    assert told(first) == "inside"
    assert json.loads((tmp_path / LOCK).read_text())["pid"] == 1
    second = holder(tmp_path, *CONTAINER)
    assert told(second) == "SESSION_LOCKED"
    end(second)
    assert tried(tmp_path) == "SESSION_LOCKED"
    assert end(first) == "left"
    assert tried(tmp_path) == "entered"


@pytest.mark.skipif(not has_namespaces(), reason="process namespaces need rights that are missing here")
def test_a_container_that_was_killed_is_recovered_from_by_the_next_one(tmp_path: Path) -> None:
    first = holder(tmp_path, *CONTAINER, "--kill-child=KILL")
    assert told(first) == "inside"
    first.kill()
    assert told(first) == ""  # the end of its output, and so of all that is in the container
    first.communicate()
    assert (tmp_path / LOCK).exists()
    second = holder(tmp_path, *CONTAINER)
    assert told(second) == "inside"
    assert end(second) == "left"


def test_a_process_that_was_killed_is_recovered_from_and_leaves_nothing_behind(tmp_path: Path) -> None:
    for _ in range(3):
        process = holder(tmp_path)
        assert told(process) == "inside"
        assert tried(tmp_path) == "SESSION_LOCKED"
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert (tmp_path / LOCK).exists()
    (tmp_path / f"{LOCK}.99999-0.tmp").write_text("half of a lock")
    assert tried(tmp_path) == "entered"
    assert list((tmp_path / layout.session_dir(SESSION)).iterdir()) == []


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_unlocks(interrupt: type[BaseException], tmp_path: Path) -> None:
    def call(permit: object, truth: object) -> None:
        raise interrupt

    memory = Gate(MemorySessionStore(), MemorySessionLock())
    for gate in (home(tmp_path).gate, memory):
        with pytest.raises(interrupt):
            gate.with_healthy_session_lock(SESSION, call)
        assert gate.with_healthy_session_lock(SESSION, lambda permit, truth: "again") == Ok("again")
    assert tried(tmp_path) == "entered"


@pytest.mark.parametrize("operation", ["read", "create", "link", "sweep", "spare", "remove"])
def test_an_interrupt_while_locking_unlocks(operation: str, tmp_path: Path) -> None:
    """At every step of taking the lock: whatever was taken is given back."""

    class Interrupted(DiskFiles):
        armed = True

        def __getattribute__(self, name: str) -> object:
            if name == operation and DiskFiles.__getattribute__(self, "armed"):
                self.armed = False
                raise KeyboardInterrupt
            return super().__getattribute__(name)

    first = home(tmp_path)
    holding = FileSessionLock(Interrupted(tmp_path), first.gate._lock._holder, FixedClock())
    with pytest.raises(KeyboardInterrupt):
        holding.acquire(SESSION)
    assert tried(tmp_path) == "entered"


def test_a_copy_of_the_process_neither_writes_nor_unlocks(tmp_path: Path) -> None:
    ours = home(tmp_path)

    def call(permit: object, truth: object) -> str:
        child = os.fork()
        if child == 0:  # leaves the gate as if it were the writer, which it is not
            os._exit(10 if permit.is_held else 20 if ours.gate._lock.release(SESSION).is_ok else 30)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 30
        return tried(tmp_path)

    assert ours.gate.with_healthy_session_lock(SESSION, call) == Ok("SESSION_LOCKED")
    assert tried(tmp_path) == "entered"


def test_a_copy_that_outlives_the_gate_call_does_not_keep_the_lock(tmp_path: Path) -> None:
    children: list[int] = []

    def call(permit: object, truth: object) -> None:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)

    try:
        assert home(tmp_path).gate.with_healthy_session_lock(SESSION, call).is_ok
        assert tried(tmp_path) == "entered"
    finally:
        os.kill(children[0], signal.SIGKILL)
        os.waitpid(children[0], 0)


def stored(root: Path, **changes: object) -> None:
    """A lock file as another writer left it, with its place changed."""

    def read(permit: object, truth: object) -> dict[str, object]:
        return json.loads((root / LOCK).read_text())

    lock = home(root).gate.with_healthy_session_lock(SESSION, read).value
    (root / LOCK).write_text(json.dumps({**lock, **changes}))


def test_the_lock_of_another_machine_is_left_alone(tmp_path: Path) -> None:
    stored(tmp_path, host="another", boot="another", startedAtMs=1)
    assert tried(tmp_path) == "SESSION_LOCKED"


def test_the_lock_of_this_machine_before_it_was_started_anew_is_stale(tmp_path: Path) -> None:
    stored(tmp_path, boot="an earlier one", startedAtMs=1)
    assert tried(tmp_path) == "entered"


def test_the_lock_of_a_machine_of_the_same_name_that_runs_now_is_left_alone(tmp_path: Path) -> None:
    stored(tmp_path, boot="another")
    assert tried(tmp_path) == "SESSION_LOCKED"


def test_without_the_kernels_locks_no_lock_is_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on NFS, where folders can't be locked: the file alone decides, and a stale one is for people to remove."""
    import fcntl

    def refused(descriptor: int, operation: int) -> None:
        raise OSError(9, "Bad file descriptor")

    stored(tmp_path)
    monkeypatch.setattr(fcntl, "flock", refused)
    assert tried(tmp_path) == "SESSION_LOCKED"
    (tmp_path / LOCK).unlink()
    outcome = home(tmp_path).gate.with_healthy_session_lock(SESSION, lambda permit, truth: tried(tmp_path))
    assert outcome == Ok("SESSION_LOCKED")

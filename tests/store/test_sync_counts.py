"""What a step of a session on disk costs: how often it waits for the disk, and that a long session costs no more."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from pytest_workrail.engine.protocol.engine import Engine
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.store import disk
from pytest_workrail.engine.store.disk import SystemClock, SystemEntropy, on_disk
from workrail_lint import compile_workflow

STEPS = 40


class Steps:
    """A session on disk, played step by step, with a count of what each step asks of the system."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: Counter[str] = Counter()
        self.thread = threading.get_ident()
        for name in ("fsync", "open", "stat", "listdir"):
            monkeypatch.setattr(os, name, self._counted(name, getattr(os, name)))
        whole = disk._sync_file_system()
        if whole is not None:
            monkeypatch.setattr(disk, "_sync_file_system", lambda: self._counted("syncfs", whole))
        authored = {
            "id": "linear",
            "name": "Linear",
            "description": "Many plain steps.",
            "version": "1.0.0",
            "steps": [{"id": f"step-{at}", "title": f"Step {at}", "prompt": "Do it."} for at in range(STEPS)],
        }
        library = MemoryLibrary()
        library.put_ir(compile_workflow(authored).value.ir)
        self.engine = Engine(on_disk(folder, SystemClock(), SystemEntropy()).value, library)
        request = {"workflowId": "linear", "workspacePath": "/work", "goal": "measure"}
        self.answer = self.engine.start_workflow(request)

    def _counted(self, name, call):
        def counting(*arguments, **options):
            # Threads that other tests left behind may ask the system for something, too.
            self.calls[name] += threading.get_ident() == self.thread
            return call(*arguments, **options)

        return counting

    def step(self) -> Counter[str]:
        """One step, and what it took."""
        self.calls.clear()
        token = self.answer.value.response.progress.tokens.continue_token
        self.answer = self.engine.continue_workflow({"continueToken": token, "notes": "n"})
        assert self.answer.is_ok
        return Counter(self.calls)


@pytest.mark.skipif(sys.platform != "linux", reason="one sync for a whole file system is Linux's")
def test_a_step_waits_for_the_disk_twice(tmp_path, monkeypatch):
    if disk._sync_file_system() is None:
        pytest.skip("this kernel can't tell whether syncing a file system failed")
    steps = Steps(tmp_path, monkeypatch)
    steps.step()  # the first one makes the lock file that the next ones have ready
    for _ in range(STEPS - 3):
        taken = steps.step()
        assert (taken["syncfs"], taken["fsync"]) == (1, 1)


def test_a_disk_that_refuses_to_sync_is_said_and_nothing_goes_on(tmp_path, monkeypatch):
    """The session answers from what is on disk: a later step, with a disk that works, does what this one did not."""
    steps = Steps(tmp_path, monkeypatch)
    steps.step()
    whole = disk._sync_file_system()
    monkeypatch.setattr(disk, "_sync_file_system", lambda: lambda descriptor: -1)
    token = steps.answer.value.response.progress.tokens.continue_token
    request = {"continueToken": token, "notes": "n"}
    refused = steps.engine.continue_workflow(request)
    assert not refused.is_ok
    monkeypatch.setattr(disk, "_sync_file_system", lambda: whole)
    assert steps.engine.continue_workflow(request).value.response.progress.pending.step_id == "step-2"


def test_without_a_sync_for_all_each_file_is_synced_once(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "_sync_file_system", lambda: None)
    steps = Steps(tmp_path, monkeypatch)
    steps.step()
    for _ in range(5):
        # The lock; the snapshot, the segment and the folders they are in; the tokens; the manifest.
        assert steps.step()["fsync"] <= 7


def test_a_long_session_asks_no_more_of_the_system(tmp_path, monkeypatch):
    steps = Steps(tmp_path, monkeypatch)
    taken = [steps.step() for _ in range(STEPS - 1)]
    # From the twelfth step on there are segments that are only looked at in turn.
    assert len({frozenset(each.items()) for each in taken[12:-1]}) == 1


def test_two_processes_see_each_other(tmp_path, monkeypatch):
    """What one engine has in memory is given up as soon as another one writes."""
    steps = Steps(tmp_path, monkeypatch)
    library = MemoryLibrary()
    other = Engine(on_disk(tmp_path, SystemClock(), SystemEntropy()).value, library)
    for number in range(6):
        token = steps.answer.value.response.progress.tokens.continue_token
        engine = (steps.engine, other)[number % 2]
        steps.answer = engine.continue_workflow({"continueToken": token, "notes": "n"})
        assert steps.answer.is_ok
        assert steps.answer.value.response.progress.pending.step_id == f"step-{number + 1}"

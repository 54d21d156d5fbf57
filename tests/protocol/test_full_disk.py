"""A disk without room: the answer can be retried, says why, and what is stored is whole."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from protocol_bench import Bench, quiet, workflow

from pytest_workrail.engine.store.disk import on_disk
from pytest_workrail.engine.store.filesystem import Holder, on_files
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, TreeFiles
from workrail_lint.base.result import Err, Ok

pytestmark = pytest.mark.promise("A failed write is said", "sessions on a disk that is full after any number of bytes")

TWO = workflow("two-steps", quiet("one"), quiet("two"))
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class Room:
    """A disk that takes a number of bytes and then, as real ones do, a part of a write before it refuses."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None  # as much as is needed
        self.code = errno.ENOSPC
        self._write = os.write
        monkeypatch.setattr(os, "write", self.write)

    def write(self, handle: int, data: Any) -> int:
        if self.left is None:
            return self._write(handle, data)
        if self.left == 0:
            raise OSError(self.code, os.strerror(self.code))
        written = self._write(handle, data[: self.left])
        self.left -= written
        return written


def assert_can_be_retried(shown: dict[str, Any], code: int) -> None:
    assert shown["code"] == "INTERNAL_ERROR"
    assert shown["retry"]["kind"] == "retryable_after_ms"
    assert os.strerror(code) in shown["message"]
    assert "/" not in shown["message"]


def bench_on(root: Path) -> Bench:
    home = on_disk(root, FixedClock(step_ms=1), SeededEntropy("disk"))
    assert isinstance(home, Ok)
    return Bench(TWO, home=home.value)


def test_after_any_number_of_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(monkeypatch)
    refused = 0
    for left in range(0, 4000, 97):
        bench = bench_on(tmp_path / str(left))
        assert "code" not in bench.start()
        before = bench.events
        room.left, room.code = left, NO_ROOM[left % 2]
        shown = bench.advance("CT1")
        room.left = None
        if shown.get("kind") != "ok":
            refused += 1
            assert_can_be_retried(shown, room.code)
            assert bench.events[: len(before)] == before, left
            assert bench.advance("CT1")["kind"] == "ok", left
        # A new process finds everything whole.
        assert bench_on(tmp_path / str(left)).home.stores.sessions.load(bench.session_id).is_ok, left
    assert refused > 20


@pytest.mark.parametrize("operation", ["make_dir", "create", "extend", "replace", "link", "sync", "sync_dir"])
@pytest.mark.parametrize("code", NO_ROOM)
def test_whichever_operation_is_refused(operation: str, code: int) -> None:
    files = TreeFiles()
    bench = Bench(TWO, home=on_files(files, FixedClock(step_ms=1), SeededEntropy("tree"), Holder(1, "main", "tree")))
    bench.start()

    def refuse(*_: object) -> Any:
        raise OSError(code, os.strerror(code))

    setattr(files, operation, refuse)
    fresh = Bench(TWO, home=on_files(files, FixedClock(step_ms=1), SeededEntropy("new"), Holder(1, "main", "new")))
    for shown in (fresh.start(), fresh.advance(bench.actual("CT1"))):
        assert_can_be_retried(shown, code)
    delattr(files, operation)
    assert "code" not in fresh.start()
    assert fresh.advance(bench.actual("CT1"))["kind"] == "ok"


def test_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = bench_on(tmp_path / "source")
    source.start()
    bundle = json.dumps(source.engine.export_session(source.session_id).value).encode()
    room = Room(monkeypatch)
    for left in range(0, 3000, 500):
        target = bench_on(tmp_path / f"target-{left}")
        room.left = left
        imported = target.engine.import_session(bundle)
        room.left = None
        assert isinstance(imported, Err), left
        assert_can_be_retried({**imported.error.to_json(), "code": "INTERNAL_ERROR"}, errno.ENOSPC)
        assert target.engine.import_session(bundle).is_ok

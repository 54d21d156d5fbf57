"""A home that only reads: it knows the tokens of a folder, gives out new ones, and leaves every byte where it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_workrail.engine.protocol.engine import Engine
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.store.disk import ReadOnlyFiles, on_disk, read_only
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy
from workrail_lint import compile_workflow
from workrail_lint.base.result import Err

WORKFLOW: dict[str, Any] = {
    "id": "demo.two",
    "name": "Two",
    "description": "Two steps.",
    "version": "1.0.0",
    "steps": [
        {"id": "first", "title": "First", "prompt": "Do it."},
        {"id": "second", "title": "Second", "prompt": "Do more."},
    ],
}


def started(root: Path) -> str:
    """A session on disk; its continue token."""
    home = on_disk(root, FixedClock(), SeededEntropy("writer"))
    compiled = compile_workflow(WORKFLOW)
    assert not isinstance(home, Err)
    assert not isinstance(compiled, Err)
    library = MemoryLibrary()
    library.put_ir(compiled.value.ir)
    request = {"workflowId": "demo.two", "workspacePath": "/workspace", "goal": "Try"}
    answer = Engine(home.value, library).start_workflow(request)
    assert not isinstance(answer, Err)
    return str(answer.value.to_json()["continueToken"])


def content(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_a_token_is_rehydrated_and_the_new_one_too(tmp_path: Path) -> None:
    token, before = started(tmp_path), content(tmp_path)
    engine = Engine(read_only(tmp_path, FixedClock(), SeededEntropy("reader")), MemoryLibrary())
    for _ in range(2):
        answer = engine.continue_workflow({"continueToken": token})
        assert not isinstance(answer, Err), answer.error
        shown: Any = answer.value.to_json()
        assert shown["pending"]["stepId"] == "first"
        token = shown["continueToken"]
    assert content(tmp_path) == before


def test_an_advance_fails_and_changes_nothing(tmp_path: Path) -> None:
    token, before = started(tmp_path), content(tmp_path)
    engine = Engine(read_only(tmp_path, FixedClock(), SeededEntropy("reader")), MemoryLibrary())
    answer = engine.continue_workflow({"continueToken": token, "output": {"notesMarkdown": "Done."}})
    assert isinstance(answer, Err)
    assert isinstance(engine.rotate_keys(), Err)
    assert content(tmp_path) == before


def test_an_empty_folder_gets_no_keys(tmp_path: Path) -> None:
    engine = Engine(read_only(tmp_path, FixedClock(), SeededEntropy("reader")), MemoryLibrary())
    assert isinstance(engine.continue_workflow({"continueToken": "ct_" + "A" * 24}), Err)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("operation", ["make_dir", "create", "extend", "remove", "hold"])
def test_every_operation_that_writes_is_refused(tmp_path: Path, operation: str) -> None:
    with pytest.raises(OSError, match="Read-only"):
        getattr(ReadOnlyFiles(tmp_path), operation)("x")

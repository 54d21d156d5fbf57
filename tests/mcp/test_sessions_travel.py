"""Sessions that the public engine can continue: its own pin under the hash that the log names, our IR beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp_process import NOTES, START, WORKFLOW

from pytest_workrail.engine.protocol.engine import Engine, Options
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.protocol.ports import WorkflowEntry
from pytest_workrail.engine.store.disk import on_disk
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy
from pytest_workrail.mcp.tools import EngineTools
from pytest_workrail.sessions.versions import load_version
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.result import Ok
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow


def compiled() -> CompiledWorkflow:
    version = load_version(WORKFLOW)
    assert version.compiled is not None
    return version.compiled


def served(data: Path, *, onboarding: bool = False) -> EngineTools:
    """An engine on a data folder, as `serve --data` makes one."""
    home = on_disk(data, FixedClock(), SeededEntropy())
    assert isinstance(home, Ok)
    pin = compiled().engine_target()
    assert isinstance(pin, Ok)
    library = MemoryLibrary([WorkflowEntry(compiled().ir, source_ref="workflows/a.json", pin=pin.value)])
    return EngineTools(Engine(home.value, library, Options(profile="reference", inject_onboarding=onboarding)))


def only_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def started(data: Path) -> dict[str, Any]:
    """The data of the event that begins the run."""
    (log,) = (data / "sessions").glob("*/events/*.jsonl")
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    event: dict[str, Any] = next(each["data"] for each in events if each["kind"] == "run_started")
    return event


@pytest.mark.parametrize("onboarding", [False, True])
def test_a_kept_session_pins_what_the_public_engine_pins(tmp_path: Path, onboarding: bool) -> None:
    tools = served(tmp_path, onboarding=onboarding)
    answer = tools.call("start_workflow", START)
    assert not answer.is_error
    run = started(tmp_path)
    pin = only_file(tmp_path / "workflows/pinned")
    raw = pin.read_bytes()
    assert digest(raw) == run["workflowHash"]
    assert pin.name == f"{run['workflowHash'].replace(':', '_')}.json"
    assert run["workflowSourceRef"] == "workflows/a.json"
    content = json.loads(raw)
    assert canonical_bytes(content) == raw
    assert (content["schemaVersion"], content["sourceKind"]) == (1, "v1_pinned")
    if onboarding:
        assert content["definition"]["steps"].pop(0)["id"] == "wr-system-onboarding"
    assert digest(canonical_bytes(content)) == compiled().engine_hash
    # Both are about the workflow, without the step that a run may begin with.
    listed = tools.call("list_workflows", {"workspacePath": "/w"}).data["workflows"]
    assert listed[0]["workflowHash"] == compiled().engine_hash
    shown = tools.call("inspect_workflow", {"workflowId": START["workflowId"], "workspacePath": "/w"}).data
    assert shown["workflowHash"] == compiled().engine_hash


@pytest.mark.parametrize("has_ir", [True, False], ids=["with our IR", "as the public engine leaves it"])
def test_a_kept_session_goes_on_after_a_restart(tmp_path: Path, has_ir: bool) -> None:
    token = served(tmp_path).call("start_workflow", START).data["continueToken"]
    ir = only_file(tmp_path / "workflows/compiled")
    assert json.loads(ir.read_bytes())["ir"] == json.loads(canonical_bytes(compiled().ir))
    if not has_ir:
        ir.unlink()
    answer = served(tmp_path).call("continue_workflow", {"continueToken": token, "output": NOTES})
    assert not answer.is_error
    assert answer.data["kind"] == "ok"


def test_a_damaged_ir_is_noticed(tmp_path: Path) -> None:
    token = served(tmp_path).call("start_workflow", START).data["continueToken"]
    ir = only_file(tmp_path / "workflows/compiled")
    ir.write_bytes(ir.read_bytes().replace(b'"prompt":"', b'"prompt":"Not ', 1))
    answer = served(tmp_path).call("continue_workflow", {"continueToken": token, "output": NOTES})
    assert answer.is_error
    assert "CORRUPTION_DETECTED" in answer.data["message"]


def test_a_workflow_from_memory_has_a_source(tmp_path: Path) -> None:
    library = MemoryLibrary()
    library.put_ir(compiled().ir)
    assert library.entries()[0].source_ref == "demo.release_notes.json"

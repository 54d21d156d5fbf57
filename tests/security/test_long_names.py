"""Names that no file system takes, wherever a name comes from outside: an answer, never an internal error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pytest_workrail.cli import main as workrail_test
from pytest_workrail.engine.protocol.engine import Engine
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.protocol.ports import WorkflowEntry
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, in_memory
from pytest_workrail.mcp.tools import AuthoringTools, EngineTools
from pytest_workrail.mcp.workspace import DiskWorkspace
from pytest_workrail.sessions.versions import load_version
from workrail_lint.cli import main

pytestmark = pytest.mark.promise("Reads are bounded", "names that no file system takes")

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
WORKFLOW = FIXTURES / "workflows" / "release-notes.json"
NAMES = {"one name": "x" * 10_000, "many folders": "/".join(["d" * 200] * 50), "no name": "a\0b"}


@pytest.fixture(params=list(NAMES))
def name(request: pytest.FixtureRequest) -> str:
    return NAMES[request.param]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copy(WORKFLOW, tmp_path / "w.json")
    return tmp_path


def test_a_workspace(name: str) -> None:
    compiled = load_version(WORKFLOW).compiled
    assert compiled is not None
    library = MemoryLibrary([WorkflowEntry(compiled.ir)])
    tools = EngineTools(Engine(in_memory(FixedClock(), SeededEntropy()), library, None, DiskWorkspace()))
    place = {"workspacePath": f"/{name}"}
    start = {"workflowId": "demo.release_notes", "goal": "g", **place}
    started = tools.call("start_workflow", start)
    assert "continueToken" in started.data, started
    again = {"continueToken": started.data["continueToken"], "intent": "rehydrate", **place}
    for tool, arguments in (
        ("list_workflows", place),
        ("inspect_workflow", {"workflowId": "demo.release_notes", **place}),
        ("continue_workflow", again),
        ("resume_session", place),
    ):
        answer = tools.call(tool, arguments)
        assert not answer.is_error, (tool, answer.text)
    assert tools.call("start_workflow", {**start, "workflowId": name}).data["code"] in ("NOT_FOUND", "VALIDATION_ERROR")


def test_a_file_of_the_project(name: str, project: Path) -> None:
    tools = AuthoringTools(project, lambda path: {"error": f"{path} was found"})
    for tool in ("check", "compile", "generate"):
        error = tools.call(tool, {"path": name}).data["error"]
        assert error.startswith(("`path` is not a valid path.", "There is no file ")), error
        assert len(error) < 300


@pytest.mark.parametrize("member", ["catalog", "routines", "bindings", "baseline", "cache-dir", "include"])
def test_a_file_that_a_configuration_names(name: str, member: str, capsys: pytest.CaptureFixture[str]) -> None:
    value = [name] if member == "include" else name
    Path("workrail-lint.toml").write_text(f"{member} = {json.dumps(value)}\n", encoding="utf-8")
    assert main(["check", "w.json"]) in (0, 2)
    assert "internal error" not in capsys.readouterr().err


def test_the_arguments_of_commands(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    sessions = ["--data", str(FIXTURES / "sessions")]
    for arguments in (
        ["golden", "list", name],
        ["golden", "accept", f"{name}.golden.json"],
        ["combine", name],
        ["serve", name],
        ["run", name],
        ["mutate", "w.json", "--scenarios", name],
        ["sessions", "list", "--data", name],
        ["sessions", "import", name],
        ["sessions", "replay", *sessions, "--workflow", name],
    ):
        assert workrail_test(arguments) in (2, 3), arguments
        assert "internal error" not in capsys.readouterr().err, arguments
    # Folders that can't be opened by their whole name may still be made, one in the other.
    for command in ("export", "record"):
        assert workrail_test(["sessions", command, *sessions, "sess_b3", "--out", name]) in (0, 1, 2)
        assert "internal error" not in capsys.readouterr().err

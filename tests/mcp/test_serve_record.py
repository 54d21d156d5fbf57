"""`serve --record`: sessions become scenarios when they end or the client leaves, and replay byte by byte."""

from __future__ import annotations

import json
from pathlib import Path

import forks
from mcp_process import INITIALIZE, NOTES, START, WORKFLOW, call, request, spoken

from pytest_workrail.cli import main
from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.engine.protocol.engine import Engine, Options
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.protocol.ports import WorkflowEntry
from pytest_workrail.engine.store.disk import on_disk
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy
from pytest_workrail.mcp.tools import EngineTools
from pytest_workrail.scenarios.drivers import play
from pytest_workrail.sessions.recording import LiveRecorder
from pytest_workrail.sessions.versions import load_version
from workrail_lint.base.result import Ok


def tools(
    tmp_path: Path, said: list[str], profile: ProfileName = "reference", served: str = "demo.release_notes"
) -> EngineTools:
    compiled = load_version(WORKFLOW).compiled
    home = on_disk(tmp_path / "data", FixedClock(), SeededEntropy())
    assert compiled is not None
    assert isinstance(home, Ok)
    engine = Engine(home.value, MemoryLibrary([WorkflowEntry(compiled.ir)]), Options(profile=profile))
    workflows = {served: WORKFLOW}
    return EngineTools(engine, LiveRecorder(engine.export_session, tmp_path / "out", workflows, profile, said.append))


def test_a_session_is_recorded_at_its_end_and_again_after_a_branch(tmp_path: Path) -> None:
    said: list[str] = []
    served = tools(tmp_path, said)
    answer = served.call("start_workflow", START).data
    first = answer["continueToken"]
    blocked = served.call("continue_workflow", {"continueToken": first, "intent": "advance"}).data
    token = blocked["retryContinueToken"]
    while not answer["isComplete"]:
        assert not said
        answer = served.call("continue_workflow", {"continueToken": token, "output": NOTES}).data
        token = answer.get("continueToken")
    (scenario,) = (tmp_path / "out").glob("*.scenario.json")
    assert said == [f"recorded {scenario.name}"]
    (golden,) = (path for path in (tmp_path / "out").rglob("*") if path.is_file() and "golden" in path.name)
    played = play(scenario, scenario.name)
    assert isinstance(played, Ok)
    assert played.value.failure is None
    assert played.value.golden == golden.read_bytes()
    content = json.loads(scenario.read_text(encoding="utf-8"))
    assert content["agent"]["turns"][0]["expect"]["answer"] == "blocked"
    coverage = json.loads((tmp_path / "out" / "coverage.json").read_text(encoding="utf-8"))
    assert coverage["workflows"][0]["profiles"] == ["reference"]
    assert coverage["total"]["covered"] >= 4

    served.leave()
    assert len(said) == 1, "nothing has happened since"
    before = len(content["agent"]["turns"])
    looked = {"continueToken": first, "intent": "rehydrate", "workspacePath": "/w"}
    again = served.call("continue_workflow", looked).data
    served.call("continue_workflow", {"continueToken": again["continueToken"], "output": NOTES})
    served.leave()
    assert len(said) == 2
    assert len(json.loads(scenario.read_text(encoding="utf-8"))["agent"]["turns"]) > before


def test_a_run_under_the_other_profile_is_recorded_at_its_end_and_described_as_it_answers(tmp_path: Path) -> None:
    said: list[str] = []
    served = tools(tmp_path, said, "locked")
    words = {spec.name: spec.description for spec in served.specs}
    answer = served.call("start_workflow", START).data
    while answer["kind"] != "complete":
        assert f'- kind "{answer["kind"]}": ' in words["continue_workflow"]
        assert not said
        answer = served.call("continue_workflow", {"continueToken": answer["continueToken"], "output": NOTES}).data
    assert '- kind "complete": ' in words["continue_workflow"]
    assert len(said) == 1
    (scenario,) = (tmp_path / "out").glob("*.scenario.json")
    assert json.loads(scenario.read_text(encoding="utf-8"))["profile"] == "locked"
    played = play(scenario, scenario.name)
    assert isinstance(played, Ok)
    assert played.value.failure is None


def test_what_a_client_leaves_open_is_recorded_and_the_data_folder_gives_the_same(tmp_path: Path) -> None:
    out, data = tmp_path / "out", tmp_path / "data"
    code, answers, said = spoken(
        [str(WORKFLOW), "--profile", "locked", "--record", str(out), "--data", str(data)],
        [request(1, "initialize", INITIALIZE), call(2, "start_workflow", START)],
    )
    assert (code, len(answers)) == (0, 2)
    (scenario,) = out.glob("*.scenario.json")
    assert f"recorded {scenario.name}" in said
    other = tmp_path / "other"
    options = ["--data", str(data), "--out", str(other), "--workflow", str(WORKFLOW)]
    assert main(["sessions", "record", *options]) == 0
    content = json.loads(scenario.read_text(encoding="utf-8"))
    assert content.pop("profile") == "locked"
    assert json.loads((other / scenario.name).read_text(encoding="utf-8")) == content


def test_a_client_that_stops_reading_loses_nothing(tmp_path: Path) -> None:
    """It has closed its end of stdout and keeps stdin open: the server ends by itself and writes what it has."""
    command = ["workrail-test", "serve", str(WORKFLOW), "--record", str(tmp_path / "out")]
    with forks.shared().start(command, tmp_path) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        for message in (request(1, "initialize", INITIALIZE), call(2, "start_workflow", START)):
            server.stdin.write(json.dumps(message).encode() + b"\n")
            server.stdin.flush()
            assert json.loads(server.stdout.readline())["id"] == message["id"]
        server.stdout.close()
        server.stdin.write(json.dumps(call(3, "list_workflows", {"workspacePath": "/w"})).encode() + b"\n")
        server.stdin.flush()
        assert server.wait(600) == 0
        said = server.stderr.read().decode()
    (scenario,) = (tmp_path / "out").glob("*.scenario.json")
    assert said.splitlines()[-1] == f"workrail-test serve: recorded {scenario.name}"


def test_a_session_of_a_workflow_that_is_not_served_is_named(tmp_path: Path) -> None:
    said: list[str] = []
    served = tools(tmp_path, said, served="demo.other")
    served.call("start_workflow", START)
    served.leave()
    (line,) = said
    assert line.endswith(" was not recorded: its workflow demo.release_notes is not served")
    assert not (tmp_path / "out").exists()

"""What can be done from the live page: goldens, fixes, scenarios, runs, what-if, the editor."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from live_project import SECRET, Studio

from pytest_workrail.cli import main


def _run(data: dict[str, Any], name: str = "large") -> dict[str, Any]:
    return next(run for run in data["runs"] if run["name"] == name)


def _steps(run: dict[str, Any]) -> list[str]:
    return [turn["step"] for turn in run["turns"] if turn["step"]]


def test_a_change_of_goldens_is_accepted(studio: Studio) -> None:
    golden = studio.root / "tests" / "__goldens__" / "large.golden.json"
    (group,) = studio.data["goldens"]["groups"]
    status, answer = studio.post("golden", edit=group["id"], decision="accept")
    assert (status, answer["goldens"]) == (200, [golden.relative_to(studio.root).as_posix()])
    assert "with care" in golden.read_text()
    assert studio.fresh()["goldens"]["groups"] == []
    assert studio.post("golden", edit=group["id"], decision="accept")[0] == 409


def test_a_change_of_goldens_is_rejected(studio: Studio) -> None:
    golden = studio.root / "tests" / "__goldens__" / "large.golden.json"
    before = golden.read_bytes()
    (group,) = studio.data["goldens"]["groups"]
    assert studio.post("golden", edit=group["id"], decision="reject")[0] == 200
    assert golden.read_bytes() == before
    assert [path.name for path in golden.parent.iterdir()] == [golden.name]


def _fixable(data: dict[str, Any]) -> dict[str, Any]:
    workflow = next(item for item in data["workflows"] if item["path"] == "workflows/misspelt.json")
    finding = next(each for each in workflow["findings"] if each["fix"])
    path = workflow["path"]
    return {"path": path, "hash": data["live"]["files"][path], "code": finding["code"], "pointer": finding["pointer"]}


def test_a_fix_is_shown_before_it_is_applied(studio: Studio) -> None:
    path = studio.root / "workflows" / "misspelt.json"
    before = path.read_bytes()
    wanted = _fixable(studio.data)
    status, shown = studio.post("fix", **wanted)
    assert status == 200
    assert any(line.startswith("-") and '"eq"' in line for line in shown["diff"])
    assert path.read_bytes() == before
    status, applied = studio.post("fix", **wanted, apply=True)
    assert (status, applied["diff"]) == (200, shown["diff"])
    assert '"eq"' not in path.read_text()


def test_a_fix_of_another_state_of_the_file_is_refused(studio: Studio) -> None:
    path = studio.root / "workflows" / "misspelt.json"
    wanted = _fixable(studio.data)
    path.write_text(path.read_text() + "\n")
    before = path.read_bytes()
    assert studio.post("fix", **wanted, apply=True) == (409, {"error": "the file changed; look again"})
    assert path.read_bytes() == before


def test_what_if_another_value_is_set(studio: Studio) -> None:
    files = {path: path.read_bytes() for path in studio.root.rglob("*") if path.is_file()}
    assert _steps(_run(studio.data)) == ["first", "large-way"]
    status, answer = studio.post("whatif", run="large", moment=0, context={"size": "small"})
    assert (status, answer["status"]) == (200, "complete")
    assert _steps(answer["run"]) == ["first", "small-way"]
    assert {path: path.read_bytes() for path in studio.root.rglob("*") if path.is_file()} == files


def test_what_if_another_answer_is_given(studio: Studio) -> None:
    status, answer = studio.post("whatif", run="large", moment=1, answer={"notes": ""})
    assert status == 200
    assert [turn["kind"] for turn in answer["run"]["turns"]].count("blocked") == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"run": "nobody", "moment": 0}, 404),
        ({"run": "large", "moment": 99}, 409),
        ({"run": "large", "moment": -1}, 409),
        ({"run": "large", "moment": 2}, 409),
        ({"run": "large", "moment": "0"}, 400),
        ({"run": "large", "moment": 0, "answer": {"nonsense": 1}}, 409),
        ({"run": "large"}, 400),
        ({"run": "large", "moment": 0, "else": 1}, 400),
    ],
)
def test_a_what_if_that_makes_no_sense_is_refused(studio: Studio, body: dict[str, Any], status: int) -> None:
    answered, reason = studio.request("POST", "/whatif", body)
    assert answered == status
    assert reason["error"]


def test_a_what_if_is_kept_as_a_scenario_that_passes(studio: Studio) -> None:
    wanted = {"kind": "whatif", "run": "large", "moment": 0, "context": {"size": "small"}}
    names = [studio.post("scenario", **wanted)[1]["scenario"] for _ in range(2)]
    assert names == ["tests/review.what-if.scenario.json", "tests/review.what-if-2.scenario.json"]
    written = json.loads((studio.root / names[0]).read_text())
    assert written["expect"]["steps"] == ["first", "small-way"]
    assert studio.fresh()["live"]["scenarios"] == sorted(["tests/large.scenario.json", *names])


def test_a_goal_gets_its_scenario(studio: Studio) -> None:
    status, answer = studio.post("scenario", kind="goal", workflow="demo.review", goal="condition:small-way:true")
    assert (status, answer["scenario"]) == (200, "tests/review.condition-small-way-true.scenario.json")
    assert "small" in (studio.root / answer["scenario"]).read_text()
    assert studio.post("scenario", kind="goal", workflow="demo.review", goal="step:nowhere:done")[0] == 404
    assert studio.post("scenario", kind="goal", workflow="demo.nothing", goal="step:first:done")[0] == 404
    assert studio.post("scenario", kind="else", workflow="demo.review")[0] == 400


def test_a_surviving_mutant_gets_its_scenario(
    serve: Callable[..., Studio], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mutate", "workflows/review.json", "--json", "--no-cache"]) == 0
    report = capsys.readouterr().out
    (project / "mutation.json").write_text(report)
    survivor = json.loads(report)["workflows"][0]["survived"][0]["id"]
    studio = serve("--mutation", "mutation.json")
    status, answer = studio.post("scenario", kind="mutant", workflow="demo.review", mutant=survivor)
    assert status == 200
    assert (project / answer["scenario"]).exists()
    assert studio.post("scenario", kind="mutant", workflow="demo.review", mutant="M2")[0] == 404


def _ended_job(studio: Studio, number: int) -> None:
    job = studio.server.actions.job
    if job is not None and job.number == number:
        job.thread.join()


def test_a_scenario_runs_again_without_code_of_the_project(studio: Studio) -> None:
    trap = "raise SystemExit('code of the project ran')\n"
    for name in ("conftest.py", "tests/conftest.py", "pytest.py", "sitecustomize.py"):
        (studio.root / name).write_text(trap)
    (studio.root / "pytest.ini").write_text("[pytest]\naddopts = -p trap\n")
    status, answer = studio.post("run", test="tests/large.scenario.json::large")
    assert status == 200
    _ended_job(studio, answer["job"])
    run = next(run for run in studio.fresh()["runs"] if run.get("test"))
    # The golden is the old one, and its pending change waits for a decision.
    assert run["outcome"]["state"] == "changed", run


def test_one_scenario_runs_at_a_time_and_can_be_stopped(studio: Studio) -> None:
    status, answer = studio.post("run", test="tests/large.scenario.json")
    assert status == 200
    assert studio.post("run", test="tests/large.scenario.json")[0] == 409
    assert studio.post("run", stop=answer["job"])[0] == 200
    _ended_job(studio, answer["job"])
    assert studio.post("run", stop=answer["job"])[0] == 409


@pytest.mark.parametrize("test", ["../other.scenario.json", "/etc/passwd", "", "tests/none.scenario.json", "-p"])
def test_only_scenarios_of_the_project_run(studio: Studio, test: str) -> None:
    assert studio.post("run", test=test) == (404, {"error": "the project has no such scenario"})


def test_the_editor_opens_a_file_of_the_page_at_a_line(
    studio: Studio, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("editor")
    editor, seen = folder / "code", folder / "seen"
    editor.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > "{seen}.part"\nmv "{seen}.part" "{seen}"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", str(editor))
    assert studio.post("open", path="workflows/review.json", line=7) == (200, {})
    while not seen.exists():
        pass
    assert seen.read_text() == f"-g|{studio.root / 'workflows' / 'review.json'}:7|"
    assert studio.post("open", path="../secret", line=1)[0] == 404
    monkeypatch.setenv("VISUAL", "vim")
    assert studio.post("open", path="workflows/review.json") == (
        409,
        {"error": "vim needs a terminal; set VISUAL to an editor with a window"},
    )
    monkeypatch.delenv("VISUAL")
    monkeypatch.delenv("EDITOR", raising=False)
    assert studio.post("open", path="workflows/review.json")[0] == 409


def test_a_read_only_page_plays_what_if_and_nothing_else(serve: Callable[..., Studio]) -> None:
    studio = serve("--read-only")
    assert studio.data["live"]["readOnly"] is True
    assert studio.post("whatif", run="large", moment=0, context={"size": "small"})[0] == 200
    for action in ("golden", "fix", "scenario", "run", "open"):
        assert studio.post(action) == (404, {"error": "there is no such action here"})


def test_secrets_do_not_reach_the_page(studio: Studio) -> None:
    assert SECRET not in studio.server.board.view.content.decode()
    _, answer = studio.post("whatif", run="large", moment=1, context={})
    assert SECRET not in json.dumps(answer)


def test_the_page_follows_the_files(studio: Studio) -> None:
    before = studio.server.board.view.digest
    path = studio.root / "workflows" / "review.json"
    path.write_text(path.read_text().replace("Keep it small.", "Keep it tiny."))
    assert studio.server.board.has_changed_files()
    assert not studio.server.board.has_changed_files()
    assert studio.server.board.refresh()
    assert studio.server.board.view.digest != before
    path.write_text("{")
    assert studio.server.board.refresh()
    assert next(item for item in studio.fresh()["workflows"] if item["path"] == "workflows/review.json")["broken"]

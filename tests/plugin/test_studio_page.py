"""`--workrail-html` and `--workrail-runs-json`: a run of the tests as data, and the page of a project made from it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from plugin_project import REVIEW, Project


def _project(pytester: pytest.Pytester) -> Project:
    project = Project(pytester)
    project.scenario("plain")
    blocked = {"kind": "auto", "turns": [{"step": "give-verdict", "does": "missing_artifact"}]}
    project.scenario("blocked", agent=blocked)
    return project


def _page(project: Project) -> dict[str, Any]:
    text = (project.path / "page.html").read_text(encoding="utf-8")
    found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


@pytest.mark.parametrize("workers", [0, 1])
def test_a_page_with_coverage_and_runs_in_one_go(pytester: pytest.Pytester, workers: int) -> None:
    project = _project(pytester)
    result = project.run_apart("-n", str(workers), "scenarios", "--workrail-html=page.html")
    result.assert_outcomes(passed=2)
    data = _page(project)
    (workflow,) = data["workflows"]
    assert workflow["coverage"]["stale"] is False
    assert workflow["coverage"]["total"]["covered"] > 0
    runs = {run["name"]: run for run in data["runs"]}
    assert set(runs) == {"blocked", "plain"}
    assert all(run["stale"] is False for run in runs.values())
    assert runs["blocked"]["blocked"] == 1
    assert runs["plain"]["test"] == "scenarios/plain.scenario.json::plain"
    prompt = runs["plain"]["turns"][0]["prompt"]
    texts = [data["strings"][text] if isinstance(text, int) else text for _, _, text in prompt]
    assert [kind for kind, _, _ in prompt] == ["authored", "engine"]
    assert "NOTES REQUIRED" in texts[1], "what an agent really reads"


def test_changes_of_goldens_are_on_the_page_of_a_project_below_a_hidden_folder(pytester: pytest.Pytester) -> None:
    project = Project(pytester)
    place = (".home", "--rootdir=.home", "-c", ".home/pytest.ini")
    project.write(".home/pytest.ini", "[pytest]\n")
    project.write(".home/workflows/review.json", REVIEW)
    project.write(".home/scenarios/plain.scenario.json", {"workflow": "../workflows/review.json"})
    project.run(*place, "--workrail-golden=new").assert_outcomes(passed=1)
    changed = json.dumps(REVIEW).replace("Judge it.", "Judge all of it.")
    project.write(".home/workflows/review.json", changed)
    project.run(*place, "--workrail-html=page.html").assert_outcomes(failed=1)
    assert [each["golden"].rpartition("/")[2] for each in _page(project)["goldens"]["pending"]] == ["plain.golden.json"]


def test_runs_as_data(pytester: pytest.Pytester) -> None:
    project = _project(pytester)
    project.run("scenarios", "--workrail-runs-json=runs.json").assert_outcomes(passed=2)
    runs = json.loads((project.path / "runs.json").read_text())["runs"]
    assert [run["test"].rpartition("::")[2] for run in runs] == ["blocked", "plain"]
    places = [(call["branch"], call["parent"], call["round"]) for call in runs[1]["transcript"]]
    assert places == [(0, None, 1), (0, 0, 1), (0, 1, None)]
    assert "workflowHash" in runs[0]["metadata"]


@pytest.mark.parametrize("option", ["--workrail-html", "--workrail-runs-json"])
def test_a_file_that_cannot_be_written_fails_the_run(pytester: pytest.Pytester, option: str) -> None:
    result = _project(pytester).run("scenarios", f"{option}=no/such/folder/file")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"FAIL: {option}:*can't be written*"])

"""The action for pull requests: its shell steps, run as a runner runs them, on one that passes and one that fails."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from workrail_lint.cli import main

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
pytestmark = pytest.mark.skipif(
    shutil.which("bash") is None or shutil.which("git") is None, reason="bash or git is not installed"
)


class Ran(NamedTuple):
    """The exit code of each step by its name, and all that was printed."""

    codes: dict[str, int]
    output: str
    summary: str


def run_steps(project: Path, **given: str) -> Ran:
    """Run the steps after the installation, with the usual values of the inputs."""
    inputs = {name: spec["default"] for name, spec in ACTION["inputs"].items()} | given
    summary = project.parent / "summary"
    summary.write_text("")
    codes: dict[str, int] = {}
    output = ""
    for step in STEPS:
        if "run" not in step or step["name"] == "Install" or not _is_wanted(step.get("if", ""), inputs):
            continue
        variables = {name: _filled(value, inputs) for name, value in step.get("env", {}).items()}
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        environment = {**os.environ, **variables, "PATH": path, "GITHUB_STEP_SUMMARY": str(summary)}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
        codes[step["name"]] = done.returncode
        output += done.stdout + done.stderr
    return Ran(codes, output, summary.read_text())


def _is_wanted(condition: str, inputs: dict[str, str]) -> bool:
    needed = re.findall(r"inputs\.(\w+) != ''", condition)
    return all(inputs[name] for name in needed)


def _filled(value: str, inputs: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: inputs[match[1]], value)


def _git(project: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=project, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project from `init`, committed."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert main(["init"]) == 0
    _git(folder, "init", "--quiet", "--initial-branch=main")
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--message=Start")
    return folder


def test_a_pull_request_that_passes(project: Path) -> None:
    ran = run_steps(project, tests="tests", base="main")
    assert set(ran.codes.values()) == {0}, ran.output
    assert list(ran.codes) == ["Check", "Verify the lockfile", "Run the tests", "Show"]
    results = project / "workrail-results"
    assert json.loads((results / "findings.sarif").read_text())["runs"][0]["results"] == []
    assert "<!doctype html>" in (results / "studio.html").read_text()
    assert ran.summary == (results / "summary.md").read_text() != ""


def test_a_pull_request_that_fails_says_why_and_still_shows_everything(project: Path) -> None:
    path = project / "workflows" / "first_workflow.json"
    document = json.loads(path.read_text())
    document["steps"][-1]["runCondition"] = {"var": "goal", "eq": "yes"}
    path.write_text(json.dumps(document, indent=2))
    ran = run_steps(project, tests="tests", base="main")
    assert ran.codes == {"Check": 1, "Verify the lockfile": 1, "Run the tests": 1, "Show": 0}, ran.output
    assert re.search(r"^::error file=workflows/first_workflow.json,.*CD001", ran.output, re.M)
    assert "CD001" in ran.summary


def test_without_tests_and_a_base_the_project_is_checked_and_drawn(project: Path) -> None:
    ran = run_steps(project)
    assert ran.codes == {"Check": 0, "Verify the lockfile": 0, "Show": 0}, ran.output
    assert ran.summary == ""
    assert (project / "workrail-results" / "studio.html").exists()


def test_inputs_are_never_run_and_never_options(project: Path) -> None:
    trap = "$(touch trap)`touch trap`;touch trap"
    ran = run_steps(project, paths=f"{trap}\n--fix", tests=trap, sessions=trap)
    assert all(code for name, code in ran.codes.items() if name != "Verify the lockfile"), ran
    assert not (project / "trap").exists()


def test_no_step_puts_an_expression_into_its_script() -> None:
    assert [step["name"] for step in STEPS if "${{" in step.get("run", "")] == []


def test_what_is_installed_is_pinned_by_hash_and_is_what_we_test_with() -> None:
    lines = (ROOT / ".ci" / "action.txt").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)", lines, re.M))
    tested = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / ".ci" / "requirements.txt").read_text("utf-8"), re.M))
    assert {name: tested.get(name) for name in pins if name != "colorama"} == {
        name: version for name, version in pins.items() if name != "colorama"
    }
    assert lines.count("--hash=sha256:") >= len(pins)


def test_every_input_is_documented() -> None:
    page = (ROOT / "docs" / "continuous-integration.md").read_text(encoding="utf-8")
    section = page.partition("## The action")[2].partition("\n## ")[0]
    assert [name for name in (*ACTION["inputs"], *ACTION["outputs"]) if f"`{name}`" not in section] == []


def test_the_action_is_pinned_like_all_others() -> None:
    used: list[Any] = [step["uses"] for step in STEPS if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each) for each in used)

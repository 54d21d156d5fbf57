"""The component for GitLab: its script, run on a merge request that passes and one that fails."""

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
from test_action import ACTION, project

__all__ = ["project"]

ROOT = Path(__file__).parents[2]
FILE = ROOT / "templates" / "workflows.yml"
HEAD, _, BODY = FILE.read_text(encoding="utf-8").partition("\n---\n")
INPUTS: dict[str, Any] = yaml.safe_load(HEAD)["spec"]["inputs"]
ONLY_HERE = {"source", "revision", "stage", "image"}
pytestmark = pytest.mark.skipif(
    shutil.which("bash") is None or shutil.which("git") is None, reason="bash or git is not installed"
)


class Ran(NamedTuple):
    code: int
    output: str
    results: Path


def job(**given: str) -> dict[str, Any]:
    """Return the job as GitLab sees it, with its inputs filled in."""
    inputs = {name: spec.get("default", "unknown") for name, spec in INPUTS.items()} | given

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: filled(each) for name, each in value.items()}
        if isinstance(value, list):
            return [filled(each) for each in value]
        if isinstance(value, str):
            return re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda match: inputs[match[1]], value)
        return value

    (definition,) = yaml.safe_load(BODY).values()
    return dict(filled(definition))


def run_script(project: Path, **given: str) -> Ran:
    defined = job(**given)
    variables = {name: each["value"] for name, each in defined["variables"].items() if isinstance(each, dict)}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", "\n".join(defined["script"])]
    environment = {**os.environ, **variables, "PATH": path}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout + done.stderr, project / variables["RESULTS"])


def test_a_merge_request_that_passes(project: Path) -> None:
    ran = run_script(project, tests="tests", base="main")
    assert ran.code == 0, ran.output
    assert json.loads((ran.results / "gl-code-quality-report.json").read_text()) == []
    assert (ran.results / "summary.md").read_text() != ""
    assert {path.name for path in ran.results.iterdir()} >= {"findings.xml", "tests.xml", "studio.html"}


def test_a_merge_request_that_fails_says_why_and_still_shows_everything(project: Path) -> None:
    path = project / "workflows" / "first_workflow.json"
    document = json.loads(path.read_text())
    document["steps"][-1]["runCondition"] = {"var": "goal", "eq": "yes"}
    path.write_text(json.dumps(document, indent=2))
    ran = run_script(project, tests="tests", base="main")
    assert ran.code == 1
    assert "failed: check lock tests\n" in ran.output
    assert "CD001" in (ran.results / "summary.md").read_text()
    assert (ran.results / "studio.html").exists()


def test_inputs_are_never_run_and_never_options(project: Path) -> None:
    trap = "$(touch trap)`touch trap`;touch trap"
    ran = run_script(project, paths=f"{trap}\n--fix", tests=trap, sessions=trap)
    assert ran.code == 1
    assert not (project / "trap").exists()
    assert [line for line in (*job()["script"], *job()["before_script"]) if "$[[" in line] == []
    assert all(each["expand"] is False for each in job()["variables"].values() if isinstance(each, dict))


def test_it_is_a_job_that_gitlab_takes(tmp_path: Path) -> None:
    (tmp_path / ".gitlab-ci.yml").write_text(yaml.safe_dump({"workflows": job()}), encoding="utf-8")
    command = ["check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", ".gitlab-ci.yml"]
    program = [sys.executable, str(Path(sys.executable).with_name(command[0])), *command[1:]]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_it_has_the_inputs_of_the_action_and_all_are_documented() -> None:
    assert INPUTS.keys() - ONLY_HERE == ACTION["inputs"].keys()
    page = (ROOT / "docs" / "continuous-integration.md").read_text(encoding="utf-8")
    section = page.partition("## GitLab")[2].partition("\n## ")[0]
    assert [name for name in ONLY_HERE if f"`{name}`" not in section] == []

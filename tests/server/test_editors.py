"""Real editors: a session in Neovim, and the VS Code extension in a stand-in for its host."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

pytest.importorskip("pygls", reason="pygls is not installed")

from workrail_lint.api import check_text
from workrail_lint.documents.json_format import restyled
from workrail_lint.findings import Severity
from workrail_lint.systems.schemas import kinds, load_schema
from workrail_lint.systems.workrail.rules.samples import step, workflow

HERE = Path(__file__).parent
VSCODE = HERE.parents[1] / "editors" / "vscode"
GOOD = workflow(
    step("first", prompt="Sei höflich 😀. Set the context variable `size` to one of `small`, `large`."),
    step("second", prompt="Keep {{size}}.", runCondition={"var": "size", "equals": "small"}),
    step("third", outputContract={"contractRef": "wr.contracts.review_verdict"}),
)


@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
def test_a_session_in_neovim(tmp_path: Path) -> None:
    file = tmp_path / "workflows" / "a.json"
    file.parent.mkdir()
    moved = {"steps": GOOD["steps"], **{name: value for name, value in GOOD.items() if name != "steps"}}
    text = json.dumps(moved, indent=4, ensure_ascii=False) + "\n"
    broken = text.replace('"title"', '"tittle"', 1).replace('"wr.contracts.review_verdict"', '""')
    file.write_text(broken, encoding="utf-8")
    outcome = tmp_path / "outcome.json"
    subprocess.run(
        ["nvim", "--headless", "--clean", "-i", "NONE", "-S", str(HERE / "neovim.lua")],
        cwd=tmp_path,
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "WORKRAIL_PYTHON": sys.executable,
            "WORKRAIL_FILE": str(file),
            "WORKRAIL_RESULT": str(outcome),
        },
        timeout=300,
        check=True,
        capture_output=True,
    )
    result = json.loads(outcome.read_text(encoding="utf-8"))
    assert result.get("problem") is None
    assert broken.split("\n")[result["line"]].strip().startswith('"tittle"')
    assert result["source"] == "workrail-lint"
    assert result["completed"] == "wr.contracts.review_verdict"
    expected = restyled(text.replace("size", "extent"))
    assert expected is not None
    assert result["text"] == expected.rstrip("\n")


# ------------------------------------------------------------------------------------------------------- VS Code


def _manifest() -> dict[str, object]:
    made: dict[str, object] = json.loads((VSCODE / "package.json").read_text(encoding="utf-8"))
    return made


def test_the_extension_pins_what_it_is_built_from() -> None:
    manifest = _manifest()
    versions = {**manifest["dependencies"], **manifest["devDependencies"]}  # type: ignore[dict-item]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions.values())
    lock = json.loads((VSCODE / "package-lock.json").read_text(encoding="utf-8"))
    for name, version in versions.items():
        assert lock["packages"][f"node_modules/{name}"]["version"] == version
    assert not [name for name, each in lock["packages"].items() if "resolved" in each or "funding" in each]


@pytest.mark.promise("An untrusted folder in an editor", "settings of a workspace")
def test_a_workspace_can_not_name_the_program_to_start() -> None:
    manifest = _manifest()
    settings = manifest["contributes"]["configuration"]["properties"]  # type: ignore[index]
    assert {settings[name]["scope"] for name in ("workrail.path", "workrail.arguments")} == {"machine"}
    untrusted = manifest["capabilities"]["untrustedWorkspaces"]  # type: ignore[index]
    assert untrusted["supported"] == "limited"
    assert set(untrusted["restrictedConfigurations"]) == {"workrail.path", "workrail.arguments"}


def test_the_problem_matcher_reads_what_check_prints(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({**GOOD, "tittle": "x"}))
    ran = subprocess.run(
        [sys.executable, "-m", "workrail_lint", "check", "--isolated", "--format", "concise", "a.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    matcher = _manifest()["contributes"]["problemMatchers"][0]["pattern"]  # type: ignore[index]
    found = [match for line in ran.stdout.splitlines() if (match := re.fullmatch(matcher["regexp"], line))]
    assert ("a.json", "SC001") in {(match[matcher["file"]], match[matcher["code"]]) for match in found}


def test_the_extension_ships_the_schemas_that_it_names() -> None:
    contributed = _manifest()["contributes"]["jsonValidation"]  # type: ignore[index]
    named = {entry["url"].removeprefix("./schemas/").removesuffix(".schema.json") for entry in contributed}
    assert named <= set(kinds())
    target = re.search(r"^vscode:.*?(?=^\S)", (VSCODE.parents[1] / "Makefile").read_text(), re.MULTILINE | re.DOTALL)
    assert target is not None
    listed = re.search(r"for kind in ([a-z -]+);", target[0])
    assert listed is not None
    assert set(listed[1].split()) == named


def test_snippets_are_valid_where_they_belong() -> None:
    snippets = json.loads((VSCODE / "snippets.json").read_text(encoding="utf-8"))
    step = {"id": "start", "title": "Start", "prompt": "Read the task."}
    for name, snippet in snippets.items():
        value = json.loads(re.sub(r"\$\{\d+:([^}]*)\}", r"\1", "\n".join(snippet["body"])))
        if name == "Scenario":
            jsonschema.validate(value, load_schema("scenario"))
            continue
        workflow = value if name == "Workflow" else {**GOOD, "steps": [step, value]}
        errors = [
            str(each.message) for each in check_text(json.dumps(workflow)).findings if each.severity is Severity.ERROR
        ]
        assert errors == [], name


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
@pytest.mark.skipif(
    not (VSCODE / "node_modules").is_dir(),
    reason="the packages of the VS Code extension are not installed: make vscode",
)
def test_the_extension_starts_the_server() -> None:
    for command in (["npm", "run", "--silent", "build"], ["npm", "run", "--silent", "test"]):
        ran = subprocess.run(
            command,
            cwd=VSCODE,
            env={**os.environ, "PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr

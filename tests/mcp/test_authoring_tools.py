"""`serve --authoring`: a set of its own, which reads the project and writes nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp_process import WORKFLOW

from pytest_workrail.cli import main
from pytest_workrail.explore.generation import generated_for
from pytest_workrail.mcp.tools import AuthoringTools


@pytest.fixture
def tools(tmp_path: Path) -> AuthoringTools:
    shutil.copy(WORKFLOW, tmp_path / "notes.json")
    return AuthoringTools(tmp_path, lambda path: generated_for(path, ["reference"]))


def test_the_set_is_closed_and_described(tools: AuthoringTools) -> None:
    assert [spec.name for spec in tools.specs] == ["check", "compile", "explain", "generate"]
    for spec in tools.specs:
        assert spec.read_only
        assert "Right: {" in spec.description
        assert "Wrong: {" in spec.description
        jsonschema.Draft202012Validator.check_schema(spec.input_schema)
        assert all(member["description"] for member in spec.input_schema["properties"].values())


def test_each_tool_answers_and_nothing_is_written(tools: AuthoringTools, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in tmp_path.rglob("*")}
    text = WORKFLOW.read_text(encoding="utf-8")
    assert tools.call("check", {"path": "notes.json"}).data == tools.call("check", {"text": text}).data
    broken = text.replace('"id": "sort-changes"', '"id": "collect-changes"')
    found: Any = tools.call("check", {"text": broken}).data["findings"]
    assert [each for each in found if each["severity"] == "error"]
    compiled = tools.call("compile", {"path": "notes.json"})
    assert compiled.data["hash"] == tools.call("compile", {"text": text}).data["hash"]
    assert json.loads(compiled.text[0]) == compiled.data
    failed = tools.call("compile", {"text": broken})
    assert (failed.is_error, failed.data["compiles"]) == (True, False)
    code = found[0]["code"]
    assert code in tools.call("explain", {"rule": code}).text[0]
    generated = tools.call("generate", {"path": "notes.json"})
    assert generated.data["scenarios"]
    assert not generated.data["uncovered"]
    assert {path: path.read_bytes() for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("check", {}, "either `path` or `text`"),
        ("check", {"path": "notes.json", "text": "{}"}, "either `path` or `text`"),
        ("check", {"path": "../secret.json"}, "leads out of the project"),
        ("check", {"path": "link.json"}, "leads out of the project"),
        ("check", {"path": "none.json"}, "There is no file 'none.json'"),
        ("check", {"path": "\0"}, "path"),
        ("check", {"text": "{}", "target": "moon"}, "`target` must be engine or ir"),
        ("compile", {"file": "notes.json"}, "compile takes no `file`"),
        ("compile", {"path": 1}, "`path` must be a string"),
        ("explain", {"rule": "ZZ999"}, "There is no rule ZZ999"),
        ("generate", {}, "generate needs `path`"),
    ],
)
def test_what_can_not_be_done_is_said(
    tools: AuthoringTools, tmp_path: Path, tool: str, arguments: dict[str, Any], said: str
) -> None:
    (tmp_path / "link.json").symlink_to(WORKFLOW)
    answer = tools.call(tool, arguments)
    assert answer.is_error
    assert said in answer.text[0]


def test_the_two_sets_are_not_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--authoring", "--data", str(tmp_path)]) == 2
    assert "--authoring serves the project in the current folder" in capsys.readouterr().err

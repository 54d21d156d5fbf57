"""A new agent contract is one folder and one line, or one plugin: nothing else has to know its name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workrail_lint.cli import main

pytest_plugins = ["pytester"]

PLUGIN = """
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Finding, Severity
from workrail_lint.findings import safe
from workrail_lint.documents.operations import Replace
from workrail_lint.project.plugins import hookimpl
from workrail_lint.rules.base import Example, Rule
from workrail_lint.rules.locate import locate
from workrail_lint.rules.table import info_of
from workrail_lint.systems.base import FileResult, ScenarioKind, Setting, System
from workrail_lint.systems.base import scenario_finding

SCHEMA = {
    "type": "object",
    "required": ["tiny"],
    "properties": {"tiny": {"type": "string"}, "expect": {"type": "string"}},
    "additionalProperties": False,
}


class ColourUnknown(Rule):
    code = "TY001"
    name = "tiny-colour-unknown"
    severity = Severity.WARNING
    origin = "the tiny contract"
    summary = "A tiny document names a colour that the project does not have."
    why = "Nobody can paint with it."
    fix = "Writes the first colour of the project."
    fix_safety = "safe"

    def examples(self):
        yield Example({"colour": "mauve"}, {"colour": "red"}, {"colour": "red"}, path="paint.tiny")


class Tiny(System):
    name = "tiny"
    suffixes = (".tiny",)
    families = {"TY": "The tiny contract"}
    config_keys = {"tiny-colours": Setting("list")}
    scenario = ScenarioKind(
        member="tiny",
        schema="tiny_contract:SCHEMA",
        check="tiny_contract:scenario_findings",
        driver="tiny_contract:play",
    )

    def rules(self):
        return [info_of(ColourUnknown())]

    def rule(self, name):
        return ColourUnknown()

    def claims(self, path, data, named):
        return "tiny" if path.endswith(".tiny") else None

    def check(self, path, data, kind, settings):
        document = read_json(data)
        colours = settings.options.get("tiny-colours", ["red"])
        found = []
        if document.value["colour"] not in colours:
            rule = ColourUnknown
            fix = safe("use " + colours[0], Replace("/colour", colours[0]))
            text = "no colour " + document.value["colour"]
            found.append(Finding(rule.code, rule.name, rule.severity, text, "/colour", fix=fix))
        locate(found, document, path, value=document.value, fingerprints=settings.fingerprints)
        return FileResult(found)


def scenario_findings(value, folder, settings):
    if value["tiny"] == "nothing":
        yield scenario_finding("scenario-checks-little", "/tiny", "paints nothing")


def play(scenario):
    from pytest_workrail.scenarios.drivers import PlayedScenario
    from pytest_workrail.scenarios.drivers import Fault
    from workrail_lint.base.result import Ok

    painted, expected = scenario.value["tiny"], scenario.value.get("expect")
    faults = () if painted == expected else (Fault("painted " + painted, "/expect"),)
    return Ok(PlayedScenario(scenario, faults, ["1. painted " + painted], b"{}"))


@hookimpl
def workrail_lint_systems():
    return [Tiny()]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    plugin = tmp_path / "plugin"
    plugin.mkdir()
    (plugin / "tiny_contract.py").write_text(PLUGIN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(plugin))
    monkeypatch.setenv("PYTHONPATH", str(plugin))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "workrail-lint.toml").write_text('plugins = ["tiny_contract"]\ntiny-colours = ["red", "blue"]\n')
    (folder / "good.tiny").write_text('{"colour": "blue"}\n')
    (folder / "bad.tiny").write_text('{"colour": "mauve"}\n')
    monkeypatch.chdir(folder)
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    said = capsys.readouterr()
    return code, said.out, said.err


def test_its_documents_are_found_and_judged(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check", "--format", "json")
    (finding,) = json.loads(out)["findings"]
    assert (code, finding["code"], finding["path"], finding["pointer"]) == (0, "TY001", "bad.tiny", "/colour")
    assert finding["range"]["start"] == {"line": 1, "column": 12}
    assert run(capsys, "check", "--strict")[0] == 1


def test_its_key_decides(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "workrail-lint.toml").write_text('plugins = ["tiny_contract"]\ntiny-colours = ["mauve", "blue"]\n')
    assert json.loads(run(capsys, "check", "--format", "json")[1])["findings"] == []


def test_its_key_is_checked_like_any_other(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = project / "workrail-lint.toml"
    config.write_text('plugins = ["tiny_contract"]\ntiny-colours = "red"\n')
    assert "'tiny-colours' must be a list" in run(capsys, "check")[2]
    config.write_text('plugins = ["tiny_contract"]\ntiny-colors = ["red"]\n')
    assert "unknown key 'tiny-colors'; did you mean 'tiny-colours'?" in run(capsys, "check")[2]
    config.write_text('tiny-colours = ["red"]\n')
    assert "unknown key 'tiny-colours'" in run(capsys, "check")[2]


def test_its_rules_are_selected_and_fixed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "check", "--strict", "--ignore", "TY")[0] == 0
    assert run(capsys, "check", "--strict", "--select", "tiny-colour-unknown")[0] == 1
    assert run(capsys, "check", "--strict", "--fix")[0] == 0
    assert json.loads((project / "bad.tiny").read_text()) == {"colour": "red"}


def test_sarif_describes_its_rule(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (described,) = json.loads(run(capsys, "check", "--format", "sarif")[1])["runs"][0]["tool"]["driver"]["rules"]
    assert described["id"] == "TY001"
    assert described["shortDescription"]["text"].startswith("A tiny document names a colour")
    assert '"colour": "mauve"' in described["help"]["markdown"]


def test_rule_explains_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Family: The tiny contract" in run(capsys, "rule", "TY001")[1]
    assert "TY  The tiny contract" in run(capsys, "rule", "TY")[1]
    listed = json.loads(run(capsys, "rule", "--format", "json")[1])["rules"]
    assert "tiny-colour-unknown" in {rule["name"] for rule in listed}


def test_its_scenarios_are_checked(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "paint.scenario.json").write_text('{"tiny": "nothing"}\n')
    (project / "shape.scenario.json").write_text('{"tiny": 7}\n')
    _, out, _ = run(capsys, "check", "--format", "json", "paint.scenario.json", "shape.scenario.json")
    codes = [(finding["code"], finding["path"]) for finding in json.loads(out)["findings"]]
    assert codes == [("SN007", "paint.scenario.json"), ("SC003", "shape.scenario.json")]


def test_its_scenarios_are_played(project: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    (project / "good.scenario.json").write_text('{"tiny": "red", "expect": "red"}\n')
    (project / "bad.scenario.json").write_text('{"tiny": "red", "expect": "blue"}\n')
    monkeypatch.delenv("CI", raising=False)
    result = pytester.runpytest_subprocess(str(project), "--workrail-golden=new", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*bad.scenario.json:1:27: painted red (/expect)", "1. painted red"])

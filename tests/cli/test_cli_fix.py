"""`check --fix` and `--diff` on real files: every fix a rule shows, files seen together, many places at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_types import Run

from workrail_lint.cli import main
from workrail_lint.findings import Phase
from workrail_lint.report.rule_docs import rules
from workrail_lint.rules.base import Example, Rule
from workrail_lint.rules.example_files import as_bytes, side_files
from workrail_lint.systems.workrail.rules.samples import step, workflow
from workrail_lint.systems.workrail.system import WorkRailSystem

SHOWN = [
    pytest.param(rule, example, id=f"{rule.code}-{number}")
    for rule in rules()
    if rule.family in ("TC", "BC")
    for number, example in enumerate(rule.examples(), 1)
    if example.fixed is not None
]
TOGETHER = {"BC420", "BC510", "BC608"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORKRAIL_LINT_DEBUG", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


def save(folder: Path, files: dict[str, Any]) -> None:
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(as_bytes(content))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def shown(rule: Rule, *options: str) -> list[str]:
    return ["check", "--no-cache", "--jobs", "1", "--select", rule.code, "--exit-zero", *options, "."]


def test_an_override_is_told_once_and_removed_where_it_stands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    point = {"slotId": "checker", "purpose": "Who checks the result.", "default": "routine-check"}
    used = workflow(step(prompt="Run {{wr.bindings.checker}} on the result."), extensionPoints=[point])
    overrides = {"demo.example": {"checker": "", "cheker": "routine-look"}, "demo.elsewhere": {"any": "x"}}
    save(folder, {"workflows/example.json": used, ".workrail/bindings.json": overrides})
    select = ("--select", "binding-override-empty,binding-override-unknown-slot", "--format", "concise")
    for where, expected in ((".", ".workrail/bindings.json"), ("workflows", "workflows/example.json")):
        main(["check", "--no-cache", *select, where])
        shown = capsys.readouterr().out.splitlines()[:2]
        assert [line.partition(":")[0] for line in shown] == [expected] * 2
        assert {word for line in shown for word in line.split() if word.startswith("BD0")} == {"BD005", "BD006"}
    save(folder, {"settings/slots.json": overrides})
    main(["check", "--no-cache", "--bindings", "settings/slots.json", *select, "workflows", "settings"])
    assert capsys.readouterr().out.count("workflows/example.json:") == 2, "by another name it is not looked at itself"
    main(["check", "--no-cache", "--fix", "--unsafe-fixes", *select, "."])
    mended = json.loads(contents(folder)[".workrail/bindings.json"])
    assert mended == {"demo.example": {}, "demo.elsewhere": {"any": "x"}}


def test_nothing_is_lost_where_two_members_come_to_one_name(folder: Path) -> None:
    made = {**step(prompt=None), "promt": "Describe the first half.", "prompts": "Describe the second half."}
    save(folder, {"workflows/example.json": workflow(made)})
    assert main(["check", "--no-cache", "--fix", "--unsafe-fixes", "--exit-zero", "."]) == 0
    (mended,) = json.loads(contents(folder)["workflows/example.json"])["steps"]
    assert mended["prompt"] == "Describe the first half."
    assert mended["prompts"] == "Describe the second half."


@pytest.mark.parametrize(("rule", "example"), SHOWN)
def test_a_shown_fix_is_what_the_command_does(rule: Rule, example: Example, folder: Path) -> None:
    files = {**side_files(example), example.path: as_bytes(example.bad)}
    save(folder, files)
    if rule.fix_safety == "unsafe":
        assert main(shown(rule, "--fix")) == 0
        assert contents(folder) == files
    assert main(shown(rule, "--fix", "--unsafe-fixes")) == 0
    fixed = {**files, example.path: as_bytes(example.fixed)}
    assert contents(folder) == fixed
    assert main(shown(rule, "--fix", "--unsafe-fixes")) == 0
    assert contents(folder) == fixed


def test_what_files_show_together_is_among_them() -> None:
    assert {param.values[0].code for param in SHOWN} >= TOGETHER


@pytest.mark.parametrize(("rule", "example"), [p for p in SHOWN if p.values[0].code in TOGETHER])
def test_a_difference_is_shown_and_nothing_written(
    rule: Rule, example: Example, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {**side_files(example), example.path: as_bytes(example.bad)}
    save(folder, files)
    assert main([*shown(rule, "--diff", "--unsafe-fixes")]) == 0
    assert contents(folder) == files
    out = capsys.readouterr().out
    assert out.startswith(f"--- {example.path}\n+++ {example.path}\n")
    before, after = as_bytes(example.bad).decode().splitlines(), as_bytes(example.fixed).decode().splitlines()
    assert all(line in out for line in after if line not in before)


def test_own_fixes_and_those_of_the_folder_meet_in_one_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = [p.values[1] for p in SHOWN if p.values[0].code == "BC608"]
    bad = {**example.bad, "filesModified": ["src/a.py", "src/a.py"]}
    save(folder, {**side_files(example), example.path: bad})
    options = ["check", "--no-cache", "--unsafe-fixes", "--exit-zero"]
    before = contents(folder)
    assert main([*options, "--diff", "."]) == 0
    out = capsys.readouterr().out
    assert '+  "blockType": "dev",' in out
    assert out.count('-    "src/a.py"') == 1
    assert out.count(f"--- {example.path}") == 1, "one difference for one file"
    assert contents(folder) == before
    assert main([*options, "--fix", "."]) == 0
    assert json.loads((folder / example.path).read_text(encoding="utf-8")) == example.fixed
    assert "2 findings fixed in 1 file" in capsys.readouterr().err


def test_only_what_is_looked_at_is_written(folder: Path) -> None:
    (example,) = [p.values[1] for p in SHOWN if p.values[0].code == "BC608"]
    save(folder, {**side_files(example), example.path: example.bad})
    (folder / "workrail-lint.toml").write_text('exclude = ["block-b.json"]\n', encoding="utf-8")
    before = contents(folder)
    assert main(["check", "--no-cache", "--fix", "--unsafe-fixes", "--exit-zero", "."]) == 0
    assert contents(folder) == before


def test_findings_about_several_files_are_known_by_their_phase() -> None:
    """Only these are applied from outside; what a file shows by itself has been applied already."""
    from workrail_lint import check

    (example,) = [p.values[1] for p in SHOWN if p.values[0].code == "BC608"]
    save(Path(), {**side_files(example), example.path: example.bad})
    assert {f.phase for f in check(["."]).findings if f.code == "BC608"} == {Phase.REGISTRY}


# --------------------------------------------------------------------------------------------------- many places


COUNT = 1_000


def many(kind: str) -> tuple[str, Any]:
    """A workflow with a thousand places to fix, and what it is afterwards."""
    good = workflow(*(step(f"part-{number}", prompt=f"Look at part {number}.") for number in range(COUNT)))
    text = json.dumps(good, indent=2) + "\n"
    match kind:
        case "commas":
            return text.replace('."\n    }', '.",\n    }'), good
        case "comments":
            return text.replace('."\n    }', '." // why\n    }'), good
        case "repeated":
            return text.replace('"prompt"', '"title": "Again",\n      "prompt"'), None
        case "ids":
            return text.replace('"id": "part-', '"id": "Part '), good
    raise AssertionError(kind)


@pytest.mark.parametrize("kind", ["commas", "comments", "repeated", "ids"])
def test_a_thousand_places_take_few_looks(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    check = WorkRailSystem.check

    def counted(self: WorkRailSystem, path: str, data: bytes, of: str, settings: Any) -> Any:
        looks.append(path)
        return check(self, path, data, of, settings)

    monkeypatch.setattr(WorkRailSystem, "check", counted)
    text, expected = many(kind)
    save(folder, {"workflows/a.json": text})
    options = ["--no-cache", "--fix", "--unsafe-fixes", "--exit-zero", "--output", "report"]
    assert main(["check", *options, "workflows/a.json"]) == 0
    assert len(looks) <= 4, "once to find them, once to see that none is left, once to report"
    after = json.loads((folder / "workflows" / "a.json").read_text(encoding="utf-8"))
    assert expected is None or after == expected
    assert [item["id"] for item in after["steps"]] == [f"part-{number}" for number in range(COUNT)]


def test_a_rename_never_takes_the_id_of_another_workflow(run: Run, write: Any, tmp_path: Path) -> None:
    ids = {"my-flow": "my-flow", "my_flow": "project.my_flow", "one": "a-b", "two": "a_b"}
    for name, ident in ids.items():
        write(f"workflows/{name}.json", workflow(id=ident))
    write("other/workflows/free.json", workflow(id="my-flow"))
    new = {
        "workflows/my-flow.json": "project.my_flow_dfda",
        "workflows/my_flow.json": "project.my_flow",
        "workflows/one.json": "project.a_b",
        "workflows/two.json": "project.a_b_3cca",
        "other/workflows/free.json": "project.my_flow",
    }
    rules = ("--isolated", "--select", "workflow-id-legacy,duplicate-workflow-id", "--format", "concise")
    shown = run("check", *rules).out
    difference = run("check", *rules, "--diff", "--unsafe-fixes").out
    for path, ident in new.items():
        if path != "workflows/my_flow.json":
            assert f"{path}:2:9: info ID005" in shown
            assert f"rename it to '{ident}'" in shown
            assert f'+  "id": "{ident}",' in difference
    assert run("check", *rules, "--fix", "--unsafe-fixes").code == 0
    assert {path: json.loads((tmp_path / path).read_text())["id"] for path in new} == new

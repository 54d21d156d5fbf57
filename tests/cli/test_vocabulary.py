"""One vocabulary in both programs: one word for one thing, and former words still work, with a remark."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_workrail.cli
import workrail_lint.cli
from workrail_lint.cli.parser import Parser
from workrail_lint.systems.workrail.rules.samples import step, workflow

PROGRAMS = {"workrail-lint": workrail_lint.cli, "workrail-test": pytest_workrail.cli}
# Words that other tools use for the same, and the word that ours use.
OTHER_WORDS = {
    "--output-format": "--format",
    "--output-file": "--output",
    "--output-dir": "--output",
    "--out-file": "--output",
    "--as-json": "--json",
    "--processes": "--jobs",
    "--workers": "--jobs",
    "--level": "--severity",
    "--min-severity": "--severity",
}


def parsers() -> Iterator[tuple[str, Parser]]:
    for program, module in PROGRAMS.items():
        for name in module.COMMANDS:
            command = importlib.import_module(f"{module.__name__}.{name}")
            parser = (
                command.parser(["list", "show", "stats", "record", "replay", "export", "import"])
                if name == "sessions"
                else command.parser()
            )
            yield f"{program} {name}", parser
            yield from ((f"{program} {name} {action}", each) for action, (_, each) in parser.actions.items())


def test_one_word_for_one_thing() -> None:
    wrong = []
    for name, parser in parsers():
        options = {option for argument in parser.arguments for option in argument.option_strings}
        wrong += [f"{name}: {option} is called {OTHER_WORDS[option]}" for option in options & OTHER_WORDS.keys()]
        if "--json" in options and "--format" not in options and name != "workrail-lint compile":
            wrong.append(f"{name}: --json is the short form of --format json, which is missing")
        if "--git" in options and "--base" not in options:
            wrong.append(f"{name}: --git is another word for --base, which is missing")
        if "--out" in options and "--output" not in options:
            wrong.append(f"{name}: --out is another word for --output, which is missing")
    assert wrong == []


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps(workflow(step("first", prompt="Do it."))))
    return tmp_path


@pytest.mark.parametrize("arguments", [["--output-format", "json"], ["--output-format=json"]])
def test_a_former_word_works_with_a_remark(
    project: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert workrail_lint.cli.main(["check", "--format", "json", "a.json"]) == 0
    now = capsys.readouterr()
    assert workrail_lint.cli.main(["check", *arguments, "a.json"]) == 0
    before = capsys.readouterr()
    assert before.out == now.out
    assert before.err == "workrail-lint check: --output-format is called --format now\n"
    assert now.err == ""


def test_a_former_word_after_the_options_is_a_path(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "--output-file").write_text("{}")
    assert workrail_lint.cli.main(["check", "--", "--output-file"]) in (0, 1)
    assert "is called" not in capsys.readouterr().err


def test_json_is_short_for_the_format(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["check", "a.json"], ["rule", "LP002"], ["catalog", "list"], ["engine", "list"]):
        workrail_lint.cli.main([*command, "--json"])
        short = capsys.readouterr().out
        workrail_lint.cli.main([*command, "--format", "json"])
        assert capsys.readouterr().out == short
        json.loads(short)


def test_the_upgrade_notes_name_every_former_word() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "upgrading.md").read_text(encoding="utf-8")
    renamed = {pair for _, parser in parsers() for pair in parser.former.items()}
    rows = set(re.findall(r"^\| `(--[\w-]+)` \| `(--[\w-]+)` \|", page, re.M))
    assert renamed == rows

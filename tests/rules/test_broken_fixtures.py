"""The bad examples of the rules show, on the command line, what their names say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tables import for_each

from tools.broken_files import broken_files, broken_stem
from workrail_lint.cli import main
from workrail_lint.report.rule_docs import rules
from workrail_lint.rules.base import Example, Rule
from workrail_lint.rules.example_files import arguments, found_at

SHOWN = [
    (rule, example, broken_stem(rule, number))
    for rule in rules()
    for number, example in enumerate(rule.examples(), 1)
    # What was pinned before is known to the lockfile alone.
    if "pinned" not in example.options
]
# Said of the first file alone, however many it is true of.
ONCE_PER_RUN = {"CA007"}
FOLDERS = [
    (rule, example, stem)
    for rule, example, stem in SHOWN
    if any(path.startswith(f"{stem}/") for path in broken_files(rule))
]


def found(capsys: pytest.CaptureFixture[str], *options: str) -> set[tuple[str, str]]:
    """Path and code of everything that a check reports."""
    code = main(["check", "--no-cache", "--jobs", "1", "--select", "ALL", "--format", "jsonl", *options])
    assert code in (0, 1)
    return {(item["path"], item["code"]) for item in map(json.loads, capsys.readouterr().out.splitlines())}


@pytest.fixture(autouse=True)
def debugging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKRAIL_LINT_DEBUG", "1")


@pytest.mark.parametrize("options", [[], ["--engine-parity"]], ids=["plain", "parity"])
def test_files(
    broken: Path, capsys: pytest.CaptureFixture[str], options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(broken)
    asked = {
        (f"{stem}.json", rule.code)
        for rule, example, stem in SHOWN
        if (broken / f"{stem}.json").exists() and arguments(example) == options
    }
    off = [rule.code for rule in rules() if not rule.default_on]
    extra = ["--extend-select", ",".join(off)] if off else []
    seen = found(capsys, "--isolated", *options, *extra, *sorted(name for name, _ in asked))
    assert asked, "no fixture is shown this way"
    unseen = asked - seen
    assert {code for _, code in unseen} <= ONCE_PER_RUN & {code for _, code in seen}, unseen


@for_each("rule, example, stem", FOLDERS, key=lambda row: row[2])
def test_folders(
    broken: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    rule: Rule,
    example: Example,
    stem: str,
) -> None:
    folder = broken / stem
    monkeypatch.chdir(folder)
    paths = ["."] if example.files else [example.path]
    config = [] if (folder / "workrail-lint.toml").exists() else ["--isolated"]
    seen = found(capsys, *config, *arguments(example), "--extend-select", rule.code, *paths)
    assert (found_at(example), rule.code) in seen

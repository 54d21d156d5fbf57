"""Every format on everything that is known to be broken, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_report_hostile import assert_harmless

from tools.broken_files import FOLDER
from workrail_lint.cli import main
from workrail_lint.report import FORMATS


@pytest.mark.parametrize("name", FORMATS)
def test_all_broken_fixtures_in_every_format(
    name: str, broken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(broken.parents[1])
    monkeypatch.setenv("WORKRAIL_LINT_DEBUG", "1")
    target = tmp_path / "report"
    options = ["--isolated", "--jobs", "1", "--format", name]
    assert main(["check", *options, "--output", str(target), FOLDER]) == 1
    assert capsys.readouterr().out == ""
    text = target.read_bytes().decode("utf-8")
    assert_harmless(name, text)
    assert f"{FOLDER}/" in text


def test_a_file_gets_what_the_screen_gets(
    broken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(broken.parents[1])
    target = tmp_path / "report"
    options = ["--isolated", "--no-cache", "--jobs", "1", "--select", "SY"]
    assert main(["check", *options, "--output", str(target), FOLDER]) == 1
    assert capsys.readouterr().out == ""
    assert main(["check", *options, FOLDER]) == 1
    assert capsys.readouterr().out.encode() == target.read_bytes()


def test_statistics_of_all_of_them(
    broken: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(broken.parents[1])
    options = ["--isolated", "--jobs", "1", "--format", "json"]
    main(["check", *options, FOLDER])
    summary = json.loads(capsys.readouterr().out)["summary"]
    main(["check", *options, "--statistics", FOLDER])
    rows = json.loads(capsys.readouterr().out)
    assert sum(row["count"] for row in rows) == summary["findings"]
    assert sum(row["fixable"] for row in rows) == summary["fixable"]
    assert len(rows) > 200

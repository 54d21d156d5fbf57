"""This repository is a project of workflows too: its configuration is used on its own fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

from workrail_lint.cli import main

ROOT = Path(__file__).resolve().parents[2]


def test_our_own_fixtures_have_no_error_and_no_warning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    code = main(["check", "--no-cache", "--jobs", "1", "--format", "concise"])
    report = capsys.readouterr().out
    assert code == 0, report
    assert "Not shown: 7 suppressed." in report
    assert "suppression-unused" not in report


def test_schemas_are_not_taken_for_what_they_describe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    folders = [
        "workrail_lint/systems/workrail/schemas",
        "workrail_lint/systems/blocks/schemas",
        "workrail_lint/systems/team/schemas",
    ]
    assert main(["check", "--no-cache", "--isolated", *folders]) == 3
    assert f"no document found in {', '.join(folders)}; name another path" in capsys.readouterr().err

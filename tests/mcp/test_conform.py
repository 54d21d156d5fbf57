"""`conform`: what differs between our answers and those of an installed engine."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_engine import FORGETS, REFUSES, RENAMES, REWORDS
from tables import for_each

from pytest_workrail.cli import main
from workrail_lint.base.processes import program

WORKFLOW = Path(__file__).resolve().parents[2] / "fixtures" / "workflows" / "release-notes.json"


def installed(folder: Path) -> Path:
    """A package whose server is the fake engine, for Python instead of Node."""
    (folder / "dist").mkdir(parents=True)
    (folder / "package.json").write_text('{"version": "3.121.0"}', encoding="utf-8")
    server = f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\nimport fake_engine\n"
    (folder / "dist" / "mcp-server.js").write_text(f"{server}fake_engine.main(__file__)\n", encoding="utf-8")
    return folder


def report(engine: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    arguments = [str(WORKFLOW), "--engine", str(engine), "--node", sys.executable, "--exchanges", "8", "--json"]
    code = main(["conform", *arguments, *more])
    return code, json.loads(capsys.readouterr().out)


def test_an_engine_that_answers_alike_has_no_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = report(installed(tmp_path / "alike"), capsys)
    assert (code, found["differences"]) == (0, [])
    assert (found["verdicts"], found["hashes"], found["exchanges"]) == (1, 1, 8)


@for_each("faults, kinds", [(REFUSES, {"verdict"}), (RENAMES + FORGETS, {"hash", "answer"}), (REWORDS, {"words"})])
def test_what_differs_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], faults: str, kinds: set[str]
) -> None:
    code, found = report(installed(tmp_path / faults), capsys)
    assert code == 1
    assert {each["kind"] for each in found["differences"]} == kinds
    assert all(each["declaredBy"] == [] and each["ours"] != each["engine"] for each in found["differences"])


def test_differences_are_shown_in_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = installed(tmp_path / RENAMES)
    assert main(["conform", str(WORKFLOW), "--engine", str(engine), "--node", sys.executable, "--exchanges", "3"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "engine 3.121.0: 1 verdict, 1 hash and 3 exchanges compared"
    assert lines[1] == "hash, not declared: 1 difference"


def test_a_folder_without_an_engine_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", str(WORKFLOW), "--engine", str(tmp_path)]) == 2
    assert "is not an installed engine" in capsys.readouterr().err


def test_an_engine_that_does_not_start_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = installed(tmp_path / "broken")
    (engine / "dist" / "mcp-server.js").write_text("raise SystemExit(1)\n", encoding="utf-8")
    assert main(["conform", str(WORKFLOW), "--engine", str(engine), "--node", sys.executable]) == 2
    assert "does not answer" in capsys.readouterr().err


@pytest.mark.skipif(
    "WORKRAIL_ENGINE" not in os.environ or program("node") is None,
    reason="no engine is installed: WORKRAIL_ENGINE names the folder of its package",
)
def test_the_installed_engine_differs_only_where_it_is_declared() -> None:
    assert main(["conform", str(WORKFLOW), "--engine", os.environ["WORKRAIL_ENGINE"]]) == 0

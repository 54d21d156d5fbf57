"""`conform`: what differs between our answers and those of an installed engine."""

from __future__ import annotations

import errno
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


def test_a_full_disk_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    engine = installed(tmp_path / "alike")
    monkeypatch.setattr("pytest_workrail.cli.conform.write_in_place", full)
    assert main(["conform", str(WORKFLOW), "--engine", str(engine), "--node", sys.executable]) == 2
    printed = capsys.readouterr()
    assert (printed.out, "No space left" in printed.err) == ("", True)
    assert printed.err.count("\n") == 1


def test_a_workflow_with_the_longest_name_there_is_is_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"{'x' * 250}.json"
    path.write_bytes(WORKFLOW.read_bytes())
    engine = str(installed(tmp_path / "alike"))
    arguments = ["conform", str(path), "--engine", engine, "--node", sys.executable, "--exchanges", "1", "--json"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"] == 1


@for_each("answer", ["null", '{"content": null}', '{"content": [{"text": 5}, 6]}', "[" * 5_000])
def test_an_engine_that_answers_nonsense_is_not_our_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answer: str
) -> None:
    engine = installed(tmp_path / "odd")
    server = f"""
import json, sys
for line in sys.stdin:
    number = json.loads(line).get("id")
    if number is not None:
        print('{{"jsonrpc": "2.0", "id": %d, "result": %s}}' % (number, {answer!r}), flush=True)
        if number == 1:
            print({answer!r}, flush=True)
        if {answer!r}[0] == "[":
            break  # that was no message: nobody asks again, and an engine that stays is waited for
"""
    (engine / "dist" / "mcp-server.js").write_text(server, encoding="utf-8")
    code = main(["conform", str(WORKFLOW), "--engine", str(engine), "--node", sys.executable, "--exchanges", "1"])
    assert code in (1, 2)
    assert "internal error" not in capsys.readouterr().err


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

"""Sessions that were never started: a process was killed between the folder of a session and its first run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from session_files import Session, step, workflow, write, write_log

from pytest_workrail.cli import main
from pytest_workrail.sessions.recorded_session import open_session
from workrail_lint.base.result import Err

PLAIN = workflow(step("first"))
EMPTY = "sess_empty"


def never_started(root: Path, kind: str) -> None:
    """The folder of a session, as a kill at some moment leaves it."""
    folder = root / "sessions" / EMPTY
    played = Session(PLAIN, seed=9).played()
    if kind == "no run yet":
        write_log(root, EMPTY, [[{**played.events[0], "sessionId": EMPTY, "dedupeKey": f"session_created:{EMPTY}"}]])
        return
    folder.mkdir(parents=True)
    if kind == "a lock":
        (folder / ".lock").write_text("{}")
    if kind in ("a folder for events", "a segment"):
        (folder / "events").mkdir()
    if kind == "a segment":
        (folder / "events" / "00000000-00000004.jsonl").write_text("{}\n")
    if kind == "an empty manifest":
        (folder / "manifest.jsonl").touch()


KINDS = ("nothing", "a lock", "a folder for events", "a segment", "an empty manifest", "no run yet")


@pytest.fixture(params=KINDS)
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    root = tmp_path / "data"
    write(root, Session(PLAIN, seed=1).submit().submit("One.").played())
    never_started(root, request.param)
    return root


def answered(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[Any, str]:
    assert main(["sessions", *arguments, "--json"]) == code
    said = capsys.readouterr()
    return (json.loads(said.out) if said.out else None), said.err


def test_a_session_that_never_started_is_empty_and_not_damaged(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["--data", str(data)]
    listed, _ = answered(capsys, "list", *common, "--status", "empty")
    (empty,) = listed["sessions"]
    assert (empty["session"], empty["damage"], empty["runs"]) == (EMPTY, None, 0)
    assert main(["sessions", "list", *common]) == 0
    assert "damaged" not in capsys.readouterr().out

    recorded, said = answered(capsys, "record", *common, "--out", str(tmp_path / "out"))
    assert (len(recorded["recorded"]), recorded["failed"]) == (1, [])
    assert said == f"workrail-test sessions: 1 session left out, never started: {EMPTY}\n"

    (tmp_path / "plain.json").write_text(json.dumps(PLAIN))
    replayed, said = answered(capsys, "replay", *common, "--workflow", str(tmp_path / "plain.json"))
    assert (len(replayed["sessions"]), replayed["failed"]) == (1, [])
    assert said == f"workrail-test sessions: 1 session left out, never started: {EMPTY}\n"

    stats, _ = answered(capsys, "stats", *common)
    assert (stats["sessions"], stats["damaged"], stats["empty"]) == (1, 0, 1)
    assert main(["sessions", "stats", *common]) == 0
    assert "1 session left out, never started" in capsys.readouterr().out

    shown, said = answered(capsys, "show", EMPTY, *common)
    assert (shown["damage"], shown["runs"]) == (None, [])
    assert said == f"workrail-test sessions: {EMPTY} was never started\n"


def test_nothing_but_sessions_that_never_started(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    never_started(data, "nothing")
    (tmp_path / "plain.json").write_text(json.dumps(PLAIN))
    for command in (
        ["record", "--out", str(tmp_path / "out")],
        ["replay", "--workflow", str(tmp_path / "plain.json")],
        ["stats"],
    ):
        answer, said = answered(capsys, *command, "--data", str(data), code=3)
        assert answer is None, command
        assert f"1 session left out, never started: {EMPTY}" in said, command
    opened = open_session(str(data))
    assert opened == Err("the session was never started")


def test_a_lost_manifest_is_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path, Session(PLAIN, seed=1).submit().submit("One.").played())
    (folder / "manifest.jsonl").unlink()
    assert len(os.listdir(folder / "events")) > 1
    listed, _ = answered(capsys, "list", "--data", str(tmp_path))
    assert [each["status"] for each in listed["sessions"]] == ["damaged"]

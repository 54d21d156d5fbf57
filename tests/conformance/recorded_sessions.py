"""Sessions of the public engine with their wire transcripts, read in place from the corpus folder."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from oracle import shared_folder

from pytest_workrail.sessions.data_folder import DataFolder


def _folder() -> Path | None:
    shared = shared_folder()
    folder = None if shared is None else shared / "oracle" / "sessions"
    return folder if folder is not None and folder.is_dir() else None


requires_sessions = pytest.mark.skipif(_folder() is None, reason="no recorded sessions: oracle/sessions is not there")


def root() -> Path:
    folder = _folder()
    assert folder is not None, "mark the test with requires_sessions"
    return folder


@cache
def meta() -> list[dict[str, Any]]:
    """The sessions, none when there is no corpus (so that tests can be collected)."""
    if _folder() is None:
        return []
    sessions: list[dict[str, Any]] = json.loads((root() / "meta.json").read_bytes())["sessions"]
    return sessions


def data() -> DataFolder:
    return DataFolder(str(root() / "data"))


def calls(name: str) -> list[dict[str, Any]]:
    """The calls on the wire. Split at line feeds only: notes hold other line ends."""
    raw = (root() / "transcripts" / f"{name}.jsonl").read_bytes()
    return [json.loads(line) for line in raw.split(b"\n") if line]


def body(call: dict[str, Any]) -> dict[str, Any] | None:
    """The answer to a call; None where it is prose."""
    try:
        value = json.loads(call["response"]["content"][0]["text"])
    except (KeyError, ValueError):
        return None
    return value if isinstance(value, dict) else None

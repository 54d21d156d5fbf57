"""How the language server ends: by `exit`, or with its input; the exit code says whether `shutdown` came first."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from effort import times

pytest.importorskip("pygls", reason="pygls is not installed")

from sample_project import make_project

INITIALIZE = {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}}
SHUTDOWN = {"id": 2, "method": "shutdown"}
EXIT = {"method": "exit"}
WORKFLOW = "workflows/review.json"
# As the programs start, and with an interpreter that takes itself apart at the end.
STARTS = {
    "program": ["-m", "workrail_lint", "server"],
    "main": ["-c", "import sys; from workrail_lint.cli import main; sys.exit(main(['server']))"],
}


def framed(message: dict[str, Any]) -> bytes:
    data = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(data), data)


def opened(folder: Path) -> dict[str, Any]:
    path = folder / WORKFLOW
    document = {"uri": path.as_uri(), "languageId": "json", "version": 1, "text": path.read_text()}
    return {"method": "textDocument/didOpen", "params": {"textDocument": document}}


def ended(folder: Path, start: list[str], messages: list[dict[str, Any]], *, closes: bool) -> tuple[int, str]:
    """The exit code and what the server wrote to standard error."""
    process = subprocess.Popen(
        [sys.executable, *start],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(b"".join(map(framed, messages)))
    process.stdin.flush()
    if closes:
        process.stdin.close()
    code = process.wait(600)
    process.stdin.close()
    with process.stderr as stream:
        return code, stream.read().decode()


@pytest.mark.search
@pytest.mark.parametrize("start", STARTS)
def test_every_end_is_clean(start: str, tmp_path: Path) -> None:
    """Each end of a server is a process. Every day has those with a check under way, and the least of all; of the
    program, which does not take itself apart, one end with each exit code.
    """
    make_project(tmp_path)
    document = opened(tmp_path)
    ends: dict[str, tuple[list[dict[str, Any]], bool, int]] = {
        "exit": ([INITIALIZE, SHUTDOWN, EXIT], False, 0),
        "exit while a check is due": ([INITIALIZE, document, SHUTDOWN, EXIT], False, 0),
        "exit and end of input": ([INITIALIZE, SHUTDOWN, EXIT], True, 0),
        "exit without shutdown": ([INITIALIZE, document, EXIT], False, 1),
        "exit at once": ([EXIT], False, 1),
        "end of input": ([INITIALIZE, document], True, 0),
        "end of input after shutdown": ([INITIALIZE, SHUTDOWN], True, 0),
        "no input": ([], True, 0),
    }
    if times(1, deep=0):
        ends = {name: each for name, each in ends.items() if document in each[0] or name == "no input"}
        if start == "program":
            ends = {name: ends[name] for name in ("exit without shutdown", "end of input")}
    seen = {
        name: ended(tmp_path, STARTS[start], messages, closes=closes) for name, (messages, closes, _) in ends.items()
    }
    assert seen == {name: (code, "") for name, (_, _, code) in ends.items()}

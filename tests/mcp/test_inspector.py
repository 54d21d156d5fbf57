"""`workrail-test serve` with the command-line mode of the official Inspector, which starts the server for each call."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp_process import COMMAND, NOTES, ROOT, START, WORKFLOW, Mirror

INSPECTOR = os.environ.get("MCP_INSPECTOR") or shutil.which("mcp-inspector")
pytestmark = pytest.mark.skipif(
    INSPECTOR is None,
    reason="the MCP Inspector is not installed: npm install @modelcontextprotocol/inspector, then name "
    "node_modules/.bin/mcp-inspector in MCP_INSPECTOR",
)


def inspected(arguments: list[str], method: str, *options: str) -> dict[str, Any]:
    """What the Inspector prints about one request."""
    assert INSPECTOR is not None
    command = [INSPECTOR, "--cli", *COMMAND, *arguments, "--method", method, *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.deep
def test_the_inspector_gets_through_a_workflow_as_the_engine_says(tmp_path: Path) -> None:
    """Each call starts the Inspector and a server. `test_serve.py` compares the same run through the SDK's client."""
    served, mirror = [str(WORKFLOW), "--data", str(tmp_path / "data")], Mirror()

    def tool(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        given = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in arguments.items()]
        options = [part for each in given for part in ("--tool-arg", each)]
        answer = inspected(served, "tools/call", "--tool-name", name, *options)
        texts = [item["text"] for item in answer["content"]]
        return mirror.same(name, arguments, texts, answer["structuredContent"], answer["isError"])

    def advance(token: str) -> dict[str, Any]:
        return tool("continue_workflow", {"continueToken": token, "output": NOTES})

    first = tool("start_workflow", START)
    blocked = tool("continue_workflow", {"continueToken": first["continueToken"], "intent": "advance"})
    assert (blocked["kind"], blocked["retryable"]) == ("blocked", True)
    second = advance(blocked["retryContinueToken"])
    third = advance(second["continueToken"])
    looked = {"continueToken": second["continueToken"], "intent": "rehydrate", "workspacePath": "/w"}
    again = tool("continue_workflow", looked)
    assert (again["nextIntent"], again["pending"]["stepId"]) == ("rehydrate_only", "sort-changes")
    forked = advance(again["continueToken"])
    assert forked["continueToken"] != third["continueToken"]
    assert advance(forked["continueToken"])["isComplete"]


@pytest.mark.deep
def test_the_inspector_lists_both_sets_of_tools() -> None:
    listed = inspected([str(WORKFLOW)], "tools/list")["tools"]
    assert [tool["name"] for tool in listed] == [spec.name for spec in Mirror().specs]
    listed = inspected(["--authoring"], "tools/list")["tools"]
    assert [tool["name"] for tool in listed] == ["check", "compile", "explain", "generate"]

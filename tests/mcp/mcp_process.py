"""The server as its own process: with the official client, and with bare lines."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import forks
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from pytest_workrail.engine.protocol.engine import Engine
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.protocol.ports import WorkflowEntry
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, in_memory
from pytest_workrail.mcp.tools import EngineTools
from pytest_workrail.mcp.workspace import DiskWorkspace
from pytest_workrail.sessions.versions import load_version

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / "fixtures" / "workflows" / "release-notes.json"
COMMAND = [sys.executable, "-m", "pytest_workrail.cli", "serve"]
START = {"workflowId": "demo.release_notes", "workspacePath": "/w", "goal": "Write the notes"}
NOTES = {"notesMarkdown": "Nine commits since v2.3, four of them visible."}
INITIALIZE: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
_NAMES = re.compile(r"\b(?:ct|ck|st)_[A-Za-z0-9_-]{20,}|\bst1[a-z0-9]{20,}|\b(?:sess|run|node)_[a-z0-9]{10,}")


def with_client(arguments: list[str], talk: Callable[[Client], Awaitable[None]], mode: str = "auto") -> None:
    """Start the server and let a client of the official SDK talk to it."""
    command = forks.shared().relay(["workrail-test", "serve", *arguments], ROOT)
    parameters = StdioServerParameters(command=command[0], args=command[1:], cwd=ROOT)

    async def connected() -> None:
        with anyio.fail_after(60):
            async with Client(stdio_client(parameters), mode=mode) as client:
                await talk(client)

    anyio.run(connected)


def spoken(arguments: list[str], lines: list[bytes | dict[str, Any]]) -> tuple[int, list[dict[str, Any]], str]:
    """Send lines and close stdin at once; the exit code, the answers and what was said on stderr."""
    raw = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    done = forks.shared().answer(["workrail-test", "serve", *arguments], ROOT, raw)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()


def request(number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def call(number: int, tool: str, arguments: object) -> dict[str, Any]:
    return request(number, "tools/call", {"name": tool, "arguments": arguments})


class Twin:
    """Ids and tokens of two engines that did the same: one's names for the other's."""

    def __init__(self) -> None:
        self._theirs: dict[str, str] = {}

    def meet(self, ours: str, theirs: str) -> None:
        """Learn the names of an answer, which come in the same order on both sides."""
        self._theirs |= zip(_NAMES.findall(ours), _NAMES.findall(theirs), strict=True)

    def translated(self, ours: str) -> str:
        return _NAMES.sub(lambda found: self._theirs[found[0]], ours)


def in_process() -> EngineTools:
    compiled = load_version(WORKFLOW).compiled
    assert compiled is not None
    library = MemoryLibrary([WorkflowEntry(compiled.ir)])
    return EngineTools(Engine(in_memory(FixedClock(), SeededEntropy()), library, None, DiskWorkspace()))


class Mirror:
    """Makes each call that went over the wire in process too, and holds the answers against each other."""

    def __init__(self) -> None:
        self._engine = in_process()
        self._twin = Twin()
        self.specs = self._engine.specs

    def same(
        self, tool: str, arguments: dict[str, Any], texts: list[str], structured: Any, is_error: bool
    ) -> dict[str, Any]:
        """The structured content of the wire, after it was found equal."""
        local = self._engine.call(tool, json.loads(self._twin.translated(json.dumps(arguments))))
        wire, own = json.dumps([structured, texts]), json.dumps([local.data, local.text])
        self._twin.meet(wire, own)
        assert self._twin.translated(wire) == own
        assert is_error == local.is_error
        assert isinstance(structured, dict)
        return structured

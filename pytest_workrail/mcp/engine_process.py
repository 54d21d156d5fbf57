"""An installed engine as a process: its MCP server on stdio, asked call by call."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from msgspec import Struct

from workrail_lint.base.files import read_bytes
from workrail_lint.base.js import Json, members_of, objects_of
from workrail_lint.base.processes import Conversation
from workrail_lint.base.processes import program as find_program
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.version import VERSION

SERVER = "dist/mcp-server.js"
_PROTOCOL = "2025-06-18"
_SECONDS = 60.0  # for one answer


class EngineAnswer(Struct, frozen=True):
    """The answer to a call: an object, or the text of one that is none as the member `text`."""

    data: dict[str, Any]
    is_error: bool


class EngineProcess:
    """The server of an engine, with its data in a folder of its own."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._number = 0

    def request(self, method: str, params: dict[str, Json]) -> dict[str, Any] | None:
        """Return the response to a request; None if there is none."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._conversation.send(json.dumps(message).encode())
        while (line := self._conversation.receive(_SECONDS)) is not None:
            try:
                response = json.loads(line)
            except (ValueError, RecursionError):
                continue  # printed by the engine, and no message
            if isinstance(response, dict) and response.get("id") == self._number:
                return response
        return None

    def call(self, tool: str, arguments: dict[str, Json]) -> EngineAnswer | None:
        """Return the answer of a tool; None if the engine does not answer any more."""
        response = self.request("tools/call", {"name": tool, "arguments": arguments})
        if response is None:
            return None
        result = response.get("result")
        if not isinstance(result, dict):
            return EngineAnswer(members_of(response.get("error")), is_error=True)
        texts = [text for each in objects_of(result.get("content")) if isinstance(text := each.get("text"), str)]
        try:
            data = json.loads(texts[0]) if texts else None
        except (ValueError, RecursionError):
            data = None
        return EngineAnswer(
            data if isinstance(data, dict) else {"text": "\n".join(texts)}, is_error=bool(result.get("isError"))
        )

    def begin(self) -> Err[str] | None:
        """Shake hands, or say why that is not possible."""
        client: dict[str, Json] = {"name": "workrail-lint", "version": VERSION}
        params: dict[str, Json] = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client}
        if self.request("initialize", params) is None:
            return Err("the engine's server does not answer")
        self._conversation.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        return None

    def close(self) -> None:
        """End the server."""
        self._conversation.close()


def engine_version(directory: Path) -> Ok[str] | Err[str]:
    """Return the version of an installed engine."""
    try:
        package = json.loads(read_bytes(os.fspath(directory / "package.json")))
    except (OSError, ValueError, RecursionError):
        return Err(f"{directory} is not an installed engine: it has no package.json that can be read")
    version = package.get("version") if isinstance(package, dict) else None
    if not isinstance(version, str) or not (directory / SERVER).is_file():
        return Err(f"{directory} is not an installed engine: it has no {SERVER}")
    return Ok(version)


def start_engine(
    directory: Path, workspace: Path, data: Path, *, node: str | None = None
) -> Ok[EngineProcess] | Err[str]:
    """Return the server of an installed engine, ready for calls."""
    program = find_program(node or "node")
    if program is None:
        return Err(f"{node or 'node'} was not found; an installed engine needs Node")
    variables = {"WORKRAIL_DATA_DIR": os.fspath(data), "WORKRAIL_JSON_RESPONSES": "true"}
    command = [os.path.abspath(program), os.fspath(directory / SERVER)]
    try:
        process = EngineProcess(Conversation(command, folder=os.fspath(workspace), variables=variables))
    except OSError as problem:
        return Err(f"{program} can't be started: {problem.strerror}")
    failed = process.begin()
    if failed is not None:
        process.close()
        return failed
    return Ok(process)

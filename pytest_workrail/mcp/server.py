"""A set of tools on stdin and stdout, with the official SDK.

Calls are made one after the other, in the order in which they came: two calls at once are two calls. The SDK passes
over what is no message; here it is answered, and what was asked before the client left is still done.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from pytest_workrail.mcp.tools import ToolAnswer, Toolset
from workrail_lint.base.terminal import err
from workrail_lint.base.version import VERSION

NAME = "workrail-lint"
# How long the answers to calls may take that were made before the client left: it may have cancelled them.
_LAST_ANSWERS_SECONDS = 2.0
# How long a call may still take after the process was told to end.
_LAST_CALL_SECONDS = 0.75
_INTERRUPTED = 130


def serve(tools: Toolset) -> None:
    """Serve until the client leaves or the process is told to end."""
    calls = _Calls(tools)
    wanted = [signal.SIGTERM, signal.SIGINT] if os.name == "nt" else [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
    for number in wanted:
        signal.signal(number, calls.on_signal)
    anyio.run(_serve, calls)


class _Calls:
    """Calls tools one after the other, and ends the process when it is told to: a client that ends it leaves too.

    A signal waits for the call that is being made, so that nothing is cut short, but not for long. A session on disk
    survives even that.
    """

    def __init__(self, tools: Toolset) -> None:
        self.tools = tools
        self._is_busy = False
        self._timer: threading.Timer | None = None  # runs once the process was told to end
        self._code = 0

    def call(self, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        self._is_busy = True
        try:
            return self.tools.call(name, arguments)
        finally:
            self._is_busy = False
            if self._timer is not None:
                self._timer.cancel()
                self.end()

    def on_signal(self, number: int, _frame: object) -> None:
        self._code = _INTERRUPTED if number == signal.SIGINT else 0
        if not self._is_busy:
            self.end()
        elif self._timer is None:
            self._timer = threading.Timer(_LAST_CALL_SECONDS, self._exit, ("during a call, which is not answered",))
            self._timer.daemon = True
            self._timer.start()

    def leave(self) -> None:
        """The client is gone."""
        self._is_busy = True
        self.tools.leave()
        if self._timer is not None:
            self._timer.cancel()
            self._exit("after the client had left")

    def end(self) -> None:
        """Leave at once: a thread still waits for the next line of stdin, and an orderly end would wait for it."""
        self._is_busy = True
        self.tools.leave()
        self._exit("between two calls")

    def _exit(self, moment: str) -> None:
        if self._code == _INTERRUPTED:
            err(f"workrail-test: interrupted {moment}; every answer that was sent is kept")
            sys.stderr.flush()
        os._exit(self._code)


def _server_of(calls: _Calls) -> Server[Any]:
    """Return the server without a transport."""
    listed = [
        types.Tool(
            name=spec.name,
            title=spec.title,
            description=spec.description,
            input_schema=spec.input_schema,
            annotations=types.ToolAnnotations(
                read_only_hint=spec.read_only,
                destructive_hint=False,
                idempotent_hint=spec.is_repeatable,
                open_world_hint=False,
            ),
        )
        for spec in calls.tools.specs
    ]
    known = [tool.name for tool in listed]

    async def list_tools(_context: Any, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in known:
            words = (f"Unknown tool: {params.name}", f"The tools are {', '.join(known)}.")
            return types.CallToolResult(
                content=[types.TextContent(type="text", text=_sendable(text)) for text in words], is_error=True
            )
        return _result(calls.call(params.name, params.arguments or {}))

    return Server(
        NAME,
        version=VERSION,
        instructions=calls.tools.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _result(answer: ToolAnswer) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=_sendable(text)) for text in answer.text],
        structured_content=_sendable(dict(answer.data)),
        is_error=answer.is_error,
    )


def _sendable(value: Any) -> Any:
    """Return a value without lone surrogates, which UTF-8 can't carry."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "replace").decode()
        case dict():
            return {_sendable(name): _sendable(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_sendable(inner) for inner in value]
        case _:
            return value


async def _serve(calls: _Calls) -> None:
    server = _server_of(calls)
    async with stdio_server() as (incoming, outgoing):
        wire = _Wire()
        try:
            await wire.run(server, incoming, outgoing)
        except anyio.get_cancelled_exc_class():
            wire.is_broken = True  # the transport gave up: nobody reads the answers any more
        if wire.is_broken:
            calls.end()
    calls.leave()


class _Wire:
    """The layer between transport and server: it answers garbage, and waits for the last answers."""

    def __init__(self) -> None:
        self._open: set[types.RequestId] = set()
        self._answered = anyio.Event()
        self.is_broken = False

    async def run(self, server: Server[Any], incoming: Any, outgoing: Any) -> None:
        to_server, server_reads = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        server_writes, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(self._inwards, incoming, to_server, outgoing)
            group.start_soon(self._outwards, from_server, outgoing, group)
            await server.run(server_reads, server_writes, server.create_initialization_options())

    async def _inwards(self, incoming: Any, to_server: MemoryObjectSendStream[Any], outgoing: Any) -> None:
        async with to_server:
            async for item in incoming:
                if isinstance(item, Exception):
                    await outgoing.send(SessionMessage(_NO_MESSAGE))
                    continue
                if isinstance(item.message, types.JSONRPCRequest):
                    self._open.add(item.message.id)
                await to_server.send(item)
            with anyio.move_on_after(_LAST_ANSWERS_SECONDS):
                while self._open:
                    self._answered = anyio.Event()
                    await self._answered.wait()

    async def _outwards(
        self, from_server: MemoryObjectReceiveStream[SessionMessage], outgoing: Any, group: TaskGroup
    ) -> None:
        async with outgoing:
            async for item in from_server:
                try:
                    await outgoing.send(item)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    self.is_broken = True
                    group.cancel_scope.cancel()
                if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._open.discard(item.message.id)
                    self._answered.set()


_NO_MESSAGE = types.JSONRPCError(
    jsonrpc="2.0",
    id=None,
    error=types.ErrorData(
        code=types.PARSE_ERROR,
        message="This line is not a JSON-RPC message. Send one JSON object a line, in UTF-8.",
    ),
)

"""What other programs send or wrote: an editor's messages, an agent's calls, reports that the studio shows, texts that
are formatted and drawn."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from pytest_workrail.explore.generation import generated_for
from pytest_workrail.mcp.tools import AuthoringTools, EngineTools
from tests.fuzz.engines import SAMPLE, START, new_engine
from tests.fuzz.target import BETWEEN, Target, json_of, smallest
from workrail_lint import compile_workflow
from workrail_lint.documents.json_format import restyled
from workrail_lint.studio.inputs import Inputs, read_data, read_runs
from workrail_lint.studio.page import page
from workrail_lint.studio.project import project_data
from workrail_lint.studio.workflow import Source
from workrail_lint.systems.drawing.svg import drawing_data, render
from workrail_lint.systems.schemas import schema_walk
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.check import check_document
from workrail_lint.systems.workrail.compile import read_for_compiling
from workrail_lint.systems.workrail.graph.tree import structure
from workrail_lint.systems.workrail.settings import Settings

_TEXT = json.dumps(SAMPLE).encode()

# ----------------------------------------------------------------------------------------------------------- studio

_FILES = ("coverage", "mutation", "sessions", "cost", "goldens", "locks")
_MEMBERS = {"goldens": "groups", "locks": "totalLocks"}


def _studio(data: bytes) -> None:
    """A report of each kind, and a golden that is shown as a run."""
    given: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.golden.json")
        Path(path).write_bytes(data)
        for name in _FILES:
            read = read_data(path, "a report", _MEMBERS.get(name, "workflows"))
            if read.is_ok:
                given[name] = read.value
        inputs = Inputs(runs=tuple(read_runs([folder], folder)), **given)
    source = Source("a.json", _CHECKED, [])
    page(project_data("demo", [source], inputs, _SETTINGS.catalog), "demo")


_SETTINGS = Settings(load_core())
_CHECKED = check_document(read_for_compiling(_TEXT), "a.json", _SETTINGS, None)


def _report(**members: Any) -> bytes:
    about = {"workflowId": SAMPLE["id"], "workflowHash": compile_workflow(_TEXT).value.hash, **members}
    return json.dumps({"version": 1, "workflows": [about]}).encode()


_POINT = {"kind": "step", "place": "first", "case": "visited", "tests": ["a.py::t"]}
_SURVIVOR = {"id": "x", "operator": "o", "place": "first", "change": "c", "missing": {}}
_GROUP = {"id": "x", "headline": "prompt of 'first': one word", "goldens": ["a"], "lines": [["same", "x"]]}
_STUDIO = (
    _report(points=[_POINT], total={"covered": 1, "all": 2}, kinds={"step": [1, 2]}),
    _report(mutants=2, killed=1, inert=0, survived=[_SURVIVOR]),
    _report(sessions=1, steps={"first": {"visits": 1}}, loops={}),
    _report(goals=2, covered=2, cost={"median": {"turns": 2}}),
    json.dumps({"groups": [_GROUP], "pending": [{"golden": "a", "state": "changed", "differences": [1]}]}).encode(),
    json.dumps({"totalLocks": 1, "coveredLocks": 1, "locks": [{"id": "x", "tests": []}]}).encode(),
    *smallest("scenarios/__goldens__/*.golden.json", 2),
    *smallest("scenarios/team/__goldens__/*.golden.json", 1),
    *smallest("scenarios/blocks/__goldens__/*.golden.json", 1),
)

# ----------------------------------------------------------------------------------------------------------- server


class _UnansweredError(Exception):
    """A request that the language server could not answer."""


def _language_server(data: bytes) -> None:
    """A text in an editor, and what the editor asks: every feature at one place, then a message of its own."""
    import lsprotocol.types as lsp
    from pygls.exceptions import JsonRpcException

    text, _, message = data.partition(BETWEEN)
    server, sent = _server()
    server.documents.clear()
    sent.clear()
    shown = text.decode("utf-8", "replace")
    item = lsp.TextDocumentItem(_URI, "json", 1, shown)
    server.workspace.put_text_document(item)
    asked = json_of(message)
    is_ours = isinstance(asked, dict) and isinstance(asked.get("method"), str) and asked["method"] not in _LAST
    messages = [asked] if is_ours else []
    line = len(shown) % (shown.count("\n") + 1)
    place = {"textDocument": {"uri": _URI}, "position": {"line": line, "character": len(data) % 80}}
    whole = {"textDocument": {"uri": _URI}, "range": _WHOLE, "context": {"diagnostics": []}}
    messages += [{"method": name, "params": {**place, **_MORE.get(name, {})}} for name in _AT_A_PLACE]
    messages += [{"method": name, "params": {**whole, **_MORE.get(name, {})}} for name in _ABOUT_ALL]
    server.publish(_URI)
    for each in messages:
        try:
            read = server.protocol.structure_message({"id": 1, **each, "jsonrpc": "2.0"})
        except JsonRpcException:
            continue  # not a message of the protocol, which the client is told
        server.protocol.handle_message(read)
    assert sent


@cache
def _server() -> tuple[Any, list[Any]]:
    import lsprotocol.types as lsp
    from pygls.exceptions import JsonRpcMethodNotFound

    from tests.server.opened import arguments
    from workrail_lint.cli.server import open_project
    from workrail_lint.server.protocol import make_server

    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
    # What the server puts off needs a loop, which never runs here; before Python 3.14, asyncio made one by itself.
    asyncio.set_event_loop(asyncio.new_event_loop())
    project = open_project(arguments(), "workflows/a.json")
    server = make_server(lambda _path: project)
    sent: list[Any] = []

    def failed(error: Exception, _source: object) -> None:
        if not isinstance(error, JsonRpcMethodNotFound):
            raise _UnansweredError(str(error)) from error

    server._report_server_error = failed  # type: ignore[method-assign, assignment]
    server.protocol._send_data = sent.append  # type: ignore[method-assign]
    initialized = server.protocol.structure_message(
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}, "rootUri": "file:///w"}}
    )
    server.protocol.handle_message(initialized)
    assert isinstance(initialized, lsp.InitializeRequest)
    return server, sent


_URI = "file:///w/workflows/a.json"
_WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 10_000, "character": 0}}
_LAST = ("exit", "shutdown", "initialize", "textDocument/didChange")  # the last one only waits before it publishes
_AT_A_PLACE = [
    f"textDocument/{name}"
    for name in ("completion", "hover", "definition", "references", "prepareRename", "rename", "codeLens")
]
_ABOUT_ALL = [
    f"textDocument/{name}"
    for name in ("documentSymbol", "foldingRange", "inlayHint", "semanticTokens/full", "codeAction", "formatting")
]
_MORE: dict[str, dict[str, Any]] = {
    "textDocument/references": {"context": {"includeDeclaration": True}},
    "textDocument/rename": {"newName": "other"},
    "textDocument/formatting": {"options": {"tabSize": 2, "insertSpaces": True}},
}
_ASKED = json.dumps({"method": "textDocument/hover", "params": {"textDocument": {"uri": _URI}, "position": {}}})

# ------------------------------------------------------------------------------------------------------------- tools


def _tool_calls(data: bytes) -> None:
    """What an agent sends to the MCP server, with and without a token that is good."""
    from pytest_workrail.mcp.server import _result

    name, _, given = data.partition(b"\n")
    arguments = json_of(given)
    if not isinstance(arguments, dict):
        return
    tools = EngineTools(new_engine())
    started = tools.call("start_workflow", dict(START))
    good = {"continueToken": started.data["continueToken"], "checkpointToken": started.data.get("checkpointToken")}
    known = {spec.name for spec in tools.specs}
    for call in (arguments, {**arguments, **{key: good[key] for key in good if key in arguments}}):
        tool = name.decode("utf-8", "replace")
        answer = tools.call(tool if tool in known else "continue_workflow", call)
        assert "internal" not in str(answer.data.get("code", "")).lower(), answer
        _result(answer).model_dump_json()
    with tempfile.TemporaryDirectory() as folder:
        authoring = AuthoringTools(Path(folder), lambda path: generated_for(path, ()))
        for tool in ("check", "compile", "explain"):
            answer = authoring.call(tool, arguments)
            assert "unexpectedly" not in str(answer.data.get("error")), answer
            _result(answer).model_dump_json()


_CALLS = (
    b'continue_workflow\n{"continueToken": "", "intent": "advance", "output": {"notesMarkdown": "x"}}',
    b'start_workflow\n{"workflowId": "demo", "goal": "x", "workspacePath": "/w"}',
    b'checkpoint_workflow\n{"checkpointToken": ""}',
    b'resume_session\n{"query": "x"}',
    b'check\n{"text": "{\\"id\\": \\"a\\", \\"steps\\": []}", "target": "engine"}',
    b'check\n{"path": "../../etc/passwd"}',
    b'explain\n{"rule": "CD023"}',
)

# ------------------------------------------------------------------------------------------------ formatted and drawn


def _formatting(data: bytes) -> None:
    made = restyled(data.decode("utf-8", "replace"), schema_walk("workflow"))
    if made is not None:
        assert restyled(made, schema_walk("workflow")) == made


def _drawing(data: bytes) -> None:
    made = compile_workflow(data)
    if made.is_ok:
        for form in ("mermaid", "dot", "svg"):
            render(structure(made.value.program), form, made.value.program.name)
        json.dumps(drawing_data(structure(made.value.program)))


_WORKFLOWS = (_TEXT, *smallest("workflows/*.json"))
TARGETS = {
    "studio": Target(_studio, _STUDIO),
    "language-server": Target(
        _language_server,
        (_TEXT, BETWEEN.join((_TEXT, _ASKED.encode())), json.dumps(SAMPLE, indent=1).encode(), b'{"steps": [{"'),
    ),
    "tool-calls": Target(_tool_calls, _CALLS),
    "formatting": Target(_formatting, _WORKFLOWS),
    "drawing": Target(_drawing, _WORKFLOWS),
}

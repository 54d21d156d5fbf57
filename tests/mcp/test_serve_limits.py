"""What a workflow can't do to the server: hold it for long. What a client can always do: end it."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import forks
import pytest
from mcp_process import INITIALIZE, ROOT, call, request

from pytest_workrail.engine.protocol.engine import Engine
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.protocol.ports import WorkflowEntry
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, in_memory
from pytest_workrail.mcp.tools import EngineTools
from workrail_lint import compile_workflow
from workrail_lint.base.ecma_regex import compile_pattern, shared_time
from workrail_lint.base.result import Err, Ok

pytestmark = pytest.mark.promise(
    "An untrusted agent", "patterns that never end; signals to a server, also during a call"
)

ENDLESS = "(a|aa)+$"
NOTES = "a" * 60 + "!"
SCHEMA = {"type": "array", "items": {"type": "string", "pattern": ENDLESS}}
MANY = {"type": "array", "items": {"patternProperties": {ENDLESS: {}}}}


def step(name: str, **members: Any) -> dict[str, Any]:
    return {"id": name, "title": name, "prompt": "Do it.", **members}


def workflow(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"id": "demo.endless", "name": "n", "description": "d", "version": "1.0.0", "steps": list(steps)}


def criteria(*rules: dict[str, Any]) -> dict[str, Any]:
    return workflow(step("first", validationCriteria=list(rules)), step("last"))


WORKFLOWS = {
    "patterns": criteria(*[{"type": "regex", "pattern": ENDLESS, "message": "m"}] * 30),
    "a composition": workflow(
        step("first", validationCriteria={"or": [{"type": "regex", "pattern": ENDLESS, "message": "m"}] * 30})
    ),
    "a schema": criteria({"type": "schema", "schema": SCHEMA, "message": "m"}),
    "names in a schema": criteria({"type": "schema", "schema": MANY, "message": "m"}),
}


@pytest.mark.parametrize("name", list(WORKFLOWS))
def test_a_call_takes_less_than_a_second(name: str) -> None:
    compiled = compile_workflow(WORKFLOWS[name])
    assert isinstance(compiled, Ok), compiled
    library = MemoryLibrary([WorkflowEntry(compiled.value.ir)])
    tools = EngineTools(Engine(in_memory(FixedClock(), SeededEntropy()), library))
    start = {"workflowId": "demo.endless", "workspacePath": "/w", "goal": "g"}
    begun = tools.call("start_workflow", start).data
    notes = {"a schema": json.dumps([NOTES] * 30), "names in a schema": json.dumps([{NOTES: 1}] * 30)}.get(name, NOTES)
    output = {"continueToken": begun["continueToken"], "output": {"notesMarkdown": notes}}
    clock = time.process_time()
    answer = tools.call("continue_workflow", output).data
    assert time.process_time() - clock < 1.0
    assert answer["kind"] == "blocked"
    assert [blocker["code"] for blocker in answer["blockers"]["blockers"]] == ["INVARIANT_VIOLATION"]


def test_searches_share_the_time_there_is() -> None:
    endless, plain = compile_pattern(ENDLESS), compile_pattern("a")
    assert isinstance(endless, Ok)
    assert isinstance(plain, Ok)
    begun = time.process_time()
    with shared_time(0.1):
        assert plain.value.search(NOTES) == Ok(True)
        with shared_time(5.0):
            assert endless.value.search(NOTES) == Err("timeout")
        assert [endless.value.search(NOTES) for _ in range(20)] == [Err("timeout")] * 20
    assert time.process_time() - begun < 0.5
    assert plain.value.search(NOTES) == Ok(True)


# A server whose only tool works for as long as it is told.
_BUSY = """
import sys, time
from pytest_workrail.mcp.server import serve
from pytest_workrail.mcp.tools import ToolAnswer, ToolSpec

class Tools:
    instructions = "i"
    specs = [ToolSpec("work", "t", "d", {"type": "object"}, read_only=True)]

    def call(self, name, arguments):
        print("begun", file=sys.stderr, flush=True)
        end = time.monotonic() + arguments["seconds"]
        while time.monotonic() < end:
            sum(range(1000))
        print("done", file=sys.stderr, flush=True)
        return ToolAnswer(("t",), {})

    def leave(self):
        print("left", file=sys.stderr, flush=True)

serve(Tools())
"""


def send(process: Any, *messages: dict[str, Any]) -> None:
    process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
    process.stdin.flush()


@pytest.mark.parametrize(
    ("seconds", "said", "number"),
    [
        (None, ["left"], signal.SIGTERM),
        pytest.param(None, ["left"], signal.SIGINT, marks=pytest.mark.deep),
        pytest.param(0.2, ["done", "left"], signal.SIGTERM, marks=pytest.mark.deep),
        (0.2, ["done", "left"], signal.SIGINT),
        (600, [], signal.SIGTERM),
        (600, [], signal.SIGINT),
    ],
)
def test_a_signal_ends_the_server_at_any_time(number: signal.Signals, seconds: float | None, said: list[str]) -> None:
    with forks.shared().start(["python", "-c", _BUSY], ROOT) as process:
        send(process, request(1, "initialize", INITIALIZE))
        assert json.loads(process.stdout.readline())["id"] == 1
        if seconds is not None:
            send(
                process,
                {"jsonrpc": "2.0", "method": "notifications/initialized"},
                call(2, "work", {"seconds": seconds}),
            )
            assert process.stderr.readline().strip() == b"begun"
        process.send_signal(number)
        assert process.wait(timeout=600) == (0 if number == signal.SIGTERM else 130)
        *lines, last = [*process.stderr.read().decode().splitlines(), ""][: len(said) + 1]
        assert lines == said
        assert ("interrupted" in last) == (number == signal.SIGINT)


def test_a_signal_during_a_bad_pattern(tmp_path: Path) -> None:
    path = tmp_path / "workflows" / "endless.json"
    path.parent.mkdir()
    path.write_text(json.dumps(WORKFLOWS["patterns"]), encoding="utf-8")
    with forks.shared().start(["workrail-test", "serve", str(path), "--data", str(tmp_path / "data")], ROOT) as process:
        send(process, request(1, "initialize", INITIALIZE), {"jsonrpc": "2.0", "method": "notifications/initialized"})
        send(process, call(2, "start_workflow", {"workflowId": "demo.endless", "workspacePath": "/w", "goal": "g"}))
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        token = answers[1]["result"]["structuredContent"]["continueToken"]
        for number in range(3, 40):
            output = {"continueToken": token, "output": {"notesMarkdown": NOTES}}
            send(process, call(number, "continue_workflow", output))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=600) == 0

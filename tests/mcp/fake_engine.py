"""An engine as `conform` starts one: our server in the place of the public one's, which may answer otherwise."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from pytest_workrail.engine.protocol.engine import Engine, Options
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.protocol.ports import InvalidWorkflow, WorkflowEntry
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, in_memory
from pytest_workrail.mcp.tools import EngineTools
from pytest_workrail.sessions.versions import load_version
from workrail_lint.base.result import Err

# What it does otherwise: its folder is named after that.
REFUSES, RENAMES, FORGETS, REWORDS = "refuses", "renames", "forgets", "rewords"


def engine_tools(folder: Path) -> EngineTools:
    """Our engine on the workflows of a folder, pinned as the public engine pins them."""
    library = MemoryLibrary()
    for path in sorted(folder.glob("*.json")):
        version = load_version(path)
        compiled = version.compiled
        target = None if compiled is None else compiled.engine_target()
        if compiled is None or target is None or isinstance(target, Err):
            library.put(InvalidWorkflow(version.workflow_id, "project", ("It is not valid.",)))
        else:
            library.put(WorkflowEntry(compiled.ir, pin=target.value))
    home = in_memory(FixedClock(step_ms=1), SeededEntropy("another"))
    return EngineTools(Engine(home, library, Options(profile="reference", inject_onboarding=True)))


def answered(tools: EngineTools, name: str, arguments: dict[str, Any], fault: str) -> tuple[dict[str, Any], bool]:
    """The answer to a call, with what this engine does otherwise."""
    if REFUSES in fault:
        return {"code": "VALIDATION_ERROR", "message": "It is refused."}, True
    answer = tools.call(name, arguments)
    data = json.loads(json.dumps(answer.data))
    if RENAMES in fault and "workflowHash" in data:
        data["workflowHash"] = "sha256:" + "0" * 64
    if FORGETS in fault and data.get("kind") == "ok":
        data["isComplete"] = not data["isComplete"]
    if REWORDS in fault and data.get("kind") == "ok" and data["pending"] is not None:
        data["pending"]["prompt"] += " Please."
    return data, answer.is_error


def main(script: str) -> None:
    fault = Path(script).parents[1].name
    tools = engine_tools(Path.cwd() / "workflows")
    assert os.environ["WORKRAIL_JSON_RESPONSES"] == "true"
    sys.stdout.write("starting\n")  # no message
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {}}
        if message["method"] == "tools/call":
            params = message["params"]
            data, is_error = answered(tools, params["name"], params["arguments"], fault)
            result = {"content": [{"type": "text", "text": json.dumps(data)}], "isError": is_error}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
        sys.stdout.flush()

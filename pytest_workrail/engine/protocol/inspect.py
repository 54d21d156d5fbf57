"""Inspect: one workflow before it is started, under the hash that a run of it would pin. Reads only."""

from __future__ import annotations

from typing import Any

from pytest_workrail.engine.core.rendering import parallel_prompt
from pytest_workrail.engine.protocol.errors import ToolError
from pytest_workrail.engine.protocol.ports import WorkflowLibrary, Workspace
from pytest_workrail.engine.protocol.program import frozen
from pytest_workrail.engine.protocol.requests import InspectRequest
from pytest_workrail.engine.protocol.responses import Listing
from pytest_workrail.engine.protocol.start import find_startable
from pytest_workrail.engine.protocol.step_response import references_of
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


def inspect_workflow(
    library: WorkflowLibrary, workspace: Workspace, request: InspectRequest, inject_onboarding: bool
) -> Ok[Listing] | Err[ToolError]:
    """What a run of the workflow would pin, in short or with its first step."""
    found = find_startable(library, request.workflow_id)
    if isinstance(found, Err):
        return found
    entry = found.value
    made = frozen(entry.ir, inject_onboarding)
    if isinstance(made, Err):
        return made
    ir, workflow_hash = made.value
    compiled: dict[str, Json] = {
        "schemaVersion": 1,
        "sourceKind": entry.source_kind,
        "workflowId": ir["workflowId"],
    }
    if request.mode == "preview":
        compiled |= {
            "name": ir["name"],
            "description": ir["description"],
            "version": ir["version"],
            "preview": _preview(ir["steps"][0]),
        }
    shown: dict[str, Json] = {
        "workflowId": ir["workflowId"],
        "workflowHash": workflow_hash,
        "mode": request.mode,
        "compiled": compiled,
    }
    if entry.visibility is not None:
        shown["visibility"] = entry.visibility
    references = references_of(ir, workspace, request.workspace_path)
    if references:
        shown["references"] = [reference.to_json() for reference in references]
    if entry.staleness is not None:
        shown["staleness"] = entry.staleness
    return Ok(Listing("workflow", shown))


def _preview(step: dict[str, Any]) -> Json:
    """The first step with its texts as they were written; of a loop, the first step inside."""
    if step["type"] == "loop":
        step = step["body"][0]
    prompt = parallel_prompt(step, {}) if step["type"] == "parallel" else step["prompt"]
    return {"stepId": step["id"], "title": step["title"], "prompt": prompt}

"""List: the workflows that can be started, or the subjects they are listed under."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_workrail.engine.model.places import collation_key
from pytest_workrail.engine.protocol.errors import ToolError
from pytest_workrail.engine.protocol.ports import InvalidWorkflow, Tag, WorkflowEntry, WorkflowLibrary
from pytest_workrail.engine.protocol.program import frozen
from pytest_workrail.engine.protocol.requests import ListRequest
from pytest_workrail.engine.protocol.responses import Listing
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok

_NEXT_STEP = "Call list_workflows again with `tags` set to the subjects that fit, then start one of the workflows."


def list_workflows(
    library: WorkflowLibrary, request: ListRequest, inject_onboarding: bool
) -> Ok[Listing] | Err[ToolError]:
    """What can be started. Where there are subjects, they come first and the workflows on request."""
    entries = sorted(library.entries(), key=lambda entry: collation_key(entry.workflow_id))
    tags = library.tags()
    summarises = bool(tags) and request.tags is None and not request.include_sources
    if request.tags is not None:
        entries = [entry for entry in entries if not set(entry.tags).isdisjoint(request.tags)]
    shown: dict[str, Json] = {"workflows": [] if summarises else [_item(entry, inject_onboarding) for entry in entries]}
    if summarises:
        shown["tagSummary"] = [_tag(tag, entries) for tag in tags]
        shown["_nextStep"] = _NEXT_STEP
    if request.include_sources:
        shown["sources"] = list(library.sources())
    rejects = sorted(library.rejects(), key=lambda reject: collation_key(reject.workflow_id))
    if rejects:
        shown["validationWarnings"] = [_reject(reject) for reject in rejects]
    return Ok(Listing("workflows", shown))


def _item(entry: WorkflowEntry, inject_onboarding: bool) -> Json:
    ir = entry.ir
    made = frozen(ir, inject_onboarding)
    shown: dict[str, Json] = {
        "workflowId": ir["workflowId"],
        "name": ir["name"],
        "description": ir["description"],
        "version": ir["version"],
        "workflowHash": None if isinstance(made, Err) else made.value[1],
        "kind": "workflow",
    }
    if entry.visibility is not None:
        shown["visibility"] = entry.visibility
    if entry.staleness is not None:
        shown["staleness"] = entry.staleness
    if ir["examples"]:
        shown["examples"] = ir["examples"]
    return shown


def _tag(tag: Tag, entries: Sequence[WorkflowEntry]) -> Json:
    return {
        "id": tag.tag_id,
        "displayName": tag.display_name,
        "count": sum(tag.tag_id in entry.tags for entry in entries),
        "when": list(tag.when),
        "examples": list(tag.examples),
    }


def _reject(reject: InvalidWorkflow) -> Json:
    return {"workflowId": reject.workflow_id, "sourceKind": reject.source_kind, "errors": list(reject.errors)}

"""Inspect: one workflow before it is started, under the hash of the workflow alone. Reads only.

A run that begins with the onboarding step pins that too, under another hash, as on the public engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_workrail.engine.core.profiles import REFERENCE, Profile
from pytest_workrail.engine.core.prompts import parallel_prompt
from pytest_workrail.engine.model.step_keys import collation_key
from pytest_workrail.engine.projections.session_facts import Workspace as WorkspaceFacts
from pytest_workrail.engine.protocol.errors import ToolError
from pytest_workrail.engine.protocol.ports import (
    Found,
    GitEnd,
    InvalidWorkflow,
    Tag,
    WorkflowEntry,
    WorkflowLibrary,
    Workspace,
)
from pytest_workrail.engine.protocol.requests import InspectRequest, ListRequest
from pytest_workrail.engine.protocol.responses import Listing
from pytest_workrail.engine.protocol.sessions import frozen, pinned_hash
from pytest_workrail.engine.protocol.start import find_startable
from pytest_workrail.engine.protocol.step_response import references_of
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.model.build import program_model
from workrail_lint.systems.workrail.model.ir import ProgramStep


class MemoryLibrary:
    """Workflows by id; a later one replaces an earlier one of the same id."""

    def __init__(self, workflows: Iterable[WorkflowEntry | InvalidWorkflow] = (), tags: Sequence[Tag] = ()) -> None:
        self._found: dict[str, WorkflowEntry | InvalidWorkflow] = {}
        self._tags = tuple(tags)
        for each in workflows:
            self.put(each)

    def put(self, workflow: WorkflowEntry | InvalidWorkflow) -> None:
        """Add a workflow, or one that can't be started."""
        self._found[workflow.workflow_id] = workflow

    def put_ir(self, ir: dict[str, Any]) -> None:
        """Add a compiled workflow of the project; a log without a source can't be read by the public engine."""
        self.put(WorkflowEntry(ir, source_ref=f"{ir['workflowId']}.json"))

    def find(self, workflow_id: str) -> Found:
        return self._found.get(workflow_id)

    def entries(self) -> Sequence[WorkflowEntry]:
        return [workflow for workflow in self._found.values() if isinstance(workflow, WorkflowEntry)]

    def rejects(self) -> Sequence[InvalidWorkflow]:
        return [workflow for workflow in self._found.values() if isinstance(workflow, InvalidWorkflow)]

    def tags(self) -> Sequence[Tag]:
        return self._tags

    def sources(self) -> Sequence[Json]:
        return [{"kind": kind} for kind in sorted({entry.source_kind for entry in self.entries()})]


class NoWorkspace:
    """A workspace of which nothing is known: no repository, no bindings, no files."""

    def facts(self, workspace_path: str) -> WorkspaceFacts:
        return WorkspaceFacts()

    def end(self, workspace_path: str | None) -> GitEnd:
        return GitEnd()

    def resolve(self, reference: Mapping[str, Any], workspace_path: str | None) -> str | None:
        return None

    def overrides(self, workflow_id: str, workspace_path: str | None) -> Mapping[str, str] | None:
        return None


_NEXT_STEP = "Call list_workflows again with `tags` set to the subjects that fit, then start one of the workflows."


def list_workflows(library: WorkflowLibrary, request: ListRequest) -> Ok[Listing] | Err[ToolError]:
    """Return the workflows that can be started. If there are subjects, they come first and workflows on request."""
    entries = sorted(library.entries(), key=lambda entry: collation_key(entry.workflow_id))
    tags = library.tags()
    summarises = bool(tags) and request.tags is None and not request.include_sources
    if request.tags is not None:
        entries = [entry for entry in entries if not set(entry.tags).isdisjoint(request.tags)]
    members: dict[str, Json] = {"workflows": [] if summarises else [_item(entry) for entry in entries]}
    if summarises:
        members["tagSummary"] = [_tag(tag, entries) for tag in tags]
        members["_nextStep"] = _NEXT_STEP
    if request.include_sources:
        members["sources"] = list(library.sources())
    rejects = sorted(library.rejects(), key=lambda reject: collation_key(reject.workflow_id))
    if rejects:
        members["validationWarnings"] = [_reject(reject) for reject in rejects]
    return Ok(Listing("workflows", members))


def _item(entry: WorkflowEntry) -> Json:
    ir = entry.ir
    pin = pinned_hash(entry, onboarding=False)
    members: dict[str, Json] = {
        "workflowId": ir["workflowId"],
        "name": ir["name"],
        "description": ir["description"],
        "version": ir["version"],
        "workflowHash": None if isinstance(pin, Err) else pin.value,
        "kind": "workflow",
    }
    if entry.visibility is not None:
        members["visibility"] = entry.visibility
    if entry.staleness is not None:
        members["staleness"] = entry.staleness
    if ir["examples"]:
        members["examples"] = ir["examples"]
    return members


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


def inspect_workflow(
    library: WorkflowLibrary, workspace: Workspace, request: InspectRequest, profile: Profile = REFERENCE
) -> Ok[Listing] | Err[ToolError]:
    """Return a workflow as it would be pinned alone: its first step, and its manifest where the profile has one."""
    startable = find_startable(library, request.workflow_id)
    if isinstance(startable, Err):
        return startable
    entry = startable.value
    pin = frozen(entry.ir, onboarding=False)
    if isinstance(pin, Err):
        return pin
    pinned = pinned_hash(entry, onboarding=False)
    if isinstance(pinned, Err):
        return pinned
    ir, _ = pin.value
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
            "preview": _preview(program_model(ir).steps[0]),
        }
    members: dict[str, Json] = {
        "workflowId": ir["workflowId"],
        "workflowHash": pinned.value,
        "mode": request.mode,
        "compiled": compiled,
    }
    match profile.answers:
        case "engine":
            pass
        case "union":
            # Here, because runs do without it, and it brings half of the analysis along.
            from pytest_workrail.engine.protocol.overview import manifest

            members["manifest"] = manifest(program_model(ir))
    if entry.visibility is not None:
        members["visibility"] = entry.visibility
    references = references_of(ir, workspace, request.workspace_path)
    if references:
        members["references"] = [reference.to_json() for reference in references]
    if entry.staleness is not None:
        members["staleness"] = entry.staleness
    return Ok(Listing("workflow", members))


def _preview(step: ProgramStep) -> Json:
    """The first step with its texts as they were written; of a loop, the first step inside."""
    if step.type == "loop":
        step = step.body[0]
    prompt = parallel_prompt(step, {}) if step.type == "parallel" else step.prompt
    return {"stepId": step.id, "title": step.title, "prompt": prompt}

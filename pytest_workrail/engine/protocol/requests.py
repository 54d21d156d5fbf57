"""Requests: what a caller sent, as values that can't contradict themselves.

`continue_workflow` has two faces, so it has two requests. Which one a call is, is settled here and nowhere else.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.core.modes import DEFAULT_PREFERENCES, Preferences
from pytest_workrail.engine.core.outputs import Submission
from pytest_workrail.engine.model.base import decode_json
from pytest_workrail.engine.model.words import SYSTEM_KEYS
from pytest_workrail.engine.protocol import shapes
from pytest_workrail.engine.protocol.context import context_problem
from pytest_workrail.engine.protocol.errors import ToolError
from pytest_workrail.engine.protocol.shapes import InputIssue, invalid_input
from workrail_lint.base.result import Err, Ok


class StartRequest(Struct, frozen=True):
    """Begin a run. `preferences` is None when the caller leaves them to the defaults."""

    workflow_id: str
    workspace_path: str
    goal: str
    initial_context: dict[str, Any]
    preferences: Preferences | None


class AdvanceRequest(Struct, frozen=True):
    """Submit the pending step. `context` is the change to it; None when there is none."""

    token: str
    submission: Submission
    context: dict[str, Any] | None
    has_output: bool


class RehydrateRequest(Struct, frozen=True):
    """Look at a node again; `workspace_path` is known when the caller asked for it by name."""

    token: str
    workspace_path: str | None


ContinueRequest: TypeAlias = AdvanceRequest | RehydrateRequest


class CheckpointRequest(Struct, frozen=True):
    """Mark a node to come back to."""

    token: str


class ResumeRequest(Struct, frozen=True):
    """Find a session again."""

    workspace_path: str
    query: str | None
    run_id: str | None
    session_id: str | None
    git_branch: str | None
    git_head_sha: str | None
    same_workspace_only: bool


class ListRequest(Struct, frozen=True):
    """See what can be started. `tags` is None when the caller names none."""

    workspace_path: str
    include_sources: bool
    tags: tuple[str, ...] | None


class InspectRequest(Struct, frozen=True):
    """Look at one workflow."""

    workflow_id: str
    workspace_path: str
    mode: Literal["metadata", "preview"]


def read_start(request: object) -> Ok[StartRequest] | Err[ToolError]:
    """A start call."""
    shaped = shapes.read(shapes.START, request)
    if isinstance(shaped, Err):
        return shaped
    given = shaped.value
    context = _parsed(given.get("initialContext", {}))
    problem = context_problem(context, "start_workflow")
    if problem is not None:
        return Err(problem)
    reserved = _system_keys(context, "initialContext")
    if reserved:
        return Err(invalid_input(shapes.START, reserved, request))
    chosen = given.get("preferences")
    return Ok(
        StartRequest(
            given["workflowId"],
            given["workspacePath"],
            given["goal"],
            context,
            None if not chosen else _preferences(chosen),
        )
    )


def _preferences(chosen: dict[str, Any]) -> Preferences:
    return Preferences(
        chosen.get("autonomy", DEFAULT_PREFERENCES.autonomy),
        chosen.get("riskPolicy", DEFAULT_PREFERENCES.risk_policy),
    )


def read_continue(request: object) -> Ok[ContinueRequest] | Err[ToolError]:
    """A continue call, after its aliases are resolved and its intent is known."""
    opened = _opened(request)
    shaped = shapes.read(shapes.CONTINUE, opened)
    if isinstance(shaped, Err):
        return shaped
    given = shaped.value
    issues = _contradictions(given)
    if issues:
        return Err(invalid_input(shapes.CONTINUE, issues, opened))
    context: dict[str, Any] | None = None
    for member in ("context", "contextVariables"):
        if member not in given:
            continue
        problem = context_problem(given[member], "continue_workflow")
        if problem is not None:
            return Err(problem)
        reserved = _system_keys(given[member], member)
        if reserved:
            return Err(invalid_input(shapes.CONTINUE, reserved, opened))
        context = given[member]
    output = given.get("output", {})
    notes: str | None = output.get("notesMarkdown", given.get("notes"))
    artifacts: list[Any] | None = output.get("artifacts", given.get("artifacts"))
    has_output = notes is not None or artifacts is not None
    if given.get("intent", "advance" if has_output else "rehydrate") == "rehydrate":
        return Ok(RehydrateRequest(given["continueToken"], given.get("workspacePath")))
    submission = Submission(notes, tuple(artifacts or ()))
    return Ok(AdvanceRequest(given["continueToken"], submission, context, has_output))


def _opened(request: object) -> object:
    """Members that some agents send as a JSON text of an object."""
    if not isinstance(request, dict):
        return request
    return {
        name: _parsed(value) if name in ("context", "output", "contextVariables") else value
        for name, value in request.items()
    }


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    decoded = decode_json(value.encode("utf-8", "surrogatepass"))
    return decoded.value if isinstance(decoded, Ok) and isinstance(decoded.value, dict) else value


def _contradictions(given: dict[str, Any]) -> list[InputIssue]:
    """Members that are fine alone and make no sense together."""
    output = given.get("output", {})
    issues: list[InputIssue] = []
    for alias, canonical, clashes in (
        ("contextVariables", "context", "context" in given),
        ("notes", "output.notesMarkdown", "notesMarkdown" in output),
        ("artifacts", "output.artifacts", "artifacts" in output),
    ):
        if alias in given and clashes:
            issues.append(InputIssue(alias, f"Give either {alias} or {canonical}, not both"))
    if given.get("intent") != "rehydrate":
        return issues
    if not given.keys().isdisjoint(("output", "notes", "artifacts")):
        issues.append(InputIssue("output", "A rehydrate takes no output; use intent advance to submit the step"))
    if "workspacePath" not in given:
        issues.append(InputIssue("workspacePath", "Required when the intent is rehydrate"))
    return issues


def _system_keys(context: dict[str, Any], member: str) -> list[InputIssue]:
    return [
        InputIssue(f"{member}.{name}", "This name is reserved for the host; leave it out")
        for name in SYSTEM_KEYS
        if name in context
    ]


def read_checkpoint(request: object) -> Ok[CheckpointRequest] | Err[ToolError]:
    """A checkpoint call."""
    shaped = shapes.read(shapes.CHECKPOINT, request)
    return shaped if isinstance(shaped, Err) else Ok(CheckpointRequest(shaped.value["checkpointToken"]))


def read_resume(request: object) -> Ok[ResumeRequest] | Err[ToolError]:
    """A resume call."""
    shaped = shapes.read(shapes.RESUME, request)
    if isinstance(shaped, Err):
        return shaped
    given = shaped.value
    return Ok(
        ResumeRequest(
            given["workspacePath"],
            given.get("query"),
            given.get("runId"),
            given.get("sessionId"),
            given.get("gitBranch"),
            given.get("gitHeadSha"),
            given.get("sameWorkspaceOnly", False),
        )
    )


def read_list(request: object) -> Ok[ListRequest] | Err[ToolError]:
    """A list call."""
    shaped = shapes.read(shapes.LIST, request)
    if isinstance(shaped, Err):
        return shaped
    given = shaped.value
    tags = given.get("tags")
    return Ok(
        ListRequest(given["workspacePath"], given.get("includeSources", False), None if tags is None else tuple(tags))
    )


def read_inspect(request: object) -> Ok[InspectRequest] | Err[ToolError]:
    """An inspect call."""
    shaped = shapes.read(shapes.INSPECT, request)
    if isinstance(shaped, Err):
        return shaped
    given = shaped.value
    return Ok(InspectRequest(given["workflowId"], given["workspacePath"], given.get("mode", "preview")))

"""Requests: what a caller sent, as values that can't contradict themselves.

`continue_workflow` has two faces, so it has two requests. Which one a call is, is settled here and nowhere else.

The shape of a request is a schema in the dialect of the contract packs, so a malformed request is worded like a
malformed artifact: one issue per thing that is wrong, in the order in which the members are declared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import msgspec
from msgspec import Struct, convert

from pytest_workrail.engine.core.outputs import Submission
from pytest_workrail.engine.model.base import decode_json
from pytest_workrail.engine.model.words import (
    METRICS_OUTCOMES,
    RESERVED_KEYS,
    SYSTEM_KEYS,
    Autonomy,
    Preferences,
    RiskPolicy,
)
from pytest_workrail.engine.protocol.errors import ToolError
from workrail_lint.base import js
from workrail_lint.base.canonical import CanonicalError, canonical_bytes
from workrail_lint.base.js import Json, type_name
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.suggest import edit_distance
from workrail_lint.documents.schema.engine import Validator, compile_schema
from workrail_lint.systems.workrail.catalog.contracts import validate_artifact

ToolName: TypeAlias = Literal[
    "list_workflows",
    "inspect_workflow",
    "start_workflow",
    "continue_workflow",
    "checkpoint_workflow",
    "resume_session",
]

T = TypeVar("T")

_ENOUGH_ALIKE = 0.6
_MAX_SUGGESTIONS = 3
_MAX_TEMPLATE_DEPTH = 3

_ABSOLUTE_PATH = r"^(/|\\\\|[A-Za-z]:[/\\])"
_WORKFLOW_ID = r"^([a-z0-9_-]+|[a-z][a-z0-9_-]+\.[a-z][a-z0-9_-]+)$"
_RUN_ID = "^run_[a-z0-9]+$"
_SESSION_ID = "^sess_[A-Za-z0-9_]+$"
_GIT_SHA = "^[0-9a-f]{40}$"
_PATTERN_TEXT = {
    f"Must match the pattern {pattern}": text
    for pattern, text in (
        (_ABSOLUTE_PATH, "Must be an absolute path"),
        (_WORKFLOW_ID, "Must be a workflow id, such as `code-review` or `team.code-review`"),
        (_RUN_ID, "Must be a run id (run_...)"),
        (_SESSION_ID, "Must be a session id (sess_...)"),
        (_GIT_SHA, "Must be a full commit hash: 40 lower-case hex digits"),
    )
}


def _text(**bounds: object) -> dict[str, Any]:
    return {"type": "string", "x-lengthUnit": "u16", **bounds}


def _closed(required: Iterable[str], **members: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "x-objectMode": "strict", "required": list(required), "properties": members}


_NON_EMPTY = _text(minLength=1)
_PATH = _text(minLength=1, pattern=_ABSOLUTE_PATH)
_WORKFLOW = _text(minLength=1, pattern=_WORKFLOW_ID)
_BOOLEAN = {"type": "boolean"}
# Contexts and artifacts are looked at by rules of their own, which say more than a type error would.
_ANYTHING: dict[str, Any] = {}
_ARTIFACTS = {"type": "array", "items": {}}


class Shape(Struct, frozen=True):
    """The parameters of a tool. `aliases` maps names that agents use by mistake to the right ones."""

    tool: ToolName
    schema: dict[str, Any]
    aliases: Mapping[str, str] = msgspec.field(default_factory=dict)


START = Shape(
    "start_workflow",
    _closed(
        ["workflowId", "workspacePath", "goal"],
        workflowId=_WORKFLOW,
        workspacePath=_PATH,
        goal=_NON_EMPTY,
        modelTier={"enum": ["lightweight", "mid", "heavy"]},
        initialContext=_ANYTHING,
        preferences=_closed(
            [], autonomy={"enum": list(get_args(Autonomy))}, riskPolicy={"enum": list(get_args(RiskPolicy))}
        ),
    ),
    {"id": "workflowId", "workflow": "workflowId", "workspace": "workspacePath", "context": "initialContext"},
)
CONTINUE = Shape(
    "continue_workflow",
    _closed(
        ["continueToken"],
        continueToken=_NON_EMPTY,
        intent={"enum": ["advance", "rehydrate"]},
        context=_ANYTHING,
        output={
            "type": "object",
            "x-objectMode": "strip",
            "properties": {"notesMarkdown": _NON_EMPTY, "artifacts": _ARTIFACTS},
        },
        workspacePath=_PATH,
        contextVariables=_ANYTHING,
        notes=_text(),
        artifacts=_ARTIFACTS,
    ),
    {
        "token": "continueToken",
        "resumeToken": "continueToken",
        "retryContinueToken": "continueToken",
        "gateToken": "continueToken",
        "notesMarkdown": "output",
        "variables": "context",
    },
)
CHECKPOINT = Shape(
    "checkpoint_workflow",
    _closed(["checkpointToken"], checkpointToken=_NON_EMPTY),
    {"token": "checkpointToken"},
)
RESUME = Shape(
    "resume_session",
    _closed(
        ["workspacePath"],
        workspacePath=_PATH,
        query=_text(minLength=1, maxLength=256),
        runId=_text(pattern=_RUN_ID),
        sessionId=_text(pattern=_SESSION_ID),
        gitBranch=_text(minLength=1, maxLength=256),
        gitHeadSha=_text(pattern=_GIT_SHA),
        sameWorkspaceOnly=_BOOLEAN,
    ),
    {"text": "query", "branch": "gitBranch", "head": "gitHeadSha"},
)
LIST = Shape(
    "list_workflows",
    _closed(
        ["workspacePath"],
        workspacePath=_PATH,
        includeSources=_BOOLEAN,
        tags={"type": "array", "items": _NON_EMPTY},
    ),
    {"tag": "tags"},
)
INSPECT = Shape(
    "inspect_workflow",
    _closed(
        ["workflowId", "workspacePath"],
        workflowId=_WORKFLOW,
        mode={"enum": ["preview", "metadata"]},
        workspacePath=_PATH,
    ),
    {"id": "workflowId", "workflow": "workflowId"},
)


_SCHEMAS = {shape.tool: shape.schema for shape in (START, CONTINUE, CHECKPOINT, RESUME, LIST, INSPECT)}


@cache
def _validator(tool: ToolName) -> Validator:
    return compile_schema(_SCHEMAS[tool])


class InputIssue(Struct, frozen=True):
    """One thing wrong with a request, and where."""

    path: str
    message: str

    def to_json(self) -> dict[str, Json]:
        return {"path": self.path, "message": self.message}


# The tools whose unknown members the public engine passes over; the others refuse them.
_LENIENT = frozenset({"start_workflow", "list_workflows", "inspect_workflow"})


def passed_over(tool: ToolName, request: object) -> tuple[str, ...]:
    """Return the members of a request that the public engine does not know and ignores."""
    if tool not in _LENIENT or not isinstance(request, dict):
        return ()
    return tuple(name for name in request if isinstance(name, str) and name not in _SCHEMAS[tool]["properties"])


def read(shape: Shape, request: object) -> Ok[dict[str, Any]] | Err[ToolError]:
    """The request, once it has the shape its tool takes."""
    odd = _non_string_names(request)
    if odd is not None:
        return Err(invalid_input(shape, [odd], request))
    # The patterns of requests are ours: nearly every request is done here, without the package for those of others.
    if isinstance(request, dict) and not _validator(shape.tool).violations(request):
        return Ok(request)

    issues = [
        InputIssue(path, _PATTERN_TEXT.get(message, message))
        for path, _, message in (issue.partition(": ") for issue in validate_artifact(shape.schema, request))
    ]
    return Err(invalid_input(shape, issues, request))


def _non_string_names(request: object) -> InputIssue | None:
    """Objects as Python callers may build them: members whose names are no text."""
    if not isinstance(request, dict):
        return None
    for path, value in (("", request), *request.items()):
        if isinstance(value, dict) and not all(isinstance(name, str) for name in value):
            return InputIssue(str(path), "Member names must be strings")
    return None


def invalid_input(shape: Shape, issues: Iterable[InputIssue], request: object) -> ToolError:
    """The answer to a request that its tool can't take."""
    given = list(request) if isinstance(request, dict) else []
    hints = _suggestions(shape, [name for name in given if isinstance(name, str)])
    return ToolError(
        "VALIDATION_ERROR",
        "Invalid input",
        f"Correct the members named in `validationErrors` and call {shape.tool} again; "
        "`correctTemplate` shows every member it takes.",
        details={
            "validationErrors": [issue.to_json() for issue in issues],
            "suggestions": hints,
            "correctTemplate": _template(shape.schema, "", 0),
        },
    )


def _suggestions(shape: Shape, given: list[str]) -> list[Json]:
    known: dict[str, Any] = shape.schema["properties"]
    meant = [hit for name in given if name not in known if (hit := _nearest_member(name, shape)) is not None]
    meant.sort(key=lambda hit: -hit[0])
    unknown: list[Json] = [
        {
            "kind": "unknown_key",
            "provided": name,
            "didYouMean": intended,
            # Half a hundredth rounds up, as everywhere; Python's own rounding goes to the even digit.
            "similarity": js.number(f"{int(likeness * 100 + 0.5) / 100:.2f}"),
        }
        for likeness, name, intended in meant[:_MAX_SUGGESTIONS]
    ]
    missing: list[Json] = [
        {"kind": "missing_required", "param": name, "example": _template(known[name], name, 1)}
        for name in sorted(shape.schema["required"])
        if name not in given
    ]
    return unknown + missing[:_MAX_SUGGESTIONS]


def _nearest_member(name: str, shape: Shape) -> tuple[float, str, str] | None:
    """The member an unknown name stands for, if it is near enough to one."""
    if name in shape.aliases:
        return 1.0, name, shape.aliases[name]
    closest = max(shape.schema["properties"], key=lambda known: _similarity(name, known))
    likeness = _similarity(name, closest)
    return (likeness, name, closest) if likeness >= _ENOUGH_ALIKE else None


def _similarity(one: str, other: str) -> float:
    longest = max(len(one), len(other))
    if longest == 0 or abs(len(one) - len(other)) > longest * (1 - _ENOUGH_ALIKE):
        return 0.0
    return 1 - edit_distance(one.lower(), other.lower(), longest) / longest


def _template(schema: dict[str, Any], name: str, depth: int) -> Json:
    """An example of a shape, with names where values go."""
    if "enum" in schema:
        first: Json = schema["enum"][0]
        return first
    match schema.get("type"):
        case "object" if depth < _MAX_TEMPLATE_DEPTH:
            return {member: _template(shape, member, depth + 1) for member, shape in schema["properties"].items()}
        case "array":
            items = schema["items"]
            return [_template(items, name, depth + 1)] if items and depth < _MAX_TEMPLATE_DEPTH else []
        case "boolean":
            return False
        case "string":
            return f"<{name}>"
        case _:
            return {}


MAX_CONTEXT_BYTES = 262_144
MAX_CONTEXT_DEPTH = 64
_MEASURE = "jcs_utf8_bytes"


def context_problem(context: object, tool: ToolName) -> ToolError | None:
    """Return the first problem of a submitted context; None when it can be used."""
    if not isinstance(context, dict):
        message = f"context must be an object, not {_type_name(context)}."
        return _refused(tool, "context_invalid_shape", message, {"expected": "object"})
    return (
        _unusable_value(context, tool)
        or _size_problem(context, tool)
        or _metrics_problem(context, tool)
        or _name_problem(context, tool)
    )


def merged(stored: Mapping[str, Any] | None, delta: Mapping[str, Any] | None) -> dict[str, Any]:
    """The context after a change: members replace each other as a whole, null removes one."""
    result = dict(stored or {})
    for name, value in (delta or {}).items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = value
    return result


def _refused(tool: ToolName, kind: str, message: str, facts: Mapping[str, Json], advice: str = "") -> ToolError:
    return ToolError(
        "VALIDATION_ERROR",
        message,
        advice or f"Correct the context and call {tool} again; nothing was written.",
        details={"details": {"kind": kind, "tool": tool, **facts}},
    )


def _unusable_value(context: dict[str, Any], tool: ToolName) -> ToolError | None:
    """Depth first: too deep, not JSON, not a number JSON has, or the same container twice."""
    seen: set[int] = set()
    stack: list[tuple[object, str, int]] = [(context, "$", 0)]
    while stack:
        value, path, depth = stack.pop()
        if depth > MAX_CONTEXT_DEPTH:
            facts: dict[str, Json] = {"path": path, "maxDepth": MAX_CONTEXT_DEPTH}
            return _refused(tool, "context_too_deep", f"context is nested too deeply at {path}.", facts)
        if isinstance(value, float) and not math.isfinite(value):
            number = js.number_text(value)
            message = f"context holds {number} at {path}, which JSON can't express."
            return _refused(tool, "context_non_finite_number", message, {"path": path, "value": number})
        if isinstance(value, dict | list):
            if id(value) in seen:
                message = f"context holds the same container twice, the second time at {path}."
                return _refused(tool, "context_circular_reference", message, {"path": path})
            seen.add(id(value))
            inner = _members(value, path, depth)
            if isinstance(inner, str):
                message = f"context has a member at {path} whose name is not a text."
                return _refused(tool, "context_unsupported_value", message, {"path": path, "valueType": inner})
            stack.extend(reversed(inner))
        elif not (value is None or isinstance(value, str | bool | int | float)):
            facts = {"path": path, "valueType": type(value).__name__}
            return _refused(tool, "context_unsupported_value", f"context holds no JSON value at {path}.", facts)
    return None


def _members(value: dict[Any, Any] | list[Any], path: str, depth: int) -> list[tuple[object, str, int]] | str:
    """Return the items of a container with their paths, or the type of a non-string member name."""
    if isinstance(value, list):
        return [(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
    for name in value:
        if not isinstance(name, str):
            return type(name).__name__
    return [(item, f"{path}.{name}", depth + 1) for name, item in value.items()]


def _size_problem(context: dict[str, Any], tool: ToolName) -> ToolError | None:
    try:
        size = len(canonical_bytes(context))
    except CanonicalError as problem:
        facts: dict[str, Json] = {"measuredAs": _MEASURE, "code": problem.code, "message": str(problem)}
        return _refused(tool, "context_not_canonical_json", "context has no canonical form.", facts)
    if size <= MAX_CONTEXT_BYTES:
        return None
    return _refused(
        tool,
        "context_budget_exceeded",
        f"context is too large for {tool}: {size} bytes (max {MAX_CONTEXT_BYTES}). "
        "Keep large texts in files and send only what later steps need.",
        {"measuredBytes": size, "maxBytes": MAX_CONTEXT_BYTES, "measuredAs": _MEASURE},
        f"Send less context and call {tool} again; nothing was written.",
    )


def _metrics_problem(context: dict[str, Any], tool: ToolName) -> ToolError | None:
    outcome = context.get("metrics_outcome")
    if outcome is None or outcome in METRICS_OUTCOMES:
        return None
    return _refused(
        tool,
        "context_invalid_metrics_outcome",
        f"metrics_outcome must be one of {', '.join(METRICS_OUTCOMES)}.",
        {"invalidValue": js.text(outcome), "validValues": list(METRICS_OUTCOMES)},
        f"Set metrics_outcome to one of the listed words and call {tool} again.",
    )


def _name_problem(context: dict[str, Any], tool: ToolName) -> ToolError | None:
    for name in RESERVED_KEYS:
        if name in context:
            message = f"context must not have a member named {name}."
            return _refused(tool, "context_reserved_key", message, {"key": name}, f"Rename {name} and call again.")
    return None


def _type_name(value: object) -> str:
    return type_name(value)


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


class CheckpointRequest(Struct, frozen=True, rename="camel"):
    """Mark a node to come back to."""

    checkpoint_token: str


class ResumeRequest(Struct, frozen=True, rename="camel"):
    """Find a session again."""

    workspace_path: str
    query: str | None = None
    run_id: str | None = None
    session_id: str | None = None
    git_branch: str | None = None
    git_head_sha: str | None = None
    same_workspace_only: bool = False


class ListRequest(Struct, frozen=True, rename="camel"):
    """See what can be started. `tags` is None when the caller names none."""

    workspace_path: str
    include_sources: bool = False
    tags: tuple[str, ...] | None = None


class InspectRequest(Struct, frozen=True, rename="camel"):
    """Look at one workflow."""

    workflow_id: str
    workspace_path: str
    mode: Literal["metadata", "preview"] = "preview"


def read_start(request: object) -> Ok[StartRequest] | Err[ToolError]:
    """A start call."""
    shaped = read(START, request)
    if isinstance(shaped, Err):
        return shaped
    given = shaped.value
    context = _parsed(given.get("initialContext", {}))
    problem = context_problem(context, "start_workflow")
    if problem is not None:
        return Err(problem)
    reserved = _system_keys(context, "initialContext")
    if reserved:
        return Err(invalid_input(START, reserved, request))
    chosen = given.get("preferences")
    return Ok(
        StartRequest(
            given["workflowId"],
            given["workspacePath"],
            given["goal"],
            context,
            None if not chosen else convert(chosen, Preferences),
        )
    )


def read_continue(request: object) -> Ok[ContinueRequest] | Err[ToolError]:
    """A continue call, after its aliases are resolved and its intent is known."""
    opened = _opened(request)
    shaped = read(CONTINUE, opened)
    if isinstance(shaped, Err):
        return shaped
    given = shaped.value
    issues = _contradictions(given)
    if issues:
        return Err(invalid_input(CONTINUE, issues, opened))
    context: dict[str, Any] | None = None
    for member in ("context", "contextVariables"):
        if member not in given:
            continue
        problem = context_problem(given[member], "continue_workflow")
        if problem is not None:
            return Err(problem)
        reserved = _system_keys(given[member], member)
        if reserved:
            return Err(invalid_input(CONTINUE, reserved, opened))
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
    return _read_as(CheckpointRequest, CHECKPOINT, request)


def read_resume(request: object) -> Ok[ResumeRequest] | Err[ToolError]:
    """A resume call."""
    return _read_as(ResumeRequest, RESUME, request)


def read_list(request: object) -> Ok[ListRequest] | Err[ToolError]:
    """A list call."""
    return _read_as(ListRequest, LIST, request)


def read_inspect(request: object) -> Ok[InspectRequest] | Err[ToolError]:
    """An inspect call."""
    return _read_as(InspectRequest, INSPECT, request)


def _read_as(kind: type[T], shape: Shape, request: object) -> Ok[T] | Err[ToolError]:
    """A call whose members mean what they say; the schema has judged their types."""
    shaped = read(shape, request)
    return shaped if isinstance(shaped, Err) else Ok(convert(shaped.value, kind))

"""The shapes of requests, and what an agent is told when it gets one wrong.

A shape is a schema in the dialect of the contract packs, so a malformed request is worded like a malformed
artifact: one issue per thing that is wrong, in the order in which the members are declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import msgspec
from msgspec import Struct

from pytest_workrail.engine.model.words import Autonomy, RiskPolicy
from pytest_workrail.engine.protocol.errors import ToolError
from workrail_lint.base import js
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.suggest import edit_distance
from workrail_lint.documents.schema.engine import Validator, compile_schema

ToolName: TypeAlias = Literal[
    "list_workflows",
    "inspect_workflow",
    "start_workflow",
    "continue_workflow",
    "checkpoint_workflow",
    "resume_session",
]

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
    """What a tool takes. `aliases` are names that agents use by mistake, and what they mean."""

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


class InputIssue(NamedTuple):
    """One thing wrong with a request, and where."""

    path: str
    message: str

    def to_json(self) -> dict[str, Json]:
        return {"path": self.path, "message": self.message}


def read(shape: Shape, request: object) -> Ok[dict[str, Any]] | Err[ToolError]:
    """The request, once it has the shape its tool takes."""
    odd = _non_string_names(request)
    if odd is not None:
        return Err(invalid_input(shape, [odd], request))
    # The patterns of requests are ours: nearly every request is done here, without the package for those of others.
    if isinstance(request, dict) and not _validator(shape.tool).violations(request):
        return Ok(request)
    from workrail_lint.systems.workrail.catalog.contracts import validate_artifact

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

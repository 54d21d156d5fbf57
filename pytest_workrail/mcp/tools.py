"""The tools of the MCP server: the engine's, with the words that describe them to agents, and those for authors.

Descriptions say first what a tool does, then common mistakes and what to do instead.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pytest_workrail.agents.agent import answer_kind
from pytest_workrail.engine.core.profiles import Answers
from pytest_workrail.engine.model.ids import SessionId
from pytest_workrail.engine.protocol import requests
from pytest_workrail.engine.protocol.engine import Engine
from pytest_workrail.engine.protocol.requests import Shape, ToolName
from pytest_workrail.engine.protocol.text import error_text
from pytest_workrail.run.project import project_sources
from workrail_lint.api import check_text
from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.suggest import hint
from workrail_lint.base.wording import quoted
from workrail_lint.findings import Finding
from workrail_lint.report.rule_docs import page, rules
from workrail_lint.systems.workrail.compile import compile_workflow

INSTRUCTIONS = """\
These tools guide you through a workflow, one step at a time. You see only the step you are at.

1. list_workflows shows what there is; start_workflow begins a run and gives you its first step.
2. Do what the step asks, with your own tools.
3. Submit it with continue_workflow: the token of the last answer and your output. The answer is the next step,
a block that says what is missing, or the end.

Every answer names the next call in `nextCall`, and in `nextIntent` what to do before it. Copy tokens exactly;
they are not for reading. If you lose your place, call continue_workflow with your last token and `intent:
"rehydrate"`, or resume_session without a token."""

TITLES: dict[ToolName, str] = {
    "list_workflows": "List workflows",
    "inspect_workflow": "Look at a workflow",
    "start_workflow": "Start a workflow",
    "continue_workflow": "Continue a workflow",
    "checkpoint_workflow": "Set a checkpoint",
    "resume_session": "Find an earlier session",
}

# What an accepted step is answered with, in the two forms of answers.
ANSWERS: dict[Answers, str] = {
    "engine": '- kind "ok": the step counts and `pending` is the next one; with isComplete the run is over.',
    "union": (
        '- kind "step": the step counts and `pending` is the next one; `skipped` lists what was passed over.\n'
        '- kind "complete": the step counts and the run is over.'
    ),
}

TOOLS: dict[ToolName, str] = {
    "list_workflows": """\
Lists the workflows that can be started, each with its id, name, description and version. Changes nothing.

Call it when the user names a kind of work and you do not know the id of a workflow for it. A workflow that does
not compile is not startable and is listed apart, with what is wrong.

Right: {"workspacePath": "/home/me/project"}
Wrong: {"workspacePath": "."}  (the path must be absolute)""",
    "inspect_workflow": """\
Shows one workflow before it is started: what it is for and, in preview, its first step. Changes nothing.

Call it to choose between workflows. Do not work from what it shows: steps depend on conditions and on what you
submit, so only start_workflow gives you a step to do.

Right: {"workflowId": "team.code-review", "workspacePath": "/home/me/project"}
Wrong: {"workflowId": "Code review", "workspacePath": "/home/me/project"}  (a name; list_workflows has the id)""",
    "start_workflow": """\
Begins a new run and answers with its first step and the tokens for the next calls. The workflow is pinned:
later changes to its file do not change this run.

Read `nextIntent` of the answer:
- perform_pending_then_continue: do the step in `pending`, then submit it with continue_workflow.
- await_user_confirmation: show the user what the step is about and wait for their answer before you submit it.
- rehydrate_only: you have only looked; nothing was submitted. Do the step, then submit it.
- complete: the run is over. Tell the user the result; there is nothing to submit.

To continue earlier work use resume_session: starting again begins a second run that knows nothing of the first.

Right: {"workflowId": "team.code-review", "workspacePath": "/home/me/project", "goal": "Review the login change"}
Wrong: {"workflowId": "team.code-review", "goal": "Review"}  (workspacePath is missing)""",
    "continue_workflow": """\
Submits the step you were given, or shows it to you again.

Advance (with `output`, or with intent "advance"): checks what you submit. The answer is one of these:
ANSWERS
- kind "blocked": the step does not count. `blockers` say what is missing. If `retryable`, correct it and call
  again with `retryContinueToken`; if not, tell the user what is needed and wait.
- kind "gate_checkpoint": someone else has to decide here. Stop and say so.
Sending the same call twice is safe: the second one gets the first answer. To take a step back and try another
way, rehydrate with an older token and advance with the token of that answer: this makes a branch, and nothing
is lost.

Rehydrate (intent "rehydrate"): shows the step again with what happened so far. It changes nothing. Use it when
you have lost your memory of the run.

What `nextIntent` means:
- perform_pending_then_continue: do the step in `pending`, then submit it.
- await_user_confirmation: ask the user first, then submit it.
- rehydrate_only: you have only looked. Do the step, then submit it with the token of this answer.
- complete: the run is over; make no other call.

Right: {"continueToken": "ct_...", "output": {"notesMarkdown": "Read the diff. Two findings, both in login.py."}}
Right: {"continueToken": "ct_...", "intent": "rehydrate", "workspacePath": "/home/me/project"}
Wrong: {"continueToken": "ct_...", "intent": "rehydrate", "output": {"notesMarkdown": "Done."}}  (looking takes none)
Wrong: {"continueToken": "ct_..."} after doing the step  (without output this only looks at the step again)""",
    "checkpoint_workflow": """\
Marks the step you are at, so that you or someone else can come back to it. It submits nothing and does not
move the run.

Call it before something risky, or before your memory may end. Keep `resumeToken` of the answer:
continue_workflow with it and intent "rehydrate" shows this place again. Setting the same checkpoint twice gives
the same answer.

Right: {"checkpointToken": "ck_..."}
Wrong: {"checkpointToken": "ct_..."}  (that is a continue token; take `checkpointToken` of the last answer)""",
    "resume_session": """\
Finds earlier sessions and answers with candidates, the best first, each with why it fits and the call that
shows it. It changes nothing and enters nothing: make the call of the candidate you choose, with your
workspacePath added.

Call it when the user wants to continue earlier work and you have no token. Say what you know: an id is
surest, then words from the goal or the notes, then the branch. If no candidate fits, ask the user before you
start anew.

Right: {"workspacePath": "/home/me/project", "query": "login review"}
Wrong: {"workspacePath": "/home/me/project", "sessionId": "login"}  (an id begins with sess_; use query)""",
}

_WORKSPACE = "The absolute path of the folder you work in, such as /home/me/project; a relative path is refused."
_WORKFLOW = "The id of a workflow as list_workflows shows it, such as `team.code-review`; not its name."

# By tool and member; members of members are joined by a dot.
MEMBERS: dict[ToolName, dict[str, str]] = {
    "list_workflows": {
        "workspacePath": _WORKSPACE,
        "includeSources": "With true, the answer also says where the workflows come from. Left out: false.",
        "tags": 'Only workflows with one of these tags, such as ["review"]. Left out: all.',
    },
    "inspect_workflow": {
        "workflowId": _WORKFLOW,
        "mode": "`preview` also shows the first step; `metadata` only says what it is for. Left out: preview.",
        "workspacePath": _WORKSPACE,
    },
    "start_workflow": {
        "workflowId": _WORKFLOW,
        "workspacePath": _WORKSPACE,
        "goal": "What the user wants from this run, in one sentence. resume_session finds the run by it.",
        "modelTier": "How capable the model that runs the workflow is. Leave it out if you do not know.",
        "initialContext": (
            "Facts that the run begins with, by name, as a JSON object: the variables that conditions and prompts "
            'of the workflow read, such as {"language": "python"}. Not the conversation. Only this server takes it: '
            "the public engine passes it over."
        ),
        "preferences": (
            "How much the run may do without the user. Leave it out unless the user has said so. Only this server "
            "takes it: the public engine passes it over."
        ),
        "preferences.autonomy": (
            "`guided`: asks the user wherever the workflow says so. `full_auto_stop_on_user_deps`: stops only where "
            "only the user can help. `full_auto_never_stop`: continues and records what was missing as a gap."
        ),
        "preferences.riskPolicy": "How bold the run is where the workflow leaves it open. It never overrides a block.",
    },
    "continue_workflow": {
        "continueToken": (
            "The token from `nextCall` of the last answer, unchanged (ct_...). After a block: `retryContinueToken`. "
            "To only look, a resume token (st_...) works too."
        ),
        "intent": (
            "`advance` submits the step; `rehydrate` only shows it again. Left out: advance if there is output, else "
            "rehydrate. A step that asks for no output needs an explicit `advance`."
        ),
        "context": (
            "What changed in the facts of the run, by name: only new and changed ones; null removes one. It counts "
            'only if the step does. Example: {"testsPass": true}'
        ),
        "output": "What you submit for this step. Not allowed when you only look.",
        "output.notesMarkdown": (
            "What you did and found in this step, for a reader who knows nothing of it. Only this step; earlier ones "
            'have theirs. Wrong: "Done." Right: "Read the diff of login.py; the session id is logged in line 40."'
        ),
        "output.artifacts": (
            "Structured results, if the step asks for some: JSON objects, each with the `kind` that the step names."
        ),
        "workspacePath": f"{_WORKSPACE} Required with intent rehydrate.",
        "contextVariables": "Another name for `context`. Give one of them, not both.",
        "notes": "A short form of `output.notesMarkdown`. Give one of them, not both.",
        "artifacts": "A short form of `output.artifacts`. Give one of them, not both.",
    },
    "checkpoint_workflow": {
        "checkpointToken": "`checkpointToken` of the last answer, unchanged (ck_...); not the continue token.",
    },
    "resume_session": {
        "workspacePath": _WORKSPACE,
        "query": "Words from the goal, the notes or the name of the workflow, such as `login review`.",
        "runId": "The id of a run, if you have one (run_...). It decides alone.",
        "sessionId": "The id of a session, if you have one (sess_...). It decides alone.",
        "gitBranch": "The branch the work was done on. Left out: the one that the workspace is on.",
        "gitHeadSha": "The commit that the work was at: all 40 digits.",
        "sameWorkspaceOnly": "With true, only sessions of this workspace are candidates. Left out: false.",
    },
}


_SHAPES: tuple[Shape, ...] = (
    requests.LIST,
    requests.INSPECT,
    requests.START,
    requests.CONTINUE,
    requests.CHECKPOINT,
    requests.RESUME,
)
_READ_ONLY = frozenset({"list_workflows", "inspect_workflow", "resume_session"})
_FREE_OBJECTS = frozenset({"initialContext", "context", "contextVariables"})
_REMARK = "Remark: {} takes no `{}`. It was passed over, as the public engine does."
Generate = Callable[[str], dict[str, Any]]
_PATH = {
    "type": "string",
    "description": "A file of the project, relative to its folder, such as workflows/review.json.",
}
_TEXT = {"type": "string", "description": "The workflow itself, as JSON text. Give this or `path`, not both."}
_RULE = {"type": "string", "description": "The code or the name of a rule as `check` shows it, such as CD023."}
_TARGET = {
    "enum": ["engine", "ir"],
    "description": "What it is written for: the public engine (left out: this), or only our own compiler.",
}
_MEMBERS: dict[str, dict[str, Any]] = {
    "check": {"path": _PATH, "text": _TEXT, "target": _TARGET},
    "compile": {"path": _PATH, "text": _TEXT},
    "explain": {"rule": _RULE},
    "generate": {"path": _PATH},
}
_REQUIRED = {"explain": ["rule"], "generate": ["path"]}
_WORDS = {
    "check": """\
Finds what is wrong with a workflow: each finding with its code, severity, message and place. No findings: it is fine.

Right: {"text": "{\\"id\\": \\"review\\", ...}"}
Wrong: {"path": "/etc/hosts"}  (only files of the project)""",
    "compile": """\
Compiles a workflow and answers with its id, its hash and the steps that a run would go through, or with what keeps it
from compiling. The file is not changed and nothing is pinned.

Right: {"path": "workflows/review.json"}
Wrong: {"path": "workflows"}  (one file, not a folder)""",
    "explain": """\
Explains a rule: what it finds, why that matters, and what to write instead.

Right: {"rule": "CD023"}
Wrong: {"rule": "the variable is never set"}  (that is a message; the code is printed before it)""",
    "generate": """\
Works out the few scenarios that show everything a workflow can do, and proves why the rest can't happen. The scenarios
are in the answer and are not written; save those you want to keep.

Right: {"path": "workflows/review.json"}
Wrong: {"text": "{...}"}  (scenarios name a file, so save the workflow first)""",
}


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a client lists it."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    read_only: bool
    is_repeatable: bool = True  # the same call again changes nothing more


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer of a tool: text for the agent to read, and the same as data."""

    text: tuple[str, ...]
    data: Mapping[str, Any]
    is_error: bool = False


class Toolset(Protocol):
    """A closed set of tools."""

    @property
    def instructions(self) -> str:
        """Return the instructions that an agent reads before its first call."""
        ...

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """Every tool, in the order in which it is listed."""
        ...

    def call(self, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Call one of the tools. Whatever goes wrong is an answer; nothing is raised."""
        ...

    def leave(self) -> None:
        """The client is gone."""
        ...


class Recorder(Protocol):
    """Somebody who keeps what agents do."""

    def touched(self, session_id: SessionId, *, is_complete: bool) -> None:
        """A call was made in a session; it may have come to its end."""
        ...

    def leave(self) -> None:
        """The client is gone."""
        ...


class EngineTools:
    """The six tools of an engine."""

    instructions = INSTRUCTIONS

    def __init__(self, engine: Engine, recorder: Recorder | None = None) -> None:
        self._engine = engine
        self._recorder = recorder
        self._calls = {
            "list_workflows": engine.list_workflows,
            "inspect_workflow": engine.inspect_workflow,
            "start_workflow": engine.start_workflow,
            "continue_workflow": engine.continue_workflow,
            "checkpoint_workflow": engine.checkpoint_workflow,
            "resume_session": engine.resume_session,
        }

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return [
            ToolSpec(
                shape.tool,
                TITLES[shape.tool],
                TOOLS[shape.tool].replace("ANSWERS", ANSWERS[self._engine.profile.answers]),
                self._input_schema(shape),
                shape.tool in _READ_ONLY,
                is_repeatable=shape.tool != "start_workflow",
            )
            for shape in _SHAPES
        ]

    def _input_schema(self, shape: Shape) -> dict[str, Any]:
        schema = _input_schema(shape.schema, shape.tool, "")
        if self._engine.passed_over(shape.tool, {"": None}):
            del schema["additionalProperties"]
        return schema

    def call(self, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        answer = self._calls[name](arguments)
        remarks = [_REMARK.format(name, each) for each in self._engine.passed_over(name, arguments)]  # type: ignore[arg-type]
        if isinstance(answer, Err):
            return ToolAnswer((error_text(answer.error),), answer.error.to_json(), is_error=True)
        data = answer.value.to_json()
        if self._recorder is not None:
            self._tell(self._recorder, arguments, data)
        return ToolAnswer((*answer.value.text, *remarks), data)

    def leave(self) -> None:
        if self._recorder is not None:
            self._recorder.leave()

    def _tell(self, recorder: Recorder, arguments: dict[str, Any], data: dict[str, Any]) -> None:
        """Say which session a call was about: its answer has a token of it, or the request had."""
        for token in (data.get("continueToken"), data.get("resumeToken"), arguments.get("continueToken")):
            if isinstance(token, str):
                place = self._engine.place_of(token)
                if not isinstance(place, Err):
                    recorder.touched(place.value.session_id, is_complete=answer_kind(data) == "complete")
                return


def _input_schema(shape: dict[str, Any], tool: ToolName, path: str) -> dict[str, Any]:
    """Return a shape in standard JSON Schema, with a description of each member."""
    schema = {name: value for name, value in shape.items() if not name.startswith("x-")}
    name = path.rpartition(".")[2]
    if name in _FREE_OBJECTS:
        schema["type"] = "object"
    if path:
        schema["description"] = MEMBERS[tool][path]
    if "properties" in shape:
        prefix = f"{path}." if path else ""
        schema["properties"] = {
            member: _input_schema(inner, tool, f"{prefix}{member}") for member, inner in shape["properties"].items()
        }
        if shape["x-objectMode"] == "strict":
            schema["additionalProperties"] = False
        if not schema.get("required"):
            schema.pop("required", None)
    if isinstance(shape.get("items"), dict):
        schema["items"] = {key: value for key, value in shape["items"].items() if not key.startswith("x-")}
    if "enum" in shape:
        schema["type"] = "string"
    return schema


class AuthoringTools:
    """Check, compile, explain and generate, for the project in a folder."""

    instructions = "Write a workflow, `check` it, `explain` what you do not understand, then `generate` its scenarios."

    def __init__(self, root: Path, generate: Generate) -> None:
        self._root = root.resolve()
        self._generate = generate

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return [
            ToolSpec(name, name.capitalize(), words, _authoring_schema(name), read_only=True)
            for name, words in _WORDS.items()
        ]

    def call(self, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        problem = _problem(name, arguments)
        if problem is not None:
            return _refused(problem)
        try:
            result = self._made(name, arguments)
        except Exception as failure:  # a bug of ours is an answer too
            result = Err(f"The tool failed unexpectedly ({type(failure).__name__}).")
        return _refused(result.error) if isinstance(result, Err) else result.value

    def leave(self) -> None:
        """Nothing was kept."""

    def _made(self, name: str, given: dict[str, str]) -> Ok[ToolAnswer] | Err[str]:
        if name == "explain":
            return _explained(given["rule"])
        path = self._inside(given["path"]) if "path" in given else Ok(self._root / "workflow.json")
        if isinstance(path, Err):
            return path
        if name == "generate":
            report = self._generate(os.fspath(path.value))
            return Err(str(report["error"])) if "error" in report else Ok(_data({**report, "workflow": given["path"]}))
        read = read_file(os.fspath(path.value)) if "path" in given else Ok(_bytes(given["text"]))
        if isinstance(read, Err):
            return Err(f"{given['path']} can't be read.")
        sources = project_sources(os.fspath(path.value.parent))
        if isinstance(sources, Err):
            return sources
        filename = given.get("path", "workflow.json")
        if name == "check":
            checked = check_text(read.value, filename, target=given.get("target", "engine"), **sources.value._asdict())
            return Ok(_data({"findings": [_finding(each) for each in checked.findings]}))
        compiled = compile_workflow(read.value, **sources.value._asdict())
        if isinstance(compiled, Err):
            return Ok(_data({"compiles": False, "findings": [_finding(each) for each in compiled.error]}, failed=True))
        result = compiled.value
        hashes = {"workflowId": result.workflow_id, "hash": result.hash, "engineHash": result.engine_hash}
        return Ok(_data({"compiles": True, **hashes, "ir": result.ir}))

    def _inside(self, name: str) -> Ok[Path] | Err[str]:
        """Return a file of the project; links that lead out of it lead nowhere."""
        try:
            path = (self._root / name).resolve()
        except (OSError, ValueError, RuntimeError):
            return Err("`path` is not a valid path.")
        if not path.is_relative_to(self._root):
            return Err("`path` leads out of the project; only its own files are read.")
        return Ok(path) if os.path.isfile(path) else Err(f"There is no file {quoted(name, 200)} in the project.")


def _authoring_schema(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": _MEMBERS[name], "additionalProperties": False}
    return {**schema, "required": _REQUIRED[name]} if name in _REQUIRED else schema


def _problem(name: str, given: dict[str, Any]) -> str | None:
    known = _MEMBERS[name]
    for member, value in given.items():
        if member not in known:
            return f"{name} takes no `{member}`{hint(member, known)}; it takes {', '.join(known)}."
        if not isinstance(value, str) or value not in known[member].get("enum", [value]):
            return f"`{member}` must be {' or '.join(known[member].get('enum', ['a string']))}."
    for member in _REQUIRED.get(name, ()):
        if member not in given:
            return f"{name} needs `{member}`."
    if name in ("check", "compile") and ("path" in given) == ("text" in given):
        return f"{name} needs either `path` or `text`."
    return None


def _explained(asked: str) -> Ok[ToolAnswer] | Err[str]:
    known = {each.code: each for each in rules()}
    rule = next((each for each in known.values() if asked.upper() == each.code or asked.lower() == each.name), None)
    if rule is None:
        return Err(f"There is no rule {asked}{hint(asked.upper(), known)}.")
    facts = {"code": rule.code, "name": rule.name, "severity": rule.severity.value, "summary": rule.summary}
    return Ok(ToolAnswer((page(rule),), facts))


def _finding(finding: Finding) -> dict[str, Any]:
    start = None if finding.span is None else finding.span.start
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "pointer": finding.pointer,
        "line": None if start is None else start.line,
        "column": None if start is None else start.column,
    }


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _data(value: dict[str, Any], *, failed: bool = False) -> ToolAnswer:
    return ToolAnswer((json.dumps(value, ensure_ascii=False, indent=2),), value, is_error=failed)


def _refused(message: str) -> ToolAnswer:
    return ToolAnswer((message,), {"error": message}, is_error=True)

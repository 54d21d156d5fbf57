"""The tools of the engine as a set. Their schemas are the shapes that the engine reads, with words for each member."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pytest_workrail.agents.transcript import answer_kind
from pytest_workrail.engine.events.ids import SessionId
from pytest_workrail.engine.protocol import shapes
from pytest_workrail.engine.protocol.engine import Engine
from pytest_workrail.engine.protocol.shapes import Shape, ToolName
from pytest_workrail.engine.protocol.text import error_text
from pytest_workrail.mcp.engine_words import ANSWERS, INSTRUCTIONS, MEMBERS, TITLES, TOOLS
from pytest_workrail.mcp.tools import ToolAnswer, ToolSpec
from workrail_lint.base.result import Err

_SHAPES: tuple[Shape, ...] = (
    shapes.LIST,
    shapes.INSPECT,
    shapes.START,
    shapes.CONTINUE,
    shapes.CHECKPOINT,
    shapes.RESUME,
)
_READ_ONLY = frozenset({"list_workflows", "inspect_workflow", "resume_session"})
_FREE_OBJECTS = frozenset({"initialContext", "context", "contextVariables"})


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
                _schema(shape.schema, shape.tool, ""),
                shape.tool in _READ_ONLY,
                is_repeatable=shape.tool != "start_workflow",
            )
            for shape in _SHAPES
        ]

    def call(self, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        answer = self._calls[name](arguments)
        if isinstance(answer, Err):
            return ToolAnswer((error_text(answer.error),), answer.error.to_json(), is_error=True)
        data = answer.value.to_json()
        if self._recorder is not None:
            self._tell(self._recorder, arguments, data)
        return ToolAnswer(answer.value.text, data)

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


def _schema(shape: dict[str, Any], tool: ToolName, path: str) -> dict[str, Any]:
    """A shape in standard JSON Schema, with a description of each member."""
    shown = {name: value for name, value in shape.items() if not name.startswith("x-")}
    name = path.rpartition(".")[2]
    if name in _FREE_OBJECTS:
        shown["type"] = "object"
    if path:
        shown["description"] = MEMBERS[tool][path]
    if "properties" in shape:
        prefix = f"{path}." if path else ""
        shown["properties"] = {
            member: _schema(inner, tool, f"{prefix}{member}") for member, inner in shape["properties"].items()
        }
        if shape["x-objectMode"] == "strict":
            shown["additionalProperties"] = False
        if not shown.get("required"):
            shown.pop("required", None)
    if isinstance(shape.get("items"), dict):
        shown["items"] = {key: value for key, value in shape["items"].items() if not key.startswith("x-")}
    if "enum" in shape:
        shown["type"] = "string"
    return shown

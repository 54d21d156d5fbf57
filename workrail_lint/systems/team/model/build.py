"""Schema violations of team documents, and the models of their valid parts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

from workrail_lint.base.closed_sets import words
from workrail_lint.documents.nodes import Build, Node
from workrail_lint.documents.schema.engine import Validator, Violation, compile_schema
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.model.documents import SessionStatus, TaskBacklog
from workrail_lint.systems.team.vocabulary import DecisionStatus

N = TypeVar("N", bound=Node)
# The types of a decision's members, which are the same for every status. What a status demands is up to rules.
_DECISION = {
    "type": "object",
    "properties": {
        **{name: {"type": "string"} for name in ("decision_id", "question", "asked_at", "state_context")},
        **{name: {"type": ["string", "null"]} for name in ("answer", "resolved_at", "resolution_reason")},
        "status": {"type": "string", "enum": list(words(DecisionStatus))},
    },
}


@cache
def validator(kind: TeamKind) -> Validator:
    """Return the compiled schema of a kind, in which a decision may have any status."""
    schema = load_schema(kind.value)
    if kind is TeamKind.STATUS:
        definitions = schema["definitions"]
        definitions["Decision"] = _DECISION
        definitions["SessionStatus"]["properties"]["user_decisions"]["items"] = {"$ref": "#/definitions/Decision"}
    return compile_schema(schema, on_demand=True)


def document_model(cls: type[N], value: dict[str, Any], violations: Sequence[Violation], pointer: str = "") -> N:
    """Return the model of a document, given everywhere that it breaks its schema."""
    model: N = Build(violations).root(cls, value, pointer)
    return model


def status_model(status: dict[str, Any]) -> SessionStatus:
    """Return the model of a status.json."""
    return document_model(SessionStatus, status, validator(TeamKind.STATUS).violations(status))


def backlog_model(plan: dict[str, Any]) -> TaskBacklog:
    """Return the model of a tasks.yaml."""
    return document_model(TaskBacklog, plan, validator(TeamKind.TASKS).violations(plan))

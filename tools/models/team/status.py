"""status.json."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from tools.models.team.scalars import Open, Said, SessionName, Shut, TaskRef, Texts, Timestamp
from workrail_lint.base.closed_sets import is_member, words
from workrail_lint.documents.models import AnyText, Array, ByMember, Maybe, Number, OneOf, Text
from workrail_lint.systems.team import vocabulary
from workrail_lint.systems.team.state_machine import is_approval, is_change_request

DecisionId = Annotated[str, Text(pattern=vocabulary.DECISION_ID)]


class Corrector(str, Enum):
    """Who may correct a design."""

    SPEC_AGENT = "SpecAgent"
    ARCHITECT = "Architect"
    DESIGNER = "Designer"


class _Decision(Open):
    decision_id: DecisionId
    question: Said
    asked_at: Timestamp
    state_context: OneOf[vocabulary.WorkflowState]


class PendingDecision(_Decision):
    """A question the user was asked and has not answered."""

    status: Literal["pending"]
    answer: None
    resolved_at: None
    resolution_reason: None


_GATE_ANSWERS: list[Any] = [
    {
        "if": {"required": ["decision_id"], "properties": {"decision_id": {"const": ident}}},
        "then": {"properties": {"answer": answer}},
    }
    for ident, answer in (
        (vocabulary.APPROVE_DESIGN_ID, {"pattern": "^(?:approved|changes-requested:)"}),
        (vocabulary.REVIEW_STRATEGY_ID, {"enum": list(words(vocabulary.Strategy))}),
    )
]


class AnsweredDecision(_Decision):
    """A question with the user's answer. The answers to the two gates have a form of their own."""

    model_config = ConfigDict(json_schema_extra={"allOf": _GATE_ANSWERS})

    status: Literal["answered"]
    answer: Said
    resolved_at: Timestamp
    resolution_reason: AnyText | None

    @model_validator(mode="after")
    def _gates(self) -> AnsweredDecision:
        if self.decision_id == vocabulary.APPROVE_DESIGN_ID and not (
            is_approval(self.answer) or is_change_request(self.answer)
        ):
            raise ValueError("the answer about the design starts with approved or changes-requested:")
        if self.decision_id == vocabulary.REVIEW_STRATEGY_ID and not is_member(self.answer, vocabulary.Strategy):
            raise ValueError("the answer is per-batch or single-final")
        return self


class _ClosedDecision(_Decision):
    answer: AnyText | None
    resolved_at: Timestamp
    resolution_reason: Said


class CancelledDecision(_ClosedDecision):
    """A question the user refused, or did not answer."""

    status: Literal["cancelled"]


class SkippedDecision(_ClosedDecision):
    """A question that no longer mattered."""

    status: Literal["skipped"]


Decision = Annotated[
    Annotated[PendingDecision, Tag("pending")]
    | Annotated[AnsweredDecision, Tag("answered")]
    | Annotated[CancelledDecision, Tag("cancelled")]
    | Annotated[SkippedDecision, Tag("skipped")],
    Discriminator(ByMember("status")),
]


class CorrectionDispatch(Open):
    """Who was last asked to correct the design, and when: all three members, or none."""

    agent: OneOf[Corrector] | None
    task_id: Literal["meta"] | None
    at_: Timestamp | None = Field(alias="at")


class DesignGate(Open):
    """The tracked state of the design approval."""

    correction_status: OneOf[vocabulary.CorrectionStatus] | None = None
    last_correction_dispatch: CorrectionDispatch | None = None


class GateTracking(Shut):
    """The gates that keep track of corrections: one."""

    approve_design: Maybe[DesignGate] = Field(default=None, alias="APPROVE_DESIGN")


class RuntimeFlags(Open):
    """Facts about the repository."""

    copilot_instructions_exists: bool
    copilot_checked_at: Timestamp


_Count = Annotated[int, Number(0, 3, whole=True)]


class RetryCounts(Shut):
    """How often a task was repaired, by loop."""

    fix_review: Maybe[_Count] = Field(default=None, alias="FIX_REVIEW")
    fix_tests: Maybe[_Count] = Field(default=None, alias="FIX_TESTS")
    fix_security: Maybe[_Count] = Field(default=None, alias="FIX_SECURITY")
    fix_build: Maybe[_Count] = Field(default=None, alias="FIX_BUILD")


_NO_TASK_STATE: dict[str, Any] = {"not": {"anyOf": [{"required": [name]} for name in vocabulary.TASK_STATE_KEYS]}}


class SessionStatus(Open):
    """status.json: where a session stands and what its user decided. The state of tasks is in tasks.yaml alone."""

    model_config = ConfigDict(json_schema_extra=_NO_TASK_STATE)

    current_state: OneOf[vocabulary.WorkflowState]
    session: SessionName
    assumptions: Texts
    known_issues: Texts
    user_decisions: Annotated[tuple[Decision, ...], Array()]
    gate_tracking: Maybe[GateTracking] = None
    runtime_flags: Maybe[RuntimeFlags] = None
    retry_counts: Maybe[dict[TaskRef, RetryCounts]] = None
    last_ci_result: Maybe[OneOf[vocabulary.CiStatus]] = None
    last_update: Timestamp
    blocker: Maybe[AnyText] = None

    @model_validator(mode="after")
    def _no_task_state(self) -> SessionStatus:
        if set(vocabulary.TASK_STATE_KEYS) & (self.model_extra or {}).keys():
            raise ValueError("the state of tasks belongs in tasks.yaml")
        return self

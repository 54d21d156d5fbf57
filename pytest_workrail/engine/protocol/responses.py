"""Responses: one class per kind of answer, with its members in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from pytest_workrail.engine.core.modes import Preferences
from pytest_workrail.engine.core.prompts import PendingStep
from pytest_workrail.engine.core.vocabulary import GateKind
from pytest_workrail.engine.events.blockers import Blocker
from pytest_workrail.engine.events.ids import NodeId
from pytest_workrail.engine.events.judgements import AssessmentRecordedData
from workrail_lint.base.js import Json

NextIntent: TypeAlias = Literal[
    "perform_pending_then_continue", "await_user_confirmation", "rehydrate_only", "complete"
]


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the next calls about a node need."""

    continue_token: str
    checkpoint_token: str


@dataclass(frozen=True, slots=True)
class BindingDrift:
    """A slot whose override is no longer what the run pinned; `current_value` is None when it is gone."""

    slot_id: str
    pinned_value: str
    current_value: str | None

    @property
    def shown_value(self) -> str:
        """The value that a run started now would get, or the word for having none."""
        return "default" if self.current_value is None else self.current_value

    def to_json(self) -> dict[str, Json]:
        return {
            "code": "BINDING_DRIFT",
            "slotId": self.slot_id,
            "pinnedValue": self.pinned_value,
            "currentValue": self.shown_value,
        }


@dataclass(frozen=True, slots=True)
class Reference:
    """A document the workflow refers to; `resolved_path` is None when it leads nowhere."""

    reference_id: str
    title: str
    source: str
    purpose: str
    authoritative: bool
    resolve_from: Literal["workspace", "package"]
    resolved_path: str | None

    @property
    def path(self) -> str:
        """Where to look: the file, or what the author wrote."""
        return self.source if self.resolved_path is None else self.resolved_path

    def to_json(self) -> dict[str, Json]:
        shown: dict[str, Json] = {
            "id": self.reference_id,
            "title": self.title,
            "source": self.source,
            "purpose": self.purpose,
            "authoritative": self.authoritative,
            "resolveFrom": self.resolve_from,
            "status": "unresolved" if self.resolved_path is None else "resolved",
        }
        return shown if self.resolved_path is None else {**shown, "resolvedPath": self.resolved_path}


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands after a call. `tokens` are there exactly when a step is pending."""

    tokens: Tokens | None
    is_complete: bool
    pending: PendingStep | None
    preferences: Preferences
    next_intent: NextIntent

    def to_json(self, retry_token: str | None = None) -> dict[str, Json]:
        shown: dict[str, Json] = {}
        if self.tokens is not None:
            shown["continueToken"] = self.tokens.continue_token
            shown["checkpointToken"] = self.tokens.checkpoint_token
        token = self.next_token(retry_token)
        return {
            **shown,
            "isComplete": self.is_complete,
            "pending": None if self.pending is None else pending_json(self.pending),
            "preferences": {"autonomy": self.preferences.autonomy, "riskPolicy": self.preferences.risk_policy},
            "nextIntent": self.next_intent,
            "nextCall": None if token is None else next_call(token),
        }

    def next_token(self, retry_token: str | None = None) -> str | None:
        """The token of the next call; a retry token goes first."""
        return retry_token or (None if self.tokens is None else self.tokens.continue_token)


def pending_json(step: PendingStep) -> dict[str, Json]:
    """The pending step as an agent gets it."""
    shown: dict[str, Json] = {"stepId": step.step_id, "title": step.title, "prompt": step.prompt}
    if step.agent_role is not None:
        shown["agentRole"] = step.agent_role
    if step.model_tier is not None:
        shown["modelTier"] = step.model_tier
    return shown


def next_call(token: str, **params: Json) -> dict[str, Json]:
    """The call to make next."""
    return {"tool": "continue_workflow", "params": {"continueToken": token, **params}}


@dataclass(frozen=True, slots=True)
class Started:
    """A run began. The only execution response without a kind."""

    progress: Progress
    warnings: tuple[BindingDrift, ...] = ()
    references: tuple[Reference, ...] = ()

    def to_json(self) -> dict[str, Json]:
        return self.progress.to_json() | _extras(self.warnings, (), self.references)


@dataclass(frozen=True, slots=True)
class Continued:
    """The run went on, or a node was looked at again."""

    kind: ClassVar[str] = "ok"
    progress: Progress
    warnings: tuple[BindingDrift, ...] = ()
    assessments: tuple[AssessmentRecordedData, ...] = ()
    references: tuple[Reference, ...] = ()

    def to_json(self) -> dict[str, Json]:
        shown = {"kind": self.kind, **self.progress.to_json()}
        return shown | _extras(self.warnings, self.assessments, self.references)


def _extras(
    warnings: Sequence[BindingDrift], assessments: Sequence[AssessmentRecordedData], references: Sequence[Reference]
) -> dict[str, Json]:
    shown: dict[str, Json] = {}
    if warnings:
        shown["warnings"] = [warning.to_json() for warning in warnings]
    if assessments:
        shown["stepContext"] = {"assessments": [_assessment(assessment) for assessment in assessments]}
    if references:
        shown["references"] = [reference.to_json() for reference in references]
    return shown


def _assessment(assessment: AssessmentRecordedData) -> dict[str, Json]:
    dimensions: list[Json] = []
    for dimension in assessment.dimensions:
        shown: dict[str, Json] = {"dimensionId": dimension.dimension_id, "level": dimension.level}
        if dimension.rationale is not None:
            shown["rationale"] = dimension.rationale
        dimensions.append(shown)
    return {
        "assessmentId": assessment.assessment_id,
        "dimensions": dimensions,
        "normalizationNotes": list(assessment.normalization_notes),
    }


@dataclass(frozen=True, slots=True)
class ShownValidation:
    """What a check of the submission found, as it is stored."""

    issues: tuple[str, ...]
    suggestions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Followup:
    """What an assessment asks for before the step counts."""

    title: str
    guidance: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """The step was handed in and not accepted. With a retry token, handing it in again may help."""

    kind: ClassVar[str] = "blocked"
    progress: Progress
    blockers: tuple[Blocker, ...]
    retry_token: str | None
    validation: ShownValidation | None = None
    followup: Followup | None = None

    @property
    def retryable(self) -> bool:
        return self.retry_token is not None

    def to_json(self) -> dict[str, Json]:
        shown: dict[str, Json] = {
            "kind": self.kind,
            **self.progress.to_json(self.retry_token),
            "blockers": {"blockers": [blocker.to_wire() for blocker in self.blockers]},
            "retryable": self.retryable,
        }
        if self.retry_token is not None:
            shown["retryContinueToken"] = self.retry_token
        if self.validation is not None:
            shown["validation"] = {
                "issues": list(self.validation.issues),
                "suggestions": list(self.validation.suggestions),
            }
        if self.followup is not None:
            shown["assessmentFollowup"] = {"title": self.followup.title, "guidance": self.followup.guidance}
        return shown


@dataclass(frozen=True, slots=True)
class GateReached:
    """An autonomous run stands at a gate; somebody else has to open it."""

    kind: ClassVar[str] = "gate_checkpoint"
    gate_token: str
    step_id: str
    gate_kind: GateKind

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.kind, "gateToken": self.gate_token, "stepId": self.step_id, "gateKind": self.gate_kind}


@dataclass(frozen=True, slots=True)
class CheckpointSet:
    """A node to come back to was made."""

    checkpoint_node_id: NodeId
    resume_token: str
    continue_token: str

    def to_json(self) -> dict[str, Json]:
        return {
            "checkpointNodeId": self.checkpoint_node_id,
            "resumeToken": self.resume_token,
            "nextCall": next_call(self.continue_token),
        }


@dataclass(frozen=True, slots=True)
class Listing:
    """An answer that is data and nothing else: a list, a look at a workflow, candidates to resume."""

    data: Mapping[str, Json]

    def to_json(self) -> dict[str, Json]:
        return dict(self.data)


ExecutionResponse: TypeAlias = Started | Continued | Blocked | GateReached
Response: TypeAlias = ExecutionResponse | CheckpointSet | Listing


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool answers: the text an agent reads, item by item, and the same as data."""

    text: tuple[str, ...]
    response: Response

    def to_json(self) -> dict[str, Json]:
        return self.response.to_json()

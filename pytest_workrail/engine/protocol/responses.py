"""Responses: one class per kind of answer, with its members in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.core.modes import BeyondRecommendation
from pytest_workrail.engine.core.prompts import PendingStep
from pytest_workrail.engine.model.blockers import Blocker
from pytest_workrail.engine.model.events import AssessmentRecordedData, ValidationResult
from pytest_workrail.engine.model.ids import NodeId
from pytest_workrail.engine.model.trace import NOTHING_SKIPPED, SkippedList
from pytest_workrail.engine.model.words import CapabilityStatus, GateKind, Preferences
from workrail_lint.base.js import Json

NextIntent: TypeAlias = Literal[
    "perform_pending_then_continue", "await_user_confirmation", "rehydrate_only", "complete"
]

ListingKind: TypeAlias = Literal["workflows", "workflow", "candidates"]


class Tokens(Struct, frozen=True):
    """The tokens for the next calls about a node."""

    continue_token: str
    checkpoint_token: str


class BindingDrift(Struct, frozen=True):
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


class Reference(Struct, frozen=True):
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
        members: dict[str, Json] = {
            "id": self.reference_id,
            "title": self.title,
            "source": self.source,
            "purpose": self.purpose,
            "authoritative": self.authoritative,
            "resolveFrom": self.resolve_from,
            "status": "unresolved" if self.resolved_path is None else "resolved",
        }
        return members if self.resolved_path is None else {**members, "resolvedPath": self.resolved_path}


class Disclosure(Struct, frozen=True):
    """Facts about the workflow and the selection, for profiles whose answers disclose them.

    An answer that has it takes the form of the union; one without takes the public engine's.
    """

    workflow_id: str
    features: tuple[str, ...] = ()
    skipped: SkippedList = NOTHING_SKIPPED
    beyond: tuple[BeyondRecommendation, ...] = ()
    # The preferred capabilities that are not known to be there.
    absent: tuple[tuple[str, CapabilityStatus], ...] = ()


class Progress(Struct, frozen=True):
    """Where a run stands after a call. `tokens` are there exactly when a step is pending."""

    tokens: Tokens | None
    is_complete: bool
    pending: PendingStep | None
    preferences: Preferences
    next_intent: NextIntent
    disclosure: Disclosure | None = None

    def to_json(self, retry_token: str | None = None) -> dict[str, Json]:
        tokens: dict[str, Json] = {}
        if self.tokens is not None:
            tokens["continueToken"] = self.tokens.continue_token
            tokens["checkpointToken"] = self.tokens.checkpoint_token
        token = self.next_token(retry_token)
        return {
            **tokens,
            "isComplete": self.is_complete,
            "pending": None if self.pending is None else pending_json(self.pending),
            "preferences": self.preferences.to_wire(),
            "nextIntent": self.next_intent,
            "nextCall": None if token is None else next_call(token),
        }

    def next_token(self, retry_token: str | None = None) -> str | None:
        """The token of the next call; a retry token goes first."""
        return retry_token or (None if self.tokens is None else self.tokens.continue_token)


def pending_json(step: PendingStep) -> dict[str, Json]:
    """The pending step as an agent gets it."""
    members: dict[str, Json] = {"stepId": step.step_id, "title": step.title, "prompt": step.prompt}
    if step.agent_role is not None:
        members["agentRole"] = step.agent_role
    if step.model_tier is not None:
        members["modelTier"] = step.model_tier
    full_auto = step.full_auto.to_json()
    return {**members, "fullAuto": full_auto} if full_auto else members


def next_call(token: str, **params: Json) -> dict[str, Json]:
    """The call to make next."""
    return {"tool": "continue_workflow", "params": {"continueToken": token, **params}}


def went_on(progress: Progress, disclosure: Disclosure, extras: dict[str, Json]) -> dict[str, Json]:
    """An answer of the union to a call that went through: a step is pending, or the run is complete."""
    if progress.tokens is None:
        kind, place = "complete", where(progress, None)
        extras.pop("references", None)
    else:
        kind, place = "step", where(progress, {"continueToken": progress.tokens.continue_token})
    details = features_and_warnings(disclosure, extras)
    return {"kind": kind, **place, **skipped_members(disclosure.skipped), **details}


def where(progress: Progress, params: dict[str, Json] | None) -> dict[str, Json]:
    """Where the run stands, up to the next call; what does not apply is absent."""
    members: dict[str, Json] = {}
    if progress.tokens is not None:
        members["continueToken"] = progress.tokens.continue_token
        members["checkpointToken"] = progress.tokens.checkpoint_token
    if progress.pending is not None:
        members["pending"] = pending_json(progress.pending)
    members["preferences"] = progress.preferences.to_wire()
    members["nextIntent"] = progress.next_intent
    if params is not None:
        members["nextCall"] = {"tool": "continue_workflow", "params": params}
    return members


def skipped_members(skipped: SkippedList) -> dict[str, Json]:
    """Return the members that list the steps the selection passed over."""
    members: dict[str, Json] = {"skipped": [entry.to_wire() for entry in skipped.entries]}
    return {**members, "skippedOmitted": skipped.omitted} if skipped.omitted else members


def features_and_warnings(disclosure: Disclosure, extras: dict[str, Json]) -> dict[str, Json]:
    """The members that end an answer. What is beyond the recommendation is the first of the warnings."""
    warnings: list[Json] = [
        {
            "code": "MODE_BEYOND_RECOMMENDATION",
            "preference": each.preference,
            "effective": each.effective,
            "recommended": each.recommended,
        }
        for each in disclosure.beyond
    ]
    warnings += [
        {"code": "PREFERRED_CAPABILITY_ABSENT", "capability": capability, "status": status}
        for capability, status in disclosure.absent
    ]
    drift = extras.pop("warnings", [])
    warnings += drift if isinstance(drift, list) else []
    members: dict[str, Json] = {"appliedFeatures": list(disclosure.features)}
    if warnings:
        members["warnings"] = warnings
    return {**members, **extras}


def without_nulls(value: Json) -> Json:
    """Data in which what is not known is absent."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


class Started(Struct, frozen=True):
    """A run began. In the engine's form, the only execution response without a kind."""

    progress: Progress
    warnings: tuple[BindingDrift, ...] = ()
    references: tuple[Reference, ...] = ()

    def to_json(self) -> dict[str, Json]:
        if self.progress.disclosure is not None:
            return went_on(self.progress, self.progress.disclosure, _extras(self.warnings, (), self.references))
        return self.progress.to_json() | _extras(self.warnings, (), self.references)


class Continued(Struct, frozen=True):
    """The run went on, or a node was looked at again."""

    kind: ClassVar[str] = "ok"
    progress: Progress
    warnings: tuple[BindingDrift, ...] = ()
    assessments: tuple[AssessmentRecordedData, ...] = ()
    references: tuple[Reference, ...] = ()

    def to_json(self) -> dict[str, Json]:
        extras = _extras(self.warnings, self.assessments, self.references)
        if self.progress.disclosure is not None:
            return went_on(self.progress, self.progress.disclosure, extras)
        return {"kind": self.kind, **self.progress.to_json()} | extras


def _extras(
    warnings: Sequence[BindingDrift], assessments: Sequence[AssessmentRecordedData], references: Sequence[Reference]
) -> dict[str, Json]:
    members: dict[str, Json] = {}
    if warnings:
        members["warnings"] = [warning.to_json() for warning in warnings]
    if assessments:
        members["stepContext"] = {"assessments": [_assessment(assessment) for assessment in assessments]}
    if references:
        members["references"] = [reference.to_json() for reference in references]
    return members


def _assessment(assessment: AssessmentRecordedData) -> dict[str, Json]:
    dimensions = [dimension.to_wire() for dimension in assessment.dimensions]
    for dimension in dimensions:
        del dimension["normalization"]
    return {
        "assessmentId": assessment.assessment_id,
        "dimensions": list[Json](dimensions),
        "normalizationNotes": list(assessment.normalization_notes),
    }


class Followup(Struct, frozen=True):
    """A follow-up that an assessment requires before the step counts."""

    title: str
    guidance: str


class Blocked(Struct, frozen=True):
    """The step was submitted and not accepted. With a retry token, submitting it again may help.

    `patch` is what a question proposes to set. `is_rehydrated` is true when a node is looked at again.
    """

    kind: ClassVar[str] = "blocked"
    progress: Progress
    blockers: tuple[Blocker, ...]
    retry_token: str | None
    validation: ValidationResult | None = None
    followup: Followup | None = None
    patch: dict[str, Json] | None = None
    warnings: tuple[BindingDrift, ...] = ()
    is_rehydrated: bool = False

    @property
    def retryable(self) -> bool:
        return self.retry_token is not None

    def next_params(self) -> dict[str, Json] | None:
        """Return the parameters of the next call; None when no call of an agent could help."""
        if self.retry_token is None:
            return None
        given: dict[str, Json] = {"continueToken": self.retry_token}
        return given if self.patch is None else {**given, "intent": "advance", "context": self.patch}

    def to_json(self) -> dict[str, Json]:
        disclosure = self.progress.disclosure
        if disclosure is not None:
            return {
                "kind": self.kind,
                **where(self.progress, self.next_params()),
                **self._report(),
                **(skipped_members(disclosure.skipped) if self.patch is not None else {}),
                **features_and_warnings(disclosure, _extras(self.warnings, (), ())),
            }
        return {"kind": self.kind, **self.progress.to_json(self.retry_token), **self._report()}

    def _report(self) -> dict[str, Json]:
        members: dict[str, Json] = {
            "blockers": {"blockers": [blocker.to_wire() for blocker in self.blockers]},
            "retryable": self.retryable,
        }
        if self.retry_token is not None:
            members["retryContinueToken"] = self.retry_token
        if self.validation is not None:
            members["validation"] = {
                "issues": list(self.validation.issues),
                "suggestions": list(self.validation.suggestions),
            }
        if self.followup is not None:
            members["assessmentFollowup"] = {"title": self.followup.title, "guidance": self.followup.guidance}
        return members


class GateReached(Struct, frozen=True):
    """An autonomous run stands at a gate; somebody else has to open it."""

    kind: ClassVar[str] = "gate_checkpoint"
    gate_token: str
    step_id: str
    gate_kind: GateKind
    progress: Progress | None = None

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.kind, "gateToken": self.gate_token, "stepId": self.step_id, "gateKind": self.gate_kind}


class CheckpointSet(Struct, frozen=True):
    """A node to come back to was made."""

    checkpoint_node_id: NodeId
    resume_token: str
    continue_token: str
    workflow_id: str
    disclosure: Disclosure | None = None

    def to_json(self) -> dict[str, Json]:
        kind: dict[str, Json] = {} if self.disclosure is None else {"kind": "checkpoint"}
        return {
            **kind,
            "checkpointNodeId": self.checkpoint_node_id,
            "resumeToken": self.resume_token,
            "nextCall": next_call(self.continue_token),
        }


class Listing(Struct, frozen=True):
    """An answer that is data and nothing else: a list, a look at a workflow, candidates to resume."""

    kind: ListingKind
    data: Mapping[str, Json]
    disclosure: Disclosure | None = None

    @property
    def workflow_id(self) -> str:
        """The workflow it is about; nothing when it is about many."""
        return str(self.data.get("workflowId", ""))

    def to_json(self) -> dict[str, Json]:
        if self.disclosure is None:
            return dict(self.data)
        return {"kind": self.kind, **{name: without_nulls(value) for name, value in self.data.items()}}


ExecutionResponse: TypeAlias = Started | Continued | Blocked | GateReached
Response: TypeAlias = ExecutionResponse | CheckpointSet | Listing


class Reply(Struct, frozen=True):
    """The answer of a tool: the text an agent reads, item by item, and the same as data."""

    text: tuple[str, ...]
    response: Response

    def to_json(self) -> dict[str, Json]:
        return self.response.to_json()

"""What the engine and its agent concluded: assessments, preferences, capabilities, gaps, divergences."""

from typing import Annotated, Literal, TypeAlias

from pytest_workrail.engine.core.vocabulary import (
    Autonomy,
    Capability,
    CapabilityMissing,
    CapabilityStatus,
    ContractViolation,
    DivergenceReason,
    GapSeverity,
    PreferenceSource,
    RiskPolicy,
    Unexpected,
    UserOnlyDependency,
)
from pytest_workrail.engine.events.blockers import ReasonDetails
from pytest_workrail.engine.events.fields import AttemptId, EventId, StepId
from pytest_workrail.engine.events.shapes import Sized, Tagged
from pytest_workrail.engine.events.wire import Items, NonEmpty, Wire


class RecordedDimension(Wire):
    """The level an assessment gave to one dimension."""

    dimension_id: NonEmpty
    level: NonEmpty
    rationale: NonEmpty | None = None
    normalization: Literal["exact", "normalized"]


class AssessmentRecordedData(Wire):
    """A valid assessment."""

    assessment_id: NonEmpty
    attempt_id: AttemptId
    artifact_output_id: NonEmpty
    summary: str | None = None
    normalization_notes: Items[str]
    dimensions: Annotated[Items[RecordedDimension], Sized(1)]


class ConsequenceTrigger(Wire):
    """The level that set a consequence off."""

    dimension_id: NonEmpty
    level: NonEmpty


class FollowupEffect(Wire):
    """The only effect there is: do more before going on."""

    kind: Literal["require_followup"] = "require_followup"
    guidance: NonEmpty


class ConsequenceAppliedData(Wire):
    """An assessment had a consequence."""

    attempt_id: AttemptId
    assessment_id: NonEmpty
    trigger: ConsequenceTrigger
    effect: FollowupEffect


class AutonomyChange(Wire):
    """A new autonomy."""

    key: Literal["autonomy"] = "autonomy"
    value: Autonomy


class RiskPolicyChange(Wire):
    """A new risk policy."""

    key: Literal["riskPolicy"] = "riskPolicy"
    value: RiskPolicy


class EffectivePreferences(Wire):
    """Both preferences as they stand."""

    autonomy: Autonomy
    risk_policy: RiskPolicy


class PreferencesChangedData(Wire):
    """Preferences changed at a node and below it."""

    change_id: NonEmpty
    source: PreferenceSource
    delta: Annotated[Items[Annotated[AutonomyChange | RiskPolicyChange, Tagged("key")]], Sized(1)]
    effective: EffectivePreferences

    def check_together(self) -> None:
        if len({change.key for change in self.delta}) != len(self.delta):
            raise ValueError("a preference may change once per event")


class ProbeDetail(Wire):
    """A probe step tried the capability."""

    probe_template_id: NonEmpty
    probe_step_id: StepId
    result: Literal["success", "failure"]


class AttemptDetail(Wire):
    """The capability was tried in earnest."""

    attempt_context: Literal["workflow_step", "system_probe"]
    result: Literal["success", "failure"]
    failure_code: Literal["tool_missing", "tool_error", "policy_blocked", "unknown"] | None = None

    def check_together(self) -> None:
        if (self.failure_code is not None) != (self.result == "failure"):
            raise ValueError("a failure, and nothing else, has a failure code")


class ClaimDetail(Wire):
    """Somebody said so."""

    claimed_by: Literal["agent", "user"]
    claim: Literal["available", "unavailable"]


class ProbeProvenance(Wire):
    """Known from a probe step."""

    kind: Literal["probe_step"] = "probe_step"
    enforcement_grade: Literal["strong"] = "strong"
    detail: ProbeDetail


class AttemptProvenance(Wire):
    """Known from use."""

    kind: Literal["attempted_use"] = "attempted_use"
    enforcement_grade: Literal["strong"] = "strong"
    detail: AttemptDetail


class ClaimProvenance(Wire):
    """Known by hearsay."""

    kind: Literal["manual_claim"] = "manual_claim"
    enforcement_grade: Literal["weak"] = "weak"
    detail: ClaimDetail


class CapabilityObservedData(Wire):
    """What is known of a capability, and how."""

    cap_obs_id: NonEmpty
    capability: Capability
    status: CapabilityStatus
    provenance: Annotated[ProbeProvenance | AttemptProvenance | ClaimProvenance, Tagged("kind")]


class ContractGap(Wire):
    """A contract was not met."""

    category: Literal["contract_violation"] = "contract_violation"
    detail: ContractViolation


class CapabilityGap(Wire):
    """A capability was missing."""

    category: Literal["capability_missing"] = "capability_missing"
    detail: CapabilityMissing


class DependencyGap(Wire):
    """A person was needed."""

    category: Literal["user_only_dependency"] = "user_only_dependency"
    detail: UserOnlyDependency


class UnexpectedGap(Wire):
    """Something else went wrong."""

    category: Literal["unexpected"] = "unexpected"
    detail: Unexpected


GapReason: TypeAlias = Annotated[ContractGap | CapabilityGap | DependencyGap | UnexpectedGap, Tagged("category")]


class Unresolved(Wire):
    """The gap stands."""

    kind: Literal["unresolved"] = "unresolved"


class Resolves(Wire):
    """The gap closes an earlier one."""

    kind: Literal["resolves"] = "resolves"
    resolves_gap_id: NonEmpty


class EventEvidence(Wire):
    """An event that shows it."""

    kind: Literal["event"] = "event"
    event_id: EventId


class OutputEvidence(Wire):
    """An output that shows it."""

    kind: Literal["output"] = "output"
    output_id: NonEmpty


class GapRecordedData(Wire):
    """A reason to stop that did not stop the run. Never edited: a later gap may resolve it."""

    gap_id: NonEmpty
    severity: GapSeverity
    reason: GapReason
    summary: NonEmpty
    resolution: Annotated[Unresolved | Resolves, Tagged("kind")]
    evidence_refs: Items[Annotated[EventEvidence | OutputEvidence, Tagged("kind")]] | None = None
    details: ReasonDetails | None = None


class DivergenceData(Wire):
    """The agent left the path and says why."""

    divergence_id: NonEmpty
    reason: DivergenceReason
    summary: NonEmpty
    related_step_id: StepId | None = None

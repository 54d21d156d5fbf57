"""Blockers and gaps: the form of a reason for an agent that has to stop, and in the log of a run that goes on."""

from collections.abc import Iterable
from typing import Annotated, Any, TypeAlias, get_args

from msgspec import Meta

from pytest_workrail.engine.model.base import UNSET, Closed, Index, NonEmpty, UnsetType, Value, check_bytes
from pytest_workrail.engine.model.ids import EventId, SafeId, StepId
from pytest_workrail.engine.model.step_keys import (
    CollationKey,
    collation_key,
)
from pytest_workrail.engine.model.words import (
    MAX_BLOCKER_MESSAGE_BYTES,
    MAX_BLOCKER_SUGGESTED_FIX_BYTES,
    MAX_BLOCKERS,
    MAX_CONTEXT_KEY_BYTES,
    Capability,
    CapabilityStatus,
    GapCategory,
    GapSeverity,
    NonAssumableChoice,
)
from workrail_lint.systems.workrail.blocker_codes import (
    BlockerCode,
    CapabilityMissing,
    ContractViolation,
    GapDetail,
    Unexpected,
    UserDependency,
)

# ----------------------------------------------------------------------------------------------------------- pointers


class Pointer(Closed, frozen=True, tag_field="kind"):
    """The subject of a blocker."""


class ContextKeyPointer(Pointer, frozen=True, tag="context_key"):
    """A key the context lacks."""

    key: NonEmpty

    def __post_init__(self) -> None:
        check_bytes(self.key, MAX_CONTEXT_KEY_BYTES)


class ContextBudgetPointer(Pointer, frozen=True, tag="context_budget"):
    """The run as a whole; also where nothing more precise can be named."""


class OutputContractPointer(Pointer, frozen=True, tag="output_contract"):
    """The contract an output had to meet."""

    contract_ref: NonEmpty


class CapabilityPointer(Pointer, frozen=True, tag="capability"):
    """A capability of the agent's environment."""

    capability: Capability


class AssessmentDimensionPointer(Pointer, frozen=True, tag="assessment_dimension"):
    """One dimension of an assessment."""

    assessment_id: NonEmpty
    dimension_id: SafeId


class WorkflowStepPointer(Pointer, frozen=True, tag="workflow_step"):
    """A step of the workflow."""

    step_id: StepId


BlockerPointer: TypeAlias = (
    ContextKeyPointer
    | ContextBudgetPointer
    | OutputContractPointer
    | CapabilityPointer
    | AssessmentDimensionPointer
    | WorkflowStepPointer
)

# ------------------------------------------------------------------------------------------------------------ details


class UnsetActual(Closed, frozen=True, tag_field="kind", tag="unset"):
    """The variable is not set."""


class ValueActual(Closed, frozen=True, tag_field="kind", tag="value"):
    """The value of the variable."""

    value: Any

    @property
    def is_plain(self) -> bool:
        return False


class LargeActual(Closed, frozen=True, tag_field="kind", tag="large"):
    """The variable holds more than is shown."""

    type: NonEmpty
    bytes: Index


class Unmet(Closed, frozen=True, kw_only=True):
    """A comparison because of which a step was passed over. An operand may be null."""

    variable: str
    operator: NonEmpty
    expected: Any | UnsetType = UNSET
    negated: bool | None = None
    actual: UnsetActual | ValueActual | LargeActual

    def __post_init__(self) -> None:
        if self.negated is False:
            raise ValueError("a comparison that is not negated does not say so")

    @property
    def is_plain(self) -> bool:
        return False


class ReasonDetails(Closed, frozen=True):
    """Facts about a reason: a loop, what a person has to provide, a question, or a variable left unset."""

    loop_id: SafeId | None = None
    iteration: Index | None = None
    max_iterations: Index | None = None
    detail: UserDependency | None = None
    choice: NonAssumableChoice | None = None
    variable: NonEmpty | None = None
    step_id: StepId | None = None
    unmet: tuple[Unmet, ...] | None = None
    suggested: Any | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.variable is not None:
            check_bytes(self.variable, MAX_CONTEXT_KEY_BYTES)
        given = frozenset(name for name in _DETAIL_MEMBERS if getattr(self, name) not in (None, UNSET))
        if self.suggested is not UNSET:
            given |= {"suggested"}
        if given not in _DETAIL_FORMS:
            raise ValueError("the details are of no known form")

    @property
    def is_plain(self) -> bool:
        return self.unmet is None


_DETAIL_MEMBERS = ("loop_id", "iteration", "max_iterations", "detail", "choice", "variable", "step_id", "unmet")
_DETAIL_FORMS = frozenset(
    map(
        frozenset,
        (
            ("loop_id", "iteration"),
            ("loop_id", "iteration", "max_iterations"),
            ("detail",),
            ("detail", "choice"),
            ("step_id", "unmet", "suggested"),
            ("variable", "step_id"),
        ),
    )
)


# ----------------------------------------------------------------------------------------------------------- blockers


class Blocker(Closed, frozen=True):
    """One structured reason why a run can't advance, within its budgets."""

    code: BlockerCode
    pointer: BlockerPointer
    message: NonEmpty
    suggested_fix: NonEmpty
    details: ReasonDetails | None = None

    def __post_init__(self) -> None:
        check_bytes(self.message, MAX_BLOCKER_MESSAGE_BYTES)
        check_bytes(self.suggested_fix, MAX_BLOCKER_SUGGESTED_FIX_BYTES)

    @property
    def is_plain(self) -> bool:
        return self.details is None or self.details.is_plain

    @property
    def order(self) -> CollationKey:
        """The sort key of blockers."""
        about = "|".join(str(value) for name, value in self.pointer.to_wire().items() if name != "kind")
        return collation_key(f"{self.code}|{self.pointer.kind}|{about}")


class BlockerReport(Closed, frozen=True):
    """The blockers of one attempt, at most ten."""

    blockers: Annotated[tuple[Blocker, ...], Meta(min_length=1, max_length=MAX_BLOCKERS)]

    def __post_init__(self) -> None:
        if not 1 <= len(self.blockers) <= MAX_BLOCKERS:
            raise ValueError(f"a report holds between 1 and {MAX_BLOCKERS} blockers")

    @property
    def is_plain(self) -> bool:
        return all(blocker.is_plain for blocker in self.blockers)


# --------------------------------------------------------------------------------------------------------------- gaps

_GAP_DETAILS: dict[str, tuple[str, ...]] = {
    "contract_violation": get_args(ContractViolation),
    "capability_missing": get_args(CapabilityMissing),
    "user_only_dependency": get_args(UserDependency),
    "unexpected": get_args(Unexpected),
}


class GapReason(Value, frozen=True):
    """The category and detail of a gap, from closed sets. Those of other engines are read into a derived type."""

    category: GapCategory
    detail: GapDetail

    def __post_init__(self) -> None:
        if type(self) is GapReason and self.detail not in _GAP_DETAILS.get(self.category, (self.detail,)):
            raise ValueError(f"{self.category} has no such detail")


class Unresolved(Value, frozen=True, tag_field="kind", tag="unresolved"):
    """The gap is open."""


class Resolves(Value, frozen=True, tag_field="kind", tag="resolves"):
    """The gap closes an earlier one."""

    resolves_gap_id: NonEmpty


class EventEvidence(Value, frozen=True, tag_field="kind", tag="event"):
    """An event that shows it."""

    event_id: EventId


class OutputEvidence(Value, frozen=True, tag_field="kind", tag="output"):
    """An output that shows it."""

    output_id: NonEmpty


class GapRecordedData(Value, frozen=True):
    """A reason to stop that did not stop the run. Never edited: a later gap may resolve it."""

    gap_id: NonEmpty
    severity: GapSeverity
    reason: GapReason
    summary: NonEmpty
    resolution: Unresolved | Resolves
    evidence_refs: tuple[EventEvidence | OutputEvidence, ...] | None = None
    details: ReasonDetails | None = None

    @property
    def is_plain(self) -> bool:
        return self.details is None or self.details.is_plain


class Gap(Value, frozen=True):
    """A reason to stop, in a run that goes on, before it is recorded under an id."""

    severity: GapSeverity
    category: GapCategory
    detail: GapDetail
    summary: str
    details: ReasonDetails | None = None
    evidence: EventId | None = None

    @property
    def is_plain(self) -> bool:
        return self.details is None or self.details.is_plain

    def recorded(self, gap_id: str) -> GapRecordedData:
        """Return what an event records."""
        return GapRecordedData(
            gap_id,
            self.severity,
            GapReason(self.category, self.detail),
            self.summary,
            Unresolved(),
            None if self.evidence is None else (EventEvidence(self.evidence),),
            self.details,
        )


def resolving_gap(gap_id: str, gap: GapRecordedData, output_id: str) -> GapRecordedData:
    """Return the marker that closes a gap because of an output. The gap itself stays as it was recorded."""
    return GapRecordedData(
        gap_id,
        "info",
        gap.reason,
        f"Resolved: {gap.summary}",
        Resolves(gap.gap_id),
        (OutputEvidence(output_id),),
    )


def decision_gap(variable: str, step_id: str, asked_by: EventId) -> Gap:
    """Return the record of a decision: a variable was asked for and the agent went on without it."""
    return Gap(
        "info",
        "unexpected",
        "invariant_violation",
        f"Left unset by decision: {variable} (stepId={step_id})",
        ReasonDetails(variable=variable, step_id=step_id),
        asked_by,
    )


def preferred_gap(capability: str, status: CapabilityStatus) -> Gap:
    """Return the record that a capability that the workflow prefers is not there, or not known to be."""
    absence = "status unknown" if status == "unknown" else "unavailable"
    return Gap("warning", "unexpected", "invariant_violation", f"Preferred capability {absence}: {capability}")


def distinct_gaps(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    """Return the gaps of one advance, each category, detail and summary once."""
    seen: dict[tuple[str, str, str], Gap] = {}
    for gap in gaps:
        seen.setdefault((gap.category, gap.detail, gap.summary), gap)
    return tuple(seen.values())

"""Plain look-ups: the facts of a session, by what they are about."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.core.modes import DEFAULT_PREFERENCES, Preferences
from pytest_workrail.engine.core.outcomes import NOTHING_SKIPPED, SkippedList
from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.blockers import GapRecordedData, Resolves
from pytest_workrail.engine.model.events import (
    AdvancedOutcome,
    AdvanceRecorded,
    AdvanceRecordedData,
    AssessmentRecorded,
    AssessmentRecordedData,
    CapabilityObserved,
    CapabilityObservedData,
    ContextSet,
    DecisionTraceAppended,
    DivergenceData,
    DivergenceRecorded,
    GapRecorded,
    Log,
    NodeOutputAppended,
    ObservationRecorded,
    PreferencesChanged,
    RunCompleted,
    RunCompletedData,
    ValidationPerformed,
    ValidationResult,
)
from pytest_workrail.engine.model.ids import AttemptId, NodeId, RunId
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.model.trace import DecisionTraceData, TraceEntry
from pytest_workrail.engine.model.words import Capability
from pytest_workrail.engine.projections.dag import Run
from pytest_workrail.engine.projections.incremental import ProjectionError, log_index, of_kind, of_node, violation
from workrail_lint.base.result import Err, Ok


class Gap(Struct, frozen=True):
    """A gap and where it was recorded."""

    event_index: int
    run_id: RunId
    node_id: NodeId
    data: GapRecordedData


class Gaps(Struct, frozen=True):
    """The gaps of a session."""

    by_id: dict[str, Gap]
    resolved: frozenset[str]

    def of_run(self, run_id: RunId) -> list[Gap]:
        """The gaps of a run by place in the log."""
        found = [gap for gap in self.by_id.values() if gap.run_id == run_id]
        return sorted(found, key=lambda gap: (gap.event_index, gap.data.gap_id))

    def unresolved_critical(self, run_id: RunId) -> list[Gap]:
        """What a reader of a run's results has to know."""
        return [
            gap
            for gap in self.of_run(run_id)
            if gap.data.severity == "critical"
            and gap.data.resolution.kind == "unresolved"
            and gap.data.gap_id not in self.resolved
        ]


def project_gaps(events: Log) -> Gaps:
    """The gaps of a session. Of two with the same id the later one counts."""
    by_id: dict[str, Gap] = {}
    resolved: set[str] = set()
    for event in of_kind(events, GapRecorded):
        by_id[event.data.gap_id] = Gap(event.event_index, event.scope.run_id, event.scope.node_id, event.data)
        if isinstance(event.data.resolution, Resolves):
            resolved.add(event.data.resolution.resolves_gap_id)
    return Gaps(by_id, frozenset(resolved))


def effective_preferences(events: Log, run: Run, node: NodeId) -> Ok[Preferences] | Err[ProjectionError]:
    """The preferences at a node. A rewind restores them; a change on one branch does not reach its siblings."""
    said: dict[NodeId, PreferencesChanged] = {}
    for event in of_kind(events, PreferencesChanged):
        if event.scope.run_id == run.run_id:
            said[event.scope.node_id] = event
    if node not in run.nodes:
        return Err(violation(f"node {node} is not part of run {run.run_id}"))
    # Every parent is known before its child, so the way up ends at the root.
    nearest = run.nearest(node, said, "preferences")
    if nearest is None:
        return Ok(DEFAULT_PREFERENCES)
    effective = said[nearest].data.effective
    return Ok(Preferences(effective.autonomy, effective.risk_policy))


class Workspace(Struct, frozen=True):
    """Where a session ran, as far as it was observed."""

    git_branch: str | None = None
    git_head_sha: str | None = None
    repo_root_hash: str | None = None
    repo_root: str | None = None


def workspace(events: Log) -> Workspace:
    """The newest observation of each fact."""
    seen = {event.data.key: event.data.value.value for event in of_kind(events, ObservationRecorded)}
    return Workspace(
        seen.get("git_branch"), seen.get("git_head_sha"), seen.get("repo_root_hash"), seen.get("repo_root")
    )


def run_context(events: Log, run_id: RunId) -> dict[str, object] | None:
    """The newest context of a run, wherever in the run it was set."""
    for event in reversed(of_kind(events, ContextSet)):
        if event.scope.run_id == run_id:
            return event.data.context
    return None


def advances(events: Log, node_id: NodeId) -> list[AdvanceRecordedData]:
    """The outcomes of the attempts on a node, in order."""
    return [event.data for event in of_node(events, AdvanceRecorded, node_id)]


def capabilities(events: Log) -> dict[tuple[NodeId, Capability], CapabilityObservedData]:
    """The latest observation per node and capability, strong or weak."""
    return {(event.scope.node_id, event.data.capability): event.data for event in of_kind(events, CapabilityObserved)}


def divergences(events: Log, run_id: RunId) -> list[DivergenceData]:
    """Where the agent of a run left the path, in order."""
    return [event.data for event in of_kind(events, DivergenceRecorded) if event.scope.run_id == run_id]


def assessments(events: Log, node_id: NodeId) -> list[AssessmentRecordedData]:
    """The assessments of every attempt on a node so far, in order."""
    return [event.data for event in of_node(events, AssessmentRecorded, node_id)]


def validation(events: Log, validation_id: str) -> ValidationResult | None:
    """The newest result under an id; a snapshot may name one that was never recorded."""
    for event in reversed(of_kind(events, ValidationPerformed)):
        if event.data.validation_id == validation_id:
            return event.data.result
    return None


def decision_trace(events: Log, node_id: NodeId) -> list[TraceEntry]:
    """How the steps after a node were chosen, in order."""
    return [entry for event in of_node(events, DecisionTraceAppended, node_id) for entry in event.data.entries]


def completions(events: Log, run_id: RunId) -> list[RunCompletedData]:
    """The ends the branches of a run came to, in order."""
    return [event.data for event in of_kind(events, RunCompleted) if event.scope.run_id == run_id]


def has_recap(events: Log, run_id: RunId) -> bool:
    """True once any step of a run left notes."""
    for event in of_kind(events, NodeOutputAppended):
        if event.data.output_channel == "recap" and event.scope.run_id == run_id:
            return True
    return False


RunStatus: TypeAlias = Literal["in_progress", "blocked", "complete", "complete_with_gaps"]

_STOPPING = frozenset({"user_only_dependency", "contract_violation", "capability_missing"})


def run_status(events: Log, run: Run, tip_snapshot: ExecutionSnapshot) -> Ok[RunStatus] | Err[ProjectionError]:
    """The status of a run, given the snapshot of its preferred tip."""
    if run.preferred_tip is None:
        return Err(violation(f"run {run.run_id} has no nodes"))
    tip = run.nodes[run.preferred_tip]
    preferences = effective_preferences(events, run, tip.node_id)
    if isinstance(preferences, Err):
        return preferences
    open_gaps = project_gaps(events).unresolved_critical(run.run_id)
    if tip_snapshot.is_complete:
        return Ok("complete_with_gaps" if open_gaps else "complete")
    if not preferences.value.never_stops:
        stopping = any(gap.data.reason.category in _STOPPING for gap in open_gaps)
        if tip.kind == "blocked_attempt" or stopping:
            return Ok("blocked")
    return Ok("in_progress")


def skipped_before(events: Log, run: Run, node: NodeId, *, of_question: bool) -> SkippedList:
    """The steps passed over by the selection that led to a node.

    A checkpoint, a gate and a refused attempt stand at the step of the node above them. A question has a selection
    of its own: the one that would have ended the run.
    """
    parent = run.nodes[node].parent
    while not of_question and run.nodes[node].kind != "step" and parent is not None:
        node, parent = parent, run.nodes[parent].parent
    attempt = None if parent is None else _attempt_to(events, parent, node)
    if parent is not None and attempt is None:
        return NOTHING_SKIPPED
    key = keys.decision_trace_appended(events[0].session_id, keys.trace_id(attempt))
    trace = log_index(events).find(key)
    return skipped_of(trace.data) if isinstance(trace, DecisionTraceAppended) else NOTHING_SKIPPED


def _attempt_to(events: Log, source: NodeId, target: NodeId) -> AttemptId | None:
    """The attempt that led from one node to another."""
    for event in of_node(events, AdvanceRecorded, source):
        outcome = event.data.outcome
        if isinstance(outcome, AdvancedOutcome) and outcome.to_node_id == target:
            return event.data.attempt_id
    return None


def skipped_of(trace: DecisionTraceData) -> SkippedList:
    """What one decision trace tells of steps that were passed over."""
    return SkippedList(trace.skipped or (), trace.skipped_omitted or 0)

"""Plain look-ups: the facts of a session, by what they are about."""

from __future__ import annotations

from msgspec import Struct

from pytest_workrail.engine.model.events import (
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
    Log,
    NodeOutputAppended,
    ObservationRecorded,
    RunCompleted,
    RunCompletedData,
    TraceEntry,
    ValidationPerformed,
    ValidationResult,
)
from pytest_workrail.engine.model.ids import NodeId, RunId
from pytest_workrail.engine.model.words import Capability
from pytest_workrail.engine.projections.index import of_kind, of_node


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

"""What a selection passed over, as its decision trace keeps it."""

from __future__ import annotations

from pytest_workrail.engine.core.skipped import NOTHING_SKIPPED, SkippedList
from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.events import (
    AdvancedOutcome,
    AdvanceRecorded,
    DecisionTraceAppended,
    DecisionTraceData,
    Log,
)
from pytest_workrail.engine.model.ids import AttemptId, NodeId
from pytest_workrail.engine.projections.dag import Run
from pytest_workrail.engine.projections.index import log_index, of_node


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

"""Replay: the answer to an advance that is on record. Reads facts, evaluates nothing, writes nothing.

The first answer to an advance is given by the same function, so a second one can't differ. It is rendered from
the log as it stood when the advance was recorded; what happened since does not show.
"""

from __future__ import annotations

from pytest_workrail.engine.core.profiles import Answers
from pytest_workrail.engine.model.events import AdvancedOutcome, AdvanceRecorded
from pytest_workrail.engine.model.ids import AttemptId, NodeId, child_attempt
from pytest_workrail.engine.model.snapshot import BlockedState, GateCheckpoint, RetryableBlock
from pytest_workrail.engine.projections import facts
from pytest_workrail.engine.protocol.blocked_response import attempt_token, blocked_response
from pytest_workrail.engine.protocol.errors import ToolError, internal
from pytest_workrail.engine.protocol.responses import Blocked, Continued, GateReached
from pytest_workrail.engine.protocol.sessions import NodePosition, Session, SessionLoader, open_node
from pytest_workrail.engine.protocol.step_response import ResponseFormat, progress
from workrail_lint.base.result import Err, Ok


def replay(
    loader: SessionLoader, response_format: ResponseFormat, session: Session, recorded: AdvanceRecorded
) -> Ok[Continued | Blocked | GateReached] | Err[ToolError]:
    """What the recorded advance was answered with."""
    outcome = recorded.data.outcome
    if not isinstance(outcome, AdvancedOutcome):
        return Err(internal("The advance was recorded in a form that is no longer used."))
    opened = _recorded_node(loader, session, recorded, outcome.to_node_id)
    if isinstance(opened, Err):
        return opened
    position = opened.value
    attempt = child_attempt(recorded.data.attempt_id)
    gate = position.snapshot.engine_payload.gate_checkpoint
    if gate is not None:
        return _gate_reached(response_format, position, attempt, gate)
    shown = progress(response_format, position, attempt)
    if isinstance(shown, Err):
        return shown
    state = position.snapshot.state
    if isinstance(state, BlockedState):
        retry = state.blocked.retry_attempt_id if isinstance(state.blocked, RetryableBlock) else attempt
        return blocked_response(response_format, position, shown.value, state.blocked, retry)
    recorded_here = facts.assessments(position.events, recorded.scope.node_id)
    return Ok(Continued(shown.value, assessments=tuple(recorded_here)))


def _gate_reached(
    response_format: ResponseFormat, position: NodePosition, attempt: AttemptId, gate: GateCheckpoint
) -> Ok[GateReached] | Err[ToolError]:
    token = attempt_token(response_format.issuer, position, attempt)
    if isinstance(token, Err):
        return token
    kind = "coordinator_eval" if gate.gate_kind == "confirmation_required" else gate.gate_kind
    match response_format.profile.answers:
        case Answers.ENGINE:
            return Ok(GateReached(token.value, gate.step_id, kind))
        case Answers.UNION:
            shown = progress(response_format, position, None)
            return shown if isinstance(shown, Err) else Ok(GateReached(token.value, gate.step_id, kind, shown.value))


def _recorded_node(
    loader: SessionLoader, session: Session, recorded: AdvanceRecorded, target: NodeId
) -> Ok[NodePosition] | Err[ToolError]:
    """The node the advance led to, in the log as it stood then."""
    then = session.as_of(recorded.event_index)
    if isinstance(then, Err):
        return then
    run = then.value.runs[recorded.scope.run_id]
    node = run.nodes.get(target)
    if node is None:
        return Err(internal("The advance is on record, but not the node it led to."))
    opened = open_node(loader, then.value, run, node)
    if isinstance(opened, Err) and opened.error.code == "TOKEN_UNKNOWN_NODE":
        return Err(internal("The advance is on record, but not the state it led to."))
    return opened

"""Rehydrate: look at a node again, with what an agent without memory needs to know.

Nothing here can append: it is given a loader, which only reads, and a token issuer, whose aliases are no durable truth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.events import AdvancedOutcome, AdvanceRecorded, EdgeCreated
from pytest_workrail.engine.model.ids import AttemptId, IdMint, NodeId, WorkflowRef, child_attempt, ref_of
from pytest_workrail.engine.model.snapshot import BlockedState, GateCheckpoint, RetryableBlock, TerminalBlock
from pytest_workrail.engine.projections import session_facts
from pytest_workrail.engine.projections.dag import Node
from pytest_workrail.engine.projections.resume import Candidate, ResumeQuery, SessionSummary, rank
from pytest_workrail.engine.projections.session_facts import RECOVERY_BUDGET, Recap, recovery_text
from pytest_workrail.engine.protocol.errors import ToolError, from_issuer, from_store, internal
from pytest_workrail.engine.protocol.ports import Workspace
from pytest_workrail.engine.protocol.requests import ResumeRequest
from pytest_workrail.engine.protocol.responses import (
    BindingDrift,
    Blocked,
    CheckpointSet,
    Continued,
    GateReached,
    Listing,
    next_call,
)
from pytest_workrail.engine.protocol.sessions import (
    NodePosition,
    Session,
    SessionLoader,
    SessionWriter,
    Written,
    find_node,
    load_session,
    open_node,
    open_place,
)
from pytest_workrail.engine.protocol.step_response import (
    ResponseFormat,
    attempt_token,
    blocked_response,
    progress,
    references_of,
)
from pytest_workrail.engine.store.plan import AppendPermit, Step, checkpoint_plan
from pytest_workrail.engine.store.ports import StoreError
from pytest_workrail.engine.tokens.issuer import CheckpointGrant, ContinueGrant, NodeAddress, StateGrant, TokenIssuer
from workrail_lint.base import js
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


def replay(
    loader: SessionLoader, response_format: ResponseFormat, session: Session, recorded: AdvanceRecorded
) -> Ok[Continued | Blocked | GateReached] | Err[ToolError]:
    """Return the answer to an advance that was already recorded."""
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
    step = progress(response_format, position, attempt)
    if isinstance(step, Err):
        return step
    state = position.snapshot.state
    if isinstance(state, BlockedState):
        retry = state.blocked.retry_attempt_id if isinstance(state.blocked, RetryableBlock) else attempt
        return blocked_response(response_format, position, step.value, state.blocked, retry)
    recorded_here = session_facts.assessments(position.events, recorded.scope.node_id)
    return Ok(Continued(step.value, assessments=tuple(recorded_here)))


def _gate_reached(
    response_format: ResponseFormat, position: NodePosition, attempt: AttemptId, gate: GateCheckpoint
) -> Ok[GateReached] | Err[ToolError]:
    token = attempt_token(response_format.issuer, position, attempt)
    if isinstance(token, Err):
        return token
    kind = "coordinator_eval" if gate.gate_kind == "confirmation_required" else gate.gate_kind
    match response_format.profile.answers:
        case "engine":
            return Ok(GateReached(token.value, gate.step_id, kind))
        case "union":
            step = progress(response_format, position, None)
            return step if isinstance(step, Err) else Ok(GateReached(token.value, gate.step_id, kind, step.value))


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


def rehydrate(
    loader: SessionLoader,
    response_format: ResponseFormat,
    workspace: Workspace,
    mint: IdMint,
    place: NodeAddress,
    workflow_ref: WorkflowRef,
    workspace_path: str | None,
) -> Ok[Continued | Blocked] | Err[ToolError]:
    """The node as it stands, with fresh tokens: whoever advances with them starts an attempt of its own."""
    opened = open_place(loader, place, workflow_ref)
    if isinstance(opened, Err):
        return opened
    position = opened.value
    recovery = _recovery(loader, position, response_format.profile)
    attempt = mint.attempt()
    step = progress(response_format, position, attempt, recovery)
    if isinstance(step, Err):
        return step
    ir = position.program.ir
    path = workspace_path or session_facts.workspace(position.events).repo_root
    warnings = binding_drift(ir["bindings"]["overrides"], workspace.overrides(ir["workflowId"], path))
    block = _block(position, response_format.profile)
    if block is not None:
        answer = blocked_response(response_format, position, step.value, block, attempt)
        if isinstance(answer, Err):
            return answer
        return Ok(replace(answer.value, warnings=warnings, is_rehydrated=True))
    return Ok(Continued(step.value, warnings=warnings, references=references_of(ir, workspace, path)))


def _block(position: NodePosition, profile: Profile) -> RetryableBlock | TerminalBlock | None:
    """The block of a blocked node, where the profile tells of it. A checkpoint below it can be advanced from."""
    state = position.snapshot.state
    match profile.answers:
        case "engine":
            return None
        case "union":
            is_own = position.node.kind == "blocked_attempt"
            return state.blocked if is_own and isinstance(state, BlockedState) else None


def _recovery(loader: SessionLoader, position: NodePosition, profile: Profile) -> str:
    instance = position.snapshot.pending_step
    functions = "" if instance is None else position.program.renderer.functions(instance)
    return recovery_text(
        position.events,
        position.run.run_id,
        position.node.node_id,
        functions=functions,
        instructions=_instructions(loader, position, profile),
        policy=profile.recap,
    )


def _instructions(loader: SessionLoader, position: NodePosition, profile: Profile) -> list[Recap]:
    """Return the instructions of the steps that led here, each once, oldest first, as far as the budget reaches."""
    match profile.instructions_so_far:
        case "leave_out":
            return []
        case "show":
            seen: dict[str, Recap] = {}
            size = 0
            for node_id in position.run.upwards(position.node.node_id):
                node = position.run.nodes[node_id]
                opened = open_node(loader, position.session, position.run, node)
                pending = None if isinstance(opened, Err) else opened.value.snapshot.pending_step
                if pending is None or pending == position.snapshot.pending_step or pending.step_id in seen:
                    continue
                text = opened.value.program.renderer.instructions(pending, opened.value.context(profile))
                seen[pending.step_id] = Recap(node.created_index, text)
                size += js.u8_length(text)
                if size > RECOVERY_BUDGET:
                    break
            return list(seen.values())[::-1]


def binding_drift(pinned: Mapping[str, str], current: Mapping[str, str] | None) -> tuple[BindingDrift, ...]:
    """Slots that the project binds otherwise now. What came from a default never drifts."""
    if current is None:
        return ()
    return tuple(
        BindingDrift(slot, value, current.get(slot)) for slot, value in pinned.items() if current.get(slot) != value
    )


Summaries: TypeAlias = Callable[[], Ok[list[SessionSummary]] | Err[StoreError]]


def resume(
    summaries: Summaries, issuer: TokenIssuer, workspace: Workspace, request: ResumeRequest
) -> Ok[Listing] | Err[ToolError]:
    """The sessions that the caller may mean, best first."""
    sessions = summaries()
    if isinstance(sessions, Err):
        return Err(from_store(sessions.error))
    facts = workspace.facts(request.workspace_path)
    query = ResumeQuery(
        text=request.query,
        run_id=request.run_id,
        session_id=request.session_id,
        git_branch=request.git_branch or facts.git_branch,
        git_head_sha=request.git_head_sha or facts.git_head_sha,
        repo_root_hash=facts.repo_root_hash,
        same_workspace_only=request.same_workspace_only,
    )
    candidates = _shown(rank(sessions.value, query), issuer)
    if isinstance(candidates, Err):
        return candidates
    return Ok(Listing("candidates", {"candidates": candidates.value, "totalEligible": len(sessions.value)}))


def _shown(candidates: Sequence[Candidate], issuer: TokenIssuer) -> Ok[list[Json]] | Err[ToolError]:
    items: list[Json] = []
    for candidate in candidates:
        summary = candidate.summary
        place = NodeAddress(summary.session_id, summary.run_id, summary.tip)
        # A long token: a short one would need an alias, and this call writes nothing.
        token = issuer.long_state_token(StateGrant(place, ref_of(summary.workflow_hash)))
        if isinstance(token, Err):
            return Err(from_issuer(token.error))
        items.append(_candidate(candidate, token.value))
    return Ok(items)


def _candidate(candidate: Candidate, token: str) -> Json:
    summary = candidate.summary
    return {
        "sessionId": summary.session_id,
        "runId": summary.run_id,
        "workflowId": summary.workflow_id,
        "sessionTitle": summary.title,
        "gitBranch": summary.workspace.git_branch,
        "resumeToken": token,
        "snippet": candidate.snippet,
        "whyMatched": list(candidate.why_matched),
        "confidence": candidate.confidence,
        "matchExplanation": candidate.match_explanation,
        "pendingStepId": summary.pending_step_id,
        "isComplete": summary.is_complete,
        "lastModifiedMs": summary.modified_ms,
        "nextCall": next_call(token, intent="rehydrate"),
    }


class CheckpointHandler(Struct, frozen=True):
    """Everything a checkpoint works with."""

    loader: SessionLoader
    writer: SessionWriter
    issuer: TokenIssuer

    def run(self, grant: CheckpointGrant) -> Ok[CheckpointSet] | Err[ToolError]:
        """Make the checkpoint, unless it is there already, and say how to come back."""
        session = load_session(self.loader, grant.place.session_id)
        if isinstance(session, Err):
            return session
        located = find_node(session.value, grant.place)
        if isinstance(located, Err):
            return located
        edge = _recorded(session.value, grant)
        if edge is None:
            written = self._write(grant)
            if isinstance(written, Err):
                return written
            session = load_session(self.loader, grant.place.session_id)
            if isinstance(session, Err):
                return session
            edge = _recorded(session.value, grant)
            if edge is None:
                return Err(internal("The checkpoint was written, but its record is not there."))
        run, node = located.value
        workflow_id = "" if run.started is None else run.started.workflow_id
        return self._answer(grant, node, edge, workflow_id)

    def _write(self, grant: CheckpointGrant) -> Written:
        def append(permit: AppendPermit, session: Session) -> Written:
            if _recorded(session, grant) is not None:
                return Ok(None)
            located = find_node(session, grant.place)
            if isinstance(located, Err):
                return located
            _, node = located.value
            step = Step(
                node.node_id,
                grant.attempt_id,
                self.writer.mint.node(),
                node.workflow_hash,
                node.snapshot_ref,
                "checkpoint_created",
            )
            builder = self.writer.builder(session, grant.place.run_id)
            return self.writer.append(permit, checkpoint_plan(builder, step))

        return self.writer.write(grant.place.session_id, append)

    def _answer(
        self, grant: CheckpointGrant, node: Node, edge: EdgeCreated, workflow_id: str
    ) -> Ok[CheckpointSet] | Err[ToolError]:
        workflow_ref = ref_of(node.workflow_hash)
        resume = self.issuer.state_token(StateGrant(grant.place, workflow_ref))
        if isinstance(resume, Err):
            return Err(from_issuer(resume.error))
        going_on = self.issuer.continue_token(ContinueGrant(grant.place, grant.attempt_id, workflow_ref))
        if isinstance(going_on, Err):
            return Err(from_issuer(going_on.error))
        return Ok(CheckpointSet(edge.data.to_node_id, resume.value, going_on.value, workflow_id))


def _recorded(session: Session, grant: CheckpointGrant) -> EdgeCreated | None:
    place = grant.place
    event = session.truth.find(keys.checkpoint(place.session_id, place.run_id, place.node_id, grant.attempt_id))
    return event if isinstance(event, EdgeCreated) else None

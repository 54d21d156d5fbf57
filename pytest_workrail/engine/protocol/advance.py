"""Advance: submit the pending step of a node. It is decided once and recorded, and answered from the record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from pytest_workrail.engine.core.modes import is_autonomous
from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.blockers import OutputContractPointer
from pytest_workrail.engine.model.events import AdvanceRecorded
from pytest_workrail.engine.model.ids import child_attempt
from pytest_workrail.engine.model.reasons import UserOnlyDependency
from pytest_workrail.engine.model.snapshot import BlockedState, ExecutionSnapshot, RetryableBlock, TerminalBlock
from pytest_workrail.engine.projections.session_facts import workspace as workspace_facts
from pytest_workrail.engine.protocol.advance_outcome import (
    Accepted,
    AdvanceAttempt,
    Questions,
    decide_advance,
    earlier_artifacts,
    questions_above,
)
from pytest_workrail.engine.protocol.errors import ToolError, from_issuer, internal, precondition, token_error
from pytest_workrail.engine.protocol.ports import GitEnd, Workspace
from pytest_workrail.engine.protocol.recording import AttemptEntry, artifact_outputs, plan_for, snapshot_for
from pytest_workrail.engine.protocol.rehydrate import replay
from pytest_workrail.engine.protocol.requests import AdvanceRequest, merged
from pytest_workrail.engine.protocol.responses import Blocked, Continued, GateReached
from pytest_workrail.engine.protocol.sessions import (
    NodePosition,
    Session,
    SessionLoader,
    SessionWriter,
    Written,
    find_node,
    load_session,
    open_node,
)
from pytest_workrail.engine.protocol.step_response import ResponseFormat, preferences_at
from pytest_workrail.engine.store.plan import AppendPermit
from pytest_workrail.engine.tokens.formats import AliasSlot
from pytest_workrail.engine.tokens.issuer import CheckpointGrant, ContinueGrant, NodeAddress, TokenIssuer
from workrail_lint.base.result import Err, Ok

INTERACTIVE_ATTEMPTS = 10
AUTONOMOUS_ATTEMPTS = 3

_NO_END = GitEnd()
DeclaredDependencies: TypeAlias = Callable[[str], Sequence[UserOnlyDependency]]


class AdvanceHandler(Struct, frozen=True):
    """Everything an advance works with."""

    loader: SessionLoader
    writer: SessionWriter
    response_format: ResponseFormat
    workspace: Workspace
    dependencies: DeclaredDependencies

    def run(
        self, grant: ContinueGrant, request: AdvanceRequest
    ) -> Ok[Continued | Blocked | GateReached] | Err[ToolError]:
        """The recorded answer, if there is one; else decide, record, and answer from the record."""
        session = load_session(self.loader, grant.place.session_id)
        if isinstance(session, Err):
            return session
        node = find_node(session.value, grant.place, grant.workflow_ref)
        if isinstance(node, Err):
            return node
        recorded = _recorded(session.value, grant)
        if recorded is None:
            executed = self._execute(grant, request)
            if isinstance(executed, Err):
                return executed
            session = load_session(self.loader, grant.place.session_id)
            if isinstance(session, Err):
                return session
            recorded = _recorded(session.value, grant)
            if recorded is None:
                return Err(internal("The advance was written, but its record is not there."))
        return replay(self.loader, self.response_format, session.value, recorded)

    def _execute(self, grant: ContinueGrant, request: AdvanceRequest) -> Written:
        def decide_and_append(permit: AppendPermit, session: Session) -> Written:
            # Somebody may have been faster between the look before the lock and the lock.
            if _recorded(session, grant) is not None:
                return Ok(None)
            return self._append(permit, session, grant, request)

        return self.writer.write(grant.place.session_id, decide_and_append)

    def _append(self, permit: AppendPermit, session: Session, grant: ContinueGrant, request: AdvanceRequest) -> Written:
        node = find_node(session, grant.place, grant.workflow_ref)
        if isinstance(node, Err):
            return node
        opened = open_node(self.loader, session, *node.value)
        if isinstance(opened, Err):
            lost = opened.error.code == "TOKEN_UNKNOWN_NODE"
            return Err(internal("The state of this node is missing.")) if lost else opened
        # Before anybody looks at them: only JSON can be judged.
        artifacts = artifact_outputs(request.submission, grant.attempt_id)
        if isinstance(artifacts, Err):
            return artifacts
        attempted = self._attempted(opened.value, request)
        if isinstance(attempted, Err):
            return attempted
        profile = self.response_format.profile
        outcome = decide_advance(attempted.value, profile)
        if isinstance(outcome, Err):
            return outcome
        ends = isinstance(outcome.value, Accepted) and outcome.value.selection.is_complete
        entry = AttemptEntry(
            attempted.value,
            grant.attempt_id,
            self.writer.mint.node(),
            request.context is not None,
            self._git_end(opened.value) if ends else _NO_END,
        )
        snapshot = snapshot_for(entry, outcome.value, profile)
        kept = self.writer.store_snapshot(snapshot)
        if isinstance(kept, Err):
            return kept
        builder = self.writer.builder(session, grant.place.run_id)
        plan = plan_for(entry, outcome.value, artifacts.value, kept.value, builder, profile)
        # The tokens of the answer become durable together with what the answer is about.
        reserved = _reserve_tokens(self.response_format.issuer, entry, snapshot)
        return reserved if isinstance(reserved, Err) else self.writer.append(permit, plan)

    def _git_end(self, position: NodePosition) -> GitEnd:
        return self.workspace.end(workspace_facts(position.events).repo_root)

    def _attempted(self, position: NodePosition, request: AdvanceRequest) -> Ok[AdvanceAttempt] | Err[ToolError]:
        """Return the attempt to advance, or why it is refused."""
        profile = self.response_format.profile
        stored = position.context(profile)
        questions = questions_above(self.loader, position, profile)
        refusal = _refusal(position, questions, stored.get("is_autonomous") is True or is_autonomous(stored))
        if refusal is not None:
            return Err(refusal)
        instance = position.snapshot.pending_step
        if instance is None:
            return Err(internal("Nothing is pending at this node.", "Ask resume_session where the run stands."))
        preferences = preferences_at(position.events, position.run, position.node.node_id)
        if isinstance(preferences, Err):
            return preferences
        gathered = earlier_artifacts(self.loader, position, profile)
        if isinstance(gathered, Err):
            return gathered
        resubmits = bool(questions.in_chain) and not request.has_output
        return Ok(
            AdvanceAttempt(
                position,
                instance,
                questions.submitted if resubmits else request.submission,
                merged(stored, request.context),
                preferences.value,
                position.node.kind == "blocked_attempt",
                gathered.value,
                tuple(self.dependencies(instance.step_id)),
                questions,
                resubmits,
            )
        )


def _reserve_tokens(issuer: TokenIssuer, entry: AttemptEntry, snapshot: ExecutionSnapshot) -> Written:
    """Prepare the tokens that the answer to an attempt holds, in the order in which it asks for them."""
    if snapshot.pending_step is None:
        return Ok(None)
    here, child = entry.position, child_attempt(entry.attempt)
    place = NodeAddress(here.session.session_id, here.run.run_id, entry.target)
    going_on = ContinueGrant(place, child, here.workflow_ref)
    wanted: list[tuple[ContinueGrant | CheckpointGrant, AliasSlot | None]] = [(going_on, None)]
    if snapshot.engine_payload.gate_checkpoint is None:
        wanted.append((CheckpointGrant(place, child), None))
        state = snapshot.state
        if isinstance(state, BlockedState) and isinstance(state.blocked, RetryableBlock):
            wanted.append((replace(going_on, attempt_id=state.blocked.retry_attempt_id), "retry"))
    for grant, slot in wanted:
        reserved = issuer.reserve(grant, slot)
        if isinstance(reserved, Err):
            return Err(from_issuer(reserved.error))
    return Ok(None)


def _recorded(session: Session, grant: ContinueGrant) -> AdvanceRecorded | None:
    key = keys.advance_recorded(grant.place.session_id, grant.place.node_id, grant.attempt_id)
    event = session.truth.find(key)
    return event if isinstance(event, AdvanceRecorded) else None


def _refusal(position: NodePosition, questions: Questions, is_autonomous_run: bool) -> ToolError | None:
    """Why a node can't be advanced from, whatever is submitted."""
    kind = position.node.kind
    if kind == "gate_checkpoint":
        message = "The run stands at a gate, which an advance can't open."
        return internal(message, "Have the gate decided; rehydrating this node shows the step that waits.")
    if kind != "blocked_attempt":
        return None
    state = position.snapshot.state
    if not isinstance(state, BlockedState):
        return internal("A blocked node holds a state that is not blocked.")
    if isinstance(state.blocked, TerminalBlock):
        message = "This block is final: the same step can't be submitted again from here."
        return token_error("TOKEN_SCOPE_MISMATCH", message, _WAY_ON)
    limit = AUTONOMOUS_ATTEMPTS if is_autonomous_run else INTERACTIVE_ATTEMPTS
    # A question is no failed attempt; if it counted, it could be one that nobody may answer.
    chain = position.run.blocked_chain(position.node.node_id) - len(questions.in_chain)
    return _retry_limit_error(state.blocked, chain, is_autonomous_run) if chain >= limit else None


_WAY_ON = "Do what the blocker asks for, then rehydrate the step above the block and advance it with the new token."


def _retry_limit_error(block: RetryableBlock, chain: int, is_autonomous_run: bool) -> ToolError:
    pointers = (blocker.pointer for blocker in block.blockers.blockers)
    named = next((pointer.contract_ref for pointer in pointers if isinstance(pointer, OutputContractPointer)), None)
    what = "the required output of this step" if named is None else f"contract {named}"
    message = f"{chain} attempts in a row were blocked; {what} is still not met."
    if is_autonomous_run:
        return precondition(message, "Stop here and hand the run over to a person.")
    return precondition(
        message,
        "Rehydrate this node to read again what it asks for, then rewind: rehydrate the step above the blocked "
        "attempts and advance it with the new token. Only a rewind starts a new series of attempts.",
    )

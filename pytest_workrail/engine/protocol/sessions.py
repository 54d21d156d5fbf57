"""Loading what a token names: a healthy session, its run, the node, its snapshot and its workflow. Reads only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.model.base import CorruptionReason
from pytest_workrail.engine.model.events import Log
from pytest_workrail.engine.model.ids import IdMint, RunId, SessionId, SnapshotRef, WorkflowRef, ref_of
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.projections.dag import Node, Run, project_dag
from pytest_workrail.engine.projections.facts import node_context
from pytest_workrail.engine.protocol.errors import (
    ToolError,
    from_content,
    from_gate,
    from_store,
    not_healthy,
    token_error,
)
from pytest_workrail.engine.protocol.ports import LoadSession, LoadSnapshot
from pytest_workrail.engine.protocol.program import Program, Programs
from pytest_workrail.engine.store.gate import CorruptTail, Gate, assess
from pytest_workrail.engine.store.loaded import AppendPermit, SessionTruth
from pytest_workrail.engine.store.plan import AppendPlan, EventBuilder
from pytest_workrail.engine.store.ports import Clock, SessionStore, SnapshotStore
from pytest_workrail.engine.tokens.issuer import NodeAddress
from workrail_lint.base.result import Err, Ok


class SessionLoader(Struct, frozen=True):
    """Everything that can be read, and no way to write."""

    session: LoadSession
    snapshot: LoadSnapshot
    programs: Programs


class Session(Struct, frozen=True):
    """A healthy session and its runs."""

    session_id: SessionId
    truth: SessionTruth
    runs: dict[RunId, Run]

    def as_of(self, event_index: int) -> Ok[Session] | Err[ToolError]:
        """The session as it was right after the append that holds an event."""
        events = self.truth.as_of(event_index)
        if len(events) == len(self.truth.events):
            return Ok(self)
        return view_session(self.session_id, SessionTruth(events))


class NodePosition(Struct, frozen=True):
    """A node, and what is needed to look at it or to go on from it."""

    session: Session
    run: Run
    node: Node
    snapshot: ExecutionSnapshot
    program: Program

    @property
    def events(self) -> Log:
        return self.session.truth.events

    @property
    def place(self) -> NodeAddress:
        return NodeAddress(self.session.session_id, self.run.run_id, self.node.node_id)

    @property
    def workflow_ref(self) -> WorkflowRef:
        return ref_of(self.node.workflow_hash)

    def context(self, profile: Profile) -> dict[str, Any]:
        """The context as seen from this node."""
        return node_context(self.events, self.run, self.node.node_id, profile.rewind_context) or {}


def load_session(loader: SessionLoader, session_id: SessionId) -> Ok[Session] | Err[ToolError]:
    """A session, if it is healthy. One that is not here is healthy and empty."""
    loaded = loader.session(session_id)
    if isinstance(loaded, Ok):
        return view_session(session_id, loaded.value)
    health = assess(loaded)
    return Err(from_store(health.error) if isinstance(health, Err) else not_healthy(health.value))


def view_session(session_id: SessionId, truth: SessionTruth) -> Ok[Session] | Err[ToolError]:
    """A log that was loaded, as a session."""
    runs = project_dag(truth.events)
    if isinstance(runs, Ok):
        return Ok(Session(session_id, truth, runs.value))
    reason = CorruptionReason("non_contiguous_indices", runs.error.message)
    return Err(not_healthy(CorruptTail(reason)))


def find_node(
    session: Session, place: NodeAddress, workflow_ref: WorkflowRef | None = None
) -> Ok[tuple[Run, Node]] | Err[ToolError]:
    """The run and node a token names. A token that names no workflow is checked against its node alone."""
    run = session.runs.get(place.run_id)
    if run is None or run.started is None:
        return Err(token_error("TOKEN_UNKNOWN_NODE", "No run is known for this token."))
    expected = workflow_ref or ref_of(run.started.workflow_hash)
    if expected != ref_of(run.started.workflow_hash):
        return Err(token_error("TOKEN_WORKFLOW_HASH_MISMATCH", "The run executes another version of the workflow."))
    node = run.nodes.get(place.node_id)
    if node is None:
        return Err(token_error("TOKEN_UNKNOWN_NODE", "The run has no such node."))
    if expected != ref_of(node.workflow_hash):
        return Err(token_error("TOKEN_WORKFLOW_HASH_MISMATCH", "The node belongs to another version of the workflow."))
    return Ok((run, node))


def open_node(loader: SessionLoader, session: Session, run: Run, node: Node) -> Ok[NodePosition] | Err[ToolError]:
    """A node with its snapshot and program."""
    snapshot = loader.snapshot(node.snapshot_ref)
    if isinstance(snapshot, Err):
        return Err(from_content(snapshot.error))
    if snapshot.value is None:
        return Err(token_error("TOKEN_UNKNOWN_NODE", "The state of this node is no longer here."))
    program = loader.programs.of(node.workflow_hash)
    if isinstance(program, Err):
        return program
    return Ok(NodePosition(session, run, node, snapshot.value, program.value))


Written = Ok[None] | Err[ToolError]


class SessionWriter(Struct, frozen=True):
    """Sessions and snapshots to add to, behind the gate."""

    sessions: SessionStore
    snapshots: SnapshotStore
    gate: Gate
    mint: IdMint
    clock: Clock

    def write(self, session_id: SessionId, call: Callable[[AppendPermit, Session], Written]) -> Written:
        """Run `call` as the only writer of a session, with the session as it is now."""

        def inside(permit: AppendPermit, truth: SessionTruth) -> Written:
            session = view_session(session_id, truth)
            return session if isinstance(session, Err) else call(permit, session.value)

        outcome = self.gate.with_healthy_session_lock(session_id, inside)
        return Err(from_gate(outcome.error)) if isinstance(outcome, Err) else outcome.value

    def builder(self, session: Session, run_id: RunId) -> EventBuilder:
        """A builder for the next plan of a session."""
        return EventBuilder(
            session.session_id,
            run_id,
            first_index=session.truth.next_index,
            timestamp_ms=self.clock.now_ms(),
            new_event_id=self.mint.event,
        )

    def store_snapshot(self, snapshot: ExecutionSnapshot) -> Ok[SnapshotRef] | Err[ToolError]:
        """Store a snapshot, before the event that names it."""
        stored = self.snapshots.put(snapshot)
        return Err(from_content(stored.error)) if isinstance(stored, Err) else stored

    def append(self, permit: AppendPermit, plan: AppendPlan) -> Written:
        """Add a plan as a whole."""
        written = self.sessions.append(permit, plan)
        return Err(from_store(written.error)) if isinstance(written, Err) else Ok(None)

"""Writing to sessions. Only the tools that change a session are given a writer."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from pytest_workrail.engine.model.ids import IdMint, RunId, SessionId, SnapshotRef
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.protocol.errors import ToolError, from_content, from_gate, from_store
from pytest_workrail.engine.protocol.sessions import Session, view_session
from pytest_workrail.engine.store.gate import Gate
from pytest_workrail.engine.store.loaded import SessionTruth
from pytest_workrail.engine.store.permit import AppendPermit
from pytest_workrail.engine.store.plan import AppendPlan, EventBuilder
from pytest_workrail.engine.store.ports import Clock, SessionStore, SnapshotStore
from workrail_lint.base.result import Err, Ok

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

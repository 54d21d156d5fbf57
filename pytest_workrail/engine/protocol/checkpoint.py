"""Checkpoint: a second node with the same state, to come back to. Nothing advances."""

from __future__ import annotations

from msgspec import Struct

from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.events import EdgeCreated
from pytest_workrail.engine.model.ids import ref_of
from pytest_workrail.engine.projections.dag import Node
from pytest_workrail.engine.protocol.errors import ToolError, from_issuer, internal
from pytest_workrail.engine.protocol.responses import CheckpointSet
from pytest_workrail.engine.protocol.sessions import Session, SessionLoader, find_node, load_session
from pytest_workrail.engine.protocol.writer import SessionWriter, Written
from pytest_workrail.engine.store.permit import AppendPermit
from pytest_workrail.engine.store.plan import Step, checkpoint_plan
from pytest_workrail.engine.tokens.issuer import CheckpointGrant, ContinueGrant, StateGrant, TokenIssuer
from workrail_lint.base.result import Err, Ok


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
        found = find_node(session.value, grant.place)
        if isinstance(found, Err):
            return found
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
        run, node = found.value
        workflow_id = "" if run.started is None else run.started.workflow_id
        return self._answer(grant, node, edge, workflow_id)

    def _write(self, grant: CheckpointGrant) -> Written:
        def append(permit: AppendPermit, session: Session) -> Written:
            if _recorded(session, grant) is not None:
                return Ok(None)
            found = find_node(session, grant.place)
            if isinstance(found, Err):
                return found
            _, node = found.value
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

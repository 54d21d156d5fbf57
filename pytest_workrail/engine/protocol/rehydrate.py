"""Rehydrate: look at a node again, with what an agent without memory needs to know.

Nothing here can append: it is given a loader, which only reads, and a token issuer, whose aliases are no durable truth.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from pytest_workrail.engine.core.profiles import Answers, Profile
from pytest_workrail.engine.model.ids import IdMint, WorkflowRef
from pytest_workrail.engine.model.snapshot import BlockedState, RetryableBlock, TerminalBlock
from pytest_workrail.engine.projections import facts
from pytest_workrail.engine.projections.recovery import recovery_text
from pytest_workrail.engine.protocol.blocked_response import blocked_response
from pytest_workrail.engine.protocol.errors import ToolError
from pytest_workrail.engine.protocol.ports import Workspace
from pytest_workrail.engine.protocol.responses import BindingDrift, Blocked, Continued
from pytest_workrail.engine.protocol.sessions import NodePosition, SessionLoader, find_node, load_session, open_node
from pytest_workrail.engine.protocol.step_response import ResponseFormat, progress, references_of
from pytest_workrail.engine.tokens.issuer import NodeAddress
from workrail_lint.base.result import Err, Ok


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
    session = load_session(loader, place.session_id)
    if isinstance(session, Err):
        return session
    found = find_node(session.value, place, workflow_ref)
    if isinstance(found, Err):
        return found
    opened = open_node(loader, session.value, *found.value)
    if isinstance(opened, Err):
        return opened
    position = opened.value
    recovery = _recovery(position, response_format.profile)
    attempt = mint.attempt()
    shown = progress(response_format, position, attempt, recovery)
    if isinstance(shown, Err):
        return shown
    ir = position.program.ir
    path = workspace_path or facts.workspace(position.events).repo_root
    warnings = binding_drift(ir["bindings"]["overrides"], workspace.overrides(ir["workflowId"], path))
    block = _block(position, response_format.profile)
    if block is not None:
        answer = blocked_response(response_format, position, shown.value, block, attempt)
        if isinstance(answer, Err):
            return answer
        return Ok(replace(answer.value, warnings=warnings, is_rehydrated=True))
    return Ok(Continued(shown.value, warnings=warnings, references=references_of(ir, workspace, path)))


def _block(position: NodePosition, profile: Profile) -> RetryableBlock | TerminalBlock | None:
    """The block of a blocked node, where the profile tells of it. A checkpoint below it can be advanced from."""
    state = position.snapshot.state
    match profile.answers:
        case Answers.ENGINE:
            return None
        case Answers.UNION:
            is_own = position.node.kind == "blocked_attempt"
            return state.blocked if is_own and isinstance(state, BlockedState) else None


def _recovery(position: NodePosition, profile: Profile) -> str:
    instance = position.snapshot.pending_step
    functions = "" if instance is None else position.program.renderer.functions(instance)
    return recovery_text(
        position.events,
        position.run.run_id,
        position.node.node_id,
        functions=functions,
        policy=profile.recap,
    )


def binding_drift(pinned: Mapping[str, str], current: Mapping[str, str] | None) -> tuple[BindingDrift, ...]:
    """Slots that the project binds otherwise now. What came from a default never drifts."""
    if current is None:
        return ()
    return tuple(
        BindingDrift(slot, value, current.get(slot)) for slot, value in pinned.items() if current.get(slot) != value
    )

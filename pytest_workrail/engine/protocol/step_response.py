"""Shared parts of execution responses: the rendered step, its tokens, what to do next, and references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from pytest_workrail.engine.core.full_auto import late_summaries, open_contracts
from pytest_workrail.engine.core.modes import beyond_recommendation, waits_for_confirmation
from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.core.prompts import PendingStep, PromptStyle, Situation
from pytest_workrail.engine.model.events import Log
from pytest_workrail.engine.model.ids import AttemptId, NodeId
from pytest_workrail.engine.model.reasons import FollowupRequired, UserOnlyDependency
from pytest_workrail.engine.model.snapshot import RetryableBlock, TerminalBlock
from pytest_workrail.engine.model.words import DEFAULT_PREFERENCES, Preferences
from pytest_workrail.engine.projections import session_facts
from pytest_workrail.engine.projections.dag import Run
from pytest_workrail.engine.projections.session_facts import effective_preferences, has_recap, skipped_before
from pytest_workrail.engine.protocol.advance_outcome import absent_capabilities, question_patch
from pytest_workrail.engine.protocol.errors import ToolError, from_issuer, internal, not_rendered
from pytest_workrail.engine.protocol.ports import Workspace
from pytest_workrail.engine.protocol.responses import (
    Blocked,
    Disclosure,
    Followup,
    NextIntent,
    Progress,
    Reference,
    Tokens,
)
from pytest_workrail.engine.protocol.sessions import NodePosition
from pytest_workrail.engine.tokens.formats import AliasSlot
from pytest_workrail.engine.tokens.issuer import CheckpointGrant, ContinueGrant, TokenIssuer
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


class ResponseFormat(Struct, frozen=True):
    """How answers are made: the run profile, the format of prompts, and the issuer of tokens."""

    profile: Profile
    style: PromptStyle
    issuer: TokenIssuer
    # What only a person can provide before a step counts.
    dependencies: Callable[[str], Sequence[object]] = lambda step_id: ()


def references_of(ir: dict[str, Any], workspace: Workspace, workspace_path: str | None) -> tuple[Reference, ...]:
    """Every declared reference with where it leads, in declared order."""
    return tuple(
        Reference(
            declared["id"],
            declared["title"],
            declared["source"],
            declared["purpose"],
            declared["authoritative"],
            declared.get("resolveFrom", "workspace"),
            workspace.resolve(declared, workspace_path),
        )
        for declared in ir["references"]
    )


def preferences_at(events: Log, run: Run, node: NodeId) -> Ok[Preferences] | Err[ToolError]:
    """Return the preferences in effect at a node."""
    effective = effective_preferences(events, run, node)
    if isinstance(effective, Err):
        return Err(internal(f"The preferences at a node can't be read ({effective.error.code})."))
    return effective


def render(
    response_format: ResponseFormat,
    position: NodePosition,
    preferences: Preferences = DEFAULT_PREFERENCES,
    recovery: str | None = None,
) -> PendingStep | None:
    """The pending step as the agent sees it; None when nothing is pending."""
    instance = position.snapshot.pending_step
    if instance is None:
        return None
    needed = response_format.dependencies(instance.step_id)
    situation = Situation(
        position.context(response_format.profile),
        has_recap(position.events, position.run.run_id),
        recovery,
        response_format.style,
        preferences,
        tuple(each.detail for each in needed if isinstance(each, UserOnlyDependency)),
        _asked_for(position),
        _open_contracts(position, preferences, response_format.profile),
    )
    return position.program.renderer.render(instance, situation)


def _open_contracts(position: NodePosition, preferences: Preferences, profile: Profile) -> tuple[str, ...]:
    """Return the contracts that earlier steps did without and that a later output still satisfies."""
    match profile.late_outputs:
        case "resolve_gaps" if preferences.never_stops:
            lineage = session_facts.Lineage(position.events, position.run, position.node.node_id)
            packs = position.program.index.packs
            return tuple(open_contracts(lineage.open_gaps(late_summaries(packs)), packs))
        case _:
            return ()


def _asked_for(position: NodePosition) -> tuple[str, ...]:
    """The variables a node asks for, if it is a question."""
    return tuple(question_patch(position.snapshot) or ()) if position.node.kind == "blocked_attempt" else ()


def _rendered(
    response_format: ResponseFormat, position: NodePosition, preferences: Preferences, recovery: str | None
) -> Ok[PendingStep | None] | Err[ToolError]:
    try:
        return Ok(render(response_format, position, preferences, recovery))
    except Exception as problem:
        instance = position.snapshot.pending_step
        return Err(not_rendered(instance.step_id if instance is not None else "", problem))


def progress(
    response_format: ResponseFormat, position: NodePosition, attempt: AttemptId | None, recovery: str | None = None
) -> Ok[Progress] | Err[ToolError]:
    """Where the run stands. `recovery` is set when a node is looked at again, empty or not.

    Without an attempt no tokens are given out: a gate has its own.
    """
    preferences = preferences_at(position.events, position.run, position.node.node_id)
    if isinstance(preferences, Err):
        return preferences
    rendered = _rendered(response_format, position, preferences.value, recovery)
    if isinstance(rendered, Err):
        return rendered
    pending = rendered.value
    is_complete = position.snapshot.is_complete
    tokens: Tokens | None = None
    if pending is not None and attempt is not None:
        issued = issue_tokens(response_format.issuer, ContinueGrant(position.place, attempt, position.workflow_ref))
        if isinstance(issued, Err):
            return issued
        tokens = issued.value
    waits = pending is not None and waits_for_confirmation(
        pending.requires_confirmation, preferences.value, response_format.profile
    )
    intent = _next_intent(is_complete, pending is not None, recovery is not None, waits)
    disclosure = _disclosure(response_format, position, preferences.value)
    return Ok(Progress(tokens, is_complete, pending, preferences.value, intent, disclosure))


def _disclosure(response_format: ResponseFormat, position: NodePosition, preferences: Preferences) -> Disclosure | None:
    match response_format.profile.answers:
        case "engine":
            return None
        case "union":
            ir = position.program.ir
            skipped = skipped_before(
                position.events, position.run, position.node.node_id, of_question=bool(_asked_for(position))
            )
            beyond = beyond_recommendation(position.program.definition, preferences)
            absent = tuple(absent_capabilities(position).items())
            return Disclosure(ir["workflowId"], applied_features(ir), skipped, beyond, absent)


def applied_features(ir: dict[str, Any]) -> tuple[str, ...]:
    """The features whose text is in the prompts, as the IR names them."""
    return tuple(feature["id"] for feature in ir["features"])


def _next_intent(is_complete: bool, is_pending: bool, is_rehydrate: bool, waits: bool) -> NextIntent:
    if is_complete and not is_pending:
        return "complete"
    if is_rehydrate:
        return "rehydrate_only"
    if not is_pending:
        return "complete"
    return "await_user_confirmation" if waits else "perform_pending_then_continue"


def issue_tokens(issuer: TokenIssuer, grant: ContinueGrant) -> Ok[Tokens] | Err[ToolError]:
    """The tokens of an attempt on a node; the same ones each time."""
    going_on = issuer.continue_token(grant)
    if isinstance(going_on, Err):
        return Err(from_issuer(going_on.error))
    marking = issuer.checkpoint_token(CheckpointGrant(grant.place, grant.attempt_id))
    if isinstance(marking, Err):
        return Err(from_issuer(marking.error))
    return Ok(Tokens(going_on.value, marking.value))


def blocked_response(
    response_format: ResponseFormat,
    position: NodePosition,
    step_progress: Progress,
    block: RetryableBlock | TerminalBlock,
    retry_attempt: AttemptId,
) -> Ok[Blocked] | Err[ToolError]:
    """The block of a node. A retryable one gives out the token of an attempt at it."""
    retry_token: str | None = None
    if isinstance(block, RetryableBlock):
        issued = attempt_token(response_format.issuer, position, retry_attempt, "retry")
        if isinstance(issued, Err):
            return issued
        retry_token = issued.value
    ref = block.validation_ref
    validation = None if ref is None else session_facts.validation(position.events, ref)
    return Ok(
        Blocked(
            step_progress,
            block.blockers.blockers,
            retry_token,
            validation,
            _followup(block),
            _patch(response_format, position),
        )
    )


def attempt_token(
    issuer: TokenIssuer, position: NodePosition, attempt: AttemptId, slot: AliasSlot | None = None
) -> Ok[str] | Err[ToolError]:
    """The token of an attempt at a node."""
    issued = issuer.continue_token(ContinueGrant(position.place, attempt, position.workflow_ref), slot)
    return Err(from_issuer(issued.error)) if isinstance(issued, Err) else issued


def _patch(response_format: ResponseFormat, position: NodePosition) -> dict[str, Json] | None:
    match response_format.profile.answers:
        case "engine":
            return None
        case "union":
            return question_patch(position.snapshot)


def _followup(block: RetryableBlock | TerminalBlock) -> Followup | None:
    reason = block.reason
    if not isinstance(reason, FollowupRequired):
        return None
    title = f"Assessment follow-up matched {reason.assessment_id}.{reason.dimension_id} == {reason.level}"
    return Followup(title, reason.guidance)

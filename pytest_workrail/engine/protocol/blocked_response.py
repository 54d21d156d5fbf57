"""The answer about a blocked node: why it is blocked, and how to go on, from what its snapshot remembers."""

from __future__ import annotations

from pytest_workrail.engine.core.profiles import Answers
from pytest_workrail.engine.model.ids import AttemptId
from pytest_workrail.engine.model.reasons import FollowupRequired
from pytest_workrail.engine.model.snapshot import RetryableBlock, TerminalBlock
from pytest_workrail.engine.projections import facts
from pytest_workrail.engine.protocol.errors import ToolError, from_issuer
from pytest_workrail.engine.protocol.questions import question_patch
from pytest_workrail.engine.protocol.responses import Blocked, Followup, Progress, ShownValidation
from pytest_workrail.engine.protocol.sessions import NodePosition
from pytest_workrail.engine.protocol.step_response import ResponseFormat
from pytest_workrail.engine.tokens.aliases import AliasSlot
from pytest_workrail.engine.tokens.issuer import ContinueGrant, TokenIssuer
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


def blocked_response(
    response_format: ResponseFormat,
    position: NodePosition,
    shown: Progress,
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
    result = None if block.validation_ref is None else facts.validation(position.events, block.validation_ref)
    validation = None if result is None else ShownValidation(result.issues, result.suggestions)
    return Ok(
        Blocked(
            shown,
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
        case Answers.ENGINE:
            return None
        case Answers.UNION:
            return question_patch(position.snapshot)


def _followup(block: RetryableBlock | TerminalBlock) -> Followup | None:
    reason = block.reason
    if not isinstance(reason, FollowupRequired):
        return None
    title = f"Assessment follow-up matched {reason.assessment_id}.{reason.dimension_id} == {reason.level}"
    return Followup(title, reason.guidance)

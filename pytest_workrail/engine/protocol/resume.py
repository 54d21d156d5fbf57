"""Resume: find a session again by what the caller remembers of it. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from pytest_workrail.engine.model.ids import ref_of
from pytest_workrail.engine.projections.ranking import Candidate, ResumeQuery, rank
from pytest_workrail.engine.projections.resume import SessionSummary
from pytest_workrail.engine.protocol.errors import ToolError, from_issuer, from_store
from pytest_workrail.engine.protocol.ports import Workspace
from pytest_workrail.engine.protocol.requests import ResumeRequest
from pytest_workrail.engine.protocol.responses import Listing, next_call
from pytest_workrail.engine.store.ports import StoreError
from pytest_workrail.engine.tokens.issuer import NodeAddress, StateGrant, TokenIssuer
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok

Summaries: TypeAlias = Callable[[], Ok[list[SessionSummary]] | Err[StoreError]]


def resume(
    summaries: Summaries, issuer: TokenIssuer, workspace: Workspace, request: ResumeRequest
) -> Ok[Listing] | Err[ToolError]:
    """The sessions that the caller may mean, best first."""
    found = summaries()
    if isinstance(found, Err):
        return Err(from_store(found.error))
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
    candidates = _shown(rank(found.value, query), issuer)
    if isinstance(candidates, Err):
        return candidates
    return Ok(Listing("candidates", {"candidates": candidates.value, "totalEligible": len(found.value)}))


def _shown(candidates: Sequence[Candidate], issuer: TokenIssuer) -> Ok[list[Json]] | Err[ToolError]:
    shown: list[Json] = []
    for candidate in candidates:
        summary = candidate.summary
        place = NodeAddress(summary.session_id, summary.run_id, summary.tip)
        # A long token: a short one would need an alias, and this call writes nothing.
        token = issuer.long_state_token(StateGrant(place, ref_of(summary.workflow_hash)))
        if isinstance(token, Err):
            return Err(from_issuer(token.error))
        shown.append(_candidate(candidate, token.value))
    return Ok(shown)


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

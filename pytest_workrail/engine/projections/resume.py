"""The summary of a session before it is resumed: its title, its notes, its position."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from enum import IntEnum
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from pytest_workrail.engine.core.profiles import RewindContext
from pytest_workrail.engine.model.events import Log
from pytest_workrail.engine.model.ids import NodeId, RunId, SessionId, SnapshotRef, WorkflowHash
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.model.step_keys import collation_key, utf8_prefix
from pytest_workrail.engine.projections.dag import Run, project_dag
from pytest_workrail.engine.projections.session_facts import Recap, Workspace, node_context, project_outputs, workspace
from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err

MAX_CANDIDATES = 5
MAX_SESSIONS_TO_SCAN = 200
_TITLE_PART_BYTES = 320
_RECAP_PART_BYTES = 1600
_ENOUGH = 0.4
_COMMON_WORDS = frozenset(
    [
        "task",
        "dev",
        "work",
        "workflow",
        "coding",
        "feature",
        "phase",
        "implement",
        "implementation",
        "review",
        "fix",
        "bug",
    ]
)
_TOKEN = Pattern(r"[a-z0-9_-]+")

Reason: TypeAlias = Literal[
    "matched_exact_id",
    "matched_notes",
    "matched_notes_partial",
    "matched_workflow_id",
    "matched_head_sha",
    "matched_branch",
    "matched_repo_root",
    "recency_fallback",
]
Confidence: TypeAlias = Literal["strong", "medium", "weak"]


class Tier(IntEnum):
    """How a session matches, best first."""

    EXACT_ID = 0
    ALL_WORDS = 1
    SOME_WORDS = 2
    WORKFLOW = 3
    HEAD = 4
    BRANCH = 5
    RECENT = 6


_TIER_REASON: dict[Tier, Reason] = {
    Tier.EXACT_ID: "matched_exact_id",
    Tier.ALL_WORDS: "matched_notes",
    Tier.SOME_WORDS: "matched_notes_partial",
    Tier.WORKFLOW: "matched_workflow_id",
    Tier.HEAD: "matched_head_sha",
    Tier.BRANCH: "matched_branch",
    Tier.RECENT: "recency_fallback",
}


class ResumeQuery(Struct, frozen=True):
    """The caller's description of the session it looks for."""

    text: str | None = None
    run_id: str | None = None
    session_id: str | None = None
    git_branch: str | None = None
    git_head_sha: str | None = None
    repo_root_hash: str | None = None
    same_workspace_only: bool = False


class Candidate(Struct, frozen=True):
    """A session that may be the one meant."""

    summary: SessionSummary
    tier: Tier
    why_matched: tuple[Reason, ...]
    confidence: Confidence
    match_explanation: str
    snippet: str


def rank(summaries: Iterable[SessionSummary], query: ResumeQuery) -> list[Candidate]:
    """The best candidates, best first."""
    words = words_of(query.text or "")
    kept = [summary for summary in summaries if not _is_elsewhere(summary, query)]
    judged = sorted((_Match(summary, query, words) for summary in kept), key=lambda match: match.order)
    return [match.candidate() for match in judged[:MAX_CANDIDATES]]


def words_of(text: str) -> frozenset[str]:
    """The words of a text, as they are compared."""
    return frozenset(_TOKEN.findall(js.lower(unicodedata.normalize("NFKC", text))))


def word_weight(word: str) -> float:
    """How much a word says: short and common ones little, long ones more."""
    if len(word) <= 2:
        return 0.2
    if word in _COMMON_WORDS:
        return 0.35
    return min(2.5, 1 + 0.18 * max(0, len(word) - 4))


def match_ratio(wanted: frozenset[str], words: frozenset[str]) -> float:
    """The weight of the wanted words that are found, as they are or as parts, over the weight of all."""
    # Sorted: sums of floats depend on their order, and the order of a set on the hash seed.
    total = sum(word_weight(word) for word in sorted(wanted))
    return sum(word_weight(word) for word in sorted(wanted) if _hits(word, words)) / total if total else 0.0


def _hits(word: str, words: frozenset[str]) -> bool:
    if word in words:
        return True
    return len(word) >= 3 and any(len(other) >= 3 and (other in word or word in other) for other in words)


def _is_elsewhere(summary: SessionSummary, query: ResumeQuery) -> bool:
    known = summary.workspace.repo_root_hash
    return (
        query.same_workspace_only
        and query.repo_root_hash is not None
        and known is not None
        and known != query.repo_root_hash
    )


class _Match:
    """One session held against a query."""

    def __init__(self, summary: SessionSummary, query: ResumeQuery, words: frozenset[str]) -> None:
        self.summary, self.query, self.words = summary, query, words
        text_words = words_of(f"{summary.title or ''}\n\n{summary.recap_snippet}")
        workflow_words = words_of(summary.workflow_id)
        self.text_ratio = match_ratio(words, text_words)
        self.workflow_ratio = match_ratio(words, workflow_words)
        self.has_all_words = bool(words) and words <= text_words
        self.has_workflow = bool(words) and (words <= workflow_words or self.workflow_ratio >= _ENOUGH)
        place = summary.workspace
        self.same_repository = query.repo_root_hash is not None and place.repo_root_hash == query.repo_root_hash
        self.same_head = bool(query.git_head_sha) and place.git_head_sha == query.git_head_sha
        self.same_branch = bool(query.git_branch) and place.git_branch == query.git_branch
        self.near_branch = self.same_branch or _is_prefix(query.git_branch, place.git_branch)
        self.tier = self._tier()

    def _tier(self) -> Tier:
        if self._exact_field() is not None:
            return Tier.EXACT_ID
        if self.has_all_words:
            return Tier.ALL_WORDS
        if self.words and self.text_ratio >= _ENOUGH:
            return Tier.SOME_WORDS
        if self.has_workflow:
            return Tier.WORKFLOW
        if self.same_head:
            return Tier.HEAD
        return Tier.BRANCH if self.near_branch else Tier.RECENT

    def _exact_field(self) -> str | None:
        if self.query.run_id is not None and self.query.run_id == self.summary.run_id:
            return "runId"
        if self.query.session_id is not None and self.query.session_id == self.summary.session_id:
            return "sessionId"
        return None

    @property
    def order(self) -> tuple[object, ...]:
        branch_ratio = match_ratio(self.words, words_of(self.summary.workspace.git_branch or ""))
        score = max(self.text_ratio, 0.75 * self.workflow_ratio, 0.5 * branch_ratio)
        return (
            self.tier,
            not self.same_repository,
            self.summary.is_complete,
            -score,
            -self.text_ratio if self.tier is Tier.SOME_WORDS else 0.0,
            -self.summary.last_activity_index,
            collation_key(self.summary.session_id),
        )

    def candidate(self) -> Candidate:
        signals: list[tuple[bool, Reason]] = [
            (self.same_repository, "matched_repo_root"),
            (self.same_head, "matched_head_sha"),
            (self.near_branch, "matched_branch"),
        ]
        first = _TIER_REASON[self.tier]
        why = (first, *(reason for holds, reason in signals if holds and reason != first))
        return Candidate(
            self.summary,
            self.tier,
            why,
            self._confidence(),
            "; ".join(self._explanation()),
            preview(self.summary, self.words),
        )

    def _confidence(self) -> Confidence:
        if self.tier <= Tier.ALL_WORDS:
            return "strong"
        if self.tier <= Tier.WORKFLOW or self.same_repository or self.same_head or self.near_branch:
            return "medium"
        return "weak"

    def _explanation(self) -> list[str]:
        match self.tier:
            case Tier.EXACT_ID:
                phrase = f"the {self._exact_field()} is the one asked for"
            case Tier.ALL_WORDS:
                phrase = "title and notes contain every word asked for"
            case Tier.SOME_WORDS:
                # Half a percent rounds up, as everywhere; Python's own rounding goes to the even number.
                phrase = f"title and notes match {int(self.text_ratio * 100 + 0.5)}% of the words asked for"
            case Tier.WORKFLOW:
                phrase = "the workflow is the one asked for"
            case Tier.HEAD:
                phrase = "same commit as the workspace"
            case Tier.BRANCH:
                phrase = "same branch as the workspace" if self.same_branch else "branch like the workspace's"
            case Tier.RECENT:
                phrase = "recent, nothing else speaks for it"
        extras = [(self.same_repository, "same workspace"), (self.summary.is_complete, "completed")]
        return [phrase, *(text for holds, text in extras if holds)]


def _is_prefix(one: str | None, other: str | None) -> bool:
    if not one or not other:
        return False
    return one.startswith(other) or other.startswith(one)


def preview(summary: SessionSummary, words: frozenset[str]) -> str:
    """Title and notes, shortened around the first word that was asked for."""
    parts = [
        _window(js.trim(summary.title or ""), words, _TITLE_PART_BYTES),
        _window(js.trim(summary.recap_snippet), words, _RECAP_PART_BYTES),
    ]
    return utf8_prefix("\n\n".join(part for part in parts if part), MAX_PREVIEW_BYTES)


def _window(text: str, words: frozenset[str], limit: int) -> str:
    lowered = js.lower(text)
    hits = [lowered.find(word) for word in words if len(word) >= 3 and word in lowered]
    if not hits:
        kept = utf8_prefix(text, limit)
        return kept if kept == text else f"{kept}..."
    reach = max(80, limit // 4)
    start, end = max(0, min(hits) - reach), min(hits) + 2 * reach
    window = js.trim(text[start:end])
    before, after = "..." if start > 0 else "", "..." if end < len(text) else ""
    return utf8_prefix(f"{before}{window}{after}", limit)


MAX_PREVIEW_BYTES = 2048
MAX_RECAP_ANCESTORS = 100
_TITLE_KEYS = ("goal", "taskDescription", "mrTitle", "prTitle", "ticketTitle", "problem")
_TITLE_UNITS = 120
_MIN_DESCRIPTION = 10
_HEADING = Pattern(r"#{1,6}\s")
_RULE = Pattern(r"[-_*]{3,}")
_LABEL = Pattern(r"(?:[-*+]\s+)?\*\*[^*]+\*\*:?\s*(.*)")


class SessionSummary(Struct, frozen=True):
    """A healthy session as the resume list sees it."""

    session_id: SessionId
    run_id: RunId
    tip: NodeId
    tip_snapshot: SnapshotRef
    last_activity_index: int
    workflow_id: str
    workflow_hash: WorkflowHash
    title: str | None
    recap_snippet: str
    workspace: Workspace
    pending_step_id: str | None = None
    is_complete: bool = False
    modified_ms: int | None = None


def summarize(
    session_id: SessionId,
    events: Log,
    *,
    modified_ms: int | None = None,
    rewind_context: RewindContext = "run",
) -> SessionSummary | None:
    """The summary of a session's most recent run; None for a session without one.

    Where it stands is not known from events alone: see `with_snapshot`.
    """
    dag = project_dag(events)
    if isinstance(dag, Err):
        return None
    run = max(dag.value.values(), key=_last_activity, default=None)
    if run is None or run.started is None or run.preferred_tip is None:
        return None
    tip = run.nodes[run.preferred_tip]
    outputs = project_outputs(events)
    lineage = run.lineage(tip.node_id)
    recaps = [] if isinstance(outputs, Err) else outputs.value.path_recaps(lineage)
    first = None if isinstance(outputs, Err) else outputs.value.first_recap(lineage[0])
    context = node_context(events, run, tip.node_id, rewind_context)
    return SessionSummary(
        session_id=session_id,
        run_id=run.run_id,
        tip=tip.node_id,
        tip_snapshot=tip.snapshot_ref,
        last_activity_index=tip.created_index,
        workflow_id=run.started.workflow_id,
        workflow_hash=run.started.workflow_hash,
        title=_title(context or {}, first),
        recap_snippet=_snippet(recaps),
        workspace=workspace(events),
        modified_ms=modified_ms,
    )


def with_snapshot(summary: SessionSummary, snapshot: ExecutionSnapshot) -> SessionSummary:
    """The summary with what the snapshot of its tip adds."""
    pending = snapshot.pending_step
    return replace(
        summary,
        pending_step_id=None if pending is None else pending.step_id,
        is_complete=snapshot.is_complete,
    )


def _last_activity(run: Run) -> int:
    return -1 if run.preferred_tip is None else run.nodes[run.preferred_tip].created_index


def _title(context: dict[str, object], first: Recap | None) -> str | None:
    """Return the caller's title of the run, or else the description in the notes on its first node."""
    for key in _TITLE_KEYS:
        value = context.get(key)
        if isinstance(value, str) and not js.is_blank(value):
            return _shortened(js.trim(value))
    return None if first is None else _description(first.text)


def _description(markdown: str) -> str | None:
    """The first line that describes something."""
    for raw in markdown.split("\n"):
        line = js.trim(raw)
        label = _LABEL.fullmatch(line)
        if label is not None:
            line = label[1]  # what a label labels may still describe something
        is_scaffolding = _HEADING.match(line) or _RULE.fullmatch(line) or line.startswith("|")
        if not is_scaffolding and js.u16_length(line) > _MIN_DESCRIPTION:
            return _shortened(line)
    return None


def _shortened(text: str) -> str:
    if js.u16_length(text) <= _TITLE_UNITS:
        return text
    cut = js.u16_prefix(text, _TITLE_UNITS - 1)
    # Half of a character is worse than one character less.
    return cut.removesuffix(cut[-1] if "\ud800" <= cut[-1] <= "\udbff" else "") + "…"


def _snippet(recaps: list[Recap]) -> str:
    """The notes from the tip towards the root."""
    newest_first = [recap.text for recap in reversed(recaps)][:MAX_RECAP_ANCESTORS]
    return utf8_prefix("\n\n".join(newest_first), MAX_PREVIEW_BYTES)

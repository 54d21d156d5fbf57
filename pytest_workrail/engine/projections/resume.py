"""What there is to know about a session before it is resumed: its title, its notes, where it stands."""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from pytest_workrail.engine.core.profiles import RewindContext
from pytest_workrail.engine.model.events import Log
from pytest_workrail.engine.model.ids import NodeId, RunId, SessionId, SnapshotRef, WorkflowHash
from pytest_workrail.engine.model.places import utf8_prefix
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.projections.dag import Run, project_dag
from pytest_workrail.engine.projections.facts import Workspace, workspace
from pytest_workrail.engine.projections.lineage import node_context
from pytest_workrail.engine.projections.outputs import Recap, project_outputs
from workrail_lint.base import js
from workrail_lint.base.result import Err

MAX_PREVIEW_BYTES = 2048
MAX_RECAP_ANCESTORS = 100
_TITLE_KEYS = ("goal", "taskDescription", "mrTitle", "prTitle", "ticketTitle", "problem")
_TITLE_UNITS = 120
_MIN_DESCRIPTION = 10
_HEADING = re.compile(r"#{1,6}\s")
_RULE = re.compile(r"[-_*]{3,}")
_LABEL = re.compile(r"(?:[-*+]\s+)?\*\*[^*]+\*\*:?\s*(.*)")


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
    rewind_context: RewindContext = RewindContext.RUN,
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
    """What the caller said the run is about; failing that, how the notes on its first node describe it."""
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

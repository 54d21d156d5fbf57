"""Run status: one of four words, from the preferred tip, the preferences there and the open gaps."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pytest_workrail.engine.model.events import Log
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.projections.dag import Run
from pytest_workrail.engine.projections.errors import ProjectionError, violation
from pytest_workrail.engine.projections.gaps import project_gaps
from pytest_workrail.engine.projections.preferences import effective_preferences
from workrail_lint.base.result import Err, Ok

RunStatus: TypeAlias = Literal["in_progress", "blocked", "complete", "complete_with_gaps"]

_STOPPING = frozenset({"user_only_dependency", "contract_violation", "capability_missing"})


def run_status(events: Log, run: Run, tip_snapshot: ExecutionSnapshot) -> Ok[RunStatus] | Err[ProjectionError]:
    """The status of a run, given the snapshot of its preferred tip."""
    if run.preferred_tip is None:
        return Err(violation(f"run {run.run_id} has no nodes"))
    tip = run.nodes[run.preferred_tip]
    preferences = effective_preferences(events, run, tip.node_id)
    if isinstance(preferences, Err):
        return preferences
    open_gaps = project_gaps(events).unresolved_critical(run.run_id)
    if tip_snapshot.is_complete:
        return Ok("complete_with_gaps" if open_gaps else "complete")
    if not preferences.value.never_stops:
        stopping = any(gap.data.reason.category in _STOPPING for gap in open_gaps)
        if tip.kind == "blocked_attempt" or stopping:
            return Ok("blocked")
    return Ok("in_progress")

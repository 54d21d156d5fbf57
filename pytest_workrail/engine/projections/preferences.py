"""Effective preferences: what holds at a node is what was last said on the path to it."""

from __future__ import annotations

from pytest_workrail.engine.core.modes import DEFAULT_PREFERENCES, Preferences
from pytest_workrail.engine.model.events import Log, PreferencesChanged
from pytest_workrail.engine.model.ids import NodeId
from pytest_workrail.engine.projections.dag import Run
from pytest_workrail.engine.projections.errors import ProjectionError, violation
from pytest_workrail.engine.projections.index import of_kind
from workrail_lint.base.result import Err, Ok


def effective_preferences(events: Log, run: Run, node: NodeId) -> Ok[Preferences] | Err[ProjectionError]:
    """The preferences at a node. A rewind restores them; a change on one branch does not reach its siblings."""
    said: dict[NodeId, PreferencesChanged] = {}
    for event in of_kind(events, PreferencesChanged):
        if event.scope.run_id == run.run_id:
            said[event.scope.node_id] = event
    if node not in run.nodes:
        return Err(violation(f"node {node} is not part of run {run.run_id}"))
    # Every parent is known before its child, so the way up ends at the root.
    nearest = run.nearest(node, said, "preferences")
    if nearest is None:
        return Ok(DEFAULT_PREFERENCES)
    effective = said[nearest].data.effective
    return Ok(Preferences(effective.autonomy, effective.risk_policy))

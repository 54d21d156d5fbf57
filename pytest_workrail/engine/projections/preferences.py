"""Effective preferences: what holds at a node is what was last said on the path to it."""

from __future__ import annotations

from pytest_workrail.engine.core.modes import DEFAULT_PREFERENCES, Preferences
from pytest_workrail.engine.events.ids import NodeId
from pytest_workrail.engine.events.kinds import Event, PreferencesChanged
from pytest_workrail.engine.projections.dag import Run
from pytest_workrail.engine.projections.errors import ProjectionError, corruption, violation
from pytest_workrail.engine.projections.index import of_kind
from workrail_lint.base.result import Err, Ok


def effective_preferences(events: tuple[Event, ...], run: Run, node: NodeId) -> Ok[Preferences] | Err[ProjectionError]:
    """The preferences at a node. A rewind restores them; a change on one branch does not reach its siblings."""
    said: dict[NodeId, Preferences] = {}
    for event in of_kind(events, PreferencesChanged):
        if event.scope.run_id == run.run_id:
            effective = event.data.effective
            said[event.scope.node_id] = Preferences(effective.autonomy, effective.risk_policy)
    current: NodeId | None = node
    # A path is at most as long as there are nodes; a longer one goes round in a circle.
    for _ in range(len(run.nodes) + 1):
        if current is None:
            return Ok(DEFAULT_PREFERENCES)
        if current in said:
            return Ok(said[current])
        if current not in run.nodes:
            return Err(violation(f"node {current} is not part of run {run.run_id}"))
        current = run.nodes[current].parent
    return Err(corruption(f"node {node} is its own ancestor"))

"""Effective preferences: what holds at a node is what was last said on the path to it."""

from __future__ import annotations

from pytest_workrail.engine.modes import DEFAULT_PREFERENCES, Preferences
from pytest_workrail.events.ids import NodeId
from pytest_workrail.events.kinds import Event, PreferencesChanged
from pytest_workrail.projections.dag import Run
from pytest_workrail.projections.errors import ProjectionError, corruption, violation
from pytest_workrail.projections.index import of_kind
from workrail_lint.result import Err, Ok


def effective_preferences(events: tuple[Event, ...], run: Run, node: NodeId) -> Ok[Preferences] | Err[ProjectionError]:
    """The preferences at a node. A rewind restores them; a change on one branch does not reach its siblings."""
    said: dict[NodeId, Preferences] = {}
    for event in of_kind(events, PreferencesChanged):
        if event.scope.run_id == run.run_id:
            effective = event.data.effective
            said[event.scope.node_id] = Preferences(effective.autonomy, effective.risk_policy)
    seen: set[NodeId] = set()
    current: NodeId | None = node
    while current is not None:
        if current not in run.nodes:
            return Err(violation(f"node {current} is not part of run {run.run_id}"))
        if current in seen:
            return Err(corruption(f"node {current} is its own ancestor"))
        if current in said:
            return Ok(said[current])
        seen.add(current)
        current = run.nodes[current].parent
    return Ok(DEFAULT_PREFERENCES)

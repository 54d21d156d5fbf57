"""Where a run stands: the node of a token, with the state and the context that hold there."""

from __future__ import annotations

from typing import Any

from pytest_workrail.engine.core.modes import Preferences
from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.core.state import State, StepInstance
from pytest_workrail.engine.events.ids import NodeId
from pytest_workrail.engine.events.kinds import Log
from pytest_workrail.engine.events.snapshot import ExecutionSnapshot
from pytest_workrail.engine.projections.dag import Node, Run
from pytest_workrail.engine.projections.lineage import Lineage, node_context
from pytest_workrail.engine.projections.preferences import effective_preferences
from pytest_workrail.engine.protocol.advance_outcome import decides_together
from pytest_workrail.engine.protocol.questions import asks_questions, question_patch
from pytest_workrail.engine.protocol.step_response import pending_instance
from pytest_workrail.engine.tokens.issuer import NodeAddress
from pytest_workrail.records import Record
from pytest_workrail.run.bench import Bench
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err


class Position(Record):
    """A node of a run that can be looked at."""

    place: NodeAddress
    events: Log
    run: Run
    node: Node
    state: State
    instance: StepInstance | None
    context: dict[str, Any]
    preferences: Preferences
    earlier: tuple[Json, ...]


def position_at(bench: Bench, token: str) -> Position:
    """The node that a token of this very run speaks of."""
    place = bench.engine.place_of(token)
    if isinstance(place, Err):
        raise AssertionError(f"the engine does not know its own token: {place.error.message}")
    return position_of(bench, place.value)


def position_of(bench: Bench, place: NodeAddress) -> Position:
    """A node of this very run."""
    session = bench.engine.session(place.session_id)
    if isinstance(session, Err):
        raise AssertionError(f"the session can't be loaded: {session.error.message}")
    events, run = session.value.truth.events, session.value.runs[place.run_id]
    profile = bench.engine.profile
    snapshot = snapshot_of(bench, run.nodes[place.node_id])
    preferences = effective_preferences(events, run, place.node_id)
    if isinstance(preferences, Err):
        raise AssertionError(preferences.error.message)
    instance = pending_instance(snapshot)
    return Position(
        place,
        events,
        run,
        run.nodes[place.node_id],
        snapshot.execution_state,
        instance,
        node_context(events, run, place.node_id, profile.rewind_context) or {},
        preferences.value,
        _earlier_artifacts(bench, events, run, place.node_id, instance, profile),
    )


def snapshot_of(bench: Bench, node: Node) -> ExecutionSnapshot:
    found = bench.home.stores.snapshots.get(node.snapshot_ref)
    if isinstance(found, Err) or found.value is None:
        raise AssertionError(f"node {node.node_id} has no snapshot")
    return found.value


def _earlier_artifacts(
    bench: Bench, events: Log, run: Run, node_id: NodeId, instance: StepInstance | None, profile: Profile
) -> tuple[Json, ...]:
    """The artifacts handed in before this step in its loop iteration, where they help to decide about the loop."""
    if instance is None or not instance.loop_path or not decides_together(profile):
        return ()
    inside: list[NodeId] = []
    asked: set[NodeId] = set()
    for each in run.upwards(node_id):
        snapshot = snapshot_of(bench, run.nodes[each])
        pending = pending_instance(snapshot)
        if pending is None or pending.loop_path != instance.loop_path:
            break
        inside.append(each)
        if asks_questions(profile) and question_patch(snapshot) is not None:
            asked.add(each)
    found = Lineage(events, run, node_id).artifacts(inside, asked)
    return tuple(found)  # type: ignore[arg-type]  # artifacts are JSON, which the log holds as objects

"""The last projection of a run: how it stands, what it produced, and what it went on without."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_workrail.engine.events.ids import AttemptId, NodeId
from pytest_workrail.engine.events.kinds import AdvanceRecorded, NodeOutputAppended
from pytest_workrail.engine.events.payloads import AdvancedOutcome, ArtifactPayload, NotesPayload
from pytest_workrail.engine.projections.dag import Node, Run
from pytest_workrail.engine.projections.gaps import project_gaps
from pytest_workrail.engine.projections.index import of_kind
from pytest_workrail.engine.protocol.questions import asks_questions, question_patch
from pytest_workrail.engine.protocol.step_response import pending_instance
from pytest_workrail.engine.tokens.issuer import NodeAddress
from pytest_workrail.run.bench import Bench
from pytest_workrail.run.position import Position, position_of, snapshot_of
from pytest_workrail.run.visits import Trace
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err


def empty_projection(status: str) -> dict[str, Json]:
    """The projection of a run that was never opened."""
    return {"status": status, "context": {}, "outputs": [], "gaps": [], "blockers": [], "trace": []}


def final_projection(
    bench: Bench, place: NodeAddress, blockers: list[Json], trace: Trace, status: str | None = None
) -> dict[str, Json]:
    """How a run stands at its preferred tip. `status` is given where the engine has no word of its own for it."""
    here = position_of(bench, place)
    tip = here.run.preferred_tip or place.node_id
    at_tip = position_of(bench, NodeAddress(place.session_id, place.run_id, tip))
    derived = bench.engine.status(place.session_id, place.run_id)
    if isinstance(derived, Err):
        raise AssertionError(f"the run has no status: {derived.error.message}")
    return {
        "status": status or derived.value,
        "context": at_tip.context,
        "outputs": _outputs(bench, at_tip, tip),
        "gaps": _gaps(bench, here),
        "blockers": blockers,
        "trace": list(trace),
    }


def _outputs(bench: Bench, position: Position, tip: NodeId) -> list[Json]:
    """What each step on the way to the tip handed in, in order; steps that handed in nothing are left out."""
    path = set(position.run.lineage(tip))
    appended: dict[NodeId, list[NodeOutputAppended]] = {}
    for event in of_kind(position.events, NodeOutputAppended):
        appended.setdefault(event.scope.node_id, []).append(event)
    found: list[Json] = []
    for advance in of_kind(position.events, AdvanceRecorded):
        node, outcome = advance.scope.node_id, advance.data.outcome
        if advance.scope.run_id != position.run.run_id:
            continue
        if not isinstance(outcome, AdvancedOutcome) or not {node, outcome.to_node_id} <= path:
            continue
        if not _keeps_outputs(bench, position.run.nodes[outcome.to_node_id]):
            continue
        submitted = _submitted(appended.get(node, ()), advance.data.attempt_id)
        if submitted:
            found.append({**_step(bench, position.run, node), **submitted})
    return found


def _keeps_outputs(bench: Bench, target: Node) -> bool:
    """Whether what led to a node counts as handed in: the step is done, or something is only asked about it."""
    if target.kind == "step":
        return True
    return asks_questions(bench.engine.profile) and question_patch(snapshot_of(bench, target)) is not None


def _step(bench: Bench, run: Run, node: NodeId) -> dict[str, Json]:
    instance = pending_instance(snapshot_of(bench, run.nodes[node]))
    if instance is None:
        return {}
    named: dict[str, Json] = {"step": instance.step_id}
    if instance.loop_path:
        named["iteration"] = instance.loop_path[-1].iteration
    return named


def _submitted(appended: Iterable[NodeOutputAppended], attempt: AttemptId) -> dict[str, Json]:
    notes: str | None = None
    artifacts: list[tuple[int, Json]] = []
    for event in appended:
        payload, (before, _, place) = event.data.payload, event.data.output_id.partition(attempt)
        if before == event.data.output_id:
            continue
        if isinstance(payload, NotesPayload):
            notes = payload.notes_markdown
        elif isinstance(payload, ArtifactPayload):
            artifacts.append((int(place.lstrip("_")), payload.content))  # type: ignore[arg-type]  # JSON from the log
    found: dict[str, Json] = {} if notes is None else {"notes": notes}
    if artifacts:
        found["artifacts"] = [content for _, content in sorted(artifacts, key=lambda each: each[0])]
    return found


def _gaps(bench: Bench, position: Position) -> list[Json]:
    found: list[Json] = []
    for gap in project_gaps(position.events).of_run(position.run.run_id):
        reason = gap.data.reason
        shown = {
            **_step(bench, position.run, gap.node_id),
            "severity": gap.data.severity,
            "category": reason.category,
            "detail": reason.detail,
            "summary": gap.data.summary,
        }
        if gap.data.details is not None:
            shown["details"] = gap.data.details.to_wire()
        found.append(shown)
    return found

"""The history of a run, read from the log as it grows: its position, each attempt at a step, and its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from pytest_workrail.agents.agent import Attempt, AttemptOutcome, Choice, Exchange, StartView, StepView, Submit
from pytest_workrail.engine.core.conditions import is_met
from pytest_workrail.engine.core.index import ASSESSMENT_KIND, artifact_kind
from pytest_workrail.engine.core.interpreter import Selection, State, state_of
from pytest_workrail.engine.core.outcomes import InterpreterError, LoopVariableUnset
from pytest_workrail.engine.core.prompts import render_context
from pytest_workrail.engine.model.blockers import GapRecordedData
from pytest_workrail.engine.model.events import (
    AdvancedOutcome,
    AdvanceRecorded,
    ArtifactPayload,
    AssessmentRecorded,
    DecisionTraceAppended,
    DivergenceRecorded,
    Event,
    GapRecorded,
    Log,
    NodeCreated,
    NodeOutputAppended,
)
from pytest_workrail.engine.model.ids import NodeId
from pytest_workrail.engine.model.reasons import InvalidRequiredOutput, MissingRequiredOutput
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.model.step_keys import StepInstance
from pytest_workrail.engine.model.trace import SkippedStep
from pytest_workrail.engine.model.words import NodeKind, Preferences
from pytest_workrail.engine.projections.dag import Node, Run
from pytest_workrail.engine.projections.incremental import of_kind
from pytest_workrail.engine.projections.session_facts import (
    effective_preferences,
    project_gaps,
    skipped_of,
)
from pytest_workrail.engine.protocol.advance_outcome import (
    asks_questions,
    earlier_artifacts,
    question_patch,
    submission_of,
)
from pytest_workrail.engine.protocol.requests import AdvanceRequest, merged, read_continue
from pytest_workrail.engine.protocol.sessions import open_place
from pytest_workrail.engine.tokens.issuer import NodeAddress
from pytest_workrail.run.bench import Bench
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.blocker_codes import BlockerCode, GapDetail

Trace = tuple[dict[str, Json], ...]
_OUTCOMES: dict[NodeKind, AttemptOutcome] = {
    "step": "advanced",
    "blocked_attempt": "blocked",
    "gate_checkpoint": "gated",
}
_OUTPUT_REASONS = (MissingRequiredOutput, InvalidRequiredOutput)
_OUTPUT_REFUSALS = {word for reason in _OUTPUT_REASONS for word in (reason.code, reason.gap_reason[1])}


class Position(Struct, frozen=True):
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
    """Return the node that a token of this very run speaks of."""
    place = bench.engine.place_of(token)
    if isinstance(place, Err):
        raise AssertionError(f"the engine does not know its own token: {place.error.message}")
    return position_of(bench, place.value)


def position_of(bench: Bench, place: NodeAddress) -> Position:
    """A node of this very run."""
    loader, profile = bench.engine.loader, bench.engine.profile
    opened = open_place(loader, place)
    if isinstance(opened, Err):
        raise AssertionError(f"the node can't be opened: {opened.error.message}")
    here = opened.value
    preferences = effective_preferences(here.events, here.run, place.node_id)
    earlier = earlier_artifacts(loader, here, profile)
    if isinstance(preferences, Err) or isinstance(earlier, Err):
        raise AssertionError("the past of a node of this very run can't be read")
    return Position(
        place,
        here.events,
        here.run,
        here.node,
        state_of(here.snapshot),
        here.snapshot.pending_step,
        here.context(profile),
        preferences.value,
        earlier.value,
    )


def log_size(bench: Bench, place: NodeAddress) -> int:
    """Return how many events the session of a node has."""
    session = bench.engine.session(place.session_id)
    return -1 if isinstance(session, Err) else len(session.value.truth.events)


def snapshot_of(bench: Bench, node: Node) -> ExecutionSnapshot:
    stored = bench.home.stores.snapshots.get(node.snapshot_ref)
    if isinstance(stored, Err) or stored.value is None:
        raise AssertionError(f"node {node.node_id} has no snapshot")
    return stored.value


class History:
    """Collects the attempts of one run, and how it came from one step to the next."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []
        self.choices: list[Choice] = []
        self.last_trace: Trace = ()
        self._attempts: Counter[StepInstance] = Counter()
        # The node on which a step became pending, for each that only says why the step was refused.
        self._step_nodes: dict[NodeId, NodeId] = {}
        self._skipped: dict[tuple[str, str], SkippedStep] = {}
        self._last_reasons: dict[str, str] = {}

    @property
    def skipped(self) -> tuple[SkippedStep, ...]:
        """Return the steps that selections passed over: the first of each step and reason."""
        return tuple(self._skipped.values())

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """The steps and loops that were passed over and never done, each with its last reason."""
        done = {attempt.step_id for attempt in self.attempts if attempt.outcome == "advanced"}
        done |= {loop_id for attempt in self.attempts for loop_id, _ in attempt.loop_path}
        return tuple((step_id, why) for step_id, why in self._last_reasons.items() if step_id not in done)

    def _pass_over(self, step_id: str, because: str) -> None:
        """A selection passed this over."""
        self._last_reasons.pop(step_id, None)
        self._last_reasons[step_id] = because

    def start(self, root: NodeId | None, start: StartView, added: Mapping[str, Json], exchange: Exchange) -> None:
        """A run was opened, or can't be because no step can be chosen."""
        context = merged(start.context, added)
        never_stops = start.preferences.never_stops
        interpreter = start.program.interpreter
        self.tell(interpreter.next(interpreter.start(), context, never_stop=never_stops), context)
        self.choices.append(Choice(None, root, context, (), never_stops, _intent(exchange)))

    def record(self, view: StepView, added: Sequence[Event], exchange: Exchange) -> None:
        """An advance was answered."""
        advance = next((event for event in added if isinstance(event, AdvanceRecorded)), None)
        if advance is None:
            if exchange.is_error:
                self._add(view, "error", exchange, ())
            return
        # What was submitted, whichever of its spellings the request used.
        request: Any = read_continue(exchange.request).value
        self._note_skipped(view, added, request)
        outcome = advance.data.outcome
        target = outcome.to_node_id if isinstance(outcome, AdvancedOutcome) else None
        kinds = {event.scope.node_id: event.data.node_kind for event in added if isinstance(event, NodeCreated)}
        self._add(view, _OUTCOMES[kinds[target]] if target in kinds else "error", exchange, added)
        origin = self._step_nodes.get(advance.scope.node_id, advance.scope.node_id)
        if target is not None and kinds.get(target) == "step":
            self._choose(origin, target, view, added, exchange, request)
        elif target is not None:
            self._step_nodes[target] = origin
            if _asks_before_the_end(exchange):
                # The selection was made, and would have ended the run: what it came across was seen.
                self._choose(origin, None, view, added, exchange, request)

    def _note_skipped(self, view: StepView, added: Sequence[Event], request: AdvanceRequest) -> None:
        """Record the steps that an advance passed over, from the log or, failing that, from the selection."""
        match view.profile.unset_condition:
            case "ask":
                traces = [event.data for event in added if isinstance(event, DecisionTraceAppended)]
                for entry in [entry for trace in traces for entry in skipped_of(trace).entries]:
                    self._skipped.setdefault((entry.step_id, entry.because), entry)
                    self._pass_over(entry.step_id, entry.because)
            case "pass_over" if view.program.interpreter.has_conditions:
                answer = Submit(None, request.submission.artifacts, request.context)
                chosen = view.predict(answer, never_stop=view.preferences.never_stops)
                self.tell(chosen, view.merged(request.context))
            case "pass_over":
                pass

    def tell(self, chosen: Ok[Selection] | Err[InterpreterError], context: Mapping[str, Any]) -> None:
        """Record the steps that a selection passed over, whether or not it found a step."""
        match chosen:
            case Ok(Selection(passed=passed)) | Err(LoopVariableUnset(passed=passed)):
                for each in passed:
                    because = each.because(context)
                    if (each.step_id, because) not in self._skipped:
                        self._skipped[each.step_id, because] = each.skipped(context)
                    self._pass_over(each.step_id, because)
            case _:
                pass

    def _choose(
        self,
        origin: NodeId,
        target: NodeId | None,
        view: StepView,
        added: Sequence[Event],
        exchange: Exchange,
        request: AdvanceRequest,
    ) -> None:
        self.last_trace = tuple(
            entry.to_wire()
            for event in added
            if isinstance(event, DecisionTraceAppended)
            for entry in event.data.entries
        )
        self.choices.append(
            Choice(
                origin,
                target,
                view.merged(request.context),
                view.earlier + request.submission.artifacts,
                view.preferences.never_stops,
                _intent(exchange),
            )
        )

    def _add(self, view: StepView, outcome: AttemptOutcome, exchange: Exchange, added: Sequence[Event]) -> None:
        self._attempts[view.instance] += 1
        blockers = exchange.codes
        critical = [
            event.data for event in added if isinstance(event, GapRecorded) and event.data.severity == "critical"
        ]
        gaps = tuple(gap.reason.detail for gap in critical)
        self.attempts.append(
            Attempt(
                view.step_id,
                tuple((at.loop_id, at.iteration) for at in view.instance.loop_path),
                self._attempts[view.instance],
                outcome,
                blockers,
                gaps,
                (*_loop_blockers(exchange), *_loop_gaps(critical)),
                _fragments(view),
                _levels(added),
                _contract(view, added, blockers, gaps),
                tuple(_left_out(view, exchange)),
            )
        )


def _intent(exchange: Exchange) -> str | None:
    intent = exchange.response.get("nextIntent")
    return intent if isinstance(intent, str) else None


def _asks_before_the_end(exchange: Exchange) -> bool:
    """Return whether an answer is a question about steps, and not that of a loop about its own variable."""
    asked = [each for each in exchange.blockers if "suggested" in each.get("details", {})]
    return any(one["operator"] not in ("count", "items") for each in asked for one in each["details"]["unmet"])


def _loop_blockers(exchange: Exchange) -> Iterator[BlockerCode]:
    """Yield the codes of the blockers that name a loop: it is the loop that can't go on, not the step."""
    return (blocker["code"] for blocker in exchange.blockers if "loopId" in blocker.get("details", {}))


def _loop_gaps(gaps: Sequence[GapRecordedData]) -> Iterator[GapDetail]:
    for gap in gaps:
        if gap.details is not None and "loopId" in gap.details.to_wire():
            yield gap.reason.detail


def _fragments(view: StepView) -> tuple[str, ...]:
    context = render_context(view.loop, view.instance.loop_path, view.context)
    return tuple(part.id for part in view.step.fragments if is_met(part.when, context))


def _levels(added: Sequence[Event]) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (event.data.assessment_id, dimension.dimension_id, dimension.level)
        for event in added
        if isinstance(event, AssessmentRecorded)
        for dimension in event.data.dimensions
    )


def _left_out(view: StepView, exchange: Exchange) -> Iterator[tuple[str, str]]:
    """Yield the dimensions that the assessments of this attempt do not speak of."""
    refs = () if view.step.assessments is None else view.step.assessments.refs
    request = read_continue(exchange.request) if refs else None
    if not isinstance(request, Ok) or not isinstance(request.value, AdvanceRequest):
        return
    submitted: list[Any] = [
        each
        for each in request.value.submission.artifacts
        if isinstance(each, dict) and artifact_kind(each) == ASSESSMENT_KIND
        if isinstance(each.get("dimensions"), dict)
    ]
    for assessment in view.program.definition.assessments:
        own = [each for each in submitted if each.get("assessmentId", refs[0]) == assessment.id]
        if assessment.id in refs and own:
            for dimension in assessment.dimensions:
                if dimension.id not in own[0]["dimensions"]:
                    yield assessment.id, dimension.id


def _contract(view: StepView, added: Sequence[Event], blockers: tuple[str, ...], gaps: tuple[str, ...]) -> str | None:
    """The contract an artifact of this attempt has met."""
    contract = view.step.contract
    if contract is None or _OUTPUT_REFUSALS.intersection((*blockers, *gaps)):
        return None
    pack = view.program.index.packs.get(contract.ref)
    kinds = {
        artifact_kind(event.data.payload.artifact)
        for event in added
        if isinstance(event, NodeOutputAppended) and isinstance(event.data.payload, ArtifactPayload)
    }
    return contract.ref if pack is not None and pack.artifact_kind in kinds else None


def empty_projection(status: str) -> dict[str, Json]:
    """Return the projection of a run that was never opened."""
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
    divergences = _divergences(bench, here)
    return {
        "status": status or derived.value,
        "context": at_tip.context,
        "outputs": _outputs(bench, at_tip, tip),
        "gaps": _gaps(bench, here),
        **({"divergences": divergences} if divergences else {}),
        "blockers": blockers,
        "trace": list(trace),
    }


def _outputs(bench: Bench, position: Position, tip: NodeId) -> list[Json]:
    """Return what each step on the way to the tip submitted, in order; steps that submitted nothing are left out."""
    path = set(position.run.lineage(tip))
    outputs: list[Json] = []
    for advance in of_kind(position.events, AdvanceRecorded):
        node, outcome = advance.scope.node_id, advance.data.outcome
        if advance.scope.run_id != position.run.run_id:
            continue
        if not isinstance(outcome, AdvancedOutcome) or not {node, outcome.to_node_id} <= path:
            continue
        if not _keeps_outputs(bench, position.run.nodes[outcome.to_node_id]):
            continue
        submitted = submission_of(position.events, advance)
        members: dict[str, Json] = {} if submitted.notes is None else {"notes": submitted.notes}
        if submitted.artifacts:
            members["artifacts"] = list(submitted.artifacts)
        if members:
            outputs.append({**_step(bench, position.run, node), **members})
    return outputs


def _keeps_outputs(bench: Bench, target: Node) -> bool:
    """Return whether what led to a node counts as submitted: the step is done, or something is only asked about it."""
    if target.kind == "step":
        return True
    return asks_questions(bench.engine.profile) and question_patch(snapshot_of(bench, target)) is not None


def _step(bench: Bench, run: Run, node: NodeId) -> dict[str, Json]:
    instance = snapshot_of(bench, run.nodes[node]).pending_step
    if instance is None:
        return {}
    named: dict[str, Json] = {"step": instance.step_id}
    if instance.loop_path:
        named["iteration"] = instance.loop_path[-1].iteration
    return named


def _gaps(bench: Bench, position: Position) -> list[Json]:
    """Return the gaps of a run, in order; what resolves one is told with it."""
    gaps: list[Json] = []
    recorded = project_gaps(position.events)
    for gap in recorded.of_run(position.run.run_id):
        if gap.data.resolution.kind == "resolves":
            continue
        reason = gap.data.reason
        row = {
            **_step(bench, position.run, gap.node_id),
            "severity": gap.data.severity,
            "category": reason.category,
            "detail": reason.detail,
            "summary": gap.data.summary,
        }
        if gap.data.details is not None:
            row["details"] = gap.data.details.to_wire()
        if gap.data.gap_id in recorded.resolved:
            row["resolved"] = True
        gaps.append(row)
    return gaps


def _divergences(bench: Bench, position: Position) -> list[Json]:
    """Return where the agent said that it left the path, or answered for the user, in order."""
    return [
        {
            **_step(bench, position.run, event.scope.node_id),
            "reason": event.data.reason,
            "summary": event.data.summary,
        }
        for event in of_kind(position.events, DivergenceRecorded)
        if event.scope.run_id == position.run.run_id
    ]

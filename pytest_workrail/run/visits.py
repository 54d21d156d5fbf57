"""What happened at each step, read from the log as it grows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_workrail.agents.actions import Submit
from pytest_workrail.agents.agent import StartView, StepView
from pytest_workrail.agents.transcript import Choice, Exchange, Visit
from pytest_workrail.engine.core.conditions import evaluate
from pytest_workrail.engine.core.errors import InterpreterError, LoopVariableUnset
from pytest_workrail.engine.core.interpreter import Selection
from pytest_workrail.engine.core.packs import ASSESSMENT_KIND, artifact_kind
from pytest_workrail.engine.core.profiles import UnsetCondition
from pytest_workrail.engine.core.rendering import render_context
from pytest_workrail.engine.core.state import StepInstance
from pytest_workrail.engine.events.ids import NodeId
from pytest_workrail.engine.events.judgements import GapRecordedData
from pytest_workrail.engine.events.kinds import (
    AdvanceRecorded,
    AssessmentRecorded,
    DecisionTraceAppended,
    Event,
    GapRecorded,
    NodeCreated,
    NodeOutputAppended,
)
from pytest_workrail.engine.events.payloads import AdvancedOutcome, ArtifactPayload
from pytest_workrail.engine.projections.selections import skipped_of
from pytest_workrail.engine.protocol.context import merged
from pytest_workrail.engine.protocol.requests import AdvanceRequest, read_continue
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok

Trace = tuple[dict[str, Json], ...]

_OUTCOMES = {"step": "advanced", "blocked_attempt": "blocked", "gate_checkpoint": "gated"}
_CONTRACT_CODES = frozenset({"MISSING_REQUIRED_OUTPUT", "INVALID_REQUIRED_OUTPUT"})
_CONTRACT_GAPS = frozenset({"missing_required_output", "invalid_required_output"})


class Visits:
    """Collects the attempts of one run, and how it came from one step to the next."""

    def __init__(self) -> None:
        self.found: list[Visit] = []
        self.choices: list[Choice] = []
        self.last_trace: Trace = ()
        self._attempts: Counter[StepInstance] = Counter()
        # The node on which a step became pending, for each that only says why the step was refused.
        self._step_nodes: dict[NodeId, NodeId] = {}
        self._skipped: dict[tuple[str, str], dict[str, Json]] = {}
        self._last_reasons: dict[str, str] = {}

    @property
    def skipped(self) -> tuple[dict[str, Json], ...]:
        """What selections passed over: the first of each step and reason."""
        return tuple(self._skipped.values())

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """The steps and loops that were passed over and never done, each with its last reason."""
        done = {visit.step_id for visit in self.found if visit.outcome == "advanced"}
        done |= {loop_id for visit in self.found for loop_id, _ in visit.loop_path}
        return tuple((step_id, why) for step_id, why in self._last_reasons.items() if step_id not in done)

    def pass_over(self, entries: Iterable[dict[str, Json]]) -> None:
        """A selection passed these over."""
        for entry in entries:
            step_id, because = str(entry["stepId"]), str(entry["because"])
            self._skipped.setdefault((step_id, because), entry)
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
        self._note_skipped(view, added, exchange)
        outcome = advance.data.outcome
        target = outcome.to_node_id if isinstance(outcome, AdvancedOutcome) else None
        kinds = {event.scope.node_id: event.data.node_kind for event in added if isinstance(event, NodeCreated)}
        self._add(view, _OUTCOMES[kinds[target]] if target in kinds else "error", exchange, added)
        origin = self._step_nodes.get(advance.scope.node_id, advance.scope.node_id)
        if target is not None and kinds.get(target) == "step":
            self._choose(origin, target, view, added, exchange)
        elif target is not None:
            self._step_nodes[target] = origin
            if _asks_before_the_end(exchange.response):
                # The selection was made, and would have ended the run: what it came across was seen.
                self._choose(origin, None, view, added, exchange)

    def _note_skipped(self, view: StepView, added: Sequence[Event], exchange: Exchange) -> None:
        """What the selection of an advance passed over: as it is on record, or found out where nothing records it."""
        match view.profile.unset_condition:
            case UnsetCondition.ASK:
                traces = [event.data for event in added if isinstance(event, DecisionTraceAppended)]
                self.pass_over(entry for trace in traces for entry in skipped_of(trace).entries)
            case UnsetCondition.PASS_OVER if view.program.interpreter.has_conditions:
                request: Any = read_continue(exchange.request).value
                answer = Submit(None, request.submission.artifacts, request.context)
                chosen = view.predict(answer, never_stop=view.preferences.never_stops)
                self.tell(chosen, view.merged(request.context))
            case UnsetCondition.PASS_OVER:
                pass

    def tell(self, chosen: Ok[Selection] | Err[InterpreterError], context: Mapping[str, Any]) -> None:
        """What a selection passed over, whether or not it found a step."""
        match chosen:
            case Ok(Selection(passed=passed)) | Err(LoopVariableUnset(passed=passed)):
                self.pass_over(each.told(context).to_json() for each in passed)
            case _:
                pass

    def _choose(
        self, origin: NodeId, target: NodeId | None, view: StepView, added: Sequence[Event], exchange: Exchange
    ) -> None:
        self.last_trace = tuple(
            entry.to_wire()
            for event in added
            if isinstance(event, DecisionTraceAppended)
            for entry in event.data.entries
        )
        # What was handed in, whichever of its spellings the request used.
        request: Any = read_continue(exchange.request).value
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

    def _add(self, view: StepView, outcome: str, exchange: Exchange, added: Sequence[Event]) -> None:
        self._attempts[view.instance] += 1
        blockers = blocker_codes(exchange.response)
        critical = [
            event.data for event in added if isinstance(event, GapRecorded) and event.data.severity == "critical"
        ]
        gaps = tuple(str(gap.reason.detail) for gap in critical)
        self.found.append(
            Visit(
                view.step_id,
                tuple((at.loop_id, at.iteration) for at in view.instance.loop_path),
                self._attempts[view.instance],
                outcome,
                blockers,
                gaps,
                (*_loop_blockers(exchange.response), *_loop_gaps(critical)),
                _fragments(view),
                _levels(added),
                _contract(view, added, blockers, gaps),
                tuple(_left_out(view, exchange)),
            )
        )


def _intent(exchange: Exchange) -> str | None:
    intent = exchange.response.get("nextIntent")
    return intent if isinstance(intent, str) else None


def blocker_codes(response: dict[str, Any]) -> tuple[str, ...]:
    """The codes of the blockers in a response, in its order."""
    report = response.get("blockers")
    return tuple(blocker["code"] for blocker in report["blockers"]) if isinstance(report, dict) else ()


def _asks_before_the_end(response: dict[str, Any]) -> bool:
    """Whether an answer is a question about steps, and not that of a loop about its own variable."""
    report = response.get("blockers")
    asked = [each for each in report["blockers"] if "suggested" in each.get("details", {})] if report else []
    return any(one["operator"] not in ("count", "items") for each in asked for one in each["details"]["unmet"])


def _loop_blockers(response: dict[str, Any]) -> Iterator[str]:
    """The codes of the blockers that name a loop: it is the loop that can't go on, not the step."""
    report = response.get("blockers")
    for blocker in report["blockers"] if isinstance(report, dict) else ():
        if "loopId" in blocker.get("details", {}):
            yield blocker["code"]


def _loop_gaps(gaps: Sequence[GapRecordedData]) -> Iterator[str]:
    for gap in gaps:
        if gap.details is not None and "loopId" in gap.details.to_wire():
            yield str(gap.reason.detail)


def _fragments(view: StepView) -> tuple[str, ...]:
    context = render_context(view.loop, view.instance.loop_path, view.context)
    return tuple(part["id"] for part in view.step.get("fragments", ()) if evaluate(part.get("when"), context))


def _levels(added: Sequence[Event]) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (event.data.assessment_id, dimension.dimension_id, dimension.level)
        for event in added
        if isinstance(event, AssessmentRecorded)
        for dimension in event.data.dimensions
    )


def _left_out(view: StepView, exchange: Exchange) -> Iterator[tuple[str, str]]:
    """The dimensions that the assessments of this attempt do not speak of."""
    refs = view.step.get("output", {}).get("assessments", {}).get("refs", ())
    request = read_continue(exchange.request) if refs else None
    if not isinstance(request, Ok) or not isinstance(request.value, AdvanceRequest):
        return
    submitted: list[Any] = [
        each
        for each in request.value.submission.artifacts
        if isinstance(each, dict) and artifact_kind(each) == ASSESSMENT_KIND
        if isinstance(each.get("dimensions"), dict)
    ]
    for assessment in view.program.ir["assessments"]:
        own = [each for each in submitted if each.get("assessmentId", refs[0]) == assessment["id"]]
        if assessment["id"] in refs and own:
            for dimension in assessment["dimensions"]:
                if dimension["id"] not in own[0]["dimensions"]:
                    yield assessment["id"], dimension["id"]


def _contract(view: StepView, added: Sequence[Event], blockers: tuple[str, ...], gaps: tuple[str, ...]) -> str | None:
    """The contract an artifact of this attempt has met."""
    contract = view.step.get("output", {}).get("contract")
    if contract is None or _CONTRACT_CODES.intersection(blockers) or _CONTRACT_GAPS.intersection(gaps):
        return None
    pack = view.program.index.packs.get(contract["ref"])
    kinds = {
        artifact_kind(event.data.payload.content)  # type: ignore[arg-type]  # JSON from the log
        for event in added
        if isinstance(event, NodeOutputAppended) and isinstance(event.data.payload, ArtifactPayload)
    }
    return contract["ref"] if pack is not None and pack.artifact_kind in kinds else None

"""What happened at each step, read from the log as it grows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_workrail.agents.agent import StartView, StepView
from pytest_workrail.agents.transcript import Choice, Exchange, Visit
from pytest_workrail.engine.core.conditions import evaluate
from pytest_workrail.engine.core.packs import artifact_kind
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
from pytest_workrail.engine.protocol.context import merged
from pytest_workrail.engine.protocol.requests import read_continue
from workrail_lint.base.js import Json

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

    def start(self, root: NodeId | None, start: StartView, added: Mapping[str, Json], exchange: Exchange) -> None:
        """A run was opened, or can't be because no step can be chosen."""
        context = merged(start.context, added)
        never_stops = start.preferences.never_stops
        self.choices.append(Choice(None, root, context, (), never_stops, _intent(exchange)))

    def record(self, view: StepView, added: Sequence[Event], exchange: Exchange) -> None:
        """An advance was answered."""
        advance = next((event for event in added if isinstance(event, AdvanceRecorded)), None)
        if advance is None:
            if exchange.is_error:
                self._add(view, "error", exchange, ())
            return
        outcome = advance.data.outcome
        target = outcome.to_node_id if isinstance(outcome, AdvancedOutcome) else None
        kinds = {event.scope.node_id: event.data.node_kind for event in added if isinstance(event, NodeCreated)}
        self._add(view, _OUTCOMES[kinds[target]] if target in kinds else "error", exchange, added)
        origin = self._step_nodes.get(advance.scope.node_id, advance.scope.node_id)
        if target is not None and kinds.get(target) == "step":
            self._choose(origin, target, view, added, exchange)
        elif target is not None:
            self._step_nodes[target] = origin

    def _choose(
        self, origin: NodeId, target: NodeId, view: StepView, added: Sequence[Event], exchange: Exchange
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
            )
        )


def _intent(exchange: Exchange) -> str | None:
    intent = exchange.response.get("nextIntent")
    return intent if isinstance(intent, str) else None


def blocker_codes(response: dict[str, Any]) -> tuple[str, ...]:
    """The codes of the blockers in a response, in its order."""
    report = response.get("blockers")
    return tuple(blocker["code"] for blocker in report["blockers"]) if isinstance(report, dict) else ()


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

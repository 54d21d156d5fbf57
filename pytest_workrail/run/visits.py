"""What happened at each step, read from the log as it grows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pytest_workrail.agents.moment import Moment
from pytest_workrail.engine.conditions import evaluate
from pytest_workrail.engine.packs import artifact_kind
from pytest_workrail.engine.rendering import render_context
from pytest_workrail.engine.state import StepInstance
from pytest_workrail.engine.trace import TraceEntry
from pytest_workrail.events.ids import NodeId
from pytest_workrail.events.kinds import (
    AdvanceRecorded,
    AssessmentRecorded,
    DecisionTraceAppended,
    Event,
    GapRecorded,
    NodeCreated,
    NodeOutputAppended,
)
from pytest_workrail.events.payloads import AdvancedOutcome, ArtifactPayload
from pytest_workrail.run.transcript import Exchange, Visit
from workrail_lint.js import Json

Trace = tuple[dict[str, Json], ...]

_OUTCOMES = {"step": "advanced", "blocked_attempt": "blocked", "gate_checkpoint": "gated"}
_CONTRACT_CODES = frozenset({"MISSING_REQUIRED_OUTPUT", "INVALID_REQUIRED_OUTPUT"})
_CONTRACT_GAPS = frozenset({"missing_required_output", "invalid_required_output"})


class Visits:
    """Collects the attempts of one run."""

    def __init__(self) -> None:
        self.found: list[Visit] = []
        self.last_trace: Trace = ()
        self._traces: dict[NodeId, Trace] = {}
        self._attempts: Counter[StepInstance] = Counter()

    def start(self, root: NodeId, trace: Sequence[TraceEntry]) -> None:
        """The run was opened; nothing but the interpreter knows how its first step was chosen."""
        self._traces[root] = tuple(entry.to_json() for entry in trace)

    def record(self, moment: Moment, step_node: NodeId, added: Sequence[Event], exchange: Exchange) -> None:
        """An advance was answered. `step_node` is the one on which the step became pending."""
        advance = next((event for event in added if isinstance(event, AdvanceRecorded)), None)
        if advance is None:
            if exchange.is_error:
                self._add(moment, step_node, "error", exchange, ())
            return
        outcome = advance.data.outcome
        target = outcome.to_node_id if isinstance(outcome, AdvancedOutcome) else None
        kinds = {event.scope.node_id: event.data.node_kind for event in added if isinstance(event, NodeCreated)}
        trace: Trace = tuple(
            entry.to_wire()
            for event in added
            if isinstance(event, DecisionTraceAppended)
            for entry in event.data.entries
        )
        self._add(moment, step_node, _OUTCOMES[kinds[target]] if target in kinds else "error", exchange, added)
        if target is not None and kinds.get(target) == "step":
            self._traces[target] = self.last_trace = trace

    def _add(self, moment: Moment, step_node: NodeId, outcome: str, exchange: Exchange, added: Sequence[Event]) -> None:
        self._attempts[moment.instance] += 1
        blockers = blocker_codes(exchange.response)
        gaps = tuple(
            str(event.data.reason.detail)
            for event in added
            if isinstance(event, GapRecorded) and event.data.severity == "critical"
        )
        self.found.append(
            Visit(
                moment.step_id,
                tuple((at.loop_id, at.iteration) for at in moment.instance.loop_path),
                self._attempts[moment.instance],
                outcome,
                blockers,
                gaps,
                # Told once: a second attempt follows from no selection of its own.
                self._traces.pop(step_node, ()),
                _fragments(moment),
                _levels(added),
                _contract(moment, added, blockers, gaps),
            )
        )


def blocker_codes(response: dict[str, Any]) -> tuple[str, ...]:
    """The codes of the blockers in a response, in its order."""
    report = response.get("blockers")
    return tuple(blocker["code"] for blocker in report["blockers"]) if isinstance(report, dict) else ()


def _fragments(moment: Moment) -> tuple[str, ...]:
    context = render_context(moment.loop, moment.instance.loop_path, moment.context)
    return tuple(part["id"] for part in moment.step.get("fragments", ()) if evaluate(part.get("when"), context))


def _levels(added: Sequence[Event]) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (event.data.assessment_id, dimension.dimension_id, dimension.level)
        for event in added
        if isinstance(event, AssessmentRecorded)
        for dimension in event.data.dimensions
    )


def _contract(moment: Moment, added: Sequence[Event], blockers: tuple[str, ...], gaps: tuple[str, ...]) -> str | None:
    """The contract an artifact of this attempt has met."""
    contract = moment.step.get("output", {}).get("contract")
    if contract is None or _CONTRACT_CODES.intersection(blockers) or _CONTRACT_GAPS.intersection(gaps):
        return None
    pack = moment.program.index.packs.get(contract["ref"])
    kinds = {
        artifact_kind(event.data.payload.content)  # type: ignore[arg-type]  # JSON from the log
        for event in added
        if isinstance(event, NodeOutputAppended) and isinstance(event.data.payload, ArtifactPayload)
    }
    return contract["ref"] if pack is not None and pack.artifact_kind in kinds else None

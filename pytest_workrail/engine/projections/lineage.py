"""What belongs to a node's own past: context, observations, gaps and artifacts of the advances leading to it.

An advance is on the lineage of a node when the node it started from and the node it made both are. Whatever
happened on a sibling branch, or in an attempt that was blocked and left behind, is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pytest_workrail.engine.core.capabilities import Observation
from pytest_workrail.engine.core.profiles import RewindContext
from pytest_workrail.engine.events.ids import AttemptId, NodeId
from pytest_workrail.engine.events.judgements import GapRecordedData
from pytest_workrail.engine.events.kinds import (
    AdvanceRecorded,
    CapabilityObserved,
    ContextSet,
    Event,
    GapRecorded,
    NodeOutputAppended,
)
from pytest_workrail.engine.events.payloads import AdvancedOutcome, ArtifactPayload
from pytest_workrail.engine.projections.dag import Node, Run
from pytest_workrail.engine.projections.facts import run_context
from pytest_workrail.engine.projections.gaps import project_gaps

_ATTEMPT = re.compile(r"(attempt_[a-z2-7]{26})(?:_([0-9]+))?$")


class Lineage:
    """The past of one node of a run."""

    def __init__(self, events: tuple[Event, ...], run: Run, node: NodeId) -> None:
        self._events = events
        self._run = run
        self._path = frozenset(run.lineage(node))
        self._advances: dict[tuple[NodeId, AttemptId], AdvanceRecorded] = {
            (event.scope.node_id, event.data.attempt_id): event
            for event in events
            if isinstance(event, AdvanceRecorded) and event.scope.run_id == run.run_id
        }

    def _includes(self, advance: AdvanceRecorded) -> bool:
        outcome = advance.data.outcome
        return (
            advance.scope.node_id in self._path
            and isinstance(outcome, AdvancedOutcome)
            and outcome.to_node_id in self._path
        )

    def _advance_of(self, node: NodeId, name: str) -> AdvanceRecorded | None:
        """The advance whose attempt a derived name ends with."""
        named = _ATTEMPT.search(name)
        return None if named is None else self._advances.get((node, AttemptId(named[1])))

    def _counts(self, node: NodeId, name: str) -> bool:
        """True for something said about a node: by an advance on the lineage, or by nobody's advance."""
        advance = self._advance_of(node, name)
        return node in self._path if advance is None else self._includes(advance)

    def context(self) -> dict[str, object] | None:
        """The context that was valid at the node."""
        found: dict[str, object] | None = None
        advance: AdvanceRecorded | None = None
        for event in self._events:
            if event.scope is None or event.scope.run_id != self._run.run_id:
                continue
            if isinstance(event, AdvanceRecorded):
                advance = event
            # The initial context belongs to the root; any other to the advance right before it.
            elif isinstance(event, ContextSet) and (
                event.data.source == "initial" or (advance is not None and self._includes(advance))
            ):
                found = event.data.context
        return found

    def observations(self) -> list[Observation]:
        """What the node's past says about capabilities, oldest first, in the form the engine judges it."""
        found: list[Observation] = []
        for event in self._events:
            if not isinstance(event, CapabilityObserved) or event.scope.run_id != self._run.run_id:
                continue
            data = event.data
            if self._counts(event.scope.node_id, data.cap_obs_id):
                named = _ATTEMPT.search(data.cap_obs_id)
                place = int(named[2] or 0) if named else 0
                found.append(Observation(place, data.capability, data.status, data.provenance.to_wire()))
        return found

    def open_gaps(self) -> list[GapRecordedData]:
        """The unresolved gaps of the node's past, in order."""
        resolved = project_gaps(self._events).resolved
        return [
            event.data
            for event in self._events
            if isinstance(event, GapRecorded)
            and event.scope.run_id == self._run.run_id
            and event.data.resolution.kind == "unresolved"
            and event.data.gap_id not in resolved
            and self._counts(event.scope.node_id, event.data.gap_id)
        ]

    def artifacts(self, left: Callable[[Node], bool]) -> list[object]:
        """The artifacts submitted when leaving certain nodes for a further step, in submission order."""
        found: list[tuple[int, int, object]] = []
        for event in self._events:
            if not isinstance(event, NodeOutputAppended) or event.scope.run_id != self._run.run_id:
                continue
            payload, named = event.data.payload, _ATTEMPT.search(event.data.output_id)
            advance = self._advance_of(event.scope.node_id, event.data.output_id)
            if not isinstance(payload, ArtifactPayload) or named is None or advance is None:
                continue
            outcome = advance.data.outcome
            if (
                self._includes(advance)
                and isinstance(outcome, AdvancedOutcome)
                and self._run.nodes[outcome.to_node_id].kind == "step"
                and left(self._run.nodes[event.scope.node_id])
            ):
                found.append((advance.event_index, int(named[2] or 0), payload.content))
        return [content for _, _, content in sorted(found, key=lambda entry: entry[:2])]


def node_context(
    events: tuple[Event, ...], run: Run, node: NodeId, rewind_context: RewindContext
) -> dict[str, object] | None:
    """The context a node sees: the newest of its run, or the one of its own past, as the profile chooses."""
    match rewind_context:
        case RewindContext.RUN:
            return run_context(events, run.run_id)
        case RewindContext.LINEAGE:
            return Lineage(events, run, node).context()

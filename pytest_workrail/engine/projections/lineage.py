"""What belongs to a node's own past: context, observations, gaps and artifacts of the advances leading to it.

An advance is on the lineage of a node when the node it started from and the node it made both are. Whatever
happened on a sibling branch, or in an attempt that was blocked and left behind, is not.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable

from pytest_workrail.engine.core.outputs import Observation
from pytest_workrail.engine.core.profiles import RewindContext
from pytest_workrail.engine.model.blockers import GapRecordedData
from pytest_workrail.engine.model.events import (
    AdvancedOutcome,
    AdvanceRecorded,
    ArtifactPayload,
    CapabilityObserved,
    ContextSet,
    GapRecorded,
    Log,
    NodeOutputAppended,
)
from pytest_workrail.engine.model.ids import NodeId
from pytest_workrail.engine.projections.dag import Run
from pytest_workrail.engine.projections.facts import project_gaps, run_context
from pytest_workrail.engine.projections.incremental import of_kind, of_node
from workrail_lint.base.patterns import Pattern

_ATTEMPT = Pattern(r"(attempt_[a-z2-7]{26})(?:_([0-9]+))?$")


class Lineage:
    """The past of one node of a run. Looks no further back than it is asked about."""

    def __init__(self, events: Log, run: Run, node: NodeId) -> None:
        self._events = events
        self._run = run
        self._node = node
        self._path: set[NodeId] = set()
        self._above: NodeId | None = node  # the part of the path that is not in the set begins here

    def _is_on_path(self, node_id: NodeId) -> bool:
        node = self._run.nodes.get(node_id)
        if node is None:
            return False
        # A parent is made before its child, so what is not found by then is nowhere on the path.
        while self._above is not None and self._run.nodes[self._above].created_index >= node.created_index:
            self._path.add(self._above)
            self._above = self._run.nodes[self._above].parent
        return node_id in self._path

    def _includes(self, advance: AdvanceRecorded) -> bool:
        outcome = advance.data.outcome
        return (
            isinstance(outcome, AdvancedOutcome)
            and self._is_on_path(outcome.to_node_id)
            and self._is_on_path(advance.scope.node_id)
        )

    def _advance_of(self, node: NodeId, name: str) -> AdvanceRecorded | None:
        """The advance whose attempt a derived name ends with."""
        named = _ATTEMPT.search(name)
        if named is None:
            return None
        advances = of_node(self._events, AdvanceRecorded, node)
        return next((each for each in reversed(advances) if each.data.attempt_id == named[1]), None)

    def _counts(self, node: NodeId, name: str) -> bool:
        """True for something said about a node: by an advance on the lineage, or by nobody's advance."""
        advance = self._advance_of(node, name)
        return self._is_on_path(node) if advance is None else self._includes(advance)

    def context(self) -> dict[str, object] | None:
        """The context that was valid at the node."""
        for event in reversed(of_kind(self._events, ContextSet)):
            if event.scope.run_id != self._run.run_id:
                continue
            # The initial context belongs to the root; any other to the advance right before it.
            if event.data.source == "initial":
                return event.data.context
            advance = self._advance_before(event.event_index)
            if advance is not None and self._includes(advance):
                return event.data.context
        return None

    def _advance_before(self, event_index: int) -> AdvanceRecorded | None:
        advances = of_kind(self._events, AdvanceRecorded)
        place = bisect_left(advances, event_index, key=lambda event: event.event_index)
        while place and advances[place - 1].scope.run_id != self._run.run_id:
            place -= 1
        return advances[place - 1] if place else None

    def observations(self) -> list[Observation]:
        """What the node's past says about capabilities, oldest first, in the form the engine judges it."""
        found: list[Observation] = []
        for event in of_kind(self._events, CapabilityObserved):
            if event.scope.run_id != self._run.run_id:
                continue
            data = event.data
            if self._counts(event.scope.node_id, data.cap_obs_id):
                named = _ATTEMPT.search(data.cap_obs_id)
                place = int(named[2] or 0) if named else 0
                found.append(Observation(place, data.capability, data.status, data.provenance))
        return found

    def open_gaps(self) -> list[GapRecordedData]:
        """The unresolved gaps of the node's past, in order."""
        resolved = project_gaps(self._events).resolved
        return [
            event.data
            for event in of_kind(self._events, GapRecorded)
            if event.scope.run_id == self._run.run_id
            and event.data.resolution.kind == "unresolved"
            and event.data.gap_id not in resolved
            and self._counts(event.scope.node_id, event.data.gap_id)
        ]

    def artifacts(self, left: Iterable[NodeId], questions: Collection[NodeId] = ()) -> list[object]:
        """The artifacts submitted when leaving certain nodes for a further step, in submission order.

        An advance that only led to a question counts too: nothing was wrong with what it submitted.
        """
        found: list[tuple[int, int, object]] = []
        for event in (event for node in left for event in of_node(self._events, NodeOutputAppended, node)):
            payload, named = event.data.payload, _ATTEMPT.search(event.data.output_id)
            advance = self._advance_of(event.scope.node_id, event.data.output_id)
            if not isinstance(payload, ArtifactPayload) or named is None or advance is None:
                continue
            outcome = advance.data.outcome
            if (
                self._includes(advance)
                and isinstance(outcome, AdvancedOutcome)
                and (self._run.nodes[outcome.to_node_id].kind == "step" or outcome.to_node_id in questions)
            ):
                found.append((advance.event_index, int(named[2] or 0), payload.artifact))
        return [content for _, _, content in sorted(found, key=lambda entry: entry[:2])]


def node_context(events: Log, run: Run, node: NodeId, rewind_context: RewindContext) -> dict[str, object] | None:
    """The context a node sees: the newest of its run, or the one of its own past, as the profile chooses."""
    match rewind_context:
        case RewindContext.RUN:
            return run_context(events, run.run_id)
        case RewindContext.LINEAGE:
            return Lineage(events, run, node).context()

"""Outputs: what each node's attempts left behind, what of it still counts, and the notes along a path."""

from __future__ import annotations

from itertools import pairwise

import msgspec
from msgspec import Struct

from pytest_workrail.engine.model.events import (
    AdvancedOutcome,
    AdvanceRecorded,
    ArtifactPayload,
    Log,
    NodeOutputAppended,
    NodeOutputData,
    NotesPayload,
)
from pytest_workrail.engine.model.ids import AttemptId, NodeId
from pytest_workrail.engine.projections.errors import ProjectionError, corruption, out_of_order, violation
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok

_RECAP = Pattern(r"out_recap_(attempt_[a-z2-7]{26})")


class Output(Struct, frozen=True):
    """One output and its place in the log."""

    event_index: int
    data: NodeOutputData


class Recap(Struct, frozen=True):
    """The notes of one advance."""

    event_index: int
    text: str


class NodeOutputs(Struct):
    """The outputs of one node: all of them in order, and those that nothing superseded."""

    history: list[Output] = msgspec.field(default_factory=list)
    current: list[Output] = msgspec.field(default_factory=list)

    def artifacts(self) -> list[ArtifactPayload]:
        """The current artifacts, in order."""
        return [output.data.payload for output in self.current if isinstance(output.data.payload, ArtifactPayload)]


class Outputs(Struct, frozen=True):
    """The outputs of a session by node, and its recaps by the advance they belong to."""

    by_node: dict[NodeId, NodeOutputs]
    recaps: dict[tuple[NodeId, NodeId], Recap]

    def path_recaps(self, path: tuple[NodeId, ...]) -> list[Recap]:
        """The notes along a path, oldest first: at each node those of the advance that made the next one.

        A node that was left twice has two recaps; only the one of this branch is part of its story.
        """
        steps = pairwise(path)
        return [self.recaps[step] for step in steps if step in self.recaps]

    def first_recap(self, node_id: NodeId) -> Recap | None:
        """The earliest notes that were left on a node, whichever branch they led to."""
        left = (recap for (source, _), recap in self.recaps.items() if source == node_id)
        return min(left, key=lambda recap: recap.event_index, default=None)


def project_outputs(events: Log) -> Ok[Outputs] | Err[ProjectionError]:
    """The outputs of a session."""
    problem = out_of_order(events)
    if problem is not None:
        return Err(problem)
    by_node: dict[NodeId, NodeOutputs] = {}
    targets: dict[tuple[NodeId, AttemptId], NodeId] = {}
    for event in events:
        if isinstance(event, AdvanceRecorded) and isinstance(event.data.outcome, AdvancedOutcome):
            targets[event.scope.node_id, event.data.attempt_id] = event.data.outcome.to_node_id
        elif isinstance(event, NodeOutputAppended):
            outputs = by_node.setdefault(event.scope.node_id, NodeOutputs())
            outputs.history.append(Output(event.event_index, event.data))
    recaps: dict[tuple[NodeId, NodeId], Recap] = {}
    for node_id, outputs in by_node.items():
        problem = _resolve_current(node_id, outputs)
        if problem is not None:
            return Err(problem)
        attempts = _recaps_by_attempt(outputs)
        if isinstance(attempts, Err):
            return attempts
        for attempt, recap in attempts.value.items():
            target = targets.get((node_id, attempt))
            if target is not None:
                recaps[node_id, target] = recap
    return Ok(Outputs(by_node, recaps))


def _resolve_current(node_id: NodeId, outputs: NodeOutputs) -> ProjectionError | None:
    """Find out which outputs of a node are current."""
    channels: dict[str, str] = {}
    supersedes: dict[str, str] = {}
    for output in outputs.history:
        data = output.data
        older = data.supersedes_output_id
        if older is not None:
            if channels.get(older) != data.output_channel:
                return corruption(f"output {data.output_id} of {node_id} supersedes no earlier output of its channel")
            supersedes[data.output_id] = older
        channels[data.output_id] = data.output_channel
    for start in supersedes:
        seen = {start}
        current = start
        while current in supersedes:
            current = supersedes[current]
            if current in seen:
                return violation(f"outputs of {node_id} supersede each other in a circle")
            seen.add(current)
    gone = set(supersedes.values())
    outputs.current.extend(output for output in outputs.history if output.data.output_id not in gone)
    return None


def _recaps_by_attempt(outputs: NodeOutputs) -> Ok[dict[AttemptId, Recap]] | Err[ProjectionError]:
    recaps: dict[AttemptId, Recap] = {}
    for output in outputs.current:
        data = output.data
        named = _RECAP.match(data.output_id)
        if data.output_channel != "recap" or named is None or not isinstance(data.payload, NotesPayload):
            continue
        attempt = AttemptId(named[1])
        if attempt in recaps:
            return Err(corruption(f"attempt {attempt} has two current recaps"))
        recaps[attempt] = Recap(output.event_index, data.payload.notes_markdown)
    return Ok(recaps)

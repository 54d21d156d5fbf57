"""Recovery text: what an agent that lost its memory is told about the run, within a budget."""

from __future__ import annotations

from itertools import pairwise

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from pytest_workrail.engine.core import profiles
from pytest_workrail.engine.model.events import (
    AdvancedOutcome,
    AdvanceRecorded,
    ArtifactPayload,
    Log,
    NodeOutputAppended,
    NodeOutputData,
    NotesPayload,
)
from pytest_workrail.engine.model.ids import AttemptId, NodeId, RunId
from pytest_workrail.engine.model.places import TRUNCATION_MARKER, utf8_prefix
from pytest_workrail.engine.projections.dag import Run, project_dag
from pytest_workrail.engine.projections.incremental import ProjectionError, corruption, out_of_order, violation
from workrail_lint.base import js
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


_HEADER = "## Recovery Context"
_REFERENCE_TIER = 2
_TIERS_OMITTED = "\nOmitted 1 lower-priority tier due to budget constraints."
_CONTENT_OMITTED = "\nOmitted recovery content due to budget constraints."


class _Section(Struct, frozen=True):
    """A titled part of the text: fixed words, or recaps that can be left out one by one."""

    tier: int
    title: str
    words: str = ""
    recaps: tuple[Recap, ...] = ()

    @property
    def body(self) -> str:
        return js.trim(self.words or "\n\n".join(recap.text for recap in self.recaps))


def recovery_text(
    events: Log,
    run_id: RunId,
    node: NodeId,
    *,
    functions: str = "",
    policy: profiles.Recap = profiles.Recap.OLDEST_FIRST_24K,
) -> str:
    """The recovery text of a node; empty when there is nothing to tell.

    `functions` is the fenced block of function definitions visible at the pending step. A log that can't be
    projected costs the text, never the call.
    """
    dag = project_dag(events)
    if isinstance(dag, Err):
        return "(Recovery context unavailable due to projection failure)"
    run = dag.value.get(run_id)
    if run is None or node not in run.nodes:
        return "(Recovery context unavailable: run not found)"
    outputs = project_outputs(events)
    if isinstance(outputs, Err):
        return "(Recovery context unavailable due to outputs projection failure)"
    sections = _sections(run, node, outputs.value, functions)
    match policy:
        case profiles.Recap.OLDEST_FIRST_24K:
            return _fit_oldest_first(sections, 24576)
        case profiles.Recap.NEWEST_FIRST_12K:
            turned = [replace(section, recaps=section.recaps[::-1]) for section in sections]
            return _fit_newest_first(turned, 12288)


def _sections(run: Run, node: NodeId, outputs: Outputs, functions: str) -> list[_Section]:
    """Everything there is to tell, in order."""
    sections = [
        _Section(1, "Ancestry Recap", recaps=tuple(outputs.path_recaps(run.lineage(node)))),
        _Section(_REFERENCE_TIER, "Function Definitions", functions),
    ]
    if not run.is_tip(node):
        count = len(run.children(node))
        children = "1 child" if count == 1 else f"{count} children"
        tip = run.preferred_tip
        summary = f"This node has {children}. Preferred branch tip: {tip or 'unknown'}"
        sections.append(_Section(0, "Branch Summary", summary))
        ahead = () if tip is None else run.lineage(tip)
        if node in ahead:
            after = ahead[ahead.index(node) + 1 :]
            recaps = tuple(outputs.path_recaps(after))
            sections.append(_Section(0, "Downstream Recap (Preferred Branch)", recaps=recaps))
    shown = [section for section in sections if section.body]
    return sorted(shown, key=lambda section: (section.tier, section.title, section.body))


def _render(sections: list[_Section]) -> str:
    parts = [f"### {section.title}\n{section.body}" for section in sections if section.body]
    return "\n\n".join([_HEADER, *parts])


def _without_reference(sections: list[_Section]) -> list[_Section]:
    return [section for section in sections if section.tier != _REFERENCE_TIER]


def _cut(text: str, suffix: str, budget: int) -> str:
    return utf8_prefix(text, budget - js.u8_length(suffix)) + suffix


def _fit_oldest_first(sections: list[_Section], budget: int) -> str:
    """Drop the reference tier, then cut the end."""
    if not sections:
        return ""
    text = _render(sections)
    if js.u8_length(text) <= budget:
        return text
    kept = _without_reference(sections)
    suffix = TRUNCATION_MARKER + (_TIERS_OMITTED if len(kept) < len(sections) else _CONTENT_OMITTED)
    return _cut(_render(kept), suffix, budget)


def _fit_newest_first(sections: list[_Section], budget: int) -> str:
    """Drop the reference tier, then the oldest recaps one by one, and cut only a last one that is too long."""
    if not sections:
        return ""
    text = _render(sections)
    if js.u8_length(text) <= budget:
        return text
    kept = _without_reference(sections)
    tiers = _TIERS_OMITTED if len(kept) < len(sections) else ""
    dropped = 0

    def suffix() -> str:
        if not dropped:
            return TRUNCATION_MARKER + tiers
        entries = "1 older recap entry" if dropped == 1 else f"{dropped} older recap entries"
        return f"{TRUNCATION_MARKER}{tiers}\nOmitted {entries} due to budget constraints; the newest are kept."

    by_age = sorted((recap for section in kept for recap in section.recaps), key=lambda recap: recap.event_index)
    sizes = [js.u8_length(js.trim(recap.text)) for recap in by_age]
    # Rendering is the costly part, and recaps that exceed the budget by themselves need none.
    while dropped < len(by_age) - 1 and (
        sum(sizes[dropped:]) > budget or js.u8_length(_render(kept) + suffix()) > budget
    ):
        kept = [_without_recap(section, by_age[dropped]) for section in kept]
        dropped += 1
    whole = _render(kept) + suffix()
    if js.u8_length(whole) <= budget:
        return whole
    return _cut(_render(kept), suffix() + _CONTENT_OMITTED, budget)


def _without_recap(section: _Section, gone: Recap) -> _Section:
    return replace(section, recaps=tuple(recap for recap in section.recaps if recap is not gone))

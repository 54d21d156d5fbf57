"""The facts of a session: by what they are about, by the past of a node, and as the text an agent recovers with.

An advance is on the lineage of a node when the node it started from and the node it made both are. Whatever happened
on a sibling branch, or in an attempt that was blocked and left behind, is not part of the node's past.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Container, Iterable, Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from pytest_workrail.engine.core import profiles
from pytest_workrail.engine.core.profiles import RewindContext
from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.blockers import GapRecordedData, Resolves
from pytest_workrail.engine.model.events import (
    AdvancedOutcome,
    AdvanceRecorded,
    AdvanceRecordedData,
    ArtifactPayload,
    AssessmentRecorded,
    AssessmentRecordedData,
    CapabilityObserved,
    CapabilityObservedData,
    ContextSet,
    DecisionTraceAppended,
    DivergenceData,
    DivergenceRecorded,
    GapRecorded,
    Log,
    NodeOutputAppended,
    NodeOutputData,
    NotesPayload,
    ObservationRecorded,
    PreferencesChanged,
    RunCompleted,
    RunCompletedData,
    ValidationPerformed,
    ValidationResult,
)
from pytest_workrail.engine.model.ids import AttemptId, NodeId, RunId
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.model.step_keys import TRUNCATION_MARKER, utf8_prefix
from pytest_workrail.engine.model.trace import NOTHING_SKIPPED, DecisionTraceData, SkippedList
from pytest_workrail.engine.model.words import DEFAULT_PREFERENCES, Capability, GapCategory, Preferences
from pytest_workrail.engine.projections.dag import Run, project_dag
from pytest_workrail.engine.projections.incremental import (
    ProjectionError,
    corruption,
    log_index,
    of_kind,
    of_node,
    out_of_order,
    violation,
)
from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok


class Gap(Struct, frozen=True):
    """A gap and where it was recorded."""

    event_index: int
    run_id: RunId
    node_id: NodeId
    data: GapRecordedData


class Gaps(Struct, frozen=True):
    """The gaps of a session."""

    by_id: dict[str, Gap]
    resolved: frozenset[str]

    def of_run(self, run_id: RunId) -> list[Gap]:
        """The gaps of a run by place in the log."""
        gaps = [gap for gap in self.by_id.values() if gap.run_id == run_id]
        return sorted(gaps, key=lambda gap: (gap.event_index, gap.data.gap_id))

    def unresolved_critical(self, run_id: RunId) -> list[Gap]:
        """Return the gaps that a reader of a run's results must know."""
        return [
            gap
            for gap in self.of_run(run_id)
            if gap.data.severity == "critical"
            and gap.data.resolution.kind == "unresolved"
            and gap.data.gap_id not in self.resolved
        ]


def project_gaps(events: Log) -> Gaps:
    """The gaps of a session. Of two with the same id the later one counts."""
    by_id: dict[str, Gap] = {}
    resolved: set[str] = set()
    for event in of_kind(events, GapRecorded):
        by_id[event.data.gap_id] = Gap(event.event_index, event.scope.run_id, event.scope.node_id, event.data)
        if isinstance(event.data.resolution, Resolves):
            resolved.add(event.data.resolution.resolves_gap_id)
    return Gaps(by_id, frozenset(resolved))


def effective_preferences(events: Log, run: Run, node: NodeId) -> Ok[Preferences] | Err[ProjectionError]:
    """The preferences at a node. A rewind restores them; a change on one branch does not reach its siblings."""
    changes: dict[NodeId, PreferencesChanged] = {}
    for event in of_kind(events, PreferencesChanged):
        if event.scope.run_id == run.run_id:
            changes[event.scope.node_id] = event
    if node not in run.nodes:
        return Err(violation(f"node {node} is not part of run {run.run_id}"))
    # Every parent is known before its child, so the way up ends at the root.
    nearest = run.nearest(node, changes, "preferences")
    if nearest is None:
        return Ok(DEFAULT_PREFERENCES)
    return Ok(changes[nearest].data.preferences)


class Workspace(Struct, frozen=True):
    """Where a session ran, as far as it was observed."""

    git_branch: str | None = None
    git_head_sha: str | None = None
    repo_root_hash: str | None = None
    repo_root: str | None = None


def workspace(events: Log) -> Workspace:
    """The newest observation of each fact."""
    seen = {event.data.key: event.data.value.value for event in of_kind(events, ObservationRecorded)}
    return Workspace(
        seen.get("git_branch"), seen.get("git_head_sha"), seen.get("repo_root_hash"), seen.get("repo_root")
    )


def run_context(events: Log, run_id: RunId) -> dict[str, object] | None:
    """The newest context of a run, wherever in the run it was set."""
    for event in reversed(of_kind(events, ContextSet)):
        if event.scope.run_id == run_id:
            return event.data.context
    return None


def advances(events: Log, node_id: NodeId) -> list[AdvanceRecordedData]:
    """The outcomes of the attempts on a node, in order."""
    return [event.data for event in of_node(events, AdvanceRecorded, node_id)]


def capabilities(events: Log) -> dict[tuple[NodeId, Capability], CapabilityObservedData]:
    """The latest observation per node and capability, strong or weak."""
    return {(event.scope.node_id, event.data.capability): event.data for event in of_kind(events, CapabilityObserved)}


def divergences(events: Log, run_id: RunId) -> list[DivergenceData]:
    """Where the agent of a run left the path, in order."""
    return [event.data for event in of_kind(events, DivergenceRecorded) if event.scope.run_id == run_id]


def assessments(events: Log, node_id: NodeId) -> list[AssessmentRecordedData]:
    """The assessments of every attempt on a node so far, in order."""
    return [event.data for event in of_node(events, AssessmentRecorded, node_id)]


def validation(events: Log, validation_id: str) -> ValidationResult | None:
    """The newest result under an id; a snapshot may name one that was never recorded."""
    for event in reversed(of_kind(events, ValidationPerformed)):
        if event.data.validation_id == validation_id:
            return event.data.result
    return None


def completions(events: Log, run_id: RunId) -> list[RunCompletedData]:
    """The ends the branches of a run came to, in order."""
    return [event.data for event in of_kind(events, RunCompleted) if event.scope.run_id == run_id]


def has_recap(events: Log, run_id: RunId) -> bool:
    """True once any step of a run left notes."""
    for event in of_kind(events, NodeOutputAppended):
        if event.data.output_channel == "recap" and event.scope.run_id == run_id:
            return True
    return False


RunStatus: TypeAlias = Literal["in_progress", "blocked", "complete", "complete_with_gaps"]

_STOPPING: frozenset[GapCategory] = frozenset({"user_only_dependency", "contract_violation", "capability_missing"})


def run_status(events: Log, run: Run, tip_snapshot: ExecutionSnapshot) -> Ok[RunStatus] | Err[ProjectionError]:
    """The status of a run, given the snapshot of its preferred tip."""
    if run.preferred_tip is None:
        return Err(violation(f"run {run.run_id} has no nodes"))
    tip = run.nodes[run.preferred_tip]
    open_gaps = project_gaps(events).unresolved_critical(run.run_id)
    if tip_snapshot.is_complete:
        return Ok("complete_with_gaps" if open_gaps else "complete")
    preferences = effective_preferences(events, run, tip.node_id)
    if isinstance(preferences, Err):
        return preferences
    if not preferences.value.never_stops:
        stopping = any(gap.data.reason.category in _STOPPING for gap in open_gaps)
        if tip.kind == "blocked_attempt" or stopping:
            return Ok("blocked")
    return Ok("in_progress")


def skipped_before(events: Log, run: Run, node: NodeId, *, of_question: bool) -> SkippedList:
    """The steps passed over by the selection that led to a node.

    A checkpoint, a gate and a refused attempt stand at the step of the node above them. A question has a selection
    of its own: the one that would have ended the run.
    """
    parent = run.nodes[node].parent
    while not of_question and run.nodes[node].kind != "step" and parent is not None:
        node, parent = parent, run.nodes[parent].parent
    attempt = None if parent is None else _attempt_to(events, parent, node)
    if parent is not None and attempt is None:
        return NOTHING_SKIPPED
    key = keys.decision_trace_appended(events[0].session_id, keys.trace_id(attempt))
    trace = log_index(events).find(key)
    return skipped_of(trace.data) if isinstance(trace, DecisionTraceAppended) else NOTHING_SKIPPED


def _attempt_to(events: Log, source: NodeId, target: NodeId) -> AttemptId | None:
    """The attempt that led from one node to another."""
    for event in of_node(events, AdvanceRecorded, source):
        outcome = event.data.outcome
        if isinstance(outcome, AdvancedOutcome) and outcome.to_node_id == target:
            return event.data.attempt_id
    return None


def skipped_of(trace: DecisionTraceData) -> SkippedList:
    """Return the steps that were passed over according to one decision trace."""
    return SkippedList(trace.skipped or (), trace.skipped_omitted or 0)


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

    def observations(self) -> list[CapabilityObservedData]:
        """Return the capability observations of the node's past, oldest first."""
        return [
            event.data
            for event in of_kind(self._events, CapabilityObserved)
            if event.scope.run_id == self._run.run_id and self._counts(event.scope.node_id, event.data.cap_obs_id)
        ]

    def open_gaps(self, summaries: Container[str] | None = None) -> list[GapRecordedData]:
        """The unresolved gaps of the node's past, in order; only those with one of the `summaries`, if any are named.

        Whether a gap belongs to the past is asked last, as it takes longest.
        """
        resolved = project_gaps(self._events).resolved
        return [
            event.data
            for event in of_kind(self._events, GapRecorded)
            if event.scope.run_id == self._run.run_id
            and event.data.resolution.kind == "unresolved"
            and event.data.gap_id not in resolved
            and (summaries is None or event.data.summary in summaries)
            and self._counts(event.scope.node_id, event.data.gap_id)
        ]

    def artifacts(self, left: Iterable[NodeId], questions: Collection[NodeId] = ()) -> list[object]:
        """The artifacts submitted when leaving certain nodes for a further step, in submission order.

        An advance that only led to a question counts too: nothing was wrong with what it submitted.
        """
        entries: list[tuple[int, int, object]] = []
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
                entries.append((advance.event_index, int(named[2] or 0), payload.artifact))
        return [content for _, _, content in sorted(entries, key=lambda entry: entry[:2])]


def node_context(events: Log, run: Run, node: NodeId, rewind_context: RewindContext) -> dict[str, object] | None:
    """The context a node sees: the newest of its run, or the one of its own past, as the profile chooses."""
    match rewind_context:
        case "run":
            return run_context(events, run.run_id)
        case "lineage":
            return Lineage(events, run, node).context()


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
    for advance in of_kind(events, AdvanceRecorded):
        if isinstance(advance.data.outcome, AdvancedOutcome):
            targets[advance.scope.node_id, advance.data.attempt_id] = advance.data.outcome.to_node_id
    for appended in of_kind(events, NodeOutputAppended):
        outputs = by_node.setdefault(appended.scope.node_id, NodeOutputs())
        outputs.history.append(Output(appended.event_index, appended.data))
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


# Bytes of the recovery text under the policy that tells the newest first.
RECOVERY_BUDGET = 12288
_HEADER = "## Recovery Context"
_REFERENCE_TIER = 2
_INSTRUCTIONS_TIER = 3
_TIERS_OMITTED = "\nOmitted 1 lower-priority tier due to budget constraints."
_INSTRUCTIONS_OMITTED = "\nOmitted the instructions of older steps due to budget constraints."
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
    instructions: Sequence[Recap] = (),
    policy: profiles.Recap = "oldest_first_24k",
) -> str:
    """The recovery text of a node; empty when there is nothing to tell.

    `functions` is the fenced block of function definitions visible at the pending step, `instructions` are those of
    the steps so far, oldest first. A log that can't be projected costs the text, never the call.
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
    if instructions:
        sections.append(_Section(_INSTRUCTIONS_TIER, "Instructions So Far", recaps=tuple(instructions)))
    match policy:
        case "oldest_first_24k":
            return _fit_oldest_first(sections, 24576)
        case "newest_first_12k":
            turned = [replace(section, recaps=section.recaps[::-1]) for section in sections]
            return _fit_newest_first(turned, RECOVERY_BUDGET)


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
    filled = [section for section in sections if section.body]
    return sorted(filled, key=lambda section: (section.tier, section.title, section.body))


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
    """Drop the oldest instructions, the reference tier, the oldest recaps, and cut only a last one that is too long.

    Notes say what came of an instruction, so they are worth more than it.
    """
    if not sections:
        return ""
    text = _render(sections)
    if js.u8_length(text) <= budget:
        return text
    others = [section for section in sections if section.tier != _INSTRUCTIONS_TIER]
    left_out = ""
    for section in sections:
        if section.tier == _INSTRUCTIONS_TIER:
            for omitted in range(1, len(section.recaps)):
                fewer = replace(section, recaps=section.recaps[:-omitted])
                text = _render([*others, fewer]) + TRUNCATION_MARKER + _INSTRUCTIONS_OMITTED
                if js.u8_length(text) <= budget:
                    return text
            left_out = _INSTRUCTIONS_OMITTED
            text = _render(others) + TRUNCATION_MARKER + left_out if others else ""
            if js.u8_length(text) <= budget:
                return text
    kept = _without_reference(others)
    tiers = left_out + (_TIERS_OMITTED if len(kept) < len(others) else "")
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

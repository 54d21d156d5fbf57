"""The calls of a recorded run, to be made again: what was submitted where, and what came of it.

The log does not hold everything. Notes of attempts that were blocked or stopped at a gate are not in it, long notes are
cut; what is needed instead is filled in, and each such place says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from msgspec import Struct

from pytest_workrail.agents.values import failing_notes, fitting_notes
from pytest_workrail.engine.model.blockers import Blocker, OutputContractPointer
from pytest_workrail.engine.model.events import EffectivePreferences
from pytest_workrail.engine.protocol.program import Program
from pytest_workrail.sessions.story import Advance, Checkpoint, ContextChange, PreferenceChange, Story, StoryNode

# Written by hosts, refused from agents.
HOST_CONTEXT: Final = frozenset(
    ("eat_token", "parent_eat_token", "metrics_harness", "metrics_active_model", "triggerSource")
)
CRITERIA: Final = "wr.validationCriteria"
_PLACEHOLDER = "(The log does not hold these notes.)"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to. `shown` is everything that an agent saw, tokens aside."""

    kind: str  # ok, blocked, gate_checkpoint, error
    pending: str | None
    is_complete: bool
    codes: tuple[str, ...] = ()
    shown: dict[str, Any] = field(default_factory=dict, compare=False)


class SubmitStep(Struct, frozen=True):
    """A step is submitted at a node. `filled` are the reasons for what was not on record."""

    node: int
    step: str | None
    notes: str | None
    artifacts: tuple[Any, ...]
    context: dict[str, Any] | None
    recorded: Outcome
    filled: tuple[str, ...] = ()


class SetCheckpoint(Struct, frozen=True):
    """A checkpoint is set at a node."""

    node: int
    step: str | None


class SetPreferences(Struct, frozen=True):
    """A person changes the preferences at a node."""

    node: int
    step: str | None
    effective: dict[str, str]


ScriptAction: TypeAlias = SubmitStep | SetCheckpoint | SetPreferences


class Script(Struct, frozen=True):
    """A run as calls: how it was started, and everything after that."""

    goal: str | None
    context: dict[str, Any]
    preferences: dict[str, str]
    started: Outcome
    actions: tuple[ScriptAction, ...]


def script_of(story: Story, program: Program) -> Script:
    """The calls of a run. `program` is what it ran: it says what the steps asked for."""
    goal = story.initial_context.get("goal")
    context = {name: value for name, value in story.initial_context.items() if name not in {*HOST_CONTEXT, "goal"}}
    writer = _Writer(story, program)
    for beat in story.beats:
        writer.add(beat)
    return Script(
        goal if isinstance(goal, str) and goal else None,
        context,
        _preferences(story.initial_preferences),
        recorded_outcome(story.node(1)) if story.nodes else Outcome("error", None, False),
        tuple(writer.actions),
    )


def _preferences(effective: EffectivePreferences) -> dict[str, str]:
    return {"autonomy": effective.autonomy, "riskPolicy": effective.risk_policy}


def recorded_outcome(node: StoryNode) -> Outcome:
    """What the engine answered with when it made a node."""
    if node.snapshot is None:
        return Outcome("unknown", None, False)
    if node.kind == "gate_checkpoint":
        return Outcome("gate_checkpoint", node.step, False)
    if node.kind == "blocked_attempt":
        return Outcome("blocked", node.step, False, tuple(blocker.code for blocker in node.blockers))
    return Outcome("ok", node.step, node.is_complete)


class _Writer:
    """Turns what happened into calls, one after the other."""

    def __init__(self, story: Story, program: Program) -> None:
        self._story = story
        self._program = program
        self._context = dict(story.initial_context)
        # What a host changed in the context since the last submission: only a submission can bring it in.
        self._carried: dict[str, Any] = {}
        self.actions: list[ScriptAction] = []

    def add(self, beat: object) -> None:
        match beat:
            case Advance() if beat.target:
                self.actions.append(self._submit(beat))
            case Checkpoint(source=source):
                self.actions.append(SetCheckpoint(source, self._story.node(source).step))
            case PreferenceChange(node=node, effective=effective):
                self.actions.append(SetPreferences(node, self._story.node(node).step, _preferences(effective)))
            case ContextChange(change=change):
                self._carried |= change
            case _:
                pass

    def _submit(self, advance: Advance) -> SubmitStep:
        source, target = self._story.node(advance.source), self._story.node(advance.target)
        change = {**self._carried, **(advance.context or {})}
        change = {name: value for name, value in change.items() if name not in HOST_CONTEXT}
        has_context = advance.context is not None or bool(change)
        if advance.full_context is not None:
            self._context = dict(advance.full_context)
        # Only an accepted submission keeps its context here; what another one is on record with comes with the next.
        self._carried = {} if target.kind == "step" else change
        filled: list[str] = []
        notes = self._notes(advance, source, target, filled)
        if advance.lost_artifacts:
            filled.append("artifacts are on record by their digest only and were left out")
        return SubmitStep(
            source.number,
            source.step,
            notes,
            tuple(advance.artifacts),
            change if has_context else None,
            recorded_outcome(target),
            tuple(filled),
        )

    def _notes(self, advance: Advance, source: StoryNode, target: StoryNode, filled: list[str]) -> str | None:
        if advance.notes is not None:
            if advance.is_cut:
                filled.append("notes are cut where the engine cut them")
            return advance.notes
        step = None if source.step is None else self._program.index.definitions.get(source.step)
        if step is None:
            return None
        criteria = step.criteria
        context = {**self._context, **(advance.context or {})}
        if _failed_criteria(advance, target):
            notes = failing_notes(criteria, context) if criteria is not None else None
            filled.append("notes that fail the criteria again; those that were sent are not on record")
            return notes or _PLACEHOLDER
        if _missed_notes(advance, target) or not step.requires_notes:
            return None
        filled.append(
            "notes; the engine keeps none of an attempt that "
            + ("stops at a gate" if target.kind == "gate_checkpoint" else "is blocked")
        )
        return (fitting_notes(criteria, context, _PLACEHOLDER) if criteria is not None else None) or _PLACEHOLDER


def _failed_criteria(advance: Advance, target: StoryNode) -> bool:
    """Whether notes were refused, by a block or by a gap."""
    if any(each.code == "INVALID_REQUIRED_OUTPUT" and _contract(each) == CRITERIA for each in target.blockers):
        return True
    return any(gap.reason.detail == "invalid_required_output" and CRITERIA in gap.summary for gap in advance.gaps)


def _contract(blocker: Blocker) -> str | None:
    return blocker.pointer.contract_ref if isinstance(blocker.pointer, OutputContractPointer) else None


def _missed_notes(advance: Advance, target: StoryNode) -> bool:
    return any(each.code == "MISSING_REQUIRED_NOTES" for each in target.blockers) or any(
        gap.reason.detail == "missing_required_notes" for gap in advance.gaps
    )

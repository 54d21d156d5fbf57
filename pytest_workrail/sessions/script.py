"""The calls of a recorded run, to be made again: what was submitted where, and what came of it.

The log does not hold everything. Notes of attempts that were blocked or stopped at a gate are not in it, long notes are
cut; what is needed instead is filled in, and each such place says so.

A player makes the calls on our engine. Each submission is an attempt of its own on its node, so a script can go on
anywhere it has been, as the agents did that it was made from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from pytest_workrail.agents.agent import Exchange
from pytest_workrail.agents.values import failing_notes, fitting_notes
from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.engine.model.blockers import Blocker, OutputContractPointer
from pytest_workrail.engine.model.ids import NodeId, RunId, SessionId, ref_of
from pytest_workrail.engine.model.reasons import InvalidRequiredOutput, MissingNotes
from pytest_workrail.engine.model.words import Preferences
from pytest_workrail.engine.projections.dag import Node
from pytest_workrail.engine.protocol.sessions import Program
from pytest_workrail.engine.tokens.issuer import CheckpointGrant, ContinueGrant, NodeAddress
from pytest_workrail.run.bench import GOAL, WORKSPACE, Bench, Setup
from pytest_workrail.sessions.story import Advance, Checkpoint, ContextChange, PreferenceChange, Story, StoryNode
from workrail_lint.base.result import Err

# Written by hosts, refused from agents.
HOST_CONTEXT: Final = frozenset(
    ("eat_token", "parent_eat_token", "metrics_harness", "metrics_active_model", "triggerSource")
)
CRITERIA: Final = "wr.validationCriteria"
_PLACEHOLDER = "(The log does not hold these notes.)"


OutcomeKind: TypeAlias = Literal["ok", "blocked", "gate_checkpoint", "error", "unknown"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a call. `answer` is everything that an agent saw, tokens aside."""

    kind: OutcomeKind
    pending: str | None
    is_complete: bool
    codes: tuple[str, ...] = ()
    answer: dict[str, Any] = field(default_factory=dict, compare=False)


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
    effective: Preferences


ScriptAction: TypeAlias = SubmitStep | SetCheckpoint | SetPreferences


class Script(Struct, frozen=True):
    """A run as calls: how it was started, and everything after that."""

    goal: str | None
    context: dict[str, Any]
    preferences: Preferences
    started: Outcome
    actions: tuple[ScriptAction, ...]


def script_of(story: Story, program: Program) -> Script:
    """The calls of a run that has nodes. `program` is what it ran: it says what the steps asked for."""
    goal = story.initial_context.get("goal")
    context = {name: value for name, value in story.initial_context.items() if name not in {*HOST_CONTEXT, "goal"}}
    writer = _Writer(story, program)
    for beat in story.beats:
        writer.add(beat)
    return Script(
        goal if isinstance(goal, str) and goal else None,
        context,
        _preferences(story.initial_preferences),
        recorded_outcome(story.node(1)),
        tuple(writer.actions),
    )


def _preferences(effective: Preferences) -> Preferences:
    """Return preferences as ours: those that only the lenient reader takes are of a type that equals no other."""
    return Preferences(effective.autonomy, effective.risk_policy)


def recorded_outcome(node: StoryNode) -> Outcome:
    """Return the engine's answer when it created a node."""
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
    if any(each.code == InvalidRequiredOutput.code and _contract(each) == CRITERIA for each in target.blockers):
        return True
    return any(
        gap.reason.detail == InvalidRequiredOutput.gap_reason[1] and CRITERIA in gap.summary for gap in advance.gaps
    )


def _contract(blocker: Blocker) -> str | None:
    return blocker.pointer.contract_ref if isinstance(blocker.pointer, OutputContractPointer) else None


def _missed_notes(advance: Advance, target: StoryNode) -> bool:
    return any(each.code == MissingNotes.code for each in target.blockers) or any(
        gap.reason.detail == MissingNotes.gap_reason[1] for gap in advance.gaps
    )


# What differs from run to run and means nothing by itself.
_TOKENS = ("continueToken", "checkpointToken", "retryContinueToken", "nextCall", "gateToken", "resumeToken")


class Player:
    """One run of a script on one IR."""

    def __init__(self, ir: dict[str, Any], script: Script, profile: ProfileName = "reference") -> None:
        self._script = script
        self._bench = Bench(Setup(ir, profile))
        self._ir = ir
        self._session: SessionId | None = None
        self._run: RunId | None = None

    def start(self) -> Outcome:
        """Begin the run."""
        script = self._script
        request: dict[str, Any] = {
            "workflowId": self._ir["workflowId"],
            "workspacePath": WORKSPACE,
            "goal": script.goal or GOAL,
            "initialContext": script.context,
            "preferences": script.preferences.to_wire(),
        }
        exchange = self._bench.call("start_workflow", request)
        if not exchange.is_error:
            place = self._bench.engine.place_of(str(exchange.response["continueToken"]))
            if isinstance(place, Err):
                raise AssertionError("the engine does not know its own token")
            self._session, self._run = place.value.session_id, place.value.run_id
        return outcome_of(exchange)

    def play(self) -> Iterator[tuple[ScriptAction, Outcome | None]]:
        """Do what the script says, one action after the other. Only submissions have an outcome."""
        for action in self._script.actions:
            yield action, self._do(action)

    def _do(self, action: ScriptAction) -> Outcome | None:
        place = self._place(action.node)
        if place is None:
            return Outcome("error", None, False, ("TOKEN_UNKNOWN_NODE",), {"message": "the run never got there"})
        match action:
            case SubmitStep():
                return self._submit(place, action)
            case SetCheckpoint():
                issued = self._bench.home.issuer.checkpoint_token(
                    CheckpointGrant(place, self._bench.home.mint.attempt())
                )
                if not isinstance(issued, Err):
                    self._bench.call("checkpoint_workflow", {"checkpointToken": issued.value})
                return None
            case SetPreferences(effective=effective):
                self._bench.engine.prefer(place, effective)
                return None

    def _submit(self, place: NodeAddress, action: SubmitStep) -> Outcome:
        request: dict[str, Any] = {"continueToken": self._token(place), "intent": "advance"}
        if action.context is not None:
            request["context"] = action.context
        output: dict[str, Any] = {}
        if action.notes:
            output["notesMarkdown"] = action.notes
        if action.artifacts:
            output["artifacts"] = list(action.artifacts)
        if output:
            request["output"] = output
        exchange = self._bench.call("continue_workflow", request)
        return outcome_of(exchange)

    def _nodes(self) -> Mapping[NodeId, Node]:
        assert self._session is not None, "the run was started"
        assert self._run is not None, "the run was started"
        session = self._bench.engine.session(self._session)
        if isinstance(session, Err):
            raise AssertionError(session.error.message)
        return session.value.runs[self._run].nodes

    def _place(self, number: int) -> NodeAddress | None:
        if self._session is None or self._run is None:
            return None
        nodes = list(self._nodes())
        return NodeAddress(self._session, self._run, nodes[number - 1]) if number <= len(nodes) else None

    def _token(self, place: NodeAddress) -> str:
        home = self._bench.home
        ref = ref_of(self._nodes()[place.node_id].workflow_hash)
        issued = home.issuer.continue_token(ContinueGrant(place, home.mint.attempt(), ref))
        if isinstance(issued, Err):
            raise AssertionError(issued.error.message)
        return issued.value


def outcome_of(exchange: Exchange) -> Outcome:
    """Return the outcome in an answer, without its tokens."""
    visible = {name: value for name, value in exchange.response.items() if name not in _TOKENS}
    match exchange.answer:
        case "error":
            return Outcome("error", None, False, (str(exchange.response.get("code")),), visible)
        case "gated":
            return Outcome("gate_checkpoint", str(exchange.response["stepId"]), False, (), visible)
        case answer:
            kind: OutcomeKind = "blocked" if answer == "blocked" else "ok"
            return Outcome(kind, exchange.step, answer == "complete", exchange.codes, visible)

"""One hostile run: its turns, then settling, then the same once more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from pytest_workrail.agents.correct import correct_answer
from pytest_workrail.engine.core.modes import PRESETS
from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.explore.hostile_promises import INTERACTIVE_ATTEMPTS, BrokenPromise, Promises
from pytest_workrail.explore.hostile_turns import Turn
from pytest_workrail.explore.hostile_world import HostileAgent, World, rehydration, staying_answer
from pytest_workrail.run.history import Position
from workrail_lint.base.js import json_text
from workrail_lint.systems.workrail.model.build import program_model

_REPLAYED = 6
_MOST_ITERATIONS = 2
_GUIDED = next(each for each in PRESETS if each.autonomy == "guided")
# Turns on which the profiles have no choice, in workflows without loops, gates, capabilities and assessments.
_NEUTRAL = frozenset({"adv", "block", "context", "malformed", "resend", "restart", "wrong"})
_CHOSEN_BEHAVIOURS = frozenset({"claim_capability", "lack_capability", "diverge", "keep_looping", "no_decision"})

State: TypeAlias = str


@dataclass(frozen=True, slots=True)
class Story:
    """What decides a run, but for its workflow."""

    turns: tuple[Turn, ...]
    profile: ProfileName
    mode: str
    files: bool = False  # stores on files instead of in memory
    stays: bool = False  # in the end, stay in loops as long as possible before doing it right


@dataclass(slots=True)
class Outcome:
    """What became of a run. `broken` is a promise and how it was broken."""

    broken: tuple[str, str] | None = None
    at: int | None = None  # the turn at which it broke; None if it did not, or afterwards
    states: list[State] = field(default_factory=list)
    tried: dict[str, int] = field(default_factory=dict)
    landed: dict[str, int] = field(default_factory=dict)
    occasions: dict[str, int] = field(default_factory=dict)
    answers: list[str] = field(default_factory=list)


def play(ir: dict[str, Any], story: Story, *, deep: bool = False) -> Outcome:
    """Play a story and settle it; `deep` also plays it again, with restarts, and under the other profile."""
    outcome = _played(ir, story)
    if outcome.broken is not None or not deep:
        return outcome
    for restless in (False, True):
        again = _played(ir, story, restless=restless)
        outcome.occasions["same"] = outcome.occasions.get("same", 0) + 1
        if again.answers != outcome.answers:
            how = "with a restart before every turn" if restless else "the second time"
            outcome.broken = ("same", f"the same turns are answered differently {how}")
            return outcome
    if is_neutral(ir, story):
        other: ProfileName = "locked" if story.profile == "reference" else "reference"
        outcome.occasions["profiles"] = outcome.occasions.get("profiles", 0) + 1
        compared = _played(ir, replace(story, profile=other))
        if compared.broken is None and _masked(compared.answers) != _masked(outcome.answers):
            outcome.broken = ("profiles", "the profiles differ where they have no choice")
    return outcome


def is_neutral(ir: dict[str, Any], story: Story) -> bool:
    """Return whether a story touches none of the choices on which the profiles part."""
    program = program_model(ir)
    return (
        story.mode == "guided"
        and not program.loops
        and not any(step.confirmation.kind != "never" for step in program.steps)
        and not program.capabilities
        and all(turn[0] in _NEUTRAL for turn in story.turns)
        and not any(turn[0] == "adv" and turn[2] in _CHOSEN_BEHAVIOURS for turn in story.turns)
    )


def _masked(answers: Sequence[str]) -> list[Any]:
    """Answers of one profile in a form that another one shares: kind of answer, pending step, blockers."""
    import json

    found: list[Any] = []
    for answer in answers:
        value = json.loads(answer)
        pending = value.get("pending") or {}
        report = value.get("blockers") or {}
        codes = [blocker["code"] for blocker in report.get("blockers", ())]
        found.append((value.get("code"), pending.get("stepId"), codes))
    return found


def _played(ir: dict[str, Any], story: Story, *, restless: bool = False) -> Outcome:
    promises = Promises()
    outcome = Outcome(occasions=promises.occasions)
    world: World | None = None
    at: int | None = None
    try:
        world = World(ir, story.profile, story.mode, "explore", promises, files=story.files, restless=restless)
        if not world.can_start:
            return outcome
        for index, turn in enumerate(story.turns):
            at = index
            world.play(turn)
            outcome.states.append(f"{turn[0]} {_state(world)}")
        at = None
        Settling(world, promises, stays=story.stays).run()
    except BrokenPromise as broken:
        outcome.broken = (broken.promise, broken.how)
        outcome.at = at
    except Exception as problem:
        outcome.broken = ("total", f"the engine raises {type(problem).__name__}: {problem}")
        outcome.at = at
    if world is not None:
        outcome.tried, outcome.landed = world.tried, world.landed
        outcome.answers = [json_text(exchange.response) for exchange in world.bench.exchanges]
    return outcome


def _state(world: World) -> str:
    return " | ".join(_agent_state(world, agent) for agent in world.agents)


def _agent_state(world: World, agent: HostileAgent) -> str:
    if agent.is_done:
        return "done"
    position = world.position(agent.token)
    if position is None or position.instance is None:
        return "nowhere"
    path = position.instance.loop_path
    iteration = min(path[-1].iteration, _MOST_ITERATIONS) if path else 0
    chain = min(position.run.blocked_chain(position.node.node_id), INTERACTIVE_ATTEMPTS)
    tip = "" if position.run.is_tip(position.node.node_id) else " fork"
    return f"{position.instance.step_id}:{iteration} {position.node.kind} {chain}{tip}"


class Settling:
    """What is checked when the turns are over: replays, and that right answers lead to the end."""

    def __init__(self, world: World, promises: Promises, *, stays: bool) -> None:
        self._world = world
        self._promises = promises
        self._stays = stays
        program = world.program.definition
        # A detour for each step, where a person has to agree or the attempts are used up; and one who comes late first
        # gets the answers to what others have submitted.
        steps = len(program.steps) + sum(loop.loop.max_iterations * len(loop.body) for loop in program.loops)
        self._bound = 3 * int(steps) + sum(len(agent.advances) for agent in world.agents)

    def run(self) -> None:
        world = self._world
        world.bench.restart()
        for who, agent in enumerate(world.agents):
            for request in agent.advances[-_REPLAYED:]:
                world.call(who, "continue_workflow", request)
        for who, agent in enumerate(world.agents):
            if self._stays:
                self._stay(who, agent)
            self._finish(who, agent)

    def _stay(self, who: int, agent: HostileAgent) -> None:
        for _ in range(self._bound):
            view = self._world.view(self._world.position(agent.token))
            if agent.token is None or view is None or view.loop is None:
                return
            record = self._world.submit(who, agent.token, staying_answer(view))
            if record.exchange is None or record.exchange.is_error or "blockers" in record.exchange.response:
                return
        self._promises.expect("ends", False, "a loop is never left by one who stays in it")

    def _finish(self, who: int, agent: HostileAgent) -> None:
        world = self._world
        for _ in range(self._bound + 1):
            if agent.is_done or agent.token is None:
                self._promises.expect("ends", True, "")
                return
            position = world.position(agent.token)
            if position is None:
                raise BrokenPromise("goes-on", "the token of the last answer leads nowhere")
            if position.node.kind == "gate_checkpoint":
                return  # someone else has to open it
            view = world.view(position)
            if view is None:
                raise BrokenPromise("ends", "no step is pending, and the run is not complete")
            if world.is_final_block(position) or self._is_exhausted(position):
                if not self._go_back(who, agent, position):
                    return
                continue
            record = world.submit(who, agent.token, correct_answer(view))
            answer = record.exchange
            if answer is not None and answer.is_error:
                raise BrokenPromise("ends", f"a right answer is refused: {answer.response['message']}")
        raise BrokenPromise("ends", f"the run is not complete after {self._bound} right answers")

    def _is_exhausted(self, position: Position) -> bool:
        limit = 3 if position.context.get("is_autonomous") in (True, "true") else INTERACTIVE_ATTEMPTS
        return position.run.blocked_chain(position.node.node_id) >= limit

    def _go_back(self, who: int, agent: HostileAgent, position: Position) -> bool:
        """The way on from a block that can't be retried: a person agrees, and the step is done again from above it."""
        world, node = self._world, position.node
        while node.kind == "blocked_attempt" and node.parent is not None:
            node = position.run.nodes[node.parent]
        token = next((each for each in self._tokens() if self._names(each, node.node_id)), None)
        if token is None:
            return False  # nobody was ever shown the node
        place = world.place(token)
        if place is None or not world.prefer(place, _GUIDED):
            raise BrokenPromise("goes-on", "a person can't set the preferences above a block")
        answer = world.call(who, "continue_workflow", rehydration(token)).exchange
        if answer is None or answer.is_error:
            raise BrokenPromise("goes-on", "the step above a block can't be rehydrated")
        agent.token = str(answer.response["continueToken"])
        agent.tokens.append(agent.token)
        view = world.view(world.position(agent.token))
        if view is None:
            raise BrokenPromise("goes-on", "the step above a block shows no pending step")
        record = world.submit(who, agent.token, correct_answer(view))
        blocked = record.exchange is not None and record.exchange.response.get("retryable") is False
        # What a capability lacks, or what a host has declared, is not for an agent to mend.
        return not blocked

    def _tokens(self) -> list[str]:
        return [token for agent in self._world.agents for token in reversed(agent.tokens)]

    def _names(self, token: str, node_id: str) -> bool:
        place = self._world.place(token)
        return place is not None and place.node_id == node_id

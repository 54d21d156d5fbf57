"""The search for runs that break a promise: one run and how it is judged, seeds, mutation of journals, the smallest
transcript, and its scenario.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from random import Random
from time import process_time
from typing import Any, TypeAlias

from pytest_workrail.agents.agent import Rewind, Submit
from pytest_workrail.agents.correct import correct_answer
from pytest_workrail.coverage.points import MISSING_KEY
from pytest_workrail.engine.core.index import LOOP_CONTROL_KIND, artifact_kind
from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.engine.model.words import AUTONOMIES, PRESETS, Autonomy
from pytest_workrail.explore.generation import generate
from pytest_workrail.explore.hostile_promises import INTERACTIVE_ATTEMPTS, PROMISES, BrokenPromise, Promises
from pytest_workrail.explore.hostile_turns import KINDS, Turn, describe, draw, simpler
from pytest_workrail.explore.hostile_world import CallRecord, HostileAgent, World, rehydration, staying_answer
from pytest_workrail.explore.mutation_operators import compared_values
from pytest_workrail.explore.runs import Plan, PlayedTurn
from pytest_workrail.run.bench import WORKSPACE
from pytest_workrail.run.history import Position
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.js import Json, json_text
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
    """The input of a run, apart from its workflow."""

    turns: tuple[Turn, ...]
    profile: ProfileName
    mode: Autonomy
    files: bool = False  # stores on files instead of in memory
    stays: bool = False  # in the end, stay in loops as long as possible before doing it right


@dataclass(slots=True)
class Outcome:
    """The outcome of a run. `broken` is a promise and how it was broken."""

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
        compared = _played(ir, replace(story, profile=other))
        answers, others = _masked(outcome.answers), _masked(compared.answers)
        # Only one profile asks for variables: a run with a question has left what both share.
        if not any(MISSING_KEY in codes for _, _, codes in (*answers, *others)):
            outcome.occasions["profiles"] = outcome.occasions.get("profiles", 0) + 1
            if compared.broken is None and answers != others:
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
    masked: list[Any] = []
    for answer in answers:
        value = json.loads(answer)
        pending = value.get("pending") or {}
        report = value.get("blockers") or {}
        codes = [blocker["code"] for blocker in report.get("blockers", ())]
        masked.append((value.get("code"), pending.get("stepId"), codes))
    return masked


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
    """The checks after the last turn: replays, and that right answers lead to the end."""

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
        return self._promises.failed_attempts(position) >= limit

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


_made: tuple[str, list[tuple[Turn, ...]]] | None = None

_DEEP_EVERY = 4
_FILES_EVERY = 8
_FROM_KEPT = 0.6
_FEWEST, _MOST = 3, 14
_MOST_ROUNDS = 20
# Promises that only a run that is played again can break.
_DEEP = frozenset({"same", "profiles"})
# One who does everything right, one who forgets everything, one who is never satisfied.
_BEGINNINGS: tuple[tuple[Turn, ...], ...] = (
    (),
    (("adv", 0, "right"), ("look", 0), ("adv", 0, "right"), ("look", 0)),
    (("block", 0, 12),),
    (("around", 0, 5), ("around", 0, 5)),
)
TASK = "pytest_workrail.explore.hostile_search:perform"
_RUNS_PER_PIECE = 25
_ENDING = ".scenario.json"
_TOOLS = {"checkpoint_workflow", "resume_session"}


def generated_seeds(ir: dict[str, Any], profile: ProfileName) -> list[tuple[Turn, ...]]:
    """Return what the generated scenarios of a workflow do; pieces of one workflow come one after the other."""
    global _made
    key = digest(canonical_bytes([ir, profile]))
    if _made is None or _made[0] != key:
        plans, _ = generate(ir, (profile,))
        _made = (key, [turns for plan in plans if (turns := turns_of(plan))])
    return _made[1]


def turns_of(plan: Plan) -> tuple[Turn, ...]:
    """Return a run as turns of the first agent. They say less than the run did, so they may lead elsewhere."""
    return tuple(turn for each in plan.turns if (turn := _seed_turn(each)) is not None)


def _seed_turn(played: PlayedTurn) -> Turn | None:
    match played.action:
        case Rewind():
            return ("rewind", 0, 1)
        case Submit(_, artifacts, context):
            if played.exchange is not None and "blockers" in played.exchange.response:
                return ("block", 0, 1)
            if context:
                name, value = list(context.items())[-1]
                return ("context", 0, name, value)
            decisions = [each for each in artifacts if artifact_kind(each) == LOOP_CONTROL_KIND]
            stays = any(isinstance(each, dict) and each.get("decision") == "continue" for each in decisions)
            return ("around", 0, 1) if stays else ("adv", 0, "right")
        case _:
            return None


@dataclass(slots=True)
class Search:
    """The result of a search. `story` is the shortest one that breaks `broken`, if one does."""

    runs: int = 0
    states: int = 0
    tried: dict[str, int] = field(default_factory=dict)
    landed: dict[str, int] = field(default_factory=dict)
    occasions: dict[str, int] = field(default_factory=dict)
    broken: tuple[str, str] | None = None
    story: Story | None = None
    found_after: int = 0  # turns of the run that broke it first


def explore(
    ir: dict[str, Any],
    profile: ProfileName,
    mode: Autonomy,
    seed: str,
    runs: int,
    seeds: Sequence[tuple[Turn, ...]] = (),
    is_over: Callable[[], bool] = lambda: False,
) -> Search:
    """Play hostile runs until one breaks a promise. Many start with the beginning of a seed, a run that gets somewhere.

    `is_over` may end the search early, never change it.
    """
    random = Random(seed)
    values = workflow_values(ir)
    search = Search()
    seen: set[str] = set()
    kept: list[tuple[Turn, ...]] = [*seeds]
    for number in range(runs):
        if is_over():
            break
        turns = _BEGINNINGS[number] if number < len(_BEGINNINGS) else _drawn(random, kept, values)
        story = Story(turns, profile, mode, number % _FILES_EVERY == _FILES_EVERY - 1, number % 2 == 1)
        outcome = play(ir, story, deep=number % _DEEP_EVERY == 0)
        _count(search, outcome)
        if outcome.broken is not None:
            search.broken = outcome.broken
            search.found_after = len(turns)
            search.story = shortened(ir, story, outcome)
            search.broken = play(ir, search.story, deep=outcome.broken[0] in _DEEP).broken or outcome.broken
            break
        if not seen.issuperset(outcome.states):
            seen.update(outcome.states)
            kept.append(turns)
    search.states = len(seen)
    return search


def _drawn(random: Random, kept: Sequence[tuple[Turn, ...]], values: dict[str, list[Json]]) -> tuple[Turn, ...]:
    prefix: tuple[Turn, ...] = ()
    if kept and random.random() < _FROM_KEPT:
        chosen = random.choice(kept)
        prefix = chosen[: random.randint(0, len(chosen))]
    return (*prefix, *(draw(random, values) for _ in range(random.randint(_FEWEST, _MOST))))


def workflow_values(ir: dict[str, Any]) -> dict[str, list[Json]]:
    """Return the variables of a workflow that an agent may set, each with values that make a difference."""
    program = program_model(ir)
    values = compared_values(program)
    for loop in program.loops:
        if loop.loop_variable is not None:
            lengths: list[Json] = [0, 1, 3]
            lists: list[Json] = [[], [{"name": "one"}], [{"name": "one"}, {"name": "two"}]]
            values[loop.loop_variable] = lengths if loop.loop.source.kind == "count" else lists
    return {name: known for name, known in values.items() if name not in ("goal", "is_autonomous")}


def _count(search: Search, outcome: Outcome) -> None:
    search.runs += 1
    for counted, more in ((search.tried, outcome.tried), (search.landed, outcome.landed)):
        for kind, number in more.items():
            counted[kind] = counted.get(kind, 0) + number
    for promise, number in outcome.occasions.items():
        search.occasions[promise] = search.occasions.get(promise, 0) + number


# ---------------------------------------------------------------------------------------------------------- shortening


def shortened(ir: dict[str, Any], story: Story, outcome: Outcome) -> Story:
    """Return the same broken promise with as few and as plain turns as can be: no single turn can be left out."""
    assert outcome.broken is not None
    promise = outcome.broken[0]

    def breaks(candidate: Story) -> bool:
        broken = play(ir, candidate, deep=promise in _DEEP).broken
        return broken is not None and broken[0] == promise

    if outcome.at is not None:
        cut = replace(story, turns=story.turns[: outcome.at + 1])
        story = cut if breaks(cut) else story
    for plainer in (replace(story, files=False), replace(story, stays=False), replace(story, files=False, stays=False)):
        if plainer != story and breaks(plainer):
            story = plainer
    # Each round leaves something out or makes it plainer, so it ends; an engine that answers by chance ends it too.
    for _ in range(_MOST_ROUNDS):
        plain = _with_plainer_turns(_with_fewer_turns(story, breaks), breaks)
        if plain == story:
            break
        story = plain
    return _with_fewer_turns(story, breaks)


def _with_fewer_turns(story: Story, breaks: Callable[[Story], bool]) -> Story:
    """Delta debugging: large pieces first, then smaller ones, and single turns until none can go."""
    turns, size = story.turns, max(1, len(story.turns) // 2)
    while turns:
        for start in range(0, len(turns), size):
            left = turns[:start] + turns[start + size :]
            if breaks(replace(story, turns=left)):
                turns = left
                break
        else:
            if size == 1:
                break
            size = max(1, size // 2)
    return replace(story, turns=turns)


def _with_plainer_turns(story: Story, breaks: Callable[[Story], bool]) -> Story:
    for index in range(len(story.turns)):
        for plain in simpler(story.turns[index]):
            turns = (*story.turns[:index], plain, *story.turns[index + 1 :])
            if breaks(replace(story, turns=turns)):
                story = replace(story, turns=turns)
                break
    return story


def pieces(
    number: int, ir: dict[str, Any], profiles: list[Any], runs: int, seed: int, seconds: float | None
) -> list[Json]:
    """The pieces of one workflow: its runs, spread evenly over profiles and modes."""
    ways = [(profile, mode) for profile in profiles for mode in AUTONOMIES]
    shares = [runs // len(ways) + (index < runs % len(ways)) for index in range(len(ways))]
    searches: list[Json] = []
    for (profile, mode), share in zip(ways, shares, strict=True):
        for part, start in enumerate(range(0, share, _RUNS_PER_PIECE)):
            searches.append(
                {
                    "workflow": number,
                    "ir": ir,
                    "profile": profile,
                    "mode": mode,
                    "seed": f"{seed} {profile} {mode} {part}",
                    "runs": min(_RUNS_PER_PIECE, share - start),
                    "seconds": None if seconds is None else seconds * _RUNS_PER_PIECE / max(1, runs),
                }
            )
    return searches


def perform(piece: dict[str, Any]) -> Json:
    """Search one piece."""
    limit = None if piece["seconds"] is None else process_time() + piece["seconds"]
    search = explore(
        piece["ir"],
        piece["profile"],
        piece["mode"],
        piece["seed"],
        piece["runs"],
        generated_seeds(piece["ir"], piece["profile"]),
        is_over=lambda: limit is not None and process_time() > limit,
    )
    story = None if search.story is None else asdict(search.story)
    return {
        "workflow": piece["workflow"],
        "runs": search.runs,
        "states": search.states,
        "tried": dict(search.tried),
        "landed": dict(search.landed),
        "occasions": dict(search.occasions),
        "broken": None if search.broken is None else list(search.broken),
        "story": story,
    }


def combined(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the pieces of one workflow found together; of several stories about one promise, the shortest."""
    tried = {kind: sum(each["tried"].get(kind, 0) for each in results) for kind in KINDS}
    landed = {kind: sum(each["landed"].get(kind, 0) for each in results) for kind in KINDS}
    occasions = {name: sum(each["occasions"].get(name, 0) for each in results) for name in PROMISES}
    shortest: dict[str, dict[str, Any]] = {}
    for each in results:
        if each["broken"] is None:
            continue
        promise, how = each["broken"]
        known = shortest.get(promise)
        if known is None or len(each["story"]["turns"]) < len(known["story"]["turns"]):
            shortest[promise] = {"promise": promise, "how": how, "story": each["story"]}
    violations = [_violation(shortest[name]) for name in PROMISES if name in shortest]
    return {
        "runs": sum(each["runs"] for each in results),
        "states": sum(each["states"] for each in results),
        "faults": {
            "tried": sum(tried.values()),
            "landed": sum(landed.values()),
            "byKind": {kind: {"tried": tried[kind], "landed": landed[kind]} for kind in KINDS if tried[kind]},
        },
        "noOccasion": [name for name, number in occasions.items() if not number],
        "violations": violations,
    }


def _violation(violation: dict[str, Any]) -> dict[str, Any]:
    story = violation["story"]
    return {
        "promise": violation["promise"],
        "promised": PROMISES[violation["promise"]],
        "how": violation["how"],
        "profile": story["profile"],
        "mode": story["mode"],
        "transcript": [describe(tuple(turn)) for turn in story["turns"]],
        "turns": story["turns"],
        "files": story["files"],
        "stays": story["stays"],
    }


def story_of(violation: dict[str, Any]) -> Story:
    """Return the story of a violation."""
    turns = tuple(tuple(turn) for turn in violation["turns"])
    return Story(turns, violation["profile"], violation["mode"], violation["files"], violation["stays"])


def scenario_name(workflow_id: str, violation: dict[str, Any]) -> str:
    """Return the file name of a violation."""
    stem = "".join(char if char.isalnum() else "-" for char in workflow_id)
    return f"{stem}.breaks-{violation['promise']}-{violation['profile']}{_ENDING}"


def scenario_bytes(workflow: str, ir: dict[str, Any], story: Story, promise: str, how: str) -> bytes:
    """Return the scenario of a story: it fails as long as the promise is broken, and passes when it is kept."""
    value: dict[str, Any] = {
        "description": f"{PROMISES[promise][0].upper()}{PROMISES[promise][1:]}; a run broke it: {how}.",
        "workflow": workflow,
        "profile": story.profile,
        "mode": story.mode,
        "agent": {"kind": "auto", "turns": story_turns(ir, story)},
        "expect": {"promise": promise},
        "golden": False,
    }
    if not value["agent"]["turns"]:
        del value["agent"]
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def story_turns(ir: dict[str, Any], story: Story) -> list[dict[str, Json]]:
    """Every call of a story, in order, as turns of a scenario; those of settling only where they are part of it."""
    promises = Promises()
    journal: list[dict[str, Any]] = []
    try:
        world = World(ir, story.profile, story.mode, "explore", promises)
    except BrokenPromise:
        return []
    journal = world.journal
    try:
        for turn in story.turns:
            world.play(turn)
        if story.stays:
            Settling(world, promises, stays=True).run()
    except BrokenPromise:
        pass
    first = _any_step(ir)
    return [_turn_document(entry, first) for entry in journal]


def _any_step(ir: dict[str, Any]) -> str:
    step = program_model(ir).steps[0]
    return step.body[0].id if step.type == "loop" else step.id


def _turn_document(entry: dict[str, Any], first: str) -> dict[str, Json]:
    turn: dict[str, Json] = {"step": entry["step"] or first}
    if entry["who"]:
        turn["agent"] = entry["who"] + 1
    if entry["tool"] == "restart":
        return {**turn, "call": "restart"}
    request: dict[str, Json] = {
        name: "$workspace" if name == "workspacePath" else value for name, value in entry["request"].items()
    }
    if entry["crash"] is not None:
        return {**turn, "crash": entry["crash"], "request": request}
    return {**turn, "call": entry["tool"] if entry["tool"] in _TOOLS else "raw", "request": request}


def broken_promise(ir: dict[str, Any], value: dict[str, Any], profile: Any) -> str | None:
    """Play a scenario that expects a promise: why it is broken, or None if it is kept."""
    promises = Promises()
    promise = value["expect"]["promise"]
    try:
        world = World(ir, profile, value.get("mode", "guided"), "explore", promises)
        if not world.can_start:
            return "the workflow can't be started"
        for turn in value.get("agent", {}).get("turns", ()):
            _play(world, turn)
        Settling(world, promises, stays=False).run()
    except BrokenPromise as broken:
        other = "" if broken.promise == promise else f", a promise other than the expected {promise}"
        return f"{broken.promise} is broken: {broken.how}{other}"
    return None


def _play(world: World, turn: dict[str, Any]) -> None:
    who = turn.get("agent", 1) - 1
    call = turn.get("call")
    if call == "restart":
        world.bench.restart()
        return
    if "does" in turn:
        world.play(("adv", who, turn["does"]))
        return
    request = {name: _value(world, name, each) for name, each in turn.get("request", {}).items()}
    tool = call if call in _TOOLS else "continue_workflow"
    world.homes.fuse.point = turn.get("crash")
    record: CallRecord = world.call(who, str(tool), request)
    agent = world.agents[who]
    if record.is_advance:
        agent.advances.append(request)
    if tool == "continue_workflow":
        world.follow(agent, record)


def _value(world: World, name: str, value: Json) -> Json:
    if value == "$workspace":
        return WORKSPACE
    return world.token_of(value) if name.endswith("Token") else value

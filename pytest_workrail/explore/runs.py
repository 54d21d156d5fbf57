"""Runs that are worth keeping: how one is recorded and replayed, and which are made until nothing is left to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from pytest_workrail.agents.agent import Action, Agent, Exchange, Prefer, Rewind, StartView, StepView, Stop, Submit
from pytest_workrail.agents.correct import Auto, correct_answer
from pytest_workrail.agents.scripted import Scripted, Turn
from pytest_workrail.coverage.goals import (
    GUIDED,
    NEVER_STOP,
    BlockerGoal,
    ConditionGoal,
    DecidesGoal,
    GapGoal,
    GateGoal,
    LoopGoal,
)
from pytest_workrail.coverage.observe import observe
from pytest_workrail.coverage.points import ASKED, MISSING_KEY, Point
from pytest_workrail.coverage.reach import ZERO, UnsetVariables
from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.engine.model.words import Autonomy, Preferences
from pytest_workrail.explore.answers import with_loop_names
from pytest_workrail.explore.guide import Guide
from pytest_workrail.explore.planner import PREFERENCES, Planner
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from pytest_workrail.run.result import Run
from workrail_lint.base.js import Json, json_text

MAX_TURNS = 3_000

_MAX_RUNS = 24
_MAX_DRY = 2
_MAX_QUESTIONS = 4


@dataclass(slots=True)
class PlayedTurn:
    """One action at a step, and how it was answered."""

    step_id: str
    action: Action
    exchange: Exchange | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A run as it would be written down."""

    preferences: Preferences
    context: dict[str, Json]
    turns: tuple[PlayedTurn, ...]
    run: Run
    points: frozenset[Point]
    profiles: tuple[ProfileName, ...]
    points_by_profile: dict[str, frozenset[Point]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.turns)


class Recorder(Agent):
    """Lets another agent play, and writes down what it does."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.turns: list[PlayedTurn] = []
        self.added: dict[str, Json] = {}

    def begin(self, start: StartView) -> dict[str, Json]:
        self.turns = []
        self.added = self._agent.begin(start)
        return self.added

    def act(self, view: StepView) -> Action:
        action = self._agent.act(view)
        if not isinstance(action, Stop):
            self.turns.append(PlayedTurn(view.step_id, action))
        return action

    def receive(self, answer: Exchange) -> None:
        self.turns[-1].exchange = answer
        self._agent.receive(answer)


def record(ir: dict[str, Any], profile: ProfileName, preferences: Preferences, agent: Agent) -> Plan:
    """Let an agent play, and keep the run."""
    recorder = Recorder(agent)
    run = drive(Setup(ir, profile, preferences, max_turns=MAX_TURNS), recorder)
    points = observe(run.transcript, strong=True)
    return Plan(preferences, recorder.added, tuple(recorder.turns), run, points, (profile,), {profile: points})


def replay(ir: dict[str, Any], profile: ProfileName, plan: Plan) -> Run:
    """Return the same turns under a profile, by an agent that does nothing but them."""
    turns = [Turn(each.step_id, each.action) for each in plan.turns]
    return drive(Setup(ir, profile, plan.preferences, context=plan.context, max_turns=MAX_TURNS), Scripted(turns))


def agrees(one: Run, other: Run) -> bool:
    """Return whether a scenario can expect the same of both: how they end, and what happened on the way."""
    if other.ending.kind in ("misplayed", "endless"):
        return False
    same = (one.status, one.steps, one.blockers, one.gaps) == (other.status, other.steps, other.blockers, other.gaps)
    return same and [_word(each) for each in one.transcript.exchanges] == [
        _word(each) for each in other.transcript.exchanges
    ]


def _word(exchange: Exchange) -> str:
    return json_text([exchange.answer, *exchange.codes])


def shared(ir: dict[str, Any], plan: Plan, profile: ProfileName) -> Plan:
    """Return the plan for one more profile, if both can expect the same; otherwise the plan as it is."""
    run = replay(ir, profile, plan)
    if not agrees(plan.run, run):
        return plan
    points = observe(run.transcript, strong=True)
    return replace(
        plan, profiles=(*plan.profiles, profile), points_by_profile={**plan.points_by_profile, profile: points}
    )


def without_questions(guide: Guide, plan: Plan, profile: ProfileName) -> Plan | None:
    """Return the plan with all variables that another profile asks for, so that both can expect the same.

    Each gets a value under which its step is passed over, as without one. None where that changes what happens.
    """
    for _ in range(_MAX_QUESTIONS):
        context = _answered(guide, replay(guide.ir, profile, plan), plan.context)
        if context is None or context == plan.context:
            return None
        plan = replace(plan, context=context)
        run = replay(guide.ir, guide.name, plan)
        if run.ending.kind in ("misplayed", "endless"):
            return None
        points = observe(run.transcript, strong=True)
        plan = replace(plan, run=run, points=points, points_by_profile={guide.name: points})
        if len((both := shared(guide.ir, plan, profile)).profiles) > 1:
            return both
    return None


def _answered(guide: Guide, run: Run, context: dict[str, Json]) -> dict[str, Json] | None:
    """Return a context in which the conditions do not hold that a run is asked about; None where that can't be."""
    for exchange in run.transcript.exchanges:
        for blocker in exchange.blockers:
            details = blocker.get("details", {})
            if blocker["code"] == MISSING_KEY and "suggested" in details:
                step = guide.index.definitions[details["stepId"]]
                given = {**context, blocker["pointer"]["key"]: details["suggested"]}
                change = guide.solver.solve([(step.run_condition, False)], given, kept=("goal",)).change
                return None if change is None else {**given, **change}
    return None


def turn_documents(turns: Sequence[PlayedTurn]) -> list[Json]:
    """Return the turns as a scenario file writes them; those that are refused say so."""
    return [_turn_document(each) for each in turns]


def _turn_document(played: PlayedTurn) -> dict[str, Json]:
    turn: dict[str, Json] = {"step": played.step_id}
    match played.action:
        case Submit(notes, artifacts, context):
            turn |= {} if notes is None else {"notes": notes}
            turn |= {"artifacts": list(artifacts)} if artifacts else {}
            turn |= {"context": dict(context)} if context else {}
        case Prefer(preferences):
            turn["prefers"] = {"mode": preferences.autonomy, "risk": preferences.risk_policy}
        case Rewind(step_id):
            turn["call"] = "rewind"
            turn |= {} if step_id is None else {"to": step_id}
        case other:
            raise AssertionError(f"no turn of a generated scenario: {other!r}")
    expected = _expected(played.exchange) if isinstance(played.action, Submit) else None
    if expected:
        turn["expect"] = expected
    return turn


def _expected(exchange: Exchange | None) -> dict[str, Json] | None:
    if exchange is None:
        return None
    if exchange.is_error:
        return {"answer": "error", "code": exchange.response["code"]}
    if exchange.answer == "gated":
        return {"answer": "gated"}
    return {"answer": "blocked", "blockers": [*exchange.codes]} if exchange.codes else None


def expectations(run: Run) -> dict[str, Json]:
    """Return what a scenario expects of the whole run."""
    expected: dict[str, Json] = {"status": str(run.status)}
    if run.ending.kind == "refused":
        expected["error"] = str(run.transcript.exchanges[-1].response["code"])
        return expected
    expected["steps"] = list[Json](run.steps)
    if run.blockers:
        expected["blockers"] = list[Json](run.blockers)
    if run.gaps:
        expected["gaps"] = list[Json](run.gaps)
    return expected


class _Withholding(Auto):
    """The automatic agent, except that it sets certain variables only when it is asked for them.

    To leave a gap, it does not set them even then: a person lets the run continue without.
    """

    obeys_prompts = False  # what it sets is planned

    def __init__(self, variables: frozenset[str], *, leaves_gap: bool) -> None:
        super().__init__()
        self._variables = variables
        self._leaves_gap = leaves_gap

    def begin(self, start: StartView) -> dict[str, Json]:
        return self._without(super().begin(start))

    def act(self, view: StepView) -> Action:
        proposed: Any = view.response.get("nextCall") or {}
        patch = proposed.get("params", {}).get("context") if view.refusal == "blocked" else None
        if patch is not None and self._leaves_gap:
            # A second attempt without the variables would say that they are left out on purpose.
            is_guided = view.preferences.autonomy == GUIDED
            return Prefer(PREFERENCES[NEVER_STOP]) if is_guided else Rewind()
        action = super().act(view) if patch is None else correct_answer(view)
        if not isinstance(action, Submit):
            return action
        context = {**self._without(action.context or {}), **(patch or {})}
        return with_loop_names(view, structs.replace(action, context=context or None))

    def _without(self, context: dict[str, Json]) -> dict[str, Json]:
        return {name: value for name, value in context.items() if name not in self._variables}


class _ShortestRun(Auto):
    """The automatic agent, whose decisions say which loop they are about, as every profile accepts."""

    obeys_prompts = False  # as few variables as possible

    def act(self, view: StepView) -> Action:
        action = super().act(view)
        return with_loop_names(view, action) if isinstance(action, Submit) else action


def plans_for(guide: Guide, *, has_first: bool = False) -> list[Plan]:
    """Runs that show every goal that can be shown and was not shown before, beginning with the shortest to the end.

    A run that shows gaps beside everything else leaves other goals aside; what none shows then, a run of one mode may.
    """
    plans = _planned(guide, has_first=has_first, has_branches=True)
    if guide.ledger.missing:
        others = _planned(Guide(guide.ir, guide.name), has_first=True, has_branches=False)
        plans += [plan for plan in others if guide.ledger.cover(plan.points)]
    return plans


def _planned(guide: Guide, *, has_first: bool, has_branches: bool) -> list[Plan]:
    ledger = guide.ledger
    plans: list[Plan] = []
    if not has_first:
        plans.append(record(guide.ir, guide.name, PREFERENCES[GUIDED], _ShortestRun()))
        ledger.cover(plans[0].points)
    _asked_runs(guide, plans)
    for _ in range(2):
        for mode in (GUIDED, NEVER_STOP):
            dry = 0
            for _ in range(_MAX_RUNS):
                if not ledger.missing or dry == _MAX_DRY:
                    break
                dry = 0 if _run(guide, plans, mode, has_branches=has_branches) else dry + 1
        _special_runs(guide, plans)
        if not ledger.missing:
            break
        ledger.clear_marks()
    return plans


def _asked_runs(guide: Guide, plans: list[Plan]) -> None:
    """Runs that leave unset what a step or loop waits for: asked for it, or recording the gap."""
    unset = UnsetVariables(guide.program, guide.profile)
    for point in list(guide.ledger.missing):
        if point.case == MISSING_KEY and point in guide.ledger.missing:
            gap = Point(GapGoal, point.place, MISSING_KEY)
            both = point.kind is BlockerGoal and gap in guide.ledger.missing
            agent = _Withholding(unset.variables(point.place), leaves_gap=both)
            mode = GUIDED if point.kind is BlockerGoal else NEVER_STOP
            plan = record(guide.ir, guide.name, PREFERENCES[mode], agent)
            if guide.ledger.cover(plan.points):
                plans.append(plan)


def _special_runs(guide: Guide, plans: list[Plan]) -> None:
    """Runs for what no ordinary one shows: gates of autonomous runs, skipped loops, starts that are refused."""
    ledger = guide.ledger
    for point in list(ledger.missing):
        if point in ledger.missing and point.kind is GateGoal and point.case == ASKED:
            _run(guide, plans, GUIDED, gate=point.place)
        elif point in ledger.missing and point.kind is LoopGoal and point.case == ZERO:
            _run(guide, plans, GUIDED, skipped=point.place)
    while any(point.kind in (ConditionGoal, DecidesGoal, LoopGoal) for point in ledger.missing):
        if not _run(guide, plans, GUIDED, refuse=True):
            break


def _run(
    guide: Guide,
    plans: list[Plan],
    mode: Autonomy,
    *,
    gate: str | None = None,
    refuse: bool = False,
    skipped: str | None = None,
    has_branches: bool = False,
) -> bool:
    """Make one more run; return False when it showed nothing new."""
    ledger = guide.ledger
    agent = Planner(guide, mode, gate=gate, refuse=refuse, skipped=skipped, has_branches=has_branches)
    plan = record(guide.ir, guide.name, PREFERENCES[mode], agent)
    gained = ledger.cover(plan.points)
    if gained:
        plans.append(plan)
        ledger.mark(mode, agent.expected - plan.points)
    else:
        places = [*agent.visited, *(place.partition("/")[0] for place in agent.visited)]
        ledger.mark(mode, [point for place in places for point in ledger.waiting(place, mode)])
    return bool(gained)

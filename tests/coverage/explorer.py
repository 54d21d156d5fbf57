"""An agent that is sent out to show one coverage point, and knows from the IR how to get there."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from changed import replace

from pytest_workrail.agents.agent import Action, Agent, Prefer, Rewind, StartView, StepView, Stop, Submit, Transcript
from pytest_workrail.agents.correct import (
    assessment_artifacts,
    contract_artifact,
    correct_answer,
    loop_decision,
    needed_variables,
    solve_all,
    start_context,
)
from pytest_workrail.agents.misbehaving import behave
from pytest_workrail.coverage.goals import (
    GapGoal,
)
from pytest_workrail.coverage.points import MISSING_KEY, UNSET, Point
from pytest_workrail.coverage.reach import UnsetVariables
from pytest_workrail.engine.core.conditions import json_of
from pytest_workrail.engine.core.index import ASSESSMENT_KIND, LOOP_CONTROL_KIND, artifact_kind
from pytest_workrail.engine.core.loops import loop_variables
from pytest_workrail.engine.core.profiles import PROFILES, ProfileName
from pytest_workrail.engine.core.smallest_set import ConditionSolver
from pytest_workrail.engine.model.words import Preferences
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.model.build import program_model
from workrail_lint.systems.workrail.model.ir import Program, ProgramStep, RepeatingStep
from workrail_lint.systems.workrail.scenario_words import Behaviour

GUIDED = Preferences("guided", "conservative")
ALONE = Preferences("full_auto_stop_on_user_deps", "conservative")
NEVER = Preferences("full_auto_never_stop", "conservative")
# What to try at a step to be refused with a code, or to go on with the gap of that name.
PROVOKED_BY = {
    "missing_required_output": ["missing_artifact", "no_decision", "nothing"],
    "invalid_required_output": ["invalid_artifact", "wrong_level", "failing_notes", "wrong_loop"],
    "missing_required_notes": ["missing_notes"],
    "assessment_followup_required": ["followup_level"],
    "required_capability_unknown": ["claim_capability"],
    "required_capability_unavailable": ["lack_capability"],
    "needs_user_approval": ["right"],
    "user_only_dependency": ["right"],
    "invariant_violation": ["right"],
}


@dataclass(frozen=True)
class Errand:
    """What to bring about: conditions at a place, a number of iterations, and what to submit there."""

    loop: RepeatingStep | None = None
    step: ProgramStep | None = None
    wishes: tuple[tuple[object, bool], ...] = ()
    # How often to go round the loop, and in which iteration the wishes are to come true.
    iterations: int = 1
    at: int = 0
    behaviour: Behaviour = Behaviour.RIGHT
    level: tuple[str, str] | None = None
    # Without anybody at the other end from the start, or from the place on.
    autonomous: bool = False
    leaves: bool = False
    # Variables that are never set.
    withheld: frozenset[str] = frozenset()


class Explorer(Agent):
    """Runs an errand, and does the right thing everywhere else."""

    def __init__(self, errand: Errand) -> None:
        self._errand = errand
        self._misbehaved = 0

    def begin(self, start: StartView) -> dict[str, Json]:
        return self._kept(self._begin(start))

    def _kept(self, context: dict[str, Json]) -> dict[str, Json]:
        return {name: value for name, value in context.items() if name not in self._errand.withheld}

    def _begin(self, start: StartView) -> dict[str, Json]:
        self._misbehaved = 0
        added: dict[str, Json] = {"is_autonomous": "true"} if self._errand.autonomous else {}
        self._index = start.program.index
        added |= self._variables({**start.context, **added}, 0)
        added |= start_context(replace(start, context={**start.context, **added}))
        # What lets the run start may be what the errand is about: then it is not to start.
        return added | self._variables({**start.context, **added}, 0)

    def act(self, view: StepView) -> Action:
        action = self._act(view)
        if isinstance(action, Submit) and action.context:
            return replace(action, context=self._kept(action.context) or None)
        return action

    def _act(self, view: StepView) -> Action:
        errand = self._errand
        if view.refusal in ("gated", "error") or self._misbehaved > 2:
            return Stop("The errand is done, or can't be.")
        if view.refusal is not None:
            self._misbehaved += 1
            return Rewind()
        here = view.loop.id if view.loop is not None else None
        inside = errand.loop is not None and here == errand.loop.id
        is_there = (inside or errand.loop is here is None) and (errand.step is None or errand.step.id == view.step.id)
        if is_there and errand.leaves and view.preferences != ALONE:
            return Prefer(ALONE)
        answer = correct_answer(view)
        if is_there and not self._misbehaved:
            answer = self._bent(view, answer)
        following = view.instance.loop_path[-1].iteration + 1 if inside else 0
        if inside and following < errand.iterations and not (is_there and errand.behaviour is not Behaviour.RIGHT):
            answer = self._going_on(view, answer)
        # Where the place is further on in the same iteration, that one has to go on.
        is_ahead = inside and errand.step is not None and _comes_later(errand, view.step)
        change = self._variables(view.merged(answer.context), following - is_ahead)
        return replace(answer, context={**(answer.context or {}), **change}) if change else answer

    def _bent(self, view: StepView, answer: Submit) -> Submit:
        errand = self._errand
        if errand.level is not None:
            assessed = tuple(assessment_artifacts(view, dict([errand.level])))
            others = tuple(each for each in answer.artifacts if artifact_kind(each) != ASSESSMENT_KIND)
            return replace(answer, artifacts=(*others, *assessed))
        match behave(errand.behaviour, view):
            case Ok(Submit() as bent):
                # Whatever else is wrong, the variables that the next loop needs are there.
                answer = replace(bent, context={**(answer.context or {}), **(bent.context or {})})
            case Err():
                pass
        contract = view.step.contract
        if errand.behaviour is Behaviour.RIGHT and contract is not None and not contract.required:
            made = contract_artifact(view, contract.ref)
            return answer if made is None else replace(answer, artifacts=(*answer.artifacts, made))
        return answer

    def _going_on(self, view: StepView, answer: Submit) -> Submit:
        loop = self._errand.loop
        assert loop is not None
        if loop.loop.source.kind != "artifact":
            return answer
        others = tuple(each for each in answer.artifacts if artifact_kind(each) != LOOP_CONTROL_KIND)
        return replace(answer, artifacts=(*others, loop_decision(view.profile, loop, "continue")))

    def _variables(self, context: dict[str, Any], iteration: int) -> dict[str, Json]:
        """What has to be in the context when the next step is chosen."""
        errand, wishes, shadowed = self._errand, list(self._errand.wishes), {}
        change: dict[str, Json] = {}
        if errand.loop is not None:
            # What is wished for in one iteration may be impossible in those before it.
            wishes = wishes if iteration == errand.at else []
            needed = needed_variables(self._index, errand.loop.id)
            for name, one in needed.items():
                change[name] = deepcopied(one[0], errand.iterations) if isinstance(one, list) else errand.iterations
            if errand.loop.loop_condition is not None:
                going = (iteration < errand.iterations) is (errand.loop.loop.kind != "until")
                wishes = [(errand.loop.loop_condition, going), *wishes]
            if errand.loop.is_conditional and iteration == 0:
                wishes.append((errand.loop.run_condition, True))
            shadowed = loop_variables(errand.loop, iteration, {**context, **change})
        settled = solve_all(wishes, {**context, **change}, shadowed, kept=("goal", *change))
        return change | (settled or {})


def _comes_later(errand: Errand, step: ProgramStep) -> bool:
    assert errand.loop is not None
    assert errand.step is not None
    body = [each.id for each in errand.loop.body]
    return body.index(errand.step.id) > body.index(step.id)


def deepcopied(value: Json, times: int) -> list[Json]:
    """A list of equal elements, none of which is the same object as another."""
    return [deepcopy(value) for _ in range(times)]


def explore(ir: dict[str, Any], profile: ProfileName, point: Point) -> Iterator[Transcript]:
    """Runs that are meant to show a point, the most promising first."""
    for errand, preferences in _errands(program_model(ir), point):
        yield drive(Setup(ir, profile, preferences, max_turns=5_000), Explorer(errand)).transcript


def _errands(program: Program, point: Point) -> Iterator[tuple[Errand, Preferences]]:
    place, _, detail = point.place.partition("#")
    errand = _at(program, place)
    step = errand.step or errand.loop
    assert step is not None
    run = ((step.run_condition, True),) if step.run_condition is not None and errand.step is not None else ()
    there = replace(errand, wishes=run)
    match point.kind.name:
        case "condition" if point.case == UNSET:
            yield from _whenever(
                replace(errand, withheld=frozenset(ConditionSolver(json_of(step.run_condition)).variables))
            )
        case "blocker" | "gap" if point.case == MISSING_KEY:
            held = UnsetVariables(program, PROFILES["locked"]).variables(place)
            yield Errand(withheld=held), NEVER if point.kind is GapGoal else GUIDED
        case "condition":
            wish = (step.run_condition, point.case == "true")
            yield from _whenever(Errand(wishes=(wish,)) if errand.step is None else replace(errand, wishes=(wish,)))
        case "loop":
            assert step.type == "loop"
            limit = int(step.loop.max_iterations)
            for count in {"zero": [0], "one": [1], "many": [2, limit], "limit": [limit + 1]}[point.case]:
                yield replace(errand, iterations=count, at=-1), GUIDED
        case "fragment":
            (when,) = [each.when for each in step.fragments if each.id == detail]
            yield from _whenever(replace(there, wishes=(*run, (when, point.case == "shown"))))
        case "gate":
            condition = step.confirmation_condition
            wished = replace(there, wishes=(*run, (condition, point.case == "asked")))
            yield from _whenever(wished)
            yield from _whenever(replace(wished, autonomous=True))
        case "level":
            yield from _whenever(replace(there, level=(detail.rpartition(".")[2], point.case)))
        case "consequence":
            for assessment in program.assessments:
                for dimension in assessment.dimensions:
                    if point.case in dimension.levels and detail in ("", assessment.id):
                        yield from _whenever(replace(there, level=(dimension.id, point.case)))
        case "blocker" | "gap":
            yield from _refusals(there, point)
        case "step" | "contract":
            yield from _whenever(there)


def _at(program: Program, place: str) -> Errand:
    for step in program.steps:
        if step.id == place:
            return Errand(loop=step) if step.type == "loop" else Errand(step=step)
    for loop in program.loops:
        for inner in loop.body:
            if f"{loop.id}/{inner.id}" == place:
                return Errand(loop=loop, step=inner)
    raise AssertionError(place)


def _whenever(errand: Errand, preferences: Preferences = GUIDED) -> Iterator[tuple[Errand, Preferences]]:
    """In the first iteration, or in a later one when only that will do."""
    if errand.loop is None:
        yield errand, preferences
        return
    for at in range(int(errand.loop.loop.max_iterations)):
        yield replace(errand, at=at, iterations=at + 1), preferences


def _refusals(errand: Errand, point: Point) -> Iterator[tuple[Errand, Preferences]]:
    preferences = NEVER if point.kind is GapGoal else GUIDED
    errand = replace(errand, leaves=point.case == "USER_ONLY_DEPENDENCY")
    condition = None if errand.step is None else errand.step.confirmation_condition
    if condition is not None and "user" in point.case.lower():
        errand = replace(errand, wishes=(*errand.wishes, (condition, True)))
    if point.case.lower() == "invariant_violation":
        assert errand.loop is not None
        errand = replace(errand, iterations=int(errand.loop.loop.max_iterations) + 1, at=-1)
    for name in PROVOKED_BY[point.case.lower()]:
        bent = replace(errand, behaviour=Behaviour(name))
        yield from [(bent, preferences)] if errand.step is None else _whenever(bent, preferences)

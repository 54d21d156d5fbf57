"""How conditions come out, how loops end and what is refused, so that coverage never asks for what can't happen.

An outcome is no goal when the solver proves that no context brings it about together with everything else that has to
hold at the same time: what makes the step run, and what keeps the loop around it going. A loop ends after no iteration,
one or many, or at its limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from pytest_workrail.agents.correct import continue_wish, smallest_artifact, solve
from pytest_workrail.agents.values import failing_notes
from pytest_workrail.engine.core.conditions import is_met, json_of
from pytest_workrail.engine.core.index import ASSESSMENT, ContractPack
from pytest_workrail.engine.core.profiles import (
    Profile,
)
from pytest_workrail.engine.core.smallest_set import ConditionSolver
from pytest_workrail.engine.model.reasons import (
    REASONS,
    FollowupRequired,
    InvalidRequiredOutput,
    LoopLimitReached,
    MissingRequiredOutput,
    UserOnlyDependency,
)
from workrail_lint.base import js
from workrail_lint.base.js import Json
from workrail_lint.systems.workrail.blocker_codes import BlockerCode, GapDetail
from workrail_lint.systems.workrail.model.build import condition_model, unchecked_condition
from workrail_lint.systems.workrail.model.ir import CountSource, LoopCondition, Program, ProgramStep, RepeatingStep
from workrail_lint.systems.workrail.solver import Wish
from workrail_lint.systems.workrail.solver.expression import IMPOSSIBLE, Comparison, comparisons_in
from workrail_lint.systems.workrail.solver.search import Solver

# A loop with more iterations is looked at only where somebody compares with their number.
_FEW = 12
_BY_VALUE = frozenset(("equals", "not_equals", "gt", "gte", "lt", "lte", "in", ""))

ZERO, ONE, MANY, LIMIT = "zero", "one", "many", "limit"


class ConditionScope:
    """Where conditions are looked at: at the top level or inside a loop, while certain things hold."""

    __slots__ = ("_last", "held", "loop", "solver")

    def __init__(
        self,
        solver: Solver,
        loop: RepeatingStep | None = None,
        held: tuple[Wish, ...] = (),
        last_iteration: int = 0,
    ) -> None:
        self.solver = solver
        self.loop = loop
        self.held = held
        self._last = last_iteration

    def inside(self, loop: RepeatingStep) -> ConditionScope:
        """In the body of a loop. The variables may have changed since it was entered, but it still goes on."""
        return ConditionScope(self.solver, loop, (), _last_iteration(self.solver, loop))

    def where(self, *wishes: Wish) -> ConditionScope:
        """The same place, while this holds too."""
        return ConditionScope(self.solver, self.loop, (*self.held, *wishes), self._last)

    def allows(self, *wishes: Wish) -> bool:
        """Return whether nothing proves that not everything can come out as wished at the same time."""
        return next(self.chances(*wishes), None) is not None

    def chances(self, *wishes: Wish) -> Iterator[int]:
        """Yield the iterations in which everything can come out as wished; 0 outside of loops."""
        for iteration in self.iterations(wishes):
            if self.solver.solve(self.together(iteration, wishes), fixed=self.fixed(iteration)).verdict != IMPOSSIBLE:
                yield iteration

    def together(self, iteration: int, wishes: Sequence[Wish]) -> list[Wish]:
        """Return all that has to hold in an iteration."""
        going = () if self.loop is None else continuing(self.loop, iteration)
        return [*self.held, *going, *wishes]

    def fixed(self, iteration: int) -> dict[str, int]:
        """Return the variables that nobody can set there."""
        return {} if self.loop is None else loop_numbers(self.loop, iteration)

    def iterations(self, wishes: Sequence[Wish] = ()) -> list[int]:
        """Return the iterations that make a difference: the first, the last, and those that somebody compares with."""
        if self.loop is None:
            return [0]
        compared = [*comparisons_in(*(condition for condition, _ in self.together(0, wishes)))]
        numbers = {0, self._last}
        for name, first in loop_numbers(self.loop, 0).items():
            own = [each for each in compared if each.variable == name]
            if own and (self._last < _FEW or any(each.operator not in _BY_VALUE for each in own)):
                return list(range(self._last + 1))
            numbers |= {near - first for each in own for near in _near(each)}
        return sorted(iteration for iteration in numbers if 0 <= iteration <= self._last)


def _near(comparison: Comparison) -> Iterator[int]:
    """Yield the whole numbers at which what a comparison says about numbers can change."""
    operands = comparison.operand if isinstance(comparison.operand, list) else [comparison.operand]
    for operand in operands:
        if isinstance(operand, bool):
            yield from (0, 1)
        elif operand is not None and not isinstance(operand, dict | list):
            number = js.to_number(operand)
            if abs(number) < js.MAX_SAFE_INTEGER:
                yield from (math.floor(number) - 1, math.floor(number), math.ceil(number), math.ceil(number) + 1)


def _last_iteration(solver: Solver, loop: RepeatingStep) -> int:
    """Return the last iteration that a loop can come to: none is left out on the way there."""
    count = fixed_count(loop)
    limit = loop.loop.max_iterations
    last = math.ceil(limit if count is None else min(count, limit)) - 1
    if not counts_iterations(loop):
        return last
    ends = (at for at in range(1, last + 1) if not solver.is_possible(continuing(loop, at), loop_numbers(loop, at)))
    return next(ends, last + 1) - 1


def counts_iterations(loop: RepeatingStep) -> bool:
    """Return whether the condition of a loop looks at the number of its iteration."""
    name = loop.loop.variables.iteration
    return any(each.variable == name for each in comparisons_in(loop.loop_condition))


def continuing(loop: RepeatingStep, iteration: int, *, goes_on: bool = True) -> tuple[Wish, ...]:
    """Return what has to hold so that a loop goes on with an iteration, or does not, as far as the context decides."""
    match loop.loop.source:
        case LoopCondition():
            return (continue_wish(loop, goes_on),)
        case CountSource(variable=str(variable)):
            enough = unchecked_condition({"var": variable, "gt" if goes_on else "lte": iteration})
            return ((enough, True),)
        case _:
            return ()


def loop_numbers(loop: RepeatingStep, iteration: int) -> dict[str, int]:
    """Return the variables of a loop that count. Its elements are as free as the list they come from."""
    names = loop.loop.variables
    counted = {names.iteration: iteration + 1}
    return counted if names.index_ is None else counted | {names.index_: iteration}


def natural_exit(iterations: int) -> str:
    """Return the case of a loop that ended by itself."""
    return (ZERO, ONE)[iterations] if iterations < 2 else MANY


def fixed_count(loop: RepeatingStep) -> float | None:
    """Return how often a loop runs whose author wrote the number; None for every other."""
    return loop.loop.source.count if loop.loop.source.kind == "count" else None


def iteration_count(loop: RepeatingStep, context: Mapping[str, Any]) -> float | None:
    """Return how often a loop runs that knows it beforehand; None where each iteration decides about the next one."""
    variable = loop.loop_variable
    if variable is None:
        return fixed_count(loop)
    count: float = context[variable] if loop.loop.source.kind == "count" else len(context[variable])
    return count


def asks_about_limit(loop: RepeatingStep, profile: Profile) -> bool:
    """Return whether a loop is asked once more after the last iteration that its limit allows."""
    return profile.loop_limit == "report" or loop.loop.source.kind in ("count", "items")


def loop_exits(loop: RepeatingStep, profile: Profile, scope: ConditionScope, *, skippable: bool = False) -> list[str]:
    """Return the ways in which a loop can end, where `scope` is what holds when it is entered; none if it can't be run.

    Where nobody is asked any more after the last iteration that the limit allows, that one counts as the limit.
    `skippable` means that a decision about another loop can end this one before it begins.
    """
    limit, count = loop.loop.max_iterations, fixed_count(loop)
    if loop.loop.source.kind == "none" or limit != int(limit) or limit < 1:
        return []
    if count is not None:
        return [LIMIT if count > limit else natural_exit(math.ceil(count))]
    last = int(limit) if asks_about_limit(loop, profile) else int(limit) - 1
    return _Decisions(loop, scope, skippable).exits(last)


def skippable_loops(program: Program, profile: Profile, solver: Solver) -> frozenset[str]:
    """Return the loops that a decision to stop another one can end before they begin.

    A decision counts for every loop that the same choice asks, unless the profile looks at the loop it names. So the
    other loop has to be the last thing that is done before this one is asked: all steps between them are left out at
    that choice, or were done before the other loop was entered.
    """
    if profile.loop_id == "match":
        return frozenset()
    steps = program.steps
    decided = [at for at, step in enumerate(steps) if step.type == "loop" and step.loop.source.kind == "artifact"]
    return frozenset(
        steps[at].id for at in decided if any(other != at and _follows(steps, other, at, solver) for other in decided)
    )


def _follows(steps: Sequence[ProgramStep], other: int, at: int, solver: Solver) -> bool:
    """Return whether the choice that ends one loop can ask another one."""
    own: list[Wish] = [(steps[at].run_condition, True)]
    if other > at:
        # It was passed over when the other loop was entered, and applies when that one ends.
        entered: list[Wish] = [(steps[at].run_condition, False), (steps[other].run_condition, True)]
        return steps[at].run_condition is not None and solver.is_possible(entered)
    between = steps[other + 1 : at]
    if steps[other].run_condition is not None:
        # What can run while the other loop does not is done before it.
        late: Wish = (steps[other].run_condition, False)
        if solver.is_possible([late]):
            between = [step for step in between if not solver.is_possible([late, (step.run_condition, True)])]
    skipped: list[Wish] = [(step.run_condition, False) for step in between]
    return solver.is_possible([*own, *skipped])


class _Decisions:
    """The possible decisions of a loop each time it may start an iteration."""

    def __init__(self, loop: RepeatingStep, scope: ConditionScope, skippable: bool) -> None:
        self._loop = loop
        self._scope = scope
        self._skippable = skippable
        # Where no condition looks at the number of the iteration, the second stands for all that follow.
        self._same_from = math.inf if counts_iterations(loop) or loop.loop_variable is not None else 1
        self._known: dict[tuple[int, bool], bool] = {}

    def exits(self, last: int) -> list[str]:
        """Return the ways to end, if the loop is asked about every iteration up to the last of these."""
        cases: dict[str, None] = {}
        for iteration in range(last + 1):
            if self._can(iteration, goes_on=False):
                cases[natural_exit(iteration)] = None
            if not self._can(iteration, goes_on=True):
                return list(cases)
        return [*cases, LIMIT]

    def _can(self, iteration: int, *, goes_on: bool) -> bool:
        key = (int(min(iteration, self._same_from)), goes_on)
        if key not in self._known:
            self._known[key] = self._is_possible(key[0], goes_on)
        return self._known[key]

    def _is_possible(self, iteration: int, goes_on: bool) -> bool:
        if self._loop.loop.source.kind == "artifact":
            # A decision is submitted inside the loop, so it has a first iteration unless another one's counts.
            return goes_on or iteration > 0 or self._skippable
        # Only when it is entered does the loop look at the same variables as its own run condition.
        held = self._scope.held if iteration == 0 else ()
        wishes = [*held, *continuing(self._loop, iteration, goes_on=goes_on)]
        return self._scope.solver.is_possible(wishes, loop_numbers(self._loop, iteration))


APPROVAL = UserOnlyDependency.code
FOLLOWUP = FollowupRequired.code
AT_LIMIT = LoopLimitReached.code
# The reasons that answers of an agent can bring about, by the code of their blocker and by the detail of their gap.
REFUSALS = {reason.code: reason for reason in REASONS if reason.cause}
REFUSAL_OF_GAP = {reason.gap_reason[1]: reason for reason in REFUSALS.values()}
# What a run that never stops records instead of each blocker.
GAP_OF_BLOCKER: dict[BlockerCode, GapDetail] = {code: reason.gap_reason[1] for code, reason in REFUSALS.items()}

# Every run is started with a goal.
_ALWAYS_SET = frozenset(("goal",))


def step_blockers(
    program: Program, step: ProgramStep, profile: Profile, packs: Mapping[str, ContractPack]
) -> list[BlockerCode]:
    """Return the codes with which submitting a step can be blocked because of what the step itself asks for.

    What only a broken pattern or schema brings about is not among them: the linter refuses it.
    """
    asked = (reason.code for reason in REASONS if reason.is_asked_of(step, program) and profile.allows(reason))
    return [*_output_codes(step, packs), *asked]


def _output_codes(step: ProgramStep, packs: Mapping[str, ContractPack]) -> Iterator[BlockerCode]:
    """Contract, assessments, criteria: the first that a step has decides."""
    contract, criteria = step.contract, step.criteria
    if contract is not None:
        if contract.required:
            yield MissingRequiredOutput.code
        pack = packs.get(contract.ref)
        if pack is not None and contract.ref != ASSESSMENT and can_reject(pack):
            yield InvalidRequiredOutput.code
    elif step.assessments is not None:
        yield InvalidRequiredOutput.code
    elif criteria is not None:
        yield MissingRequiredOutput.code
        if any(failing_notes(criteria, context) is not None for context in _distinguishing_contexts(criteria)):
            yield InvalidRequiredOutput.code


def _distinguishing_contexts(criteria: object) -> Iterator[dict[str, Json]]:
    """Contexts in which the rules of criteria apply: those for all, then each that only some contexts call for."""
    yield {}
    stack = [criteria]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(reversed(node))
        elif isinstance(node, dict):
            when = node.get("condition") if "type" in node else None
            change = solve(condition_model(when), True, {}, {}) if when else None
            if change:
                yield change
            stack.extend(node[name] for name in ("not", "or", "and") if name in node)


def can_reject(pack: ContractPack) -> bool:
    """Return whether an artifact of the right kind can fail the schema: one without members, or with odd ones."""
    alone: dict[str, Json] = {"kind": pack.artifact_kind}
    whole: dict[str, Json] = smallest_artifact(pack) or alone
    strange: Json = {"unexpected": True}
    odd: list[dict[str, Json]] = [
        {**whole, name: strange} for name in ("unexpected", *pack.schema.get("properties", {}))
    ]
    return any(pack.issues({**artifact, **alone}) for artifact in (alone, *odd))


def loop_blockers(loop: RepeatingStep, profile: Profile, reaches_limit: bool) -> list[BlockerCode]:
    """Return the codes that come from a loop and not from the step that is submitted."""
    codes: list[BlockerCode] = []
    by_artifact = loop.loop.source.kind == "artifact"
    if by_artifact and profile.loop_decision == "require" and not any(map(_decides, loop.body)):
        codes += [MissingRequiredOutput.code, InvalidRequiredOutput.code]
    if reaches_limit and profile.allows(LoopLimitReached):
        codes.append(AT_LIMIT)
    return codes


def _decides(step: ProgramStep) -> bool:
    """Return whether the step sees to it in every iteration that there is a decision about the loop."""
    is_required = step.contract is not None and step.contract.required
    return step.decides_loop and is_required and step.run_condition is None


class UnsetVariables:
    """Which conditions and loops of one IR wait for unset variables, and which of them a run is asked about.

    Neither is said where something on the way has to set the variables, because other parts may need them first.
    """

    def __init__(self, program: Program, profile: Profile) -> None:
        self._steps = program.steps
        self._profile = profile

    def is_asked_for(self, step: ProgramStep) -> bool:
        """Return whether a run can be asked about a top-level step or loop."""
        return self._is_asked_by_condition(step) or self._is_asked_by_loop(step)

    def variables(self, place: str) -> frozenset[str]:
        """Return the variables that a top-level step or loop waits for."""
        step = next(each for each in self._steps if each.id == place)
        if self._is_asked_by_loop(step):
            return _of_loop(step)
        return _read(step)

    def can_wait(self, step: ProgramStep, loop: RepeatingStep | None) -> bool:
        """Return whether a run can show the condition of a step waiting for unset variables."""
        read = _read(step)
        if not read or read & (self._needed_by_loops | _ALWAYS_SET):
            return False
        if loop is not None and read & {*_read(loop), *_deciding(loop), *loop.loop.variables.raw.values()}:
            return False
        condition = step.run_condition
        patch = None if is_met(condition, {}) else ConditionSolver(json_of(condition)).smallest(True, {})
        return patch is not None

    def _is_asked_by_condition(self, step: ProgramStep) -> bool:
        match self._profile.unset_condition:
            case "pass_over":
                return False
            case "ask":
                read = _read(step)
                if not self.can_wait(step, None) or len(read) > 10 or _may_be_empty(step):
                    return False
                others = [each for each in self._steps if each is not step]
                # Whoever waits for the same variable is asked about first; and a run has to get under way without it.
                return not any(read & _all_read(each) for each in others) and bool(others)

    def _is_asked_by_loop(self, step: ProgramStep) -> bool:
        match self._profile.loop_variable:
            case "refuse":
                return False
            case "ask":
                needed = _of_loop(step)
                before = self._steps[: self._steps.index(step)]
                runs_first = any(each.run_condition is None and each.type != "loop" for each in before)
                is_used = any(needed & (_all_read(each) | _of_loop(each)) for each in before)
                return bool(needed) and runs_first and not is_used and not needed & _read(step)

    @cached_property
    def _needed_by_loops(self) -> frozenset[str]:
        return frozenset(name for each in self._steps for name in _of_loop(each))


def _read(step: ProgramStep) -> frozenset[str]:
    """Return the variables that the condition of a step reads."""
    return frozenset(ConditionSolver(json_of(step.run_condition)).variables)


def _all_read(step: ProgramStep) -> frozenset[str]:
    """Return the variables that decide whether a step, a loop or a step of its body is done."""
    inner = (name for each in step.body for name in _read(each))
    return frozenset((*_read(step), *_deciding(step), *inner))


def _deciding(step: ProgramStep) -> frozenset[str]:
    """Return the variables of the condition that a loop continues by."""
    return frozenset(ConditionSolver(json_of(step.loop_condition)).variables)


def _of_loop(step: ProgramStep) -> frozenset[str]:
    """Return the variable that a loop runs over."""
    return frozenset(() if step.loop_variable is None else (step.loop_variable,))


def _may_be_empty(step: ProgramStep) -> bool:
    """Return whether a loop may be entered and show no step, so that setting its variables would not help."""
    if step.type != "loop":
        return False
    return step.loop.source.kind != "count" or all(each.run_condition is not None for each in step.body)

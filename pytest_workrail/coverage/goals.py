"""Coverage goals of a workflow: one class for each kind of goal, and all goals of an IR under a profile.

A kind says which points a workflow has (`goals`, asked at each site of the workflow), which points a run shows
(`observed`, asked for each piece of evidence), and what it is called. Everything else about coverage and generated
scenarios works on any kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_workrail.agents.solving import workflow_solver
from pytest_workrail.coverage.points import (
    ASKED,
    FREE,
    LEFT_OUT,
    MISSING_KEY,
    UNSET,
    Arrival,
    AttemptSeen,
    ConditionSeen,
    ConditionSite,
    ConfirmationSite,
    ConsequenceSite,
    ContractSite,
    DimensionSite,
    Evidence,
    Excluded,
    FragmentSite,
    GoalKind,
    LoopAsked,
    LoopLeft,
    LoopSite,
    Members,
    MemberTable,
    NeighbourSeen,
    NeighbourSite,
    Point,
    QuestionSeen,
    QuestionSite,
    RefusalSite,
    Site,
    StepSite,
    UnsetSeen,
    consequence_place,
    dimension_place,
    fragment_place,
    gate_place,
    place_of,
    truth_case,
)
from pytest_workrail.coverage.reach import (
    APPROVAL,
    AT_LIMIT,
    FOLLOWUP,
    GAP_OF_BLOCKER,
    LIMIT,
    MANY,
    ONE,
    ZERO,
    ConditionScope,
    UnsetVariables,
    loop_blockers,
    loop_exits,
    loop_numbers,
    skippable_loops,
    step_blockers,
)
from pytest_workrail.engine.core.index import ASSESSMENT, contract_packs
from pytest_workrail.engine.core.loops import body_of
from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.model.reasons import UserOnlyDependency
from pytest_workrail.engine.model.words import Autonomy
from workrail_lint.systems.workrail.model.ir import (
    ConditionalConfirmation,
    EveryConfirmation,
    Program,
    ProgramStep,
    RepeatingStep,
)
from workrail_lint.systems.workrail.model.workflow import Condition
from workrail_lint.systems.workrail.solver import Wish

GUIDED: Autonomy = "guided"
NEVER_STOP: Autonomy = "full_auto_never_stop"
# A loop with more iterations is not asked about all of them.
_ITERATIONS = 12

# ---------------------------------------------------------------------------------------------------------- the kinds


def _case(point: Point, scope: ConditionScope, *wishes: Wish) -> Iterator[Point | Excluded]:
    yield point if scope.allows(*wishes) else Excluded(point, scope, wishes)


class StepGoal(GoalKind):
    """A step that was accepted."""

    name, noun, plural = "step", "step", "steps"
    sites = (StepSite,)
    evidence = (AttemptSeen,)

    @classmethod
    def goals(cls, site: StepSite) -> Iterator[Point | Excluded]:
        yield Point(cls, site.place, "done")

    @classmethod
    def observed(cls, evidence: AttemptSeen) -> Iterator[Point]:
        if evidence.attempt.outcome == "advanced":
            yield Point(cls, evidence.place, "done")


class ConditionGoal(GoalKind):
    """A run condition that holds, that does not hold, or that waits for unset variables."""

    name, noun, plural = "condition", "case of a condition", "cases of conditions"
    sites = (ConditionSite,)
    evidence = (ConditionSeen, UnsetSeen)

    @classmethod
    def goals(cls, site: ConditionSite) -> Iterator[Point | Excluded]:
        for holds in (True, False):
            yield from _case(Point(cls, site.place, truth_case(holds)), site.scope, (site.condition, holds))
        if site.waits:
            yield Point(cls, site.place, UNSET)

    @classmethod
    def observed(cls, evidence: ConditionSeen | UnsetSeen) -> Iterator[Point]:
        case = UNSET if isinstance(evidence, UnsetSeen) else truth_case(evidence.holds)
        yield Point(cls, evidence.place, case)

    @classmethod
    def shows_there(cls, point: Point) -> bool:
        return point.case == truth_case(True)

    @classmethod
    def shows_on_the_way(cls, point: Point) -> bool:
        return True


class LoopGoal(GoalKind):
    """A way in which a loop ends."""

    name, noun, plural = "loop", "end of a loop", "ends of loops"
    sites = (LoopSite,)
    evidence = (LoopLeft, AttemptSeen)

    @classmethod
    def goals(cls, site: LoopSite) -> Iterator[Point | Excluded]:
        loop_id = site.loop.id
        yield from (Point(cls, loop_id, case) for case in site.exits)
        for case in (ZERO, ONE, MANY, LIMIT):
            if case not in site.exits:
                yield Excluded(Point(cls, loop_id, case), site.scope, ())

    @classmethod
    def observed(cls, evidence: LoopLeft | AttemptSeen) -> Iterator[Point]:
        if isinstance(evidence, LoopLeft):
            yield Point(cls, evidence.loop_id, evidence.case)
        elif AT_LIMIT in evidence.attempt.of_loop:
            yield Point(cls, evidence.attempt.loop_path[-1][0], LIMIT)

    @classmethod
    def shows_there(cls, point: Point) -> bool:
        return point.case != ZERO


class FragmentGoal(GoalKind):
    """A fragment of a prompt that was shown or hidden."""

    name, noun, plural = "fragment", "case of a fragment", "cases of fragments"
    sites = (FragmentSite,)
    evidence = (AttemptSeen,)

    @classmethod
    def case(cls, is_shown: bool) -> str:
        return "shown" if is_shown else "hidden"

    @classmethod
    def goals(cls, site: FragmentSite) -> Iterator[Point | Excluded]:
        # A fragment without a condition is always shown.
        for is_shown in (True,) if site.fragment.when is None else (True, False):
            point = Point(cls, site.place, cls.case(is_shown))
            yield from _case(point, site.scope, (site.fragment.when, is_shown))

    @classmethod
    def observed(cls, evidence: AttemptSeen) -> Iterator[Point]:
        for fragment in evidence.step.fragments:
            case = cls.case(fragment.id in evidence.attempt.fragments)
            yield Point(cls, fragment_place(evidence.place, fragment.id), case)


class GateGoal(GoalKind):
    """A confirmation that a person was asked for, or was not."""

    name, noun, plural = "gate", "case of a confirmation", "cases of confirmations"
    sites = (ConfirmationSite,)
    evidence = (Arrival, AttemptSeen)

    @classmethod
    def goals(cls, site: ConfirmationSite) -> Iterator[Point | Excluded]:
        match site.step.confirmation:
            case EveryConfirmation():
                yield Point(cls, site.place, ASKED)
            case ConditionalConfirmation(condition=condition):
                yield from _case(Point(cls, site.place, ASKED), site.scope, (condition, True))
                # The agent is never told to wait for a parallel step, so nothing shows that it need not.
                if site.step.type != "parallel":
                    yield from _case(Point(cls, site.place, FREE), site.scope, (condition, False))

    @classmethod
    def observed(cls, evidence: Arrival | AttemptSeen) -> Iterator[Point]:
        if isinstance(evidence, Arrival):
            if evidence.gate_case is not None:
                yield Point(cls, evidence.place, evidence.gate_case)
            return
        attempt = evidence.attempt
        if attempt.outcome == "gated" or APPROVAL in attempt.blockers or GAP_OF_BLOCKER[APPROVAL] in attempt.gaps:
            yield Point(cls, evidence.place, ASKED)

    @classmethod
    def fits(cls, mode: Autonomy, profile: Profile) -> bool:
        return not (mode == NEVER_STOP and profile.allows(UserOnlyDependency))


class LevelGoal(GoalKind):
    """A level of a dimension that an assessment gave."""

    name, noun, plural = "level", "level", "levels"
    sites = (DimensionSite,)
    evidence = (AttemptSeen,)
    is_answered = True

    @classmethod
    def goals(cls, site: DimensionSite) -> Iterator[Point | Excluded]:
        yield from (Point(cls, site.place, level) for level in site.levels)

    @classmethod
    def observed(cls, evidence: AttemptSeen) -> Iterator[Point]:
        for assessment, dimension, level in evidence.attempt.levels:
            yield Point(cls, dimension_place(evidence.place, assessment, dimension), level)


class ConsequenceGoal(GoalKind):
    """A consequence that a level had."""

    name, noun, plural = "consequence", "consequence", "consequences"
    sites = (ConsequenceSite,)
    evidence = (AttemptSeen,)
    is_answered = True

    @classmethod
    def goals(cls, site: ConsequenceSite) -> Iterator[Point | Excluded]:
        yield Point(cls, site.place, site.level)

    @classmethod
    def observed(cls, evidence: AttemptSeen) -> Iterator[Point]:
        attempt = evidence.attempt
        if FOLLOWUP not in attempt.blockers and GAP_OF_BLOCKER[FOLLOWUP] not in attempt.gaps:
            return
        asked = evidence.step.assessments
        for consequence in () if asked is None else asked.consequences:
            scope, wanted = consequence.when.for_assessment, consequence.when.any_equals_level
            if any(level == wanted and scope in (None, assessment) for assessment, _, level in attempt.levels):
                yield Point(cls, consequence_place(evidence.place, scope), wanted)


class BlockerGoal(GoalKind):
    """A blocker that refused what was submitted."""

    name, noun, plural = "blocker", "blocker", "blockers"
    sites = (RefusalSite, QuestionSite)
    evidence = (AttemptSeen, QuestionSeen)
    is_answered = True

    @classmethod
    def goals(cls, site: RefusalSite | QuestionSite) -> Iterator[Point | Excluded]:
        codes = [MISSING_KEY] if isinstance(site, QuestionSite) else site.codes
        yield from (Point(cls, site.place, code) for code in codes)

    @classmethod
    def observed(cls, evidence: AttemptSeen | QuestionSeen) -> Iterator[Point]:
        if isinstance(evidence, QuestionSeen):
            if not evidence.is_gap:
                yield Point(cls, evidence.place, MISSING_KEY)
            return
        for place, words in evidence.refusals():
            yield from (Point(cls, place, code) for code in GAP_OF_BLOCKER if code in words)

    @classmethod
    def fits(cls, mode: Autonomy, profile: Profile) -> bool:
        return mode == GUIDED


class ContractGoal(GoalKind):
    """An artifact that fulfilled the contract of a step."""

    name, noun, plural = "contract", "contract", "contracts"
    sites = (ContractSite,)
    evidence = (AttemptSeen,)

    @classmethod
    def goals(cls, site: ContractSite) -> Iterator[Point | Excluded]:
        yield Point(cls, site.place, site.ref)

    @classmethod
    def observed(cls, evidence: AttemptSeen) -> Iterator[Point]:
        if evidence.attempt.contract is not None:
            yield Point(cls, evidence.place, evidence.attempt.contract)


class GapGoal(GoalKind):
    """A gap that a run which never stops recorded instead of a blocker."""

    name, noun, plural = "gap", "gap", "gaps"
    sites = (RefusalSite, QuestionSite)
    evidence = (AttemptSeen, QuestionSeen)
    is_answered = True

    @classmethod
    def goals(cls, site: RefusalSite | QuestionSite) -> Iterator[Point | Excluded]:
        gaps = [MISSING_KEY] if isinstance(site, QuestionSite) else [GAP_OF_BLOCKER[code] for code in site.codes]
        yield from (Point(cls, site.place, gap) for gap in gaps)

    @classmethod
    def observed(cls, evidence: AttemptSeen | QuestionSeen) -> Iterator[Point]:
        if isinstance(evidence, QuestionSeen):
            if evidence.is_gap:
                yield Point(cls, evidence.place, MISSING_KEY)
            return
        for place, words in evidence.refusals():
            yield from (Point(cls, place, gap) for gap in GAP_OF_BLOCKER.values() if gap in words)

    @classmethod
    def fits(cls, mode: Autonomy, profile: Profile) -> bool:
        return mode == NEVER_STOP


class DecidesGoal(GoalKind):
    """A member of a condition that decided about the whole, by its pointer in the condition."""

    name, noun, plural = "decides", "member that decides", "members that decide"
    is_strong = True
    sites = (ConditionSite, LoopSite, FragmentSite, ConfirmationSite)
    evidence = (ConditionSeen, LoopAsked, Arrival)

    @classmethod
    def goals(cls, site: ConditionSite | LoopSite | FragmentSite | ConfirmationSite) -> Iterator[Point | Excluded]:
        match site:
            case ConditionSite(place, condition, scope):
                yield from cls._possible(place, condition, scope)
            case LoopSite(loop, scope, exits) if exits:
                yield from cls._of_loop(loop, scope)
            case FragmentSite(place, fragment, scope):
                yield from cls._possible(place, fragment.when, scope)
            case ConfirmationSite(place, step, scope) if step.type != "parallel":
                yield from cls._possible(gate_place(place), step.confirmation_condition, scope)

    @classmethod
    def _possible(cls, place: str, condition: Condition | None, scope: ConditionScope) -> Iterator[Point]:
        for case, wishes in Members(condition).wishes() if condition is not None else ():
            if scope.allows(*wishes):
                yield Point(cls, place, case)

    @classmethod
    def _of_loop(cls, loop: RepeatingStep, scope: ConditionScope) -> Iterator[Point]:
        """Yield the members that can decide about the condition that a loop is asked with before each iteration."""
        if loop.loop_condition is None:
            return
        last = min(int(loop.loop.max_iterations), _ITERATIONS)
        for case, wishes in Members(loop.loop_condition).wishes():
            at_entry = scope.solver.is_possible([*scope.held, *wishes], loop_numbers(loop, 0))
            if at_entry or any(scope.solver.is_possible(wishes, loop_numbers(loop, at)) for at in range(1, last)):
                yield Point(cls, loop.id, case)

    @classmethod
    def observed(cls, evidence: ConditionSeen | LoopAsked | Arrival) -> Iterator[Point]:
        members, context = evidence.members, evidence.context
        if members is None:
            return
        match evidence:
            case ConditionSeen(place, condition):
                yield from cls.deciding(place, condition, context, members)
            case LoopAsked(loop_id, condition):
                yield from cls.deciding(loop_id, condition, context, members)
            case Arrival(_, place, step):
                for fragment in step.fragments:
                    yield from cls.deciding(fragment_place(place, fragment.id), fragment.when, context, members)
                if evidence.gate_case is not None:
                    yield from cls.deciding(gate_place(place), step.confirmation_condition, context, members)

    @classmethod
    def deciding(
        cls, place: str, condition: Condition | None, context: Mapping[str, Any], members: MemberTable
    ) -> Iterator[Point]:
        """Yield the members of a condition that decide in a context."""
        if condition is not None:
            yield from (Point(cls, place, case) for case in members[condition].deciding(context))

    @classmethod
    def shows_there(cls, point: Point) -> bool:
        # Under an odd number of negations a member that is true keeps the condition from holding.
        is_true, is_kept = point.case.endswith(truth_case(True)), point.case.count("/not") % 2 == 0
        return "#" in point.place or is_true is is_kept

    @classmethod
    def shows_on_the_way(cls, point: Point) -> bool:
        return "#" not in point.place


class OrderGoal(GoalKind):
    """Two neighbours of which the first was chosen where both could have run."""

    name, noun, plural = "order", "order of neighbours", "orders of neighbours"
    is_strong = True
    sites = (NeighbourSite,)
    evidence = (NeighbourSeen,)

    @classmethod
    def goals(cls, site: NeighbourSite) -> Iterator[Point | Excluded]:
        # Where both can always run, any run shows their order.
        pair = (site.step, site.following)
        both: list[Wish] = [(each.run_condition, True) for each in pair if each.run_condition is not None]
        if both and site.scope.allows(*both):
            yield Point(cls, site.place, site.following.id)

    @classmethod
    def observed(cls, evidence: NeighbourSeen) -> Iterator[Point]:
        yield Point(cls, evidence.place, evidence.following)

    @classmethod
    def shows_on_the_way(cls, point: Point) -> bool:
        return True


class LeftOutGoal(GoalKind):
    """A dimension that an assessment was submitted without."""

    name, noun, plural = "left-out", "dimension left out", "dimensions left out"
    is_strong = True
    sites = (DimensionSite,)
    evidence = (AttemptSeen,)
    is_answered = True

    @classmethod
    def goals(cls, site: DimensionSite) -> Iterator[Point | Excluded]:
        # An assessment has to have at least one dimension.
        if not site.is_only:
            yield Point(cls, site.place, LEFT_OUT)

    @classmethod
    def observed(cls, evidence: AttemptSeen) -> Iterator[Point]:
        for assessment, dimension in evidence.attempt.left_out:
            yield Point(cls, dimension_place(evidence.place, assessment, dimension), LEFT_OUT)


# In the order of reports. At one site the points of an earlier kind come first.
KINDS: tuple[type[GoalKind], ...] = tuple(GoalKind.__subclasses__())
_BY_NAME = {kind.name: kind for kind in KINDS}
_BY_SITE = {site: [kind for kind in KINDS if site in kind.sites] for kind in KINDS for site in kind.sites}
_BY_EVIDENCE = {each: [kind for kind in KINDS if each in kind.evidence] for kind in KINDS for each in kind.evidence}


def kind_named(name: str) -> type[GoalKind]:
    """Return the kind with a name."""
    return _BY_NAME[name]


def observed_points(evidence: Evidence) -> Iterator[Point]:
    """Yield every point that a piece of evidence shows, of any kind."""
    for kind in _BY_EVIDENCE[type(evidence)]:
        yield from kind.observed(evidence)


# ------------------------------------------------------------------------------------------------- goals of a workflow


def goals(program: Program, profile: Profile, *, strong: bool = False) -> tuple[Point, ...]:
    """Return every point that a run of a workflow can show, in the order of its steps; each once.

    With `strong`, also which member of a condition decides, the order of neighbours, and dimensions that are left out.
    """
    return tuple(point for point in GoalList(program, profile).goals if strong or not point.kind.is_strong)


class GoalList:
    """The goals of one IR under one profile, and the points that conditions exclude.

    What can only be reached behind an excluded point is not listed.
    """

    def __init__(self, program: Program, profile: Profile) -> None:
        self._program = program
        self._profile = profile
        self._solver = workflow_solver(program)
        self._skippable = skippable_loops(program, profile, self._solver)
        self._unset = UnsetVariables(program, profile)
        self._packs = contract_packs(program)
        self._assessments = {each.id: each for each in program.assessments}
        self._goals: dict[Point, None] = {}
        self.excluded: list[Excluded] = []
        for site in self._sites():
            for kind in _BY_SITE[type(site)]:
                for outcome in kind.goals(site):
                    if isinstance(outcome, Excluded):
                        self.excluded.append(outcome)
                    else:
                        self._goals[outcome] = None

    @property
    def goals(self) -> tuple[Point, ...]:
        return tuple(self._goals)

    def _sites(self) -> Iterator[Site]:
        scope = ConditionScope(self._solver)
        for step, following in _with_next(self._program.steps):
            yield from self._step_or_loop(step, step.id, scope)
            if self._unset.is_asked_for(step):
                yield QuestionSite(step.id)
            if following is not None:
                yield NeighbourSite(step.id, step, following, scope)

    def _step_or_loop(self, step: ProgramStep, place: str, scope: ConditionScope) -> Iterator[Site]:
        if step.run_condition is not None:
            yield ConditionSite(place, step.run_condition, scope, self._unset.can_wait(step, scope.loop))
            scope = scope.where((step.run_condition, True))
        if scope.allows():
            yield from self._loop(step, scope) if step.type == "loop" else self._step(step, place, scope)

    def _loop(self, loop: RepeatingStep, scope: ConditionScope) -> Iterator[Site]:
        loop_id = loop.id
        exits = loop_exits(loop, self._profile, scope, skippable=loop_id in self._skippable)
        yield LoopSite(loop, scope, exits)
        if exits in ([], [ZERO]):
            return
        inside = scope.inside(loop)
        for step, following in _with_next(body_of(loop, self._profile)):
            place = place_of(step.id, ((loop_id, 0),))
            yield from self._step_or_loop(step, place, inside)
            # A gate is asked only where nothing is decided yet, so it is never in line with the step before it.
            if following is not None and not following.is_gate:
                yield NeighbourSite(place, step, following, inside)
        yield RefusalSite(loop_id, loop_blockers(loop, self._profile, LIMIT in exits))

    def _step(self, step: ProgramStep, place: str, scope: ConditionScope) -> Iterator[Site]:
        yield StepSite(place)
        for fragment in step.fragments:
            yield FragmentSite(fragment_place(place, fragment.id), fragment, scope)
        yield ConfirmationSite(place, step, scope)
        yield from self._assessed(step, place)
        if step.contract is not None and step.contract.ref != ASSESSMENT:
            yield ContractSite(place, step.contract.ref)
        codes = step_blockers(self._program, step, self._profile, self._packs)
        if Point(GateGoal, place, ASKED) not in self._goals and APPROVAL in codes:
            codes.remove(APPROVAL)
        yield RefusalSite(place, codes)

    def _assessed(self, step: ProgramStep, place: str) -> Iterator[Site]:
        if step.assessments is None:
            return
        for ref in step.assessments.refs:
            dimensions = self._assessments[ref].dimensions
            for dimension in dimensions:
                yield DimensionSite(dimension_place(place, ref, dimension.id), dimension.levels, len(dimensions) == 1)
        for consequence in step.assessments.consequences:
            when = consequence.when
            yield ConsequenceSite(consequence_place(place, when.for_assessment), when.any_equals_level)


def _with_next(steps: Sequence[ProgramStep]) -> Iterator[tuple[ProgramStep, ProgramStep | None]]:
    return zip(steps, [*steps[1:], None], strict=True)

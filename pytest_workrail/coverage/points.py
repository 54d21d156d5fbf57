"""Coverage points: the single things a run can show about a workflow, where each is, and what shows it.

Goal kinds read the sites of a workflow and the evidence of a run. A condition of several comparisons can be true and
false in a suite while one of its members never mattered: a member decides if the whole would come out the other way
with that member flipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

from msgspec import Struct

from pytest_workrail.agents.agent import Attempt, Choice
from pytest_workrail.coverage.reach import ConditionScope
from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.model.reasons import MissingContextKey
from pytest_workrail.engine.model.step_keys import LoopPath, LoopPosition
from pytest_workrail.engine.model.words import Autonomy
from workrail_lint.systems.workrail.blocker_codes import BlockerCode, GapDetail
from workrail_lint.systems.workrail.model.build import unchecked_condition
from workrail_lint.systems.workrail.model.ir import ProgramStep, PromptFragment, RepeatingStep
from workrail_lint.systems.workrail.model.workflow import Condition
from workrail_lint.systems.workrail.solver import Wish
from workrail_lint.systems.workrail.solver.expression import Comparison, Expression, comparison_of, read

# The case of a dimension that an assessment was submitted without.
LEFT_OUT = "accepted or refused"
# The cases of a gate: the agent was told to wait for somebody, or told that it need not.
ASKED, FREE = "asked", "free"
# The case of a condition whose variables are not set, where setting them would make it hold.
UNSET = "unset"
# What such a condition costs a run under a profile that asks: the blocker, and the gap of a run that never stops.
MISSING_KEY = MissingContextKey.code


class Point(NamedTuple):
    """One case at one place. A step inside a loop has the place `<loop>/<step>`."""

    kind: type[GoalKind]
    place: str
    case: str

    @property
    def name(self) -> str:
        return f"{self.kind.name}:{self.place}:{self.case}"

    @property
    def step_place(self) -> str:
        """The place of the step or loop that the point is about."""
        return self.place.partition("#")[0]


def place_of(step_id: str, loop_path: LoopPath | tuple[tuple[str, int], ...] = ()) -> str:
    """Return where a step is, whatever its iteration. A transcript names its loops in tuples."""
    if not loop_path:
        return step_id
    loop = loop_path[-1]
    return f"{loop.loop_id if isinstance(loop, LoopPosition) else loop[0]}/{step_id}"


def truth_case(holds: bool) -> str:
    """Return the case of a condition that came out one way."""
    return "true" if holds else "false"


def fragment_place(place: str, fragment_id: str) -> str:
    return f"{place}#{fragment_id}"


def dimension_place(place: str, assessment_id: str, dimension_id: str) -> str:
    return f"{place}#{assessment_id}.{dimension_id}"


def consequence_place(place: str, for_assessment: str | None) -> str:
    return place if for_assessment is None else f"{place}#{for_assessment}"


def gate_place(place: str) -> str:
    """Return where the condition of a confirmation is."""
    return f"{place}#confirmation"


_TRUE: dict[str, Any] = {"and": []}
_FALSE: dict[str, Any] = {"or": []}


class Members:
    """The comparisons of a condition, each with the place where it comes first."""

    def __init__(self, condition: Condition) -> None:
        self.condition = condition
        self.expression: Expression | None = read(condition)
        self.places: dict[Comparison, str] = {}
        if self.expression is not None and self.expression.is_sound:
            for place, leaf in _leaves(condition, ""):
                self.places.setdefault(comparison_of(leaf), place)
        if len(self.places) < 2:
            self.places = {}

    def deciding(self, context: Mapping[str, Any]) -> Iterator[str]:
        """Yield the members that decide about the condition in a context, as cases."""
        if not self.places or self.expression is None:
            return
        truths = {each: each.holds(context.get(each.variable)) for each in self.places}
        outcome = self.expression.value(truths)
        if outcome is None:
            return
        for member, place in self.places.items():
            truth = truths[member]
            if truth is not None and self.expression.value({**truths, member: not truth}) is not outcome:
                yield decides_case(place, truth)

    def wishes(self) -> Iterator[tuple[str, list[Wish]]]:
        """For each case what has to hold so that the member decides."""
        for member, place in self.places.items():
            with_it, without = (_replaced(self.condition, member, value) for value in (_TRUE, _FALSE))
            differs = {"or": [{"and": [with_it, {"not": without}]}, {"and": [{"not": with_it}, without]}]}
            leaf = {"var": member.variable, **({member.operator: member.operand} if member.operator else {})}
            deciding, alone = unchecked_condition(differs), unchecked_condition(leaf)
            for truth in (True, False):
                yield decides_case(place, truth), [(deciding, True), (alone, truth)]


def decides_case(place: str, truth: bool) -> str:
    """Return the case of a member that decided, by its pointer in the condition."""
    return f"{place} {truth_case(truth)}"


def _leaves(condition: Condition, place: str) -> Iterator[tuple[str, Condition]]:
    if "var" in condition:
        yield place or "/", condition
        return
    logic, members = condition.combined
    for index, member in enumerate(members):
        yield from _leaves(member, f"{place}/not" if logic == "not" else f"{place}/{logic}/{index}")


def _replaced(condition: Condition, member: Comparison, value: dict[str, Any]) -> dict[str, Any]:
    """The JSON of a condition with a value in place of a comparison."""
    if "var" in condition:
        return value if comparison_of(condition) == member else condition.raw
    return condition.recombined([_replaced(each, member, value) for each in condition.combined[1]])


class MemberTable:
    """The members of the conditions of one IR, read once. Conditions are known by their place in memory."""

    def __init__(self) -> None:
        self._known: dict[int, Members] = {}

    def __getitem__(self, condition: Condition) -> Members:
        members = self._known.get(id(condition.raw))
        if members is None:
            members = self._known[id(condition.raw)] = Members(condition)
        return members


# ------------------------------------------------------------------------------------------------ sites of a workflow


class ConditionSite(Struct, frozen=True):
    """A step or loop with a run condition. `waits` means that a run can show it waiting for unset variables."""

    place: str
    condition: Condition
    scope: ConditionScope
    waits: bool


class LoopSite(Struct, frozen=True):
    """A loop, and the ways in which it can end."""

    loop: RepeatingStep
    scope: ConditionScope
    exits: list[str]


class StepSite(Struct, frozen=True):
    """A step that an agent can be given."""

    place: str


class FragmentSite(Struct, frozen=True):
    """A fragment of a prompt."""

    place: str
    fragment: PromptFragment
    scope: ConditionScope


class ConfirmationSite(Struct, frozen=True):
    """The confirmation of a step."""

    place: str
    step: ProgramStep
    scope: ConditionScope


class DimensionSite(Struct, frozen=True):
    """A dimension of an assessment that a step asks for. `is_only` means that the assessment has no other."""

    place: str
    levels: Sequence[str]
    is_only: bool


class ConsequenceSite(Struct, frozen=True):
    """A level of an assessment that has a consequence."""

    place: str
    level: str


class ContractSite(Struct, frozen=True):
    """The contract of a step's output."""

    place: str
    ref: str


class RefusalSite(Struct, frozen=True):
    """A step or loop that can refuse what is submitted, by the codes of its blockers."""

    place: str
    codes: list[BlockerCode]


class QuestionSite(Struct, frozen=True):
    """A step or loop that a run can be asked about because variables are not set."""

    place: str


class NeighbourSite(Struct, frozen=True):
    """Two steps in line."""

    place: str
    step: ProgramStep
    following: ProgramStep
    scope: ConditionScope


Site: TypeAlias = (
    ConditionSite
    | LoopSite
    | StepSite
    | FragmentSite
    | ConfirmationSite
    | DimensionSite
    | ConsequenceSite
    | ContractSite
    | RefusalSite
    | QuestionSite
    | NeighbourSite
)

# --------------------------------------------------------------------------------------------------- evidence of a run


class ConditionSeen(Struct, frozen=True):
    """A run condition was evaluated. `members` is None if deciding members are not counted."""

    place: str
    condition: Condition | None
    context: Mapping[str, Any]
    holds: bool
    members: MemberTable | None


class UnsetSeen(Struct, frozen=True):
    """A step or loop was passed over because variables are not set."""

    place: str


class LoopAsked(Struct, frozen=True):
    """The condition of a loop was evaluated before an iteration."""

    loop_id: str
    condition: Condition
    context: Mapping[str, Any]
    members: MemberTable


class LoopLeft(Struct, frozen=True):
    """A loop ended in one of the ways of `reach`."""

    loop_id: str
    case: str


class NeighbourSeen(Struct, frozen=True):
    """A step was chosen while the next one in the document could have been chosen as well."""

    place: str
    following: str


class Arrival(Struct, frozen=True):
    """A step became pending."""

    choice: Choice
    place: str
    step: ProgramStep
    context: Mapping[str, Any]
    profile: Profile
    members: MemberTable | None

    @property
    def gate_case(self) -> str | None:
        """How the agent was asked to wait for a person; None where it was not."""
        if self.step.confirmation.kind == "never":
            return None
        never_waits = self.profile.confirmation == "user_dependency" and self.choice.never_stops
        match self.choice.intent:
            case "await_user_confirmation":
                return ASKED
            case "perform_pending_then_continue" if not never_waits and self.step.type != "parallel":
                return FREE
            case _:
                return None


class AttemptSeen(Struct, frozen=True):
    """A step was submitted, and accepted or refused."""

    attempt: Attempt
    place: str
    step: ProgramStep

    def refusals(self) -> Iterator[tuple[str, Counter[BlockerCode | GapDetail]]]:
        """Yield the step and the loop around it, each with the codes and gaps that it brought about."""
        of_loop = Counter(self.attempt.of_loop)
        yield self.place, Counter((*self.attempt.blockers, *self.attempt.gaps)) - of_loop
        if self.attempt.loop_path:
            yield self.attempt.loop_path[-1][0], of_loop


class QuestionSeen(Struct, frozen=True):
    """A run was blocked by unset variables, or recorded the gap and went on."""

    place: str
    is_gap: bool


Evidence: TypeAlias = (
    ConditionSeen | UnsetSeen | LoopAsked | LoopLeft | NeighbourSeen | Arrival | AttemptSeen | QuestionSeen
)


# ------------------------------------------------------------------------------------------------------ kinds of goals


class Excluded(NamedTuple):
    """A point that does not count as a goal, because its conditions can't all hold where it would show."""

    point: Point
    scope: ConditionScope
    wishes: tuple[Wish, ...]


class GoalKind:
    """One kind of goal. Kinds are classes without instances.

    A strong kind is counted only on request: it is what a suite has to show so that few changes of a workflow go
    unnoticed. `noun` and `plural` name its points in the description of a generated scenario.
    """

    name: ClassVar[str]
    noun: ClassVar[str]
    plural: ClassVar[str]
    is_strong: ClassVar[bool] = False
    sites: ClassVar[tuple[type[Site], ...]]
    evidence: ClassVar[tuple[type[Evidence], ...]]
    # Whether it depends on what an agent submits.
    is_answered: ClassVar[bool] = False

    @classmethod
    def goals(cls, site: Any) -> Iterator[Point | Excluded]:
        """Yield the points of a site that a run can show, and those that conditions exclude."""
        raise NotImplementedError

    @classmethod
    def observed(cls, evidence: Any) -> Iterator[Point]:
        """Yield the points that a piece of evidence shows."""
        raise NotImplementedError

    @classmethod
    def title(cls, count: int) -> str:
        """Return a number of points in words."""
        return f"{count} {cls.noun if count == 1 else cls.plural}"

    @classmethod
    def fits(cls, mode: Autonomy, profile: Profile) -> bool:
        """Return whether a run in this mode can show points of this kind."""
        return True

    @classmethod
    def shows_there(cls, point: Point) -> bool:
        """Return whether a run has to get to the place of a point; some show only when it is passed over."""
        return True

    @classmethod
    def shows_on_the_way(cls, point: Point) -> bool:
        """Return whether a point shows when a step is chosen, not when it is done."""
        return False

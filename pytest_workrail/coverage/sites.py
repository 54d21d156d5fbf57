"""Where a workflow has something to show, and what a run shows: the sites and the evidence that goal kinds read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pytest_workrail.agents.transcript import Attempt, Choice
from pytest_workrail.coverage.members import MemberTable
from pytest_workrail.coverage.points import ASKED, FREE
from pytest_workrail.coverage.reach import ConditionScope
from pytest_workrail.engine.core.profiles import Confirmation, Profile
from workrail_lint.systems.workrail.model.ir import ProgramStep, PromptFragment, RepeatingStep

# ------------------------------------------------------------------------------------------------ sites of a workflow


@dataclass(frozen=True, slots=True)
class ConditionSite:
    """A step or loop with a run condition. `waits` means that a run can show it waiting for unset variables."""

    place: str
    condition: object
    scope: ConditionScope
    waits: bool


@dataclass(frozen=True, slots=True)
class LoopSite:
    """A loop, and the ways in which it can end."""

    loop: RepeatingStep
    scope: ConditionScope
    exits: list[str]


@dataclass(frozen=True, slots=True)
class StepSite:
    """A step that an agent can be given."""

    place: str


@dataclass(frozen=True, slots=True)
class FragmentSite:
    """A fragment of a prompt."""

    place: str
    fragment: PromptFragment
    scope: ConditionScope


@dataclass(frozen=True, slots=True)
class ConfirmationSite:
    """The confirmation of a step."""

    place: str
    step: ProgramStep
    scope: ConditionScope


@dataclass(frozen=True, slots=True)
class DimensionSite:
    """A dimension of an assessment that a step asks for. `is_only` means that the assessment has no other."""

    place: str
    levels: Sequence[str]
    is_only: bool


@dataclass(frozen=True, slots=True)
class ConsequenceSite:
    """A level of an assessment that has a consequence."""

    place: str
    level: str


@dataclass(frozen=True, slots=True)
class ContractSite:
    """The contract of a step's output."""

    place: str
    ref: str


@dataclass(frozen=True, slots=True)
class RefusalSite:
    """A step or loop that can refuse what is submitted, by the codes of its blockers."""

    place: str
    codes: list[str]


@dataclass(frozen=True, slots=True)
class QuestionSite:
    """A step or loop that a run can be asked about because variables are not set."""

    place: str


@dataclass(frozen=True, slots=True)
class NeighbourSite:
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


@dataclass(frozen=True, slots=True)
class ConditionSeen:
    """A run condition was evaluated. `members` is None where nobody counts which member decided."""

    place: str
    condition: object
    context: Mapping[str, Any]
    holds: bool
    members: MemberTable | None


@dataclass(frozen=True, slots=True)
class UnsetSeen:
    """A step or loop was passed over because variables are not set."""

    place: str


@dataclass(frozen=True, slots=True)
class LoopAsked:
    """The condition of a loop was evaluated before an iteration."""

    loop_id: str
    condition: object
    context: Mapping[str, Any]
    members: MemberTable


@dataclass(frozen=True, slots=True)
class LoopLeft:
    """A loop ended in one of the ways of `reach`."""

    loop_id: str
    case: str


@dataclass(frozen=True, slots=True)
class NeighbourSeen:
    """A step was chosen while the next one in the document could have been chosen as well."""

    place: str
    following: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """A step became pending."""

    choice: Choice
    place: str
    step: ProgramStep
    context: Mapping[str, Any]
    profile: Profile
    members: MemberTable | None

    @property
    def gate_case(self) -> str | None:
        """What the agent was told about waiting for a person; None where it was told nothing."""
        if self.step.confirmation.kind == "never":
            return None
        never_waits = self.profile.confirmation is Confirmation.USER_DEPENDENCY and self.choice.never_stops
        match self.choice.intent:
            case "await_user_confirmation":
                return ASKED
            case "perform_pending_then_continue" if not never_waits and self.step.type != "parallel":
                return FREE
            case _:
                return None


@dataclass(frozen=True, slots=True)
class AttemptSeen:
    """A step was submitted, and accepted or refused."""

    attempt: Attempt
    place: str
    step: ProgramStep

    def refusals(self) -> Iterator[tuple[str, Counter[str]]]:
        """Yield the step and the loop around it, each with the codes and gaps that it brought about."""
        of_loop = Counter(self.attempt.of_loop)
        yield self.place, Counter((*self.attempt.blockers, *self.attempt.gaps)) - of_loop
        if self.attempt.loop_path:
            yield self.attempt.loop_path[-1][0], of_loop


@dataclass(frozen=True, slots=True)
class QuestionSeen:
    """A run was blocked by unset variables, or recorded the gap and went on."""

    place: str
    is_gap: bool


Evidence: TypeAlias = (
    ConditionSeen | UnsetSeen | LoopAsked | LoopLeft | NeighbourSeen | Arrival | AttemptSeen | QuestionSeen
)

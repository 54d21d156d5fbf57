"""Run profiles: the choices on which the reference engine and the design part ways.

Code asks a profile for its choice and never for its name, so this is the only place that knows both.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.model.reasons import Reason
from workrail_lint.base.suggest import hint

# Whether the `loopId` of a decision must name the loop it is taken for.
LoopIdCheck: TypeAlias = Literal["ignore", "match"]
# Which context an older node sees.
RewindContext: TypeAlias = Literal["run", "lineage"]
# How recovery text keeps its budget.
Recap: TypeAlias = Literal["oldest_first_24k", "newest_first_12k"]
# The form of answers: the engine's own, or a union of kinds whose texts say what their data says.
Answers: TypeAlias = Literal["engine", "union"]
# Which criteria of a step its prompt shows.
CriteriaText: TypeAlias = Literal["composition_only", "all"]
ProfileName: TypeAlias = Literal["reference", "locked"]


class Profile(Struct, frozen=True):
    """One choice for every question."""

    name: ProfileName
    # The effect of a loop that would go beyond `maxIterations`.
    loop_limit: Literal["exit", "report"]
    # The behaviour of a loop when the decision that drives it was not submitted.
    loop_decision: Literal["assume_continue", "require"]
    loop_id: LoopIdCheck
    # Whether a loop runs the decision step that the compiler added to it.
    loop_gate: Literal["leave_out", "run"]
    # The number of passes in the banner of a loop whose body is named by id.
    loop_banner: Literal["as_engine", "full"]
    rewind_context: RewindContext
    recap: Recap
    # The treatment of a required capability.
    capabilities: Literal["record", "enforce"]
    # Whether a tolerant risk policy turns a capability reason into a warning.
    capability_downgrade: Literal["by_risk_policy", "never"]
    # The meaning of a confirmation by a person in an autonomous run.
    confirmation: Literal["intent_only", "user_dependency"]
    # The treatment of a divergence artifact.
    divergence: Literal["artifact", "event"]
    # Whether one advance records a gap twice that says the same.
    repeated_gaps: Literal["record", "once"]
    # Whether a run marks where the public engine would have failed or answered differently.
    engine_defects: Literal["mark", "ignore"]
    # The behaviour of a run that would end although steps wait for unset variables.
    unset_condition: Literal["pass_over", "ask"]
    # The behaviour of a loop whose variable is not set.
    loop_variable: Literal["refuse", "ask"]
    # The treatment of members of a call that the public engine passes over.
    unknown_members: Literal["pass_over", "refuse"]
    answers: Answers
    criteria_text: CriteriaText
    # What a run that never stops does where a prompt asks the user.
    user_questions: Literal["as_written", "answer_and_disclose"]
    # Whether an output that comes later closes the gap of a run that went on without it.
    late_outputs: Literal["ignore", "resolve_gaps"]
    # Whether notes that are missing are recorded as a failed validation.
    notes_validation: Literal["omit", "record"]
    # What a node that is looked at again tells of the steps before it.
    instructions_so_far: Literal["leave_out", "show"]

    def allows(self, reason: type[Reason]) -> bool:
        """Return whether a run under this profile can stop for a reason."""
        return not reason.choices or any(getattr(self, question) == answer for question, answer in reason.choices)


REFERENCE = Profile(
    name="reference",
    loop_limit="exit",
    loop_decision="assume_continue",
    loop_id="ignore",
    loop_gate="leave_out",
    loop_banner="as_engine",
    rewind_context="run",
    recap="oldest_first_24k",
    capabilities="record",
    capability_downgrade="by_risk_policy",
    confirmation="intent_only",
    divergence="artifact",
    repeated_gaps="record",
    engine_defects="mark",
    unset_condition="pass_over",
    loop_variable="refuse",
    unknown_members="pass_over",
    answers="engine",
    criteria_text="composition_only",
    user_questions="as_written",
    late_outputs="ignore",
    notes_validation="omit",
    instructions_so_far="leave_out",
)
LOCKED = Profile(
    name="locked",
    loop_limit="report",
    loop_decision="require",
    loop_id="match",
    loop_gate="run",
    loop_banner="full",
    rewind_context="lineage",
    recap="newest_first_12k",
    capabilities="enforce",
    # The worked examples of the profile let the risk policy downgrade, so the choice is the same here.
    capability_downgrade="by_risk_policy",
    confirmation="user_dependency",
    divergence="event",
    repeated_gaps="once",
    engine_defects="ignore",
    unset_condition="ask",
    loop_variable="ask",
    unknown_members="refuse",
    answers="union",
    criteria_text="all",
    user_questions="answer_and_disclose",
    late_outputs="resolve_gaps",
    notes_validation="record",
    instructions_so_far="show",
)
PROFILES: dict[ProfileName, Profile] = {"reference": REFERENCE, "locked": LOCKED}


def profile_of(choice: ProfileName | Profile) -> Profile:
    """A profile by name; one that is given as an object stays as it is."""
    if isinstance(choice, Profile):
        return choice
    if choice not in PROFILES:
        raise ValueError(f"unknown profile '{choice}'{hint(str(choice), PROFILES)}")
    return PROFILES[choice]

"""Run profiles: the choices on which the reference engine and the design part ways.

Code asks a profile for its choice and never for its name, so this is the only place that knows both.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal, TypeAlias

from msgspec import Struct

from workrail_lint.base.suggest import hint


class LoopLimit(str, Enum):
    """The effect of a loop that would go beyond `maxIterations`."""

    EXIT = "exit"
    REPORT = "report"


class LoopDecision(str, Enum):
    """The behaviour of a loop when the decision that drives it was not submitted."""

    ASSUME_CONTINUE = "assume_continue"
    REQUIRE = "require"


class LoopIdCheck(str, Enum):
    """Whether the `loopId` of a decision must name the loop it is taken for."""

    IGNORE = "ignore"
    MATCH = "match"


class LoopGate(str, Enum):
    """Whether a loop runs the decision step that the compiler added to it."""

    LEAVE_OUT = "leave_out"
    RUN = "run"


class LoopBanner(str, Enum):
    """The number of passes in the banner of a loop whose body is named by id."""

    AS_ENGINE = "as_engine"
    FULL = "full"


class RewindContext(str, Enum):
    """Which context an older node sees."""

    RUN = "run"
    LINEAGE = "lineage"


class Recap(str, Enum):
    """How recovery text keeps its budget."""

    OLDEST_FIRST_24K = "oldest_first_24k"
    NEWEST_FIRST_12K = "newest_first_12k"


class Capabilities(str, Enum):
    """The treatment of a required capability."""

    RECORD = "record"
    ENFORCE = "enforce"


class CapabilityDowngrade(str, Enum):
    """Whether a tolerant risk policy turns a capability reason into a warning."""

    BY_RISK_POLICY = "by_risk_policy"
    NEVER = "never"


class Confirmation(str, Enum):
    """The meaning of a confirmation by a person in an autonomous run."""

    INTENT_ONLY = "intent_only"
    USER_DEPENDENCY = "user_dependency"


class Divergence(str, Enum):
    """The treatment of a divergence artifact."""

    ARTIFACT = "artifact"
    EVENT = "event"


class RepeatedGaps(str, Enum):
    """Whether one advance records a gap twice that says the same."""

    RECORD = "record"
    ONCE = "once"


class EngineDefects(str, Enum):
    """Whether a run marks where the public engine would have failed or answered differently."""

    MARK = "mark"
    IGNORE = "ignore"


class UnsetCondition(str, Enum):
    """The behaviour of a run that would end although steps wait for unset variables."""

    PASS_OVER = "pass_over"
    ASK = "ask"


class LoopVariable(str, Enum):
    """The behaviour of a loop whose variable is not set."""

    REFUSE = "refuse"
    ASK = "ask"


class Answers(str, Enum):
    """The form of answers: the engine's own, or a union of kinds whose texts say what their data says."""

    ENGINE = "engine"
    UNION = "union"


class CriteriaText(str, Enum):
    """Which criteria of a step its prompt shows."""

    COMPOSITION_ONLY = "composition_only"
    ALL = "all"


ProfileName: TypeAlias = Literal["reference", "locked"]


class Profile(Struct, frozen=True):
    """One choice for every question."""

    name: ProfileName
    loop_limit: LoopLimit
    loop_decision: LoopDecision
    loop_id: LoopIdCheck
    loop_gate: LoopGate
    loop_banner: LoopBanner
    rewind_context: RewindContext
    recap: Recap
    capabilities: Capabilities
    capability_downgrade: CapabilityDowngrade
    confirmation: Confirmation
    divergence: Divergence
    repeated_gaps: RepeatedGaps
    engine_defects: EngineDefects
    unset_condition: UnsetCondition
    loop_variable: LoopVariable
    answers: Answers
    criteria_text: CriteriaText


REFERENCE = Profile(
    name="reference",
    loop_limit=LoopLimit.EXIT,
    loop_decision=LoopDecision.ASSUME_CONTINUE,
    loop_id=LoopIdCheck.IGNORE,
    loop_gate=LoopGate.LEAVE_OUT,
    loop_banner=LoopBanner.AS_ENGINE,
    rewind_context=RewindContext.RUN,
    recap=Recap.OLDEST_FIRST_24K,
    capabilities=Capabilities.RECORD,
    capability_downgrade=CapabilityDowngrade.BY_RISK_POLICY,
    confirmation=Confirmation.INTENT_ONLY,
    divergence=Divergence.ARTIFACT,
    repeated_gaps=RepeatedGaps.RECORD,
    engine_defects=EngineDefects.MARK,
    unset_condition=UnsetCondition.PASS_OVER,
    loop_variable=LoopVariable.REFUSE,
    answers=Answers.ENGINE,
    criteria_text=CriteriaText.COMPOSITION_ONLY,
)
LOCKED = Profile(
    name="locked",
    loop_limit=LoopLimit.REPORT,
    loop_decision=LoopDecision.REQUIRE,
    loop_id=LoopIdCheck.MATCH,
    loop_gate=LoopGate.RUN,
    loop_banner=LoopBanner.FULL,
    rewind_context=RewindContext.LINEAGE,
    recap=Recap.NEWEST_FIRST_12K,
    capabilities=Capabilities.ENFORCE,
    # The worked examples of the profile let the risk policy downgrade, so the choice is the same here.
    capability_downgrade=CapabilityDowngrade.BY_RISK_POLICY,
    confirmation=Confirmation.USER_DEPENDENCY,
    divergence=Divergence.EVENT,
    repeated_gaps=RepeatedGaps.ONCE,
    engine_defects=EngineDefects.IGNORE,
    unset_condition=UnsetCondition.ASK,
    loop_variable=LoopVariable.ASK,
    answers=Answers.UNION,
    criteria_text=CriteriaText.ALL,
)
PROFILES: dict[ProfileName, Profile] = {"reference": REFERENCE, "locked": LOCKED}


def profile_of(choice: ProfileName | Profile) -> Profile:
    """A profile by name; one that is given as an object stays as it is."""
    if isinstance(choice, Profile):
        return choice
    if choice not in PROFILES:
        raise ValueError(f"unknown profile '{choice}'{hint(str(choice), PROFILES)}")
    return PROFILES[choice]

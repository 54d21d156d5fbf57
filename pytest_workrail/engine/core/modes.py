"""Modes: how much a run may do on its own, and what that makes of the reasons against going on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.core.conditions import Context, is_met
from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.model.blockers import Gap
from pytest_workrail.engine.model.reasons import CapabilityUnavailable, CapabilityUnknown, Reason, UserOnlyDependency
from pytest_workrail.engine.model.words import AUTONOMIES, RISK_POLICIES, GateKind, Preferences, RiskPolicy
from workrail_lint.systems.workrail.model.ir import ConditionalConfirmation, EveryConfirmation, Program, ProgramStep


class Proceed(Struct, frozen=True):
    """Go on. `passed_over` become critical gaps, `tolerated` become warnings."""

    passed_over: tuple[Reason, ...]
    tolerated: tuple[Reason, ...]


class Block(Struct, frozen=True):
    """Stop. The first reason is the primary one."""

    reasons: tuple[Reason, ...]


Decision: TypeAlias = Proceed | Block


def decide(reasons: Sequence[Reason], preferences: Preferences, profile: Profile) -> Decision:
    """Block or go on; a reason that does not block is still disclosed."""
    blocking: list[Reason] = []
    tolerated: list[Reason] = []
    for reason in reasons:
        (tolerated if _is_tolerated(reason, preferences.risk_policy, profile) else blocking).append(reason)
    if blocking and not preferences.never_stops:
        return Block(tuple(blocking))
    return Proceed(tuple(blocking), tuple(tolerated))


def _is_tolerated(reason: Reason, policy: RiskPolicy, profile: Profile) -> bool:
    match profile.capability_downgrade:
        case "never":
            return False
        case "by_risk_policy":
            if isinstance(reason, CapabilityUnknown):
                return policy != "conservative"
            return isinstance(reason, CapabilityUnavailable) and policy == "aggressive"


class BeyondRecommendation(Struct, frozen=True):
    """A preference that is bolder than the workflow recommends."""

    preference: str
    effective: str
    recommended: str


def beyond_recommendation(program: Program, preferences: Preferences) -> tuple[BeyondRecommendation, ...]:
    """The preferences that are bolder than recommended, autonomy first."""
    recommended = program.recommended_preferences
    if recommended is None:
        return ()
    checks: tuple[tuple[str, str, str | None, tuple[str, ...]], ...] = (
        ("autonomy", preferences.autonomy, recommended.recommended_autonomy, AUTONOMIES),
        ("riskPolicy", preferences.risk_policy, recommended.recommended_risk_policy, RISK_POLICIES),
    )
    return tuple(
        BeyondRecommendation(name, effective, limit)
        for name, effective, limit, order in checks
        if limit is not None and order.index(effective) > order.index(limit)
    )


def recommendation_warnings(program: Program, preferences: Preferences) -> tuple[Gap, ...]:
    """One warning for each preference that is bolder than the workflow recommends."""
    return tuple(
        Gap(
            "warning",
            "unexpected",
            "evaluation_error",
            f"Effective {each.preference} '{each.effective}' exceeds workflow recommendation '{each.recommended}'.",
        )
        for each in beyond_recommendation(program, preferences)
    )


Confirmer: TypeAlias = Literal["person", "coordinator"]


def required_gate(step: ProgramStep, context: Context) -> GateKind | None:
    """Return who has to confirm the step before it counts; None if no confirmation is needed."""
    match step.confirmation:
        case EveryConfirmation(gate=gate):
            return gate
        case ConditionalConfirmation(gate=gate, condition=condition) if is_met(condition, context):
            return gate
        case _:
            return None


def needs_person(step: ProgramStep, context: Context) -> bool:
    """Whether a person has to confirm: always, unless the author named the coordinator for it."""
    return confirmed_by(step, context) == "person"


def confirmed_by(step: ProgramStep, context: Context) -> Confirmer | None:
    """Who confirms the step, if it has to be confirmed."""
    if required_gate(step, context) is None:
        return None
    return "person" if step.may_need_person else "coordinator"


def is_autonomous(context: Context) -> bool:
    """Whether the run is driven without a person at the other end, as gates understand it."""
    return context.get("is_autonomous") == "true"


def _stops_for_person(step: ProgramStep, context: Context, preferences: Preferences, profile: Profile) -> bool:
    """Whether the missing person is a reason of its own. In a guided run the person is there: advancing is agreeing."""
    match profile.confirmation:
        case "intent_only":
            return False
        case "user_dependency":
            return preferences.autonomy != "guided" and needs_person(step, context)


def approval_reason(
    step: ProgramStep, context: Context, preferences: Preferences, profile: Profile
) -> UserOnlyDependency | None:
    """The approval an advance of this step lacks; `context` is the render context."""
    if not _stops_for_person(step, context, preferences, profile):
        return None
    return UserOnlyDependency("needs_user_approval", step.id)


def autonomous_gate(step: ProgramStep, context: Context, preferences: Preferences, profile: Profile) -> GateKind | None:
    """The gate at which a fresh advance of an autonomous run stops; `context` is the render context."""
    if not is_autonomous(context) or _stops_for_person(step, context, preferences, profile):
        return None
    return required_gate(step, context)


def reports_confirmation(step: ProgramStep, context: Context, profile: Profile) -> bool:
    """Whether the pending step is shown as one to be confirmed. Of parallel steps only a person's word counts."""
    if step.type != "parallel":
        return required_gate(step, context) is not None
    match profile.confirmation:
        case "intent_only":
            return False
        case "user_dependency":
            return needs_person(step, context)


def waits_for_confirmation(requires_confirmation: bool, preferences: Preferences, profile: Profile) -> bool:
    """Whether the agent has to wait for a person before it goes on with the pending step."""
    match profile.confirmation:
        case "intent_only":
            return requires_confirmation
        case "user_dependency":
            return requires_confirmation and not preferences.never_stops

"""Confirmations: who has to agree before a step counts as done, and what that means in each mode."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pytest_workrail.engine.core.conditions import Context, evaluate
from pytest_workrail.engine.core.modes import Preferences
from pytest_workrail.engine.core.profiles import Confirmation, Profile
from pytest_workrail.engine.model.reasons import UserOnlyDependency
from pytest_workrail.engine.model.words import GateKind

Confirmer: TypeAlias = Literal["person", "coordinator"]


def required_gate(step: dict[str, Any], context: Context) -> GateKind | None:
    """Who has to confirm the step before it counts; None when nobody has to."""
    confirmation = step["confirmation"]
    match confirmation["kind"]:
        case "always":
            return confirmation["gate"]  # type: ignore[no-any-return]
        case "when" if evaluate(confirmation["condition"], context):
            return confirmation["gate"]  # type: ignore[no-any-return]
        case _:
            return None


def needs_person(step: dict[str, Any], context: Context) -> bool:
    """Whether a person has to confirm: always, unless the author named the coordinator for it."""
    return confirmed_by(step, context) == "person"


def confirmed_by(step: dict[str, Any], context: Context) -> Confirmer | None:
    """Who confirms the step, if it has to be confirmed."""
    gate = required_gate(step, context)
    if gate is None:
        return None
    return "person" if gate == "human_approval" or not step["confirmation"].get("explicit", False) else "coordinator"


def is_autonomous(context: Context) -> bool:
    """Whether the run is driven without a person at the other end, as gates understand it."""
    return context.get("is_autonomous") == "true"


def _stops_for_person(step: dict[str, Any], context: Context, preferences: Preferences, profile: Profile) -> bool:
    """Whether the missing person is a reason of its own. In a guided run the person is there: advancing is agreeing."""
    match profile.confirmation:
        case Confirmation.INTENT_ONLY:
            return False
        case Confirmation.USER_DEPENDENCY:
            return preferences.autonomy != "guided" and needs_person(step, context)


def approval_reason(
    step: dict[str, Any], context: Context, preferences: Preferences, profile: Profile
) -> UserOnlyDependency | None:
    """The approval an advance of this step lacks; `context` is the render context."""
    if not _stops_for_person(step, context, preferences, profile):
        return None
    return UserOnlyDependency("needs_user_approval", step["id"])


def autonomous_gate(
    step: dict[str, Any], context: Context, preferences: Preferences, profile: Profile
) -> GateKind | None:
    """The gate at which a fresh advance of an autonomous run stops; `context` is the render context."""
    if not is_autonomous(context) or _stops_for_person(step, context, preferences, profile):
        return None
    return required_gate(step, context)


def reports_confirmation(step: dict[str, Any], context: Context, profile: Profile) -> bool:
    """Whether the pending step is shown as one to be confirmed. Of parallel steps only a person's word counts."""
    if step["type"] != "parallel":
        return required_gate(step, context) is not None
    match profile.confirmation:
        case Confirmation.INTENT_ONLY:
            return False
        case Confirmation.USER_DEPENDENCY:
            return needs_person(step, context)


def waits_for_confirmation(requires_confirmation: bool, preferences: Preferences, profile: Profile) -> bool:
    """Whether the agent is told to wait for a person before it goes on with the pending step."""
    match profile.confirmation:
        case Confirmation.INTENT_ONLY:
            return requires_confirmation
        case Confirmation.USER_DEPENDENCY:
            return requires_confirmation and not preferences.never_stops

"""Modes: how much a run may do on its own, and what that makes of the reasons against going on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, get_args

from pytest_workrail.engine.core.profiles import CapabilityDowngrade, Profile
from pytest_workrail.engine.model.reasons import CapabilityUnavailable, CapabilityUnknown, Gap, Reason
from pytest_workrail.engine.model.words import Autonomy, RiskPolicy

# Both from the most careful to the boldest.
AUTONOMIES: tuple[Autonomy, ...] = get_args(Autonomy)
RISK_POLICIES: tuple[RiskPolicy, ...] = get_args(RiskPolicy)


class Preferences(NamedTuple):
    """What the person behind a run allows it."""

    autonomy: Autonomy = "guided"
    risk_policy: RiskPolicy = "conservative"

    @property
    def never_stops(self) -> bool:
        """True when a run records what is wrong and goes on."""
        return self.autonomy == "full_auto_never_stop"


DEFAULT_PREFERENCES = Preferences()
PRESETS: tuple[Preferences, ...] = (
    DEFAULT_PREFERENCES,
    Preferences("full_auto_stop_on_user_deps", "balanced"),
    Preferences("full_auto_never_stop", "conservative"),
)


class Proceed(NamedTuple):
    """Go on. `passed_over` become critical gaps, `tolerated` become warnings."""

    passed_over: tuple[Reason, ...]
    tolerated: tuple[Reason, ...]


class Block(NamedTuple):
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
        case CapabilityDowngrade.NEVER:
            return False
        case CapabilityDowngrade.BY_RISK_POLICY:
            if isinstance(reason, CapabilityUnknown):
                return policy != "conservative"
            return isinstance(reason, CapabilityUnavailable) and policy == "aggressive"


class BeyondRecommendation(NamedTuple):
    """A preference that is bolder than the workflow recommends."""

    preference: str
    effective: str
    recommended: str


def beyond_recommendation(ir: dict[str, Any], preferences: Preferences) -> tuple[BeyondRecommendation, ...]:
    """The preferences that are bolder than recommended, autonomy first."""
    recommended = ir.get("recommendedPreferences")
    if not recommended:
        return ()
    checks: tuple[tuple[str, str, str | None, tuple[str, ...]], ...] = (
        ("autonomy", preferences.autonomy, recommended.get("recommendedAutonomy"), AUTONOMIES),
        ("riskPolicy", preferences.risk_policy, recommended.get("recommendedRiskPolicy"), RISK_POLICIES),
    )
    return tuple(
        BeyondRecommendation(name, effective, limit)
        for name, effective, limit, order in checks
        if limit is not None and order.index(effective) > order.index(limit)
    )


def recommendation_warnings(ir: dict[str, Any], preferences: Preferences) -> tuple[Gap, ...]:
    """One warning for each preference that is bolder than the workflow recommends."""
    return tuple(
        Gap(
            "warning",
            "unexpected",
            "evaluation_error",
            f"Effective {each.preference} '{each.effective}' exceeds workflow recommendation '{each.recommended}'.",
        )
        for each in beyond_recommendation(ir, preferences)
    )

"""Broken profiles: each switch makes the two profiles agree where they must part, or part where they must agree."""

from __future__ import annotations

from changed import replace

from pytest_workrail.locks.sabotage import breaks
from workrail_lint.base.result import Err

PROFILE_OF = "pytest_workrail.engine.core.profiles:profile_of"


def everywhere(original, **choices):
    """Profiles that make these choices, whatever their name."""
    return lambda choice: replace(original(choice), **choices)


@breaks("profile-loop-limit", at=PROFILE_OF)
def limits_are_never_reported(original):
    """In both profiles a loop ends at its limit without a word."""

    return everywhere(original, loop_limit="exit")


@breaks("profile-loop-decision", at=PROFILE_OF)
def decisions_are_always_assumed(original):
    """In both profiles a loop without a decision goes on."""

    return everywhere(original, loop_decision="assume_continue")


@breaks("profile-loop-id", at=PROFILE_OF)
def any_loop_may_be_named(original):
    """In both profiles a decision may name any loop."""

    return everywhere(original, loop_id="ignore")


@breaks("profile-rewind-context", at=PROFILE_OF)
def rewinds_keep_the_context(original):
    """In both profiles a node sees the newest context of its run."""

    return everywhere(original, rewind_context="run")


@breaks("profile-recap", at=PROFILE_OF)
def recaps_are_told_one_way(original):
    """In both profiles recovery text begins with the oldest notes."""

    return everywhere(original, recap="oldest_first_24k")


@breaks("profile-capabilities", at=PROFILE_OF)
def capabilities_are_only_recorded(original):
    """In both profiles a required capability blocks nothing."""

    return everywhere(original, capabilities="record")


@breaks("profile-capability-downgrade", at="pytest_workrail.engine.core.modes:decide")
def what_is_tolerated_is_not_told(original):
    """A reason that the risk policy lets pass leaves no record."""

    def decide(reasons, preferences, profile):
        from pytest_workrail.engine.core.modes import Proceed

        decision = original(reasons, preferences, profile)
        return replace(decision, tolerated=()) if isinstance(decision, Proceed) else decision

    return decide


@breaks("profile-confirmation", at=PROFILE_OF)
def confirmations_are_only_announced(original):
    """In both profiles a missing person stops nobody."""

    return everywhere(original, confirmation="intent_only")


@breaks("profile-divergence", at=PROFILE_OF)
def divergences_are_only_artifacts(original):
    """In both profiles leaving the path makes no event."""

    return everywhere(original, divergence="artifact")


@breaks("profile-repeated-gaps", at=PROFILE_OF)
def gaps_are_always_repeated(original):
    """In both profiles the same gap is recorded twice."""

    return everywhere(original, repeated_gaps="record")


@breaks("profile-never-stop-never-blocks", at="pytest_workrail.engine.core.modes:decide")
def never_stopping_has_limits(original):
    """A run that never stops is blocked by a missing contract."""

    def decide(reasons, preferences, profile):
        from pytest_workrail.engine.core.modes import Block
        from pytest_workrail.engine.model.reasons import EvaluationFailed, MissingRequiredOutput

        severe = tuple(reason for reason in reasons if isinstance(reason, MissingRequiredOutput | EvaluationFailed))
        return Block(severe) if severe else original(reasons, preferences, profile)

    return decide


@breaks("profile-not-in-the-log", at="pytest_workrail.engine.protocol.engine:Engine._continue")
def sessions_belong_to_a_profile(original):
    """Only the profile that continued a session first may continue it."""
    owners = {}

    def continue_(self, request):
        from pytest_workrail.engine.protocol.errors import precondition

        place = self.place_of(request.token)
        if place.is_ok and owners.setdefault(place.value.session_id, self.profile.name) != self.profile.name:
            return Err(precondition("The session belongs to another profile.", "Use that profile."))
        return original(self, request)

    return continue_


@breaks("profile-is-data", at="pathlib:Path.read_text")
def code_asks_for_the_name_of_a_profile(original):
    """A module of the engine compares the name of a profile."""

    def read_text(self, *arguments, **others):
        text = original(self, *arguments, **others)
        is_ours = self.suffix == ".py" and self.parent.name in ("engine", "protocol") and self.name != "profiles.py"
        return text + "\n\nASKS = profile.name == 'locked'\n" if is_ours else text

    return read_text

"""What people and hosts do to a run, outside of the agent's tools: preferences, answers, observations.

In a test, the bench does it for them. Each action appends an event; nothing on record is changed.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from pytest_workrail.engine.core.modes import Preferences
from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.events import (
    CapabilityObserved,
    CapabilityObservedData,
    DivergenceData,
    DivergenceRecorded,
    PreferencesChanged,
)
from pytest_workrail.engine.model.reasons import UserOnlyDependency
from pytest_workrail.engine.model.words import UserDependency as DependencyDetail
from pytest_workrail.engine.protocol.sessions import Session, SessionWriter, Written, find_node
from pytest_workrail.engine.protocol.start import preferences_data
from pytest_workrail.engine.store.loaded import AppendPermit
from pytest_workrail.engine.store.plan import AppendPlan, EventBuilder, preferences_plan
from pytest_workrail.engine.tokens.issuer import NodeAddress
from workrail_lint.base.result import Err


class Dependencies:
    """What only a person can provide, as a scenario declares it, until it says that the person did."""

    def __init__(self) -> None:
        self._declared: list[UserOnlyDependency] = []

    def declare(self, dependency: UserOnlyDependency) -> None:
        """From now on the step needs a person."""
        self._declared.append(dependency)

    def answer(self, step_id: str, detail: DependencyDetail) -> None:
        """The person has provided it."""
        self._declared = [each for each in self._declared if (each.step_id, each.detail) != (step_id, detail)]

    def of(self, step_id: str) -> tuple[UserOnlyDependency, ...]:
        """What a step still waits for, in declared order."""
        return tuple([each for each in self._declared if each.step_id == step_id])


class Operator(Struct, frozen=True):
    """Writes what people and hosts say about a node."""

    writer: SessionWriter

    def prefer(self, place: NodeAddress, preferences: Preferences) -> Written:
        """A person sets the preferences at a node; they hold from there on down."""

        def plan(builder: EventBuilder, session: Session) -> AppendPlan:
            # Numbered by what was said at this node before, so that the name stays the same for the same change.
            said = sum(
                isinstance(event, PreferencesChanged) and event.scope.node_id == place.node_id
                for event in session.truth.events
            )
            change = preferences_data(preferences, "user", f"prefs_user_{said}")
            return preferences_plan(builder, place.node_id, change)

        return self._write(place, plan)

    def observe(self, place: NodeAddress, observation: CapabilityObservedData) -> Written:
        """A host reports on a capability."""

        def plan(builder: EventBuilder, _: Session) -> AppendPlan:
            key = keys.capability_observed(place.session_id, observation.cap_obs_id)
            builder.write(CapabilityObserved, key, observation, place.node_id)
            return builder.plan()

        return self._write(place, plan)

    def diverge(self, place: NodeAddress, divergence: DivergenceData) -> Written:
        """A host reports that the agent left the path."""

        def plan(builder: EventBuilder, _: Session) -> AppendPlan:
            key = keys.divergence_recorded(place.session_id, divergence.divergence_id)
            builder.write(DivergenceRecorded, key, divergence, place.node_id)
            return builder.plan()

        return self._write(place, plan)

    def _write(self, place: NodeAddress, plan: Callable[[EventBuilder, Session], AppendPlan]) -> Written:
        def append(permit: AppendPermit, session: Session) -> Written:
            found = find_node(session, place)
            if isinstance(found, Err):
                return found
            return self.writer.append(permit, plan(self.writer.builder(session, place.run_id), session))

        return self.writer.write(place.session_id, append)

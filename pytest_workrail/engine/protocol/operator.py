"""What people and hosts do to a run, outside of the agent's tools: preferences, answers, observations.

A test bench plays these people. Everything they say is an event of its own; nothing on record is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_workrail.engine.core.modes import Preferences
from pytest_workrail.engine.core.reasons import UserOnlyDependency
from pytest_workrail.engine.core.vocabulary import UserOnlyDependency as DependencyDetail
from pytest_workrail.engine.events import keys
from pytest_workrail.engine.events.judgements import CapabilityObservedData, DivergenceData
from pytest_workrail.engine.events.kinds import CapabilityObserved, DivergenceRecorded, PreferencesChanged
from pytest_workrail.engine.events.plan import AppendPlan, Pen, preferences_plan
from pytest_workrail.engine.protocol.sessions import Session, find_node
from pytest_workrail.engine.protocol.start import preferences_data
from pytest_workrail.engine.protocol.writer import Ledger, Written
from pytest_workrail.engine.store.permit import Witness
from pytest_workrail.engine.tokens.issuer import Place
from workrail_lint.base.result import Err


@dataclass(slots=True)
class Dependencies:
    """What only a person can provide, as a scenario declares it, until it says that the person did."""

    _declared: list[UserOnlyDependency] = field(default_factory=list)

    def declare(self, dependency: UserOnlyDependency) -> None:
        """From now on the step needs a person."""
        self._declared.append(dependency)

    def answer(self, step_id: str, detail: DependencyDetail) -> None:
        """The person has provided it."""
        self._declared = [each for each in self._declared if (each.step_id, each.detail) != (step_id, detail)]

    def of(self, step_id: str) -> tuple[UserOnlyDependency, ...]:
        """What a step still waits for, in declared order."""
        return tuple(each for each in self._declared if each.step_id == step_id)


@dataclass(frozen=True, slots=True)
class People:
    """Writes what people and hosts say about a node."""

    ledger: Ledger

    def prefer(self, place: Place, preferences: Preferences) -> Written:
        """A person sets the preferences at a node; they hold from there on down."""

        def plan(pen: Pen, session: Session) -> AppendPlan:
            # Numbered by what was said at this node before, so that the name stays the same for the same change.
            said = sum(
                isinstance(event, PreferencesChanged) and event.scope.node_id == place.node_id
                for event in session.truth.events
            )
            change = preferences_data(preferences, "user", f"prefs_user_{said}")
            return preferences_plan(pen, place.node_id, change)

        return self._write(place, plan)

    def observe(self, place: Place, observation: CapabilityObservedData) -> Written:
        """A host reports on a capability."""

        def plan(pen: Pen, _: Session) -> AppendPlan:
            key = keys.capability_observed(place.session_id, observation.cap_obs_id)
            pen.write(CapabilityObserved, key, observation, place.node_id)
            return pen.plan()

        return self._write(place, plan)

    def diverge(self, place: Place, divergence: DivergenceData) -> Written:
        """A host reports that the agent left the path."""

        def plan(pen: Pen, _: Session) -> AppendPlan:
            key = keys.divergence_recorded(place.session_id, divergence.divergence_id)
            pen.write(DivergenceRecorded, key, divergence, place.node_id)
            return pen.plan()

        return self._write(place, plan)

    def _write(self, place: Place, plan: Callable[[Pen, Session], AppendPlan]) -> Written:
        def append(witness: Witness, session: Session) -> Written:
            found = find_node(session, place)
            if isinstance(found, Err):
                return found
            return self.ledger.append(witness, plan(self.ledger.pen(session, place.run_id), session))

        return self.ledger.write(place.session_id, append)

"""Coverage points: the single things a run can show about a workflow."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Kind(str, Enum):
    """What a point is about, in the order reports show."""

    STEP = "step"
    CONDITION = "condition"
    LOOP = "loop"
    FRAGMENT = "fragment"
    GATE = "gate"
    LEVEL = "level"
    CONSEQUENCE = "consequence"
    BLOCKER = "blocker"
    CONTRACT = "contract"
    GAP = "gap"
    DECIDES = "decides"
    ORDER = "order"
    LEFT_OUT = "left-out"


# Kinds that are counted only on request: what a suite has to show so that few changes of a workflow go unnoticed.
STRONG = frozenset({Kind.DECIDES, Kind.ORDER, Kind.LEFT_OUT})
LEFT_OUT = "accepted or refused"


# The cases of a gate: the agent was told to wait for somebody, or told that it need not.
ASKED, FREE = "asked", "free"

# The case of a condition whose variables are not set, where setting them would make it hold.
UNSET = "unset"
# What such a condition costs a run under a profile that asks: the blocker, and the gap of a run that never stops.
MISSING_KEY = "MISSING_CONTEXT_KEY"


class Point(NamedTuple):
    """One case at one place. A step inside a loop has the place `<loop>/<step>`."""

    kind: Kind
    place: str
    case: str

    @property
    def name(self) -> str:
        return f"{self.kind.value}:{self.place}:{self.case}"


def place_of(step_id: str, loop_path: tuple[tuple[str, int], ...] = ()) -> str:
    """Where a step stands, whatever its iteration."""
    return f"{loop_path[-1][0]}/{step_id}" if loop_path else step_id


def truth_case(holds: bool) -> str:
    """The case of a condition that came out one way."""
    return "true" if holds else "false"


def fragment_place(place: str, fragment_id: str) -> str:
    return f"{place}#{fragment_id}"


def dimension_place(place: str, assessment_id: str, dimension_id: str) -> str:
    return f"{place}#{assessment_id}.{dimension_id}"


def consequence_place(place: str, for_assessment: str | None) -> str:
    return place if for_assessment is None else f"{place}#{for_assessment}"


def gate_place(place: str) -> str:
    """Where the condition of a confirmation stands."""
    return f"{place}#confirmation"

"""Coverage points: the single things a run can show about a workflow, and where each is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_workrail.engine.model.places import LoopPath, LoopPosition

if TYPE_CHECKING:
    from pytest_workrail.coverage.goals import GoalKind

# The case of a dimension that an assessment was submitted without.
LEFT_OUT = "accepted or refused"
# The cases of a gate: the agent was told to wait for somebody, or told that it need not.
ASKED, FREE = "asked", "free"
# The case of a condition whose variables are not set, where setting them would make it hold.
UNSET = "unset"
# What such a condition costs a run under a profile that asks: the blocker, and the gap of a run that never stops.
MISSING_KEY = "MISSING_CONTEXT_KEY"


class Point(NamedTuple):
    """One case at one place. A step inside a loop has the place `<loop>/<step>`."""

    kind: type[GoalKind]
    place: str
    case: str

    @property
    def name(self) -> str:
        return f"{self.kind.name}:{self.place}:{self.case}"

    @property
    def step_place(self) -> str:
        """The place of the step or loop that the point is about."""
        return self.place.partition("#")[0]


def place_of(step_id: str, loop_path: LoopPath | tuple[tuple[str, int], ...] = ()) -> str:
    """Return where a step is, whatever its iteration. A transcript names its loops in tuples."""
    if not loop_path:
        return step_id
    loop = loop_path[-1]
    return f"{loop.loop_id if isinstance(loop, LoopPosition) else loop[0]}/{step_id}"


def truth_case(holds: bool) -> str:
    """Return the case of a condition that came out one way."""
    return "true" if holds else "false"


def fragment_place(place: str, fragment_id: str) -> str:
    return f"{place}#{fragment_id}"


def dimension_place(place: str, assessment_id: str, dimension_id: str) -> str:
    return f"{place}#{assessment_id}.{dimension_id}"


def consequence_place(place: str, for_assessment: str | None) -> str:
    return place if for_assessment is None else f"{place}#{for_assessment}"


def gate_place(place: str) -> str:
    """Return where the condition of a confirmation is."""
    return f"{place}#confirmation"

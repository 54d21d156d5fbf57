"""The coverage of all workflows of a test session: what there was to show, what was shown, and by which test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from pytest_workrail.coverage.points import Kind, Point
from pytest_workrail.engine.core.profiles import PROFILES
from workrail_lint.base.js import Json

WorkflowKey: TypeAlias = tuple[str, str]


class Score(NamedTuple):
    """How many of how many."""

    covered: int
    points: int

    @property
    def percent(self) -> float:
        """Rounded down, so that only what is complete says 100. Nothing to show is nothing shown."""
        return self.covered * 10000 // self.points / 100 if self.points else 0.0

    def reaches(self, percent: float) -> bool:
        return self.covered * 100 >= percent * self.points and (self.points > 0 or percent <= 0)


class WorkflowTally:
    """One workflow in one version."""

    __slots__ = ("_goals", "_tests", "workflow_hash", "workflow_id")

    def __init__(self, workflow_id: str, workflow_hash: str) -> None:
        self.workflow_id = workflow_id
        self.workflow_hash = workflow_hash
        self._goals: dict[str, tuple[Point, ...]] = {}
        self._tests: dict[Point, set[str]] = {}

    @property
    def profiles(self) -> list[str]:
        """The profiles it was run under, in the order of the table of profiles."""
        return [name for name in PROFILES if name in self._goals]

    def expect(self, profile: str, goals: tuple[Point, ...]) -> None:
        """Note what there is to show under a profile."""
        self._goals[profile] = goals

    def cover(self, points: Iterable[Point], test: str) -> None:
        """Note what a test has shown."""
        for point in points:
            self._tests.setdefault(point, set()).add(test)

    def points(self) -> Iterator[tuple[Point, list[str]]]:
        """Every point and the tests that have shown it, in the order of the workflow."""
        for point in dict.fromkeys(point for profile in self.profiles for point in self._goals[profile]):
            yield point, sorted(self._tests.get(point, ()))

    def score(self, kind: Kind | None = None) -> Score:
        """How much of a kind, or of everything, was shown."""
        tests = [tests for point, tests in self.points() if kind in (None, point.kind)]
        return Score(sum(map(bool, tests)), len(tests))

    def to_json(self) -> dict[str, Json]:
        """Everything, for another process."""
        return {
            "workflowId": self.workflow_id,
            "workflowHash": self.workflow_hash,
            "goals": {profile: [_to_json(point) for point in goals] for profile, goals in self._goals.items()},
            "tests": [[_to_json(point), list[Json](sorted(tests))] for point, tests in self._tests.items()],
        }

    def merge(self, state: dict[str, Any]) -> None:
        """Add what another process noted about the same workflow."""
        for profile, goals in state["goals"].items():
            self.expect(profile, tuple(map(_from_json, goals)))
        for point, tests in state["tests"]:
            for test in tests:
                self.cover([_from_json(point)], test)


class Tally:
    """All workflows."""

    def __init__(self) -> None:
        self._workflows: dict[WorkflowKey, WorkflowTally] = {}

    def __iter__(self) -> Iterator[WorkflowTally]:
        return (self._workflows[key] for key in sorted(self._workflows))

    def workflow(self, workflow_id: str, workflow_hash: str) -> WorkflowTally:
        """The tally of one workflow, begun if need be."""
        key = (workflow_id, workflow_hash)
        return self._workflows.setdefault(key, WorkflowTally(*key))

    def knows(self, workflow_id: str) -> bool:
        """Whether any version of a workflow is among them."""
        return any(known == workflow_id for known, _ in self._workflows)

    def score(self, kind: Kind | None = None) -> Score:
        """The sum over all workflows."""
        scores = [workflow.score(kind) for workflow in self]
        return Score(sum(score.covered for score in scores), sum(score.points for score in scores))

    def to_json(self) -> list[Json]:
        return [workflow.to_json() for workflow in self]

    def merge(self, state: list[dict[str, Any]]) -> None:
        for workflow in state:
            self.workflow(workflow["workflowId"], workflow["workflowHash"]).merge(workflow)


def _to_json(point: Point) -> list[Json]:
    return [point.kind.value, point.place, point.case]


def _from_json(value: list[str]) -> Point:
    kind, place, case = value
    return Point(Kind(kind), place, case)

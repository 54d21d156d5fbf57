"""The workflow coverage of a test session: which goals there are, which tests show them, as a table and as JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from pytest_workrail.agents.agent import Transcript
from pytest_workrail.coverage.goals import KINDS, goals, kind_named
from pytest_workrail.coverage.observe import observe
from pytest_workrail.coverage.points import GoalKind, Point
from pytest_workrail.engine.core.profiles import PROFILES, ProfileName
from workrail_lint.base.js import Json
from workrail_lint.base.wording import columns, counted

WorkflowKey: TypeAlias = tuple[str, str]

_SHORT_HASH = len("sha256:") + 8
_MOST_PATHS = 5


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


class PointState(NamedTuple):
    """A point by its names."""

    kind: str
    place: str
    case: str


class WorkflowState(Struct, rename="camel"):
    """The notes of one process about a workflow, for another one: goals by profile, and the tests of each point."""

    workflow_id: str
    workflow_hash: str
    goals: dict[ProfileName, list[PointState]]
    tests: list[tuple[PointState, list[str]]]


class WorkflowTally:
    """One workflow in one version."""

    __slots__ = ("_goals", "_tests", "workflow_hash", "workflow_id")

    def __init__(self, workflow_id: str, workflow_hash: str) -> None:
        self.workflow_id = workflow_id
        self.workflow_hash = workflow_hash
        self._goals: dict[ProfileName, tuple[Point, ...]] = {}
        self._tests: dict[Point, set[str]] = {}

    @property
    def profiles(self) -> list[ProfileName]:
        """The profiles it was run under, in the order of the table of profiles."""
        return [name for name in PROFILES if name in self._goals]

    def expect(self, profile: ProfileName, goals: tuple[Point, ...]) -> None:
        """Note what there is to show under a profile."""
        self._goals[profile] = goals

    def cover(self, points: Iterable[Point], test: str) -> None:
        """Note what a test has shown."""
        for point in points:
            self._tests.setdefault(point, set()).add(test)

    def points(self) -> Iterator[tuple[Point, list[str]]]:
        """Yield every point and the tests that have shown it, in the order of the workflow."""
        for point in dict.fromkeys(point for profile in self.profiles for point in self._goals[profile]):
            yield point, sorted(self._tests.get(point, ()))

    def score(self, kind: type[GoalKind] | None = None) -> Score:
        """Return how much of a kind, or of everything, was shown."""
        tests = [tests for point, tests in self.points() if kind in (None, point.kind)]
        return Score(sum(map(bool, tests)), len(tests))

    @property
    def state(self) -> WorkflowState:
        """Everything, for another process."""
        goals = {profile: list(map(_state_of, points)) for profile, points in self._goals.items()}
        tests = [(_state_of(point), sorted(tests)) for point, tests in self._tests.items()]
        return WorkflowState(self.workflow_id, self.workflow_hash, goals, tests)

    def merge(self, state: WorkflowState) -> None:
        """Add what another process noted about the same workflow."""
        for profile, points in state.goals.items():
            self.expect(profile, tuple(map(_point_of, points)))
        for point, tests in state.tests:
            for test in tests:
                self.cover([_point_of(point)], test)


class Tally:
    """All workflows."""

    def __init__(self) -> None:
        self._workflows: dict[WorkflowKey, WorkflowTally] = {}

    def __iter__(self) -> Iterator[WorkflowTally]:
        return (self._workflows[key] for key in sorted(self._workflows))

    def workflow(self, workflow_id: str, workflow_hash: str) -> WorkflowTally:
        """Return the tally of one workflow, begun if need be."""
        key = (workflow_id, workflow_hash)
        return self._workflows.setdefault(key, WorkflowTally(*key))

    def knows(self, workflow_id: str) -> bool:
        """Return whether any version of a workflow is among them."""
        return any(known == workflow_id for known, _ in self._workflows)

    def score(self, kind: type[GoalKind] | None = None) -> Score:
        """Return the sum over all workflows."""
        scores = [workflow.score(kind) for workflow in self]
        return Score(sum(score.covered for score in scores), sum(score.points for score in scores))

    def merge(self, state: Iterable[WorkflowState]) -> None:
        for workflow in state:
            self.workflow(workflow.workflow_id, workflow.workflow_hash).merge(workflow)


def _state_of(point: Point) -> PointState:
    return PointState(point.kind.name, point.place, point.case)


def _point_of(state: PointState) -> Point:
    return Point(kind_named(state.kind), state.place, state.case)


class CoverageSession:
    """Collects runs. Under xdist every worker has one, and the controller merges them."""

    def __init__(self, *, strong: bool = False) -> None:
        self._strong = strong
        self.tally = Tally()
        self._held: dict[str, list[tuple[WorkflowTally, frozenset[Point]]]] = {}

    def record(self, test: str, transcript: Transcript) -> None:
        """A run that a test made."""
        workflow = self.tally.workflow(transcript.workflow_id, transcript.workflow_hash)
        if transcript.profile not in workflow.profiles:
            profile = PROFILES[transcript.profile]
            workflow.expect(transcript.profile, goals(transcript.program, profile, strong=self._strong))
        self._held.setdefault(test, []).append((workflow, observe(transcript, strong=self._strong)))

    def test_finished(self, test: str, passed: bool) -> None:
        """A test ended. Its runs count only if it passed."""
        for workflow, points in self._held.pop(test, ()):
            if passed:
                workflow.cover(points, test)

    def worker_state(self) -> list[Json]:
        """Return what a worker sends to the controller."""
        state: list[Json] = msgspec.to_builtins([workflow.state for workflow in self.tally])
        return state

    def merge(self, state: Any) -> None:
        """Take in what a worker found."""
        self.tally.merge(msgspec.convert(state, list[WorkflowState]))


def table(tally: Tally, *, missing: bool = False) -> list[str]:
    """Return one line for each workflow and one for all of them; with `missing`, the points that are not covered."""
    kinds = [kind for kind in KINDS if tally.score(kind).points]
    rows = [["workflow", *(f"{kind.name}s" for kind in kinds), "total"]]
    labels = _labels(tally)
    rows += [_row(labels[index], workflow, kinds) for index, workflow in enumerate(tally)]
    rows.append(_row("TOTAL", tally, kinds))
    lines = columns(rows, numbers=True)
    if missing:
        for label, workflow in zip(labels, tally, strict=True):
            absent = [point.name for point, tests in workflow.points() if not tests]
            if absent:
                lines += ["", f"{label}, not covered:", *(f"  {name}" for name in absent)]
    return lines


def incomplete_workflows(tally: Tally) -> list[str]:
    """Return the ids of the workflows of which something is not covered."""
    return [each.workflow_id for each in tally if each.score().covered < each.score().points]


def closing_command(tally: Tally, paths: Sequence[str] = ()) -> str:
    """Return how to get the scenarios that are missing. `paths` are the files of the workflows, if they are known."""
    score = tally.score()
    named = " ".join(map(shlex.quote, paths)) if 0 < len(paths) <= _MOST_PATHS else "WORKFLOW…"
    missing = counted(score.points - score.covered, "goal")
    return f"{missing} not covered; `workrail-test generate {named} --out DIR` writes scenarios for them"


def _labels(tally: Tally) -> list[str]:
    """Return the ids, with the beginning of the hash if one id has several versions."""
    ids = [workflow.workflow_id for workflow in tally]
    return [
        workflow.workflow_id
        if ids.count(workflow.workflow_id) == 1
        else f"{workflow.workflow_id} ({workflow.workflow_hash[:_SHORT_HASH]})"
        for workflow in tally
    ]


def _row(label: str, of: Tally | WorkflowTally, kinds: list[type[GoalKind]]) -> list[str]:
    cells = [_fraction(of.score(kind)) for kind in kinds]
    score = of.score()
    return [label, *cells, f"{_fraction(score)} {int(score.percent)}%"]


def _fraction(score: Score) -> str:
    return f"{score.covered}/{score.points}" if score.points else "-"


def document(tally: Tally) -> str:
    """Everything as JSON, with the tests that covered each point."""
    value: dict[str, Json] = {
        "version": 1,
        "total": _score(tally.score()),
        "workflows": [_workflow(workflow) for workflow in tally],
    }
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _score(score: Score) -> dict[str, Json]:
    return {"covered": score.covered, "points": score.points, "percent": score.percent}


def _workflow(workflow: WorkflowTally) -> dict[str, Json]:
    kinds = {kind.name: workflow.score(kind) for kind in KINDS}
    return {
        "workflowId": workflow.workflow_id,
        "workflowHash": workflow.workflow_hash,
        "profiles": list[Json](workflow.profiles),
        "total": _score(workflow.score()),
        "kinds": {name: _score(score) for name, score in kinds.items() if score.points},
        "points": [
            {"kind": point.kind.name, "place": point.place, "case": point.case, "tests": list[Json](tests)}
            for point, tests in workflow.points()
        ],
    }

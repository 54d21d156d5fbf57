"""Putting coverage together: whatever was run, in whatever order it comes in, the result is the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

from covered import step, workflow
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail import api
from pytest_workrail.agents.agent import Transcript
from pytest_workrail.coverage.goals import KINDS
from pytest_workrail.coverage.points import Point
from pytest_workrail.coverage.report import CoverageSession, Score, Tally, document, table

WORKFLOWS = {
    "plain": workflow(step("look"), step("mend", runCondition={"var": "broken"}), step("tell", notesOptional=False)),
    "gated": workflow(step("ask", requireConfirmation=True), step("act"), id="demo.gated"),
}
AGENTS: dict[str, Any] = {"auto": api.auto(), "mute": api.stubborn("missing_notes"), "erratic": api.erratic(3)}


@cache
def made(name: str, agent: str, profile: Any, mode: Any, broken: bool) -> Transcript:
    context = {"broken": broken}
    return api.run(WORKFLOWS[name], AGENTS[agent], mode=mode, profile=profile, context=context).transcript


RUNS = st.tuples(
    st.sampled_from(sorted(WORKFLOWS)),
    st.sampled_from(sorted(AGENTS)),
    st.sampled_from(["reference", "locked"]),
    st.sampled_from(["guided", "full_auto_never_stop"]),
    st.booleans(),
)
# Runs, each with the test that makes it.
TESTS = st.lists(st.tuples(st.sampled_from(["test_a", "test_b", "test_c"]), RUNS), max_size=6)
Tests: TypeAlias = "Sequence[tuple[str, tuple[Any, ...]]]"


def session(tests: Tests, failed: frozenset[str] = frozenset()) -> CoverageSession:
    kept = CoverageSession()
    for name, run in tests:
        kept.record(name, made(*run))
    for name in sorted({name for name, _ in tests}):
        kept.test_finished(name, name not in failed)
    return kept


def through_json(part: CoverageSession) -> list[dict[str, Any]]:
    """What a worker hands over, as it arrives."""
    state: list[dict[str, Any]] = json.loads(json.dumps(part.worker_state()))
    return state


@settings(deadline=None)
@given(TESTS, st.sets(st.sampled_from(["test_a", "test_b", "test_c"])))
def test_what_is_covered_is_a_goal_and_was_shown_by_a_test_that_passed(tests: Tests, failed: set[str]) -> None:
    tally = session(tests, frozenset(failed)).tally
    for told in tally:
        points = [point for point, _ in told.points()]
        assert len(points) == len(set(points))
        for _, covering in told.points():
            assert set(covering) <= {name for name, _ in tests} - failed
        assert 0 <= told.score().covered <= told.score().points == len(points)
        assert sum(told.score(kind).points for kind in KINDS) == len(points)
    assert tally.score().points == sum(told.score().points for told in tally)


@settings(deadline=None)
@given(TESTS, st.lists(st.integers(0, 2), min_size=6, max_size=6), st.permutations(range(3)))
def test_parts_come_to_the_same_in_any_order_and_any_number_of_times(
    tests: Tests, worker_of: list[int], order: list[int]
) -> None:
    whole = document(session(tests).tally)
    parts = [session([each for each, at in zip(tests, worker_of, strict=False) if at == worker]) for worker in range(3)]
    merged = CoverageSession()
    for worker in (*order, *order[:2]):
        merged.merge(through_json(parts[worker]))
    assert document(merged.tally) == whole
    assert table(merged.tally, missing=True) == table(session(tests).tally, missing=True)
    merged.merge(through_json(merged))
    assert document(merged.tally) == whole


@settings(deadline=None)
@given(TESTS)
def test_more_runs_never_cover_less(tests: Tests) -> None:
    before: dict[Any, set[Point]] = {}
    for count in range(len(tests) + 1):
        tally = session(tests[:count]).tally
        now = {told.workflow_hash: {point for point, covering in told.points() if covering} for told in tally}
        assert all(now[key] >= covered for key, covered in before.items())
        before = now


@settings(deadline=None)
@given(st.integers(0, 500), st.integers(0, 500), st.floats(0, 100))
def test_a_score_is_never_rounded_up(covered: int, more: int, percent: float) -> None:
    score = Score(covered, covered + more)
    assert (score.percent == 100) is (more == 0 and covered > 0)
    assert score.reaches(0)
    if score.reaches(percent) and score.points:
        assert score.covered / score.points * 100 >= percent - 1e-9


def test_nothing_is_covered_by_nothing() -> None:
    nothing = {"version": 1, "total": {"covered": 0, "points": 0, "percent": 0.0}, "workflows": []}
    assert json.loads(document(Tally())) == nothing
    assert table(Tally()) == ["workflow  total", "TOTAL      - 0%"]

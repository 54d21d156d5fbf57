"""The tally: how many of how many points were shown, by which tests, and what another process adds to it."""

from __future__ import annotations

import json

import msgspec
import pytest
from msgspec.structs import replace

from pytest_workrail.coverage.goals import KINDS
from pytest_workrail.coverage.points import Point
from pytest_workrail.coverage.report import Score, Tally, WorkflowTally, closing_command

FIRST, SECOND = KINDS[:2]
A, B, C = Point(FIRST, "plan", "reached"), Point(FIRST, "plan", "skipped"), Point(SECOND, "act", "reached")


def shown(tally: WorkflowTally) -> dict[Point, list[str]]:
    return dict(tally.points())


@pytest.mark.parametrize(
    ("covered", "points", "percent"),
    [
        (0, 0, 0.0),
        (0, 3, 0.0),
        (1, 3, 33.33),
        (2, 3, 66.66),
        (3, 3, 100.0),
        (9_999, 10_000, 99.99),
        (99_999, 100_000, 99.99),
    ],
)
def test_only_what_is_complete_is_a_hundred_percent(covered: int, points: int, percent: float) -> None:
    assert Score(covered, points).percent == percent


@pytest.mark.parametrize(
    ("covered", "points", "wanted", "expected"),
    [
        (1, 2, 50, True),
        (1, 2, 50.1, False),
        (2, 3, 66.66, True),
        (2, 3, 66.67, False),
        (1, 1, 100, True),
        (2, 2, 100, True),
        (0, 0, 0, True),
        (0, 0, -1, True),
        (0, 0, 0.1, False),
        (0, 1, 0, True),
        (0, 1, 1, False),
    ],
)
def test_whether_a_score_is_enough(covered: int, points: int, wanted: float, expected: bool) -> None:
    assert Score(covered, points).reaches(wanted) is expected


def test_points_are_told_once_in_the_order_of_the_workflow_with_their_tests_sorted() -> None:
    tally = WorkflowTally("demo", "sha256:1")
    tally.expect("locked", (C, B))
    tally.expect("reference", (A, B))
    tally.cover([B, C], "test_z")
    tally.cover([B], "test_a")
    tally.cover([B], "test_a")
    assert list(tally.points()) == [(A, []), (B, ["test_a", "test_z"]), (C, ["test_z"])]
    assert tally.profiles == ["reference", "locked"]


def test_what_is_shown_and_no_goal_does_not_count() -> None:
    tally = WorkflowTally("demo", "sha256:1")
    tally.expect("reference", (A,))
    tally.cover([C], "test_a")
    assert shown(tally) == {A: []}
    assert tally.score() == Score(0, 1)


def test_a_score_of_all_points_or_of_one_kind() -> None:
    tally = WorkflowTally("demo", "sha256:1")
    tally.expect("reference", (A, B, C))
    tally.cover([A], "test_a")
    assert tally.score() == Score(1, 3)
    assert (tally.score(FIRST), tally.score(SECOND)) == (Score(1, 2), Score(0, 1))
    whole = Tally()
    whole.merge([tally.state, replace(tally.state, workflow_id="other")])
    assert (whole.score(), whole.score(SECOND)) == (Score(2, 6), Score(0, 2))


def test_workflows_are_kept_apart_by_id_and_version_and_told_in_that_order() -> None:
    tally = Tally()
    first = tally.workflow("b", "sha256:2")
    assert tally.workflow("b", "sha256:2") is first
    tally.workflow("b", "sha256:1")
    tally.workflow("a", "sha256:9")
    assert [(each.workflow_id, each.workflow_hash) for each in tally] == [
        ("a", "sha256:9"),
        ("b", "sha256:1"),
        ("b", "sha256:2"),
    ]
    assert [tally.knows(name) for name in ("a", "b", "c", "sha256:1")] == [True, True, False, False]


def test_what_another_process_noted_is_added() -> None:
    ours, theirs = Tally(), Tally()
    ours.workflow("a", "sha256:1").expect("reference", (A, B))
    ours.workflow("a", "sha256:1").cover([A], "test_ours")
    theirs.workflow("a", "sha256:1").expect("locked", (B, C))
    theirs.workflow("a", "sha256:1").cover([A, C], "test_theirs")
    theirs.workflow("a", "sha256:1").cover([C], "test_again")
    theirs.workflow("b", "sha256:2").expect("reference", (C,))
    ours.merge([each.state for each in theirs])
    first, second = ours
    assert shown(first) == {A: ["test_ours", "test_theirs"], B: [], C: ["test_again", "test_theirs"]}
    assert first.profiles == ["reference", "locked"]
    assert (second.workflow_id, second.workflow_hash, shown(second)) == ("b", "sha256:2", {C: []})


def test_the_order_of_tests_in_what_a_process_tells_is_stable() -> None:
    tally = Tally()
    names = [f"test_{number}" for number in range(20)]
    tally.workflow("a", "sha256:1").expect("reference", (A,))
    for name in names:
        tally.workflow("a", "sha256:1").cover([A], name)
    assert json.loads(msgspec.json.encode([each.state for each in tally])) == [
        {
            "workflowId": "a",
            "workflowHash": "sha256:1",
            "goals": {"reference": [[A.kind.name, "plan", "reached"]]},
            "tests": [[[A.kind.name, "plan", "reached"], sorted(names)]],
        }
    ]


@pytest.mark.parametrize(("paths", "named"), [(0, "WORKFLOW…"), (1, "'a b'"), (5, "'a b' 1 2 3 4"), (6, "WORKFLOW…")])
def test_the_command_that_closes_the_gap_names_a_few_files(paths: int, named: str) -> None:
    files = ["a b", "1", "2", "3", "4", "5"][:paths]
    assert closing_command(Tally(), files) == (
        f"0 goals not covered; `workrail-test generate {named} --out DIR` writes scenarios for them"
    )

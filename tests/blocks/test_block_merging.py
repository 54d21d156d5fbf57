"""Fan-in as a function: who wins, what is in conflict, and what the order of lanes may change."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.systems.blocks.outputs import (
    PathConflict,
    completion_order,
    created_collisions,
    givers,
    merge,
    path_conflicts,
    reported,
)
from workrail_lint.systems.blocks.rules.samples import output
from workrail_lint.systems.blocks.vocabulary import MergeStrategy

NAMES = ("a", "b", "c")
PATHS = st.lists(st.sampled_from(["p", "q", "r", "./p", "/workspace/q", "../out", "/etc/passwd"]), max_size=4)
OUTPUTS = st.fixed_dictionaries(
    {
        name: st.builds(
            lambda status, modified, created, name=name: output(
                name, status=status, filesModified=modified, filesCreated=created
            ),
            st.sampled_from(["completed", "partial", "failed"]),
            PATHS,
            PATHS,
        )
        for name in NAMES
    }
)
ORDERS = st.permutations(NAMES)
STRATEGIES = st.sampled_from(MergeStrategy)


@given(OUTPUTS, ORDERS, STRATEGIES)
def test_what_is_applied_comes_from_lanes_that_gave_it(
    outputs: dict[str, Any], order: list[str], strategy: MergeStrategy
) -> None:
    merged = merge(strategy, outputs, order)
    counting = givers(outputs, order)
    for path, lane in merged.applied.items():
        assert lane in counting
        assert path in reported(outputs[lane])
        assert not path.startswith(("/", ".."))
        assert lane == next(name for name in counting if path in reported(outputs[name]))
    if strategy is MergeStrategy.CONCATENATE:
        assert merged == ({}, [], [], ())
    if strategy is MergeStrategy.WORKSPACE:
        assert set(merged.applied) == {path for name in counting for path in reported(outputs[name])}
        assert merged.conflicts == merged.events
        assert [record["conflictingFile"] for record in merged.conflicts] == sorted(
            {record["conflictingFile"] for record in merged.conflicts}
        )
    if merged.unresolved:
        assert merged.applied == {}


@given(OUTPUTS)
def test_the_order_of_lanes_only_decides_contested_paths(outputs: dict[str, Any]) -> None:
    results = [merge(MergeStrategy.WORKSPACE, outputs, order) for order in permutations(NAMES)]
    contested = {clash.path for clash in (*path_conflicts(outputs, NAMES), *created_collisions(outputs, NAMES))}
    for result in results[1:]:
        assert set(result.applied) == set(results[0].applied)
        changed = {path for path in result.applied if result.applied[path] != results[0].applied[path]}
        assert changed <= contested
        assert [(c["conflictingFile"], sorted(c["lanes"])) for c in result.conflicts] == [
            (c["conflictingFile"], sorted(c["lanes"])) for c in results[0].conflicts
        ]


@given(OUTPUTS, ORDERS, st.data())
def test_a_person_decides_every_clash(outputs: dict[str, Any], order: list[str], data: st.DataObject) -> None:
    found = path_conflicts(outputs, order)
    choices = {clash.path: data.draw(st.sampled_from([*clash.lanes, "manual"])) for clash in found}
    merged = merge(MergeStrategy.FAIL_ON_CONFLICT, outputs, order, choices)
    assert merged.unresolved == ()
    assert merged.events == []
    for record in merged.conflicts:
        choice = choices[record["conflictingFile"]]
        assert merged.applied[record["conflictingFile"]] == choice
        assert record.get("appliedFrom", "manual") == choice
    for clash in found:
        partial = {path: choice for path, choice in choices.items() if path != clash.path}
        assert merge(MergeStrategy.FAIL_ON_CONFLICT, outputs, order, partial).unresolved == tuple(found)
        wrong = {**choices, clash.path: "nobody"}
        assert merge(MergeStrategy.FAIL_ON_CONFLICT, outputs, order, wrong).unresolved == tuple(found)


def test_what_is_a_conflict() -> None:
    def lanes(**members: Any) -> dict[str, Any]:
        return {name: output(name, **{"filesModified": [], **given}) for name, given in members.items()}

    both = lanes(a={"filesModified": ["p"]}, b={"filesModified": ["./p"]})
    assert path_conflicts(both, ["b", "a"]) == [PathConflict("p", ("b", "a"))]
    created = lanes(a={"filesCreated": ["p"]}, b={"filesModified": ["p"]})
    assert path_conflicts(created, ["a", "b"]) == []
    assert created_collisions(created, ["a", "b"]) == [PathConflict("p", ("a", "b"))]
    failed = lanes(a={"filesModified": ["p"]}, b={"filesModified": ["p"], "status": "failed"})
    assert path_conflicts(failed, ["a", "b"]) == []


def test_completion_order_keeps_ties_in_lane_order() -> None:
    assert completion_order([("a", 3), ("b", 1), ("c", 3), ("d", 2)]) == ["b", "d", "a", "c"]

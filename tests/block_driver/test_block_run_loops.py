"""Loops: the order inside a body, loops in loops, and bodies that can't be run."""

from __future__ import annotations

from typing import Any

import pytest
from block_runs import chain, codes, edge, group, node, run, types, workflow

from pytest_workrail.systems import blocks
from workrail_lint.systems.blocks.rules.samples import control

VARIABLES = [{"name": name, "type": "array", "required": True} for name in ("outer", "inner")]


def loop(ident: str, over: str, *body: str, **more: Any) -> dict[str, Any]:
    config = {"collectionVariable": over, "itemVariable": f"{over}Item", "bodyNodeIds": list(body), **more}
    return control(ident, "forEach", forEachConfig=config)


def looped(*nodes: dict[str, Any], edges: list[dict[str, Any]] | None = None, **members: Any) -> dict[str, Any]:
    return workflow(*nodes, edges=edges or [], variables=VARIABLES, **members)


def steps(definition: dict[str, Any]) -> list[str]:
    made = run(definition, variables={"outer": [1, 2], "inner": ["x", "y"]})
    assert made.execution_status == "completed"
    return [step["node"] for step in made.steps]


def test_a_body_runs_in_the_order_of_its_transitions() -> None:
    definition = looped(loop("each", "outer", "b", "a"), node("a"), node("b"), edges=[edge("a", "b", "on_success")])
    assert steps(definition) == ["a[0]", "b[0]", "a[1]", "b[1]"]


def test_without_transitions_a_body_runs_as_it_is_listed_and_each_node_once() -> None:
    assert steps(looped(loop("each", "outer", "b", "a", "b"), node("a"), node("b"))) == ["b[0]", "a[0]", "b[1]", "a[1]"]


@pytest.mark.parametrize("inner_first", [True, False])
def test_a_loop_in_a_loop(inner_first: bool) -> None:
    """Whichever stands first in the file: the passes are counted per loop, and all of it has one step index."""
    loops = [loop("columns", "inner", "cell"), loop("rows", "outer", "columns", "end")]
    nodes = loops if inner_first else loops[::-1]
    definition = looped(node("start"), *nodes, node("cell"), node("end"), edges=[edge("start", "rows")])
    made = run(definition, variables={"outer": [1, 2], "inner": ["x", "y"]})
    passes = ["cell[0]", "cell[1]", "end[0]", "cell[0]", "cell[1]", "end[1]"]
    assert [step["node"] for step in made.steps] == ["start", *passes]
    assert [step["stepIndex"] for step in made.steps] == [0, 1, 1, 1, 1, 1, 1]
    assert {step["env"]["PREVIOUS_BLOCK_ID"] for step in made.steps[1:]} == {"start"}
    assert made.codes == []


def test_a_branch_decided_against_before_a_loop_is_skipped_in_every_pass() -> None:
    config = {"expression": "true", "trueBranchNodeId": "a", "falseBranchNodeId": "b"}
    choose = control("if", "condition", conditionConfig=config)
    definition = looped(choose, loop("each", "outer", "a", "b"), node("a"), node("b"), edges=[edge("if", "each")])
    assert steps(definition) == ["a[0]", "a[1]"]


def test_a_condition_inside_a_body_decides_anew_in_each_pass() -> None:
    config = {"expression": "outerItem == 1", "trueBranchNodeId": "a", "falseBranchNodeId": "b"}
    choose = control("if", "condition", conditionConfig=config)
    edges = [edge("if", "a"), edge("if", "b")]
    definition = looped(loop("each", "outer", "if", "a", "b"), choose, node("a"), node("b"), edges=edges)
    assert steps(definition) == ["a[0]", "b[1]"]


def test_a_condition_decides_about_the_loop_inside_its_own() -> None:
    config = {"expression": "outerItem == 1", "trueBranchNodeId": "a", "falseBranchNodeId": "b"}
    definition = looped(
        loop("rows", "outer", "if", "columns"),
        control("if", "condition", conditionConfig=config),
        loop("columns", "inner", "a", "b"),
        node("a"),
        node("b"),
        edges=[edge("if", "columns")],
    )
    assert steps(definition) == ["a[0]", "a[1]", "b[0]", "b[1]"]


def test_a_circle_inside_a_body_stops_the_run_before_its_first_block() -> None:
    around = [edge("a", "b"), edge("b", "a")]
    definition = looped(node("first"), loop("each", "outer", "a", "b"), node("a"), node("b"), edges=around)
    made = run(definition, variables={"outer": [1]})
    assert types(made) == ["execution_started", "execution_failed"]
    assert codes(made.blockers) == ["BLOCK_PLAN_CYCLE"]
    assert made.blockers[0]["suggestedFix"] == "Remove the transition b-a from b to a"


@pytest.mark.parametrize(
    ("nodes", "place"),
    [
        ([loop("rows", "outer", "rows", "a")], "/nodes/0/config/forEachConfig/bodyNodeIds/0"),
        ([loop("rows", "outer", "a", "columns"), loop("columns", "inner", "rows")], "/nodes/0/config/forEachConfig"),
    ],
)
def test_a_loop_inside_itself_is_no_definition(nodes: list[dict[str, Any]], place: str) -> None:
    with pytest.raises(blocks.ScenarioInvalid, match=f"BC348 {place}.*inside itself"):
        steps(looped(*nodes, node("a")))


def test_a_lane_is_in_no_body() -> None:
    definition = looped(loop("each", "outer", "a"), node("a"), node("b"), parallelGroups=[group("a", "b")])
    with pytest.raises(blocks.ScenarioInvalid, match="'a' is a lane of 'g'"):
        steps(definition)


def test_a_loop_inside_a_chain() -> None:
    definition = chain(node("a"), loop("each", "outer", "x"), node("z"), variables=VARIABLES)
    definition["nodes"].append(node("x"))
    assert steps(definition) == ["a", "x[0]", "x[1]", "z"]

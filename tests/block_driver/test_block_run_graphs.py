"""Any graph of blocks runs in the order of its plan, and no rule has anything to say about what it leaves behind."""

from __future__ import annotations

from typing import Any

from block_runs import edge, group, node, run, workflow
from effort import times
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from workrail_lint.base.result import Ok
from workrail_lint.systems.blocks.model.build import definition_model
from workrail_lint.systems.blocks.model.documents import StudioWorkflow
from workrail_lint.systems.blocks.plan import make_plan, node_runs, nodes_of
from workrail_lint.systems.blocks.prompts import previous_block
from workrail_lint.systems.blocks.vocabulary import NodeStatus

KINDS = ("always", "on_success", "on_failure", "expression")


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, Any]:
    """Up to seven blocks, edges that lead forwards in a shuffled file, and perhaps a group."""
    names = [f"n{number}" for number in range(draw(st.integers(1, 7)))]
    pairs = [(one, other) for at, one in enumerate(names) for other in names[at + 1 :]]
    edges = []
    for one, other in draw(st.lists(st.sampled_from(pairs), unique=True, max_size=9)) if pairs else ():
        kind = draw(st.sampled_from(KINDS))
        edges.append(edge(one, other, kind, "ready == true" if kind == "expression" else ...))
    members: dict[str, Any] = {"variables": [{"name": "ready", "type": "boolean", "required": False}]}
    lanes = draw(st.lists(st.sampled_from(names), unique=True, min_size=2, max_size=4)) if len(names) > 1 else []
    if lanes and draw(st.booleans()):
        members["parallelGroups"] = [group(*lanes)]
    shuffled = draw(st.permutations(names))
    return workflow(*(node(name) for name in shuffled), edges=edges, **members)


@given(
    definition=definitions(),
    failing=st.sets(st.sampled_from([f"n{number}" for number in range(7)])),
    ready=st.booleans(),
    containers=st.sampled_from(("warm", "cold")),
)
@settings(
    max_examples=times(30, deep=240),
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
def test_any_graph(definition: dict[str, Any], failing: set[str], ready: bool, containers: str) -> None:
    view = definition_model(definition)
    plan = make_plan(view)
    lanes = set(view.parallel_groups[0].lanes) if view.parallel_groups else set()
    # Lanes that wait for each other are an error of the definition.
    assume(isinstance(plan, Ok) and not any({each.source, each.target} <= lanes for each in view.edges))
    assert isinstance(plan, Ok)
    names = [name for entry in plan.value.entries for name in nodes_of(entry)]
    replies = {name: {"exit": 1} for name in names if name in failing}
    made = run(definition, replies=replies, variables={"ready": ready}, containers=containers)
    expected, ran = walked(view, names, failing, ready)
    assert made.nodes == expected
    assert [step["node"] for step in made.steps] == ran
    for step in made.steps:
        assert step["stepIndex"] == names.index(step["node"])
        assert step["env"]["PREVIOUS_BLOCK_ID"] == previous_block(view, plan.value, step["node"], ran)
    assert made.golden["outputFolder"] == sorted(f"block-{name}.json" for name in ran)
    assert made.codes == []


def walked(
    view: StudioWorkflow, names: list[str], failing: set[str], ready: bool
) -> tuple[dict[str, NodeStatus], list[str]]:
    """Who runs and how that ends, told by the transitions alone."""
    statuses: dict[str, NodeStatus] = {}
    ran: list[str] = []
    for name in names:
        if node_runs(view, name, statuses, {"ready": ready}):
            ran.append(name)
            statuses[name] = NodeStatus.FAILED if name in failing else NodeStatus.COMPLETED
        else:
            statuses[name] = NodeStatus.SKIPPED
    return statuses, ran

"""The execution order: every node once, after what leads to it, lanes together."""

from __future__ import annotations

from typing import Any

from block_checks import check_text
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.base.canonical import canonical_hash
from workrail_lint.base.closed_sets import words
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.blocks.ir import compile_definition
from workrail_lint.systems.blocks.model.build import definition_model
from workrail_lint.systems.blocks.plan import Lanes, cycles_through_groups, isolation, make_plan, node_runs, nodes_of
from workrail_lint.systems.blocks.prompts import previous_block, restrictions_text
from workrail_lint.systems.blocks.rules.samples import control, edge, group, node, workflow
from workrail_lint.systems.blocks.vocabulary import BLOCK_TYPE_OF, AgentNodeType, Isolation, NodeStatus, time_limit_ms


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    """Definitions with a few nodes, any transitions and perhaps groups."""
    names = list("abcdefg"[: draw(st.integers(1, 7))])
    pairs = st.tuples(st.sampled_from(names), st.sampled_from([*names, "zz"]))
    edges = [edge(*pair, ident=f"t{at}") for at, pair in enumerate(draw(st.lists(pairs, max_size=8)))]
    lanes = draw(st.lists(st.lists(st.sampled_from(names), max_size=3), max_size=2))
    groups = [group(*members, ident=f"g{at}") for at, members in enumerate(lanes)]
    kinds = st.sampled_from(["planner", "coding", "reviewer"])
    return workflow(*(node(name, draw(kinds)) for name in names), edges=edges, parallelGroups=groups)


@given(graphs())
def test_a_plan_is_an_order(value: dict[str, Any]) -> None:
    definition = definition_model(value)
    planned = make_plan(definition)
    if isinstance(planned, Err):
        circle = planned.error.ids
        assert circle
        assert len(set(circle)) == len(circle)
        return
    plan = planned.value
    flat = [ident for entry in plan.entries for ident in nodes_of(entry)]
    assert sorted(flat) == sorted(definition.by_id)
    assert [plan.step_index[ident] for ident in flat] == list(range(len(flat)))
    for found in definition.edges:
        assert plan.position[found.source] < plan.position[found.target]
    for entry in plan.entries:
        if isinstance(entry, Lanes):
            assert [
                ident for ident in definition.parallel_groups[int(entry.group[1:])].lanes if ident in entry.nodes
            ] == [*entry.nodes]


@given(graphs(), st.randoms())
def test_the_order_of_transitions_does_not_matter(value: dict[str, Any], random: Any) -> None:
    shuffled = {**value, "transitions": random.sample(value["transitions"], len(value["transitions"]))}
    one, other = make_plan(definition_model(value)), make_plan(definition_model(shuffled))
    assert isinstance(one, Ok) == isinstance(other, Ok)
    if isinstance(one, Ok) and isinstance(other, Ok):
        assert one.value.as_json() == other.value.as_json()


@given(graphs())
def test_the_first_that_can_run_is_the_first_in_the_file(value: dict[str, Any]) -> None:
    definition = definition_model(value)
    planned = make_plan(definition)
    if isinstance(planned, Err) or definition.parallel_groups:
        return
    done: set[str] = set()
    for entry in planned.value.entries:
        ready = [
            ident
            for ident in definition.by_id
            if ident not in done and all(found.source in done for found in definition.incoming[ident])
        ]
        assert nodes_of(entry) == (ready[0],)
        done.update(nodes_of(entry))


def test_a_cycle_through_groups_alone() -> None:
    nodes = [node(name) for name in "abcd"]
    groups = [group("a", "b", ident="g1"), group("c", "d", ident="g2")]
    value = workflow(*nodes, edges=[edge("a", "c"), edge("d", "b")], parallelGroups=groups)
    (found,) = cycles_through_groups(definition_model(value))
    assert sorted(found.ids) == ["g1", "g2"]
    assert isinstance(make_plan(definition_model(value)), Err)
    assert list(cycles_through_groups(definition_model({**value, "parallelGroups": []}))) == []


def test_every_cycle_through_a_group_is_told_beside_plain_ones() -> None:
    groups = [group("a", "b", ident="g1"), group("d", "e", ident="g2"), group("h", "i", ident="g3")]
    ways = [("a", "c"), ("c", "b"), ("d", "f"), ("f", "e"), ("x", "y"), ("y", "x"), ("h", "z"), ("z", "h")]
    edges = [edge(*pair) for pair in ways]
    value = workflow(*(node(name) for name in "abcdefhixyz"), edges=edges, parallelGroups=groups)
    # The circle of h and z is one without the group, too.
    assert [cycle.ids for cycle in cycles_through_groups(definition_model(value))] == [("g1", "c"), ("g2", "f")]


@given(graphs())
def test_what_has_no_plan_has_a_finding(value: dict[str, Any]) -> None:
    definition = definition_model(value)
    found = {finding.code for finding in check_text(value, "a.workflow.json")}
    assert bool(found & {"BC312", "BC334"}) == isinstance(make_plan(definition), Err)


def test_an_edge_between_lanes_is_a_cycle_of_the_plan() -> None:
    value = workflow(node("a"), node("b"), edges=[edge("a", "b")], parallelGroups=[group("a", "b")])
    planned = make_plan(definition_model(value))
    assert isinstance(planned, Err)
    assert planned.error.ids == ("g",)


LOOP = workflow(
    node("a"),
    control(
        "each", "forEach", forEachConfig={"collectionVariable": "l", "itemVariable": "i", "bodyNodeIds": ["x", "y"]}
    ),
    node("x", "coding"),
    node("y", "utest"),
    node("z", "reviewer"),
    edges=[edge("a", "each"), edge("each", "z"), edge("x", "y")],
)


def test_a_body_runs_inside_its_loop() -> None:
    definition = definition_model(LOOP)
    planned = make_plan(definition)
    assert isinstance(planned, Ok)
    plan = planned.value
    assert plan.as_json() == ["a", "each", "z"]
    assert plan.step_index == {"a": 0, "each": 1, "z": 2, "x": 1, "y": 1}
    # A control node is nobody's predecessor.
    assert previous_block(definition, plan, "z", {"a", "each", "x", "y"}) == "a"


def test_who_runs() -> None:
    kinds = ("always", "on_success", "on_failure")
    nodes = [node("s"), *(node(kind) for kind in kinds), node("e")]
    edges = [*(edge("s", kind, kind) for kind in kinds), edge("s", "e", "expression", "go && n > 1")]
    definition = definition_model(workflow(*nodes, edges=edges))

    def run(status: NodeStatus, **variables: Any) -> list[str]:
        return [ident for ident in ("s", *kinds, "e") if node_runs(definition, ident, {"s": status}, variables)]

    assert run(NodeStatus.COMPLETED) == ["s", "always", "on_success"]
    assert run(NodeStatus.FAILED) == ["s", "always", "on_failure"]
    assert run(NodeStatus.SKIPPED) == ["s", "always"]
    assert run(NodeStatus.RUNNING) == ["s"]
    assert run(NodeStatus.RUNNING, go=True, n=2) == ["s", "e"]


def test_block_types_cover_every_node_type() -> None:
    assert {*BLOCK_TYPE_OF} == {*words(AgentNodeType)}
    assert len(BLOCK_TYPE_OF) == 20
    pairs = {"planner": "plan", "coding": "dev", "utest": "test", "reviewer": "review", "deployment": "devops"}
    assert {name: BLOCK_TYPE_OF[name].value for name in pairs} == pairs


def test_isolation_and_limits() -> None:
    assert isolation(is_repository=True, has_head=True, is_clean=True) is Isolation.GIT_WORKTREE
    for missing in ("is_repository", "has_head", "is_clean"):
        flags = {"is_repository": True, "has_head": True, "is_clean": True, missing: False}
        assert isolation(**flags) is Isolation.TEMP_COPY
    assert [time_limit_ms(attempt) for attempt in range(4)] == [300_000, 450_000, 600_000, 600_000]
    assert time_limit_ms(1, 10) == 15_000


def test_restrictions_are_written_without_blanks() -> None:
    assert restrictions_text([]) == "[]"
    assert restrictions_text(["src/**", "ä"]) == '["src/**","ä"]'


# --------------------------------------------------------------------------------------------------------- IR


def compiled_hash(value: dict[str, Any], restrictions: tuple[str, ...] = ()) -> str:
    compiled = compile_definition(value, restrictions)
    assert isinstance(compiled, Ok), compiled
    return canonical_hash(compiled.value)


def test_what_people_see_does_not_change_the_hash() -> None:
    base = workflow(node("a", description="For people."), node("b", "coding"), edges=[edge("a", "b")])
    expected = compiled_hash(base)
    other = workflow(
        node("a", description="For other people.", label="Another", position={"x": 5, "y": 5}),
        node("b", "coding"),
        edges=[{**edge("a", "b"), "label": "then"}],
    )
    other["metadata"] = {**base["metadata"], "updatedAt": "2027-01-01T00:00:00Z", "description": "New."}
    assert compiled_hash(other) == expected
    crlf = workflow(
        node("a", prompt="Plan the login page.\r\n", description="For people."),
        node("b", "coding"),
        edges=[edge("a", "b")],
    )
    assert compiled_hash(crlf) == expected


def test_what_blocks_see_changes_the_hash() -> None:
    base = workflow(node("a"), node("b", "coding"), edges=[edge("a", "b")])
    variants = [
        workflow(node("a", prompt="Plan something else."), node("b", "coding"), edges=[edge("a", "b")]),
        workflow(node("a"), node("b", "reviewer"), edges=[edge("a", "b")]),
        workflow(node("a"), node("b", "coding"), edges=[edge("b", "a")]),
        {**base, "rules": ["Keep it small."]},
        workflow(node("a", prompt=None, description="Plan it."), node("b", "coding"), edges=[edge("a", "b")]),
    ]
    hashes = [compiled_hash(base), compiled_hash(base, ("src/**",)), *map(compiled_hash, variants)]
    assert len(set(hashes)) == len(hashes)
    assert all(found.startswith("sha256:") for found in hashes)

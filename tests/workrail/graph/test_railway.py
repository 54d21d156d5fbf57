"""The drawing of a workflow: branches and lanes from conditions, everything at a place of its own."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from drawings import crossings, overlaps
from effort import lines_run, times
from hypothesis import given, settings
from hypothesis import strategies as st

from workrail_lint import Ok, compile_workflow
from workrail_lint.systems.drawing.railway import layout
from workrail_lint.systems.drawing.shapes import Branch, Card, Group, Switch, cards
from workrail_lint.systems.drawing.svg import drawing_data
from workrail_lint.systems.workrail.analysis.analysis import analyse
from workrail_lint.systems.workrail.graph.tree import structure
from workrail_lint.systems.workrail.rules.samples import controlled_loop, parallel, step, workflow


def _tree(*steps: dict[str, Any]) -> Any:
    document = workflow(*steps)
    match compile_workflow(document):
        case Ok(compiled):
            analysis = analyse(compiled.model, compiled.catalog, compiled=compiled)
            return structure(compiled.program, analysis)
        case failed:
            raise AssertionError(failed)


def _if(ident: str, *conditions: dict[str, Any], prompt: str = "Do it.") -> dict[str, Any]:
    condition = conditions[0] if len(conditions) == 1 else {"and": list(conditions)}
    return step(f"do-{ident}", prompt=prompt, runCondition=condition)


def _is(name: str, value: Any) -> dict[str, Any]:
    return {"var": name, "equals": value}


def _shape(blocks: Any) -> Any:
    """A tree in a few letters, to compare."""
    found: list[Any] = []
    for block in blocks:
        match block:
            case Card():
                found.append(block.id.removeprefix("do-"))
            case Branch():
                found.append({"if": _shape(block.items)})
            case Switch():
                found.append([_shape(lane.items) for lane in block.lanes])
            case Group():
                found.append({block.kind: _shape(block.items)})
    return found


def test_neighbours_with_a_condition_become_one_branch() -> None:
    tree = _tree(step("do-a"), _if("b", _is("x", 1)), _if("c", _is("x", 1), _is("y", 2)), step("do-d"))
    assert _shape(tree) == ["a", {"if": ["b", {"if": ["c"]}]}, "d"]


def test_a_branch_ends_where_its_variable_is_set() -> None:
    setter = _if("b", _is("x", 1), prompt="Set the context variable `x` to 2.")
    tree = _tree(step("do-a"), setter, _if("c", _is("x", 1)))
    assert _shape(tree) == ["a", {"if": ["b"]}, {"if": ["c"]}]


def test_branches_that_exclude_each_other_stand_side_by_side() -> None:
    rounds = [_if(f"{name}{number}", _is("x", name)) for number in (1, 2) for name in ("p", "q", "r")]
    (switch,) = _tree(*rounds)
    assert _shape((switch,)) == [[["p1", "p2"], ["q1", "q2"], ["r1", "r2"]]]
    assert (switch.subject, switch.is_complete) == ("x", False)


@pytest.mark.parametrize(
    ("prompt", "conditions", "is_complete"),
    [
        ("Look.", (_is("x", "p"), {"var": "x", "not_equals": "p"}), True),
        ("Set the context variable `x` to one of `p`, `q`.", (_is("x", "p"), _is("x", "q")), True),
        ("Set the context variable `x` to one of `p`, `q`, `r`.", (_is("x", "p"), _is("x", "q")), False),
        ("Look.", (_is("x", "p"), _is("x", "q")), False),
    ],
)
def test_a_switch_is_complete_when_one_lane_always_runs(prompt: str, conditions: Any, is_complete: bool) -> None:
    tree = _tree(step("first", prompt=prompt), *(_if(f"s{i}", c) for i, c in enumerate(conditions)))
    assert isinstance(tree[1], Switch)
    assert tree[1].is_complete is is_complete
    skips = [rail for rail in layout(tree).rails if rail.kind == "skip"]
    assert len(skips) == (0 if is_complete else 1)


def test_at_most_four_lanes() -> None:
    tree = _tree(*(_if(f"s{number}", _is("x", number)) for number in range(6)))
    assert _shape(tree) == [[["s0"], ["s1"], ["s2"], ["s3"]], [["s4"], ["s5"]]]


def test_loops_and_parallel_steps_are_frames() -> None:
    tree = _tree(controlled_loop(), parallel())
    drawing = layout(tree)
    assert [(frame.kind, frame.bound) for frame in drawing.frames] == [("loop", 3), ("parallel", None)]
    assert [rail.kind for rail in drawing.rails].count("back") == 1


def test_very_deep_conditions_are_one_branch() -> None:
    steps = [_if(f"s{i}", *(_is(f"v{j}", 1) for j in range(i + 1))) for i in range(40)]
    tree = _tree(*steps)
    assert [card.id for card in cards(tree)] == [f"do-s{i}" for i in range(40)]


_VALUES = st.sampled_from(["p", "q", True, 3])
_CONDITIONS = st.recursive(
    st.builds(_is, st.sampled_from("xyz"), _VALUES)
    | st.builds(lambda name, value: {"var": name, "not_equals": value}, st.sampled_from("xyz"), _VALUES),
    lambda inner: (
        st.builds(lambda parts: {"and": parts}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(lambda parts: {"or": parts}, st.lists(inner, min_size=1, max_size=2))
        | st.builds(lambda part: {"not": part}, inner)
    ),
    max_leaves=4,
)
_TITLES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=90).map(lambda text: f"T{text}")
_PROMPTS = st.sampled_from(["Do it.", "Set the context variable `x` to one of `p`, `q`.", "Set `y` to true."])


@st.composite
def _workflows(draw: Any) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 9))):
        kind = draw(st.sampled_from(["step"] * 5 + ["loop", "parallel"]))
        if kind == "loop":
            made = controlled_loop(ident=f"loop-{number}")
            for inner in made["body"]:
                inner["id"] = f"{inner['id']}-{number}"
        elif kind == "parallel":
            made = parallel(ident=f"par-{number}")
        else:
            made = step(f"step-{number}", prompt=draw(_PROMPTS))
        made["title"] = draw(_TITLES)
        if draw(st.booleans()):
            made["runCondition"] = draw(_CONDITIONS)
        steps.append(made)
    return steps


@settings(max_examples=times(30, deep=240), deadline=None)
@given(_workflows())
def test_everything_is_drawn_once_in_order_and_nothing_overlaps(steps: list[dict[str, Any]]) -> None:
    made = compile_workflow(workflow(*steps))
    assert isinstance(made, Ok)
    compiled = made.value
    tree = structure(compiled.program)
    drawing = layout(tree)
    drawn = list(dict.fromkeys(card.step or card.id for card in cards(tree)))
    expected = [
        inner["id"] for one in compiled.ir["steps"] for inner in (one["body"] if one["type"] == "loop" else [one])
    ]
    assert sorted(drawn) == sorted(expected)
    assert overlaps(drawing) == []
    assert crossings(drawing) == 0


def test_the_same_bytes_each_time() -> None:
    made = compile_workflow(workflow(step("do-a"), controlled_loop(), parallel()))
    assert isinstance(made, Ok)
    first, second = (json.dumps(drawing_data(structure(made.value.program))) for _ in range(2))
    assert first == second


def test_the_work_grows_with_the_number_of_steps() -> None:
    def work(count: int) -> int:
        made = compile_workflow(workflow(*(_if(f"s{i}", _is("x", i % 7), _is("y", i % 3)) for i in range(count))))
        assert isinstance(made, Ok)
        return lines_run(lambda: layout(structure(made.value.program)))

    assert work(200) < 2.6 * work(100)


def _rails(blocks: Any) -> set[tuple[str, tuple[Any, ...], tuple[Any, ...]]]:
    """Each rail with the steps that a run comes from and goes to on it."""
    rails = drawing_data(blocks)["layout"]["rails"]
    return {
        (rail["kind"], *(tuple(rail.get(f"{end}Steps", [rail[end]])) for end in ("from", "to")))  # type: ignore[misc]
        for rail in rails
    }


def test_a_rail_between_joints_knows_where_runs_come_from_and_go_to() -> None:
    found = _rails(
        [
            Card("a", "A"),
            Switch("x", (Branch("x is 1", (Card("b", "B"),)), Branch("x is 2", (Card("c", "C"),))), True),
            Branch("y", (Card("d", "D"),)),
            Group("again", "loop", "Again", "", 3, (Branch("z", (Card("e", "E"),)), Card("f", "F"))),
        ]
    )
    assert {each for each in found if each[0] == "skip"} == {
        ("skip", ("b", "c"), (None, "e", "f")),
        ("skip", ("b", "c", "d", "f"), ("f",)),
    }
    assert {each for each in found if each[0] == "back"} == {("back", ("f",), ("e", "f"))}
    assert ("branch", ("a",), ("b", "c")) in found
    assert ("branch", ("b", "c"), (None, "d", "e", "f")) in found
    assert ("main", (None,), ("a",)) in found
    assert ("main", ("b", "c", "d", "f"), (None,)) in found


def _run(blocks: Any, draw: Any) -> list[Any]:
    """The steps of one run."""
    steps: list[Any] = []
    for block in blocks:
        match block:
            case Card() | Group(kind="parallel"):
                steps.append(block.id)
            case Branch():
                steps += _run(block.items, draw) if draw(st.booleans()) else []
            case Switch():
                lanes = [*block.lanes, *([] if block.is_complete else [None])]
                lane = draw(st.sampled_from(lanes))
                steps += [] if lane is None else _run(lane.items, draw)
            case Group():
                rounds = draw(st.integers(0, 3)) if block.kind == "loop" else 1
                for _ in range(rounds):
                    steps += _run(block.items, draw)
    return steps


@pytest.mark.search
@given(data=st.data())
@settings(max_examples=times(20, deep=300))
def test_every_run_is_on_rails(data: st.DataObject) -> None:
    """Whatever follows a step in a run is on a rail out of it and on a rail into what follows."""
    numbers = iter(range(1000))

    def block(inner: Any) -> Any:
        cards = st.builds(lambda: Card(f"s{next(numbers)}", "S"))
        items = st.lists(inner, min_size=1, max_size=3).map(tuple)
        branch = st.builds(Branch, st.just("if"), items)
        lanes = st.lists(branch, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            cards,
            branch,
            st.builds(Switch, st.none(), lanes, st.booleans()),
            st.builds(
                lambda kind, items: Group(f"g{next(numbers)}", kind, "G", "", None, items),
                st.sampled_from(["loop", "template"]),
                items,
            ),
        )

    card = st.builds(lambda: Card(f"s{next(numbers)}", "S"))
    blocks = data.draw(st.lists(block(block(card)), min_size=1, max_size=4))
    rails = _rails(blocks)
    steps = [None, *_run(blocks, data.draw), None]
    for before, after in itertools.pairwise(steps):
        assert any(before in each[1] and after in each[2] for each in rails), (before, after)
    inside = {card.id for card in cards(blocks)} | {None}
    assert all({*each[1], *each[2]} <= inside for each in rails)

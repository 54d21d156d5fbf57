"""The outline of a workflow: which facets it has, and what two outlines have not in common."""

from __future__ import annotations

import copy
import hashlib
from typing import Any

import pytest

from workrail_lint import Ok, compile_workflow
from workrail_lint.systems.workrail.diff import (
    Change,
    Outline,
    StepOutline,
    compare,
    describe,
    digested,
    is_digest,
    outline,
    outline_from_json,
)
from workrail_lint.systems.workrail.rules.samples import controlled_loop, workflow


def ir_of(document: dict[str, Any]) -> dict[str, Any]:
    result = compile_workflow(document)
    assert isinstance(result, Ok), result
    return result.value.ir


def of(*steps: StepOutline | str, **facets: Any) -> Outline:
    """An outline made by hand; a string is a step without facets."""
    return Outline(facets, [StepOutline(each, "", {}) if isinstance(each, str) else each for each in steps])


def test_a_changed_contract_schema_is_a_change_of_behaviour() -> None:
    old = ir_of(workflow(controlled_loop()))
    new = copy.deepcopy(old)
    (pack,) = new["contracts"]
    pack["schema"] = {**pack["schema"], "maxProperties": 99}
    (change,) = compare(outline(old), outline(new))
    assert (change.kind, change.step, change.facet) == ("changed", "", "contract wr.contracts.loop_control")
    assert change.before == {"schema": old["contracts"][0]["schema"]}
    assert change.after == {"schema": pack["schema"]}
    # A lockfile keeps no more than a digest of it, and notices all the same.
    (change,) = compare(digested(outline(old)), digested(outline(new)))
    assert change.facet == "contract wr.contracts.loop_control"
    assert is_digest(change.before)


def test_a_contract_that_came_or_went_is_a_change_too() -> None:
    with_pack, without = ir_of(workflow(controlled_loop())), ir_of(workflow(controlled_loop()))
    without["contracts"] = []
    (change,) = compare(outline(without), outline(with_pack))
    assert (change.facet, change.before) == ("contract wr.contracts.loop_control", None)
    assert describe(change)[0].startswith("workflow: contract wr.contracts.loop_control added")


@pytest.mark.parametrize("member", ["format", "workflowId", "warnings"])
def test_what_says_how_an_ir_came_about_is_no_behaviour(member: str) -> None:
    old = ir_of(workflow())
    assert compare(outline(old), outline({**old, member: "another"})) == []


@pytest.mark.parametrize("member", ["id", "provenance"])
def test_the_origin_of_a_step_is_no_facet_of_it(member: str) -> None:
    assert all(member not in each.facets for each in outline(ir_of(workflow(controlled_loop()))).steps)


def test_every_other_member_of_an_ir_is_a_facet_of_the_workflow() -> None:
    old = ir_of(workflow())
    for member in old.keys() - {"format", "workflowId", "warnings", "steps", "contracts"}:
        (change,) = compare(outline(old), outline({**old, member: "another"}))
        assert (change.step, change.facet, change.after) == ("", member, "another")


def test_members_that_hold_nothing_are_no_facets() -> None:
    ir = {"name": "x", "a": [], "b": {}, "c": None, "d": 0, "e": "", "f": False, "contracts": []}
    made = {"id": "s", "title": "", "runCondition": None, "fragments": [], "output": {}, "loop": {}}
    found = outline({**ir, "steps": [made]})
    assert found.workflow == {"name": "x", "d": 0, "e": "", "f": False}
    assert [each.facets for each in found.steps] == [{"title": ""}]


def test_steps_are_told_with_their_loops_in_the_order_they_run() -> None:
    made = {"id": "again", "loop": {"maxIterations": 3}, "body": [{"id": "inner", "output": {"schema": 1}}]}
    found = outline({"contracts": [], "steps": [{"id": "first"}, made, {"id": "last", "body": []}]})
    assert [(each.id, each.parent, each.key, each.facets) for each in found.steps] == [
        ("first", "", "first", {}),
        ("again", "", "again", {"loop.maxIterations": 3}),
        ("inner", "again", "again/inner", {"output.schema": 1}),
        ("last", "", "last", {}),
    ]


def test_a_lockfile_keeps_short_facets_and_digests_of_long_ones() -> None:
    # 94 characters and two quotes are 96 bytes; é takes two.
    short, long, wide = "x" * 94, "x" * 95, "x" * 93 + "é"
    full = of(StepOutline("b", "a", {"z": short, "p": long}), "c", wide=wide, also=short)
    kept = full.as_json()
    assert kept["workflow"]["also"] == short
    assert list(kept["workflow"]) == ["also", "wide"]
    assert list(kept["workflow"]["wide"]) == ["sha256"]
    first, second = kept["steps"]
    assert (first["id"], first["loop"], list(first["facets"]), first["facets"]["z"]) == ("b", "a", ["p", "z"], short)
    assert second == {"id": "c", "facets": {}}
    digest = first["facets"]["p"]["sha256"]
    assert len(digest) == 16
    assert hashlib.sha256(f'"{long}"'.encode()).hexdigest().startswith(digest)
    back = outline_from_json(kept)
    assert (back.as_json(), [each.key for each in back.steps]) == (kept, ["a/b", "c"])


def test_a_digest_is_an_object_with_nothing_else() -> None:
    assert is_digest({"sha256": "0"})
    for value in ({}, {"sha256": "0", "more": 1}, {"sha": "0"}, "sha256", ["sha256"]):
        assert not is_digest(value)


def test_nothing_changed_between_equal_outlines() -> None:
    assert compare(of("a", "b", x=1), of("a", "b", x=1)) == []
    # Numbers are those of JSON: 1 and 1.0 are one value, and true is none of them.
    assert compare(of(x=1), of(x=1.0)) == []
    assert compare(of(x=1), of(x=True)) == [Change("changed", "", "x", 1, True)]


def test_changes_are_told_workflow_first_then_what_went_then_in_the_new_order() -> None:
    old = of("gone", StepOutline("kept", "", {"b": 1, "a": 1, "same": 0}), "last", y=1, x=1)
    new = of("new", StepOutline("kept", "", {"a": 2, "c": None, "same": 0}), "last", x=2, z=3)
    assert compare(old, new) == [
        Change("changed", "", "x", 1, 2),
        Change("changed", "", "y", 1, None),
        Change("changed", "", "z", None, 3),
        Change("removed", "gone", "", None, None, lost={}),
        Change("added", "new", "", None, None),
        Change("changed", "kept", "a", 1, 2),
        Change("changed", "kept", "b", 1, None),
        Change("changed", "kept", "c", None, None),
    ]


def test_the_fewest_steps_are_said_to_have_moved() -> None:
    assert compare(of("a", "b", "c", "d"), of("d", "a", "b", "c")) == [Change("moved", "d", "", "d", None, "c")]
    # Steps that came or went move no other.
    assert [each.kind for each in compare(of("x", "a", "b"), of("a", "y", "b"))] == ["removed", "added"]
    # Nor do they make it look as if more had moved than has.
    parted, whole, turned = ("a", "x", "b", "y", "c"), ("a", "b", "c"), ("d", "e")
    for old, new in ((of(*parted, *turned), of(*turned, *whole)), (of(*whole, *turned), of(*turned, *parted))):
        assert {each.step for each in compare(old, new) if each.kind == "moved"} == {"d", "e"}
    # A step that moved may have changed as well.
    changed = StepOutline("a", "", {"title": "new"})
    assert [(each.kind, each.step) for each in compare(of("a", "b", "c"), of("b", "c", changed))] == [
        ("moved", "a"),
        ("changed", "a"),
    ]


def doing(ident: str, parent: str = "", **facets: Any) -> StepOutline:
    """A step with a prompt of its own."""
    return StepOutline(ident, parent, {"prompt": facets.pop("prompt", f"Do {ident}."), "title": "T", **facets})


def said(old: Outline, new: Outline) -> list[str]:
    return [line for change in compare(old, new) for line in describe(change)]


def test_a_moved_step_is_told_with_the_one_it_follows() -> None:
    abcd = [doing(ident) for ident in "abcd"]
    a, b, c, d = abcd
    assert said(of(*abcd), of(b, c, a, d)) == ["step 'a': moved after 'c'"]
    assert said(of(*abcd), of(d, a, b, c)) == ["step 'd': moved to the start"]
    assert said(of(*abcd), of(b, a, c, d)) == ["step 'a': moved after 'b'"]
    # It follows what stands there now, also when that is new.
    assert said(of(*abcd), of(b, c, doing("e"), a, d)) == ["step 'e': added", "step 'a': moved after 'e'"]


def test_a_step_moves_into_a_loop_and_out_of_it() -> None:
    loop = StepOutline("again", "", {"loop.kind": "while"})
    flat = of(doing("a"), loop, doing("b", "again"), doing("c"))
    inside = of(loop, doing("b", "again"), doing("a", "again"), doing("c"))
    assert said(flat, inside) == ["step 'again/a': moved into loop 'again', after 'b'"]
    assert said(inside, flat) == ["step 'a': moved to the start"]
    assert said(inside, of(loop, doing("b", "again"), doing("c"), doing("a"))) == [
        "step 'a': moved out of loop 'again', after 'c'"
    ]
    first = of(loop, doing("a", "again"), doing("b", "again"), doing("c"))
    assert said(flat, first) == ["step 'again/a': moved to the start of loop 'again'"]


def test_what_stands_in_a_loop_moves_along_with_it() -> None:
    loop = [StepOutline("again", "", {"loop.kind": "while"}), doing("b", "again"), doing("c", "again")]
    assert said(of(*loop, doing("x"), doing("y")), of(doing("x"), doing("y"), *loop)) == [
        "step 'again': moved after 'y'"
    ]


def test_a_step_with_the_same_content_was_renamed() -> None:
    old = of(doing("plan"), doing("act"))
    assert said(old, of(doing("think", prompt="Do plan."), doing("act"))) == ["step 'think': renamed from 'plan'"]
    titled = doing("think", prompt="Do plan.", title="Think")
    assert said(old, of(titled, doing("act"))) == [
        "step 'think': renamed from 'plan'",
        'step \'think\': title changed: "T" -> "Think"',
    ]
    assert said(old, of(doing("act"), doing("think", prompt="Do plan."))) == [
        "step 'think': renamed from 'plan'",
        "step 'think': moved after 'act'",
    ]
    # Another prompt is another step, and so is one of two that may be meant.
    assert said(old, of(doing("think"), doing("act"))) == ["step 'plan': removed", "step 'think': added"]
    twins = of(doing("one", prompt="Do plan."), doing("two", prompt="Do plan."), doing("act"))
    assert said(old, twins) == ["step 'plan': removed", "step 'one': added", "step 'two': added"]


def test_a_loop_that_names_itself_can_be_renamed() -> None:
    def loop(ident: str) -> list[StepOutline]:
        source = {"kind": "artifact", "loopId": ident}
        return [StepOutline(ident, "", {"title": "T", "loop.source": source}), doing("inner", ident)]

    assert said(of(*loop("again")), of(*loop("refine"))) == ["step 'refine': renamed from 'again'"]
    changed = [loop("refine")[0], doing("inner", "refine", prompt="Do it otherwise.")]
    assert said(of(*loop("again")), of(*changed))[0] == "step 'again': removed"


def test_a_lockfile_knows_renamed_steps_too() -> None:
    long = "Do it with care. " * 20
    old = outline_from_json(of(doing("plan", prompt=long), doing("act")).as_json())
    new = outline_from_json(of(doing("think", prompt=long), doing("act")).as_json())
    assert said(old, new) == ["step 'think': renamed from 'plan'"]


def test_two_loops_may_run_the_same_step() -> None:
    both = of(StepOutline("s", "left", {"p": 1}), StepOutline("s", "right", {"p": 1}))
    one = of(StepOutline("s", "left", {"p": 1}), StepOutline("s", "right", {"p": 2}))
    assert compare(both, one) == [Change("changed", "right/s", "p", 1, 2)]


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (Change("added", "plan", "", None, None), {"kind": "added", "step": "plan"}),
        (
            Change("moved", "plan", "", "again/plan", "look", "again/inner"),
            {
                "kind": "moved",
                "step": "plan",
                "from": "again/plan",
                "followed": "again/inner",
                "follows": "look",
            },
        ),
        (Change("renamed", "plan", "", "think", None), {"kind": "renamed", "step": "plan", "from": "think"}),
        (
            Change("changed", "", "name", None, "x"),
            {"kind": "changed", "step": None, "facet": "name", "before": None, "after": "x"},
        ),
    ],
)
def test_a_change_for_programs(change: Change, shown: dict[str, Any]) -> None:
    assert change.as_json() == shown


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (None, "x" * 78, [f"step 's': prompt added: \"{'x' * 78}\""]),
        (None, "x" * 79, ["step 's': prompt added"]),
        (None, {"sha256": "0"}, ["step 's': prompt added"]),
        ({"b": 1, "a": "ü"}, None, ['step \'s\': prompt removed: {"a": "ü", "b": 1}']),
        ({"sha256": "0"}, "new", ["step 's': prompt changed"]),
        ("old", {"sha256": "0"}, ["step 's': prompt changed"]),
        (1, "ü", ["step 's': prompt changed: 1 -> \"ü\""]),
        ("x" * 40, "y" * 40, [f'step \'s\': prompt changed: "{"x" * 40}" -> "{"y" * 40}"']),
        ("x" * 40, "y" * 41, ["step 's': prompt changed", f"    -{'x' * 40}", f"    +{'y' * 41}"]),
        ("x\ny", "x", ["step 's': prompt changed", "     x", "    -y"]),
        (
            ["b", "ü"],
            {"b": 1, "a": 2},
            ["step 's': prompt changed", *(f"    -{each}" for each in ("[", '  "b",', '  "ü"', "]"))]
            + [f"    +{each}" for each in ("{", '  "a": 2,', '  "b": 1', "}")],
        ),
        (1, [1], ["step 's': prompt changed", "    -1", "    +[", "    +  1", "    +]"]),
        ({"a": 1}, 1, ["step 's': prompt changed", "    -{", '    -  "a": 1', "    -}", "    +1"]),
        (
            "\n".join("abcdefg"),
            "\n".join("abcDefg"),
            ["step 's': prompt changed", "     c", "    -d", "    +D", "     e"],
        ),
    ],
)
def test_a_change_for_people(before: Any, after: Any, lines: list[str]) -> None:
    assert describe(Change("changed", "s", "prompt", before, after)) == lines


def test_a_whole_step_for_people() -> None:
    assert describe(Change("removed", "again/inner", "", None, None)) == ["step 'again/inner': removed"]
    assert describe(Change("changed", "", "name", "a", "b")) == ['workflow: name changed: "a" -> "b"']

"""Small goldens made by hand, compared: what is a change, where it is said to be, and how it is shown."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_workrail.golden.diff import Difference, compare, described, text_diff


def golden(*transcript: Any, final: Any = None, **members: Any) -> dict[str, Any]:
    return {**members, "transcript": list(transcript), "final": final}


def exchange(step: str | None = "plan", tool: str = "continue_workflow", kind: str = "ok", **response: Any) -> Any:
    pending = {"pending": {"stepId": step}} if step is not None else {}
    return {"tool": tool, "request": {}, "response": {"kind": kind, **pending, **response}}


def changes(old: Any, new: Any) -> list[tuple[str, str]]:
    """The changes between two values of one place, each with its pointer below that place."""
    found = compare(golden(final=old), golden(final=new))
    assert all(difference.pointer == f"/final{difference.field}" for difference in found)
    return [(difference.change, difference.field) for difference in found]


def test_a_change_for_programs_has_only_the_sides_there_are() -> None:
    place = {"place": "final", "pointer": "/final/x"}
    for old, new, shown in (
        ({"x": 1}, {"x": 2}, {"change": "changed", **place, "old": 1, "new": 2}),
        ({}, {"x": 2}, {"change": "added", **place, "new": 2}),
        ({"x": None}, {}, {"change": "removed", **place, "old": None}),
    ):
        (difference,) = compare(golden(final=old), golden(final=new))
        assert difference.to_json() == shown


def test_differences_come_in_reading_order() -> None:
    old = golden(exchange(a=1), final={"z": 1, "b": 1, "gone": 1}, mode="x", gone=1, profile="p")
    new = golden(exchange(a=2), final={"b": 2, "z": 2}, profile="q", mode="y", come=1)
    assert [(each.place, each.pointer) for each in compare(old, new)] == [
        ("run", "/profile"),
        ("run", "/mode"),
        ("run", "/come"),
        ("run", "/gone"),
        ("response 1 (continue_workflow to plan)", "/transcript/0/response/a"),
        ("final", "/final/b"),
        ("final", "/final/z"),
        ("final", "/final/gone"),
    ]
    assert [each.field for each in compare(old, new)][:1] == ["/profile"]


def test_a_golden_may_lack_its_transcript_or_its_end() -> None:
    assert compare({}, {}) == []
    assert compare({"final": 1}, {"final": 1, "transcript": []}) == []
    (gone,) = compare(golden(final=1), {"transcript": []})
    assert gone == Difference("removed", "final", "", "/final", 1, None)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (1, 1, []),
        (1, 2, [("changed", "")]),
        (True, 1, [("changed", "")]),
        (1, 1.0, [("changed", "")]),
        (None, {}, [("changed", "")]),
        ([], {}, [("changed", "")]),
        ("1", 1, [("changed", "")]),
        (1, "1", [("changed", "")]),
        ({"a/b": 1}, {"a/b": 2}, [("changed", "/a~1b")]),
        ({"a": {"b": [1, {"c": 1}]}}, {"a": {"b": [1, {"c": 2}]}}, [("changed", "/a/b/1/c")]),
        ({"new": None}, {}, [("removed", "/new")]),
        ({}, {"new": None}, [("added", "/new")]),
        (["a\n", "b"], "a\nb", []),
    ],
)
def test_values_are_compared_as_json(old: Any, new: Any, expected: list[tuple[str, str]]) -> None:
    assert changes(old, new) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([1, 2, 3], [1, 3], [("removed", "/1")]),
        ([1, 3], [1, 2, 3], [("added", "/1")]),
        ([1, 2, 3], [1, 9, 3], [("changed", "/1")]),
        ([1, 2, 3, 4], [0, 1, 9, 3, 4], [("added", "/0"), ("changed", "/2")]),
        ([1, 2, 3, 4], [2, 3, 9], [("removed", "/0"), ("changed", "/2")]),
        ([1, 2, 9], [1, 3, 4, 9], [("changed", "/1"), ("added", "/2")]),
        ([1, 2, 3, 9], [1, 4, 9], [("changed", "/1"), ("removed", "/2")]),
        ([{"a": 1, "b": 2}, {"a": 3, "b": 4}], [{"b": 4, "a": 3}], [("removed", "/0")]),
        # Items that are not the same belong together when they are of one kind.
        (["a", 1], [2, "a"], [("added", "/0"), ("removed", "/1")]),
        (["a", 1], [2], [("removed", "/0"), ("changed", "/0")]),
        ([{"code": "A", "x": 1}, {"code": "B"}], [{"code": "B", "x": 1}], [("removed", "/0"), ("added", "/0/x")]),
        ([{"id": 1, "x": 1}, {"id": 2}], [{"id": 2, "x": 1}], [("removed", "/0"), ("added", "/0/x")]),
        ([{"kind": 1, "x": 1}, {"kind": 2}], [{"kind": 2, "x": 1}], [("removed", "/0"), ("added", "/0/x")]),
        ([{"stepId": 1, "x": 1}, {"stepId": 2}], [{"stepId": 2, "x": 1}], [("removed", "/0"), ("added", "/0/x")]),
        ([{"event": 1, "x": 1}, {"event": 2}], [{"event": 2, "x": 1}], [("removed", "/0"), ("added", "/0/x")]),
        ([{"type": 1, "x": 1}, {"type": 2}], [{"type": 2, "x": 1}], [("removed", "/0"), ("added", "/0/x")]),
        ([{"node": 1, "x": 1}, {"node": 2}], [{"node": 2, "x": 1}], [("removed", "/0"), ("added", "/0/x")]),
        ([{"x": 1}, {"y": 2}], [{"y": 3}], [("removed", "/0/x"), ("added", "/0/y"), ("removed", "/1")]),
    ],
)
def test_items_of_lists_are_aligned_before_they_are_compared(
    old: list[Any], new: list[Any], expected: list[tuple[str, str]]
) -> None:
    assert sorted(changes(old, new)) == sorted(expected)


def test_a_long_list_of_the_same_items_is_aligned_like_a_short_one() -> None:
    """Past 200 items a matcher left to itself takes those that come often for noise."""
    many = [{"code": "same"}] * 250
    assert changes([*many, 1], [0, *many, 1]) == [("added", "/0")]
    texts = [exchange("same") for _ in range(250)]
    (difference,) = compare(golden(*texts), golden(exchange("first"), *texts))
    assert difference.pointer == "/transcript/0"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (["«CT1»", "«CT2»"], ["«CT3»", "«CT1»"], []),
        (["«CT1»", "«CT1»"], ["«CT1»", "«CT2»"], [("changed", "/1")]),
        (["«CT1»", "«CT2»"], ["«CT1»", "«CT1»"], [("changed", "/1")]),
        (["«CT1» and «NODE1»"], ["«CT2» and «NODE7»"], []),
        (["«CT1» and «NODE1»"], ["«CT2» or «NODE7»"], [("changed", "/0")]),
        (["«CT1»"], ["«CK1»"], [("changed", "/0")]),
        (["«CT1»"], ["«CT1 altered»"], [("changed", "/0")]),
        (["«CT1 altered»"], ["«CT2 altered»"], []),
        (["«CT1»"], ["«CT1»«CT2»"], [("changed", "/0")]),
        (["«CT1»"], ["CT1"], [("changed", "/0")]),
        (["CT1"], ["«CT1»"], [("changed", "/0")]),
        (["«a» CT1"], ["«a» CT2"], [("changed", "/0")]),
        (["«a1»"], ["«a2»"], [("changed", "/0")]),
        (["1«CT1»"], ["2«CT1»"], [("changed", "/0")]),
    ],
)
def test_symbols_are_compared_by_what_they_stand_for(old: Any, new: Any, expected: list[tuple[str, str]]) -> None:
    assert changes(old, new) == expected


def test_a_symbol_stands_for_one_thing_in_the_whole_golden() -> None:
    old = golden(exchange(continueToken="«CT1»"), final={"token": "«CT1»"})
    new = golden(exchange(continueToken="«CT2»"), final={"token": "«CT1»"})
    assert [each.pointer for each in compare(old, new)] == ["/final/token"]


@pytest.mark.parametrize(
    ("shown", "place"),
    [
        (exchange("plan"), "response 1 (continue_workflow to plan)"),
        (exchange(None, stepId="act"), "response 1 (continue_workflow to act)"),
        (exchange("plan", stepId="act"), "response 1 (continue_workflow to plan)"),
        (exchange(None), "response 1 (continue_workflow)"),
        ({"tool": "resume_session", "error": {}}, "error 1 (resume_session)"),
        ({"response": {"stepId": 7}}, "response 1 (? to 7)"),
        ({"tool": "x", "response": 3}, "response 1 (x)"),
        (5, "response 1 (?)"),
    ],
)
def test_a_response_is_named_by_its_number_its_tool_and_the_step_it_leads_to(shown: Any, place: str) -> None:
    (difference,) = compare(golden(), golden(shown))
    assert (difference.change, difference.place, difference.field) == ("added", place, "")
    assert (difference.pointer, difference.new) == ("/transcript/0", shown)
    (difference,) = compare(golden(shown), golden())
    assert (difference.change, difference.place, difference.old) == ("removed", place, shown)


def test_a_field_of_a_response_is_named_without_and_one_of_a_request_with_its_side() -> None:
    old, new = exchange(x=1), exchange(x=2)
    new["request"], new["tool"] = {"goal": "g"}, "start_workflow"
    assert [(each.field, each.pointer) for each in compare(golden(old), golden(new))] == [
        ("/tool", "/transcript/0/tool"),
        ("/request/goal", "/transcript/0/request/goal"),
        ("/x", "/transcript/0/response/x"),
    ]


def test_something_else_in_place_of_an_exchange_is_one_change() -> None:
    for old, new in ((5, exchange()), (exchange(), 5), (5, 6)):
        found = compare(golden(old), golden(new))
        assert {(each.pointer, each.field) for each in found} == {("/transcript/0", "")}, found
    # What follows is compared all the same.
    found = compare(golden(5, exchange(x=1)), golden(6, exchange(x=2)))
    assert [each.pointer for each in found] == ["/transcript/0", "/transcript/1/response/x"]


def test_exchanges_that_changed_are_aligned_by_tool_kind_and_step() -> None:
    for other in ({"tool": "start_workflow"}, {"kind": "blocked"}, {"step": "other"}):
        old = golden(exchange(**{"step": "plan", **other}), exchange("plan", x=1))
        (gone, changed) = compare(old, golden(exchange("plan", x=2)))
        assert (gone.change, gone.pointer) == ("removed", "/transcript/0")
        assert (changed.change, changed.pointer) == ("changed", "/transcript/0/response/x")
        assert changed.place == "response 1 (continue_workflow to plan, was 2)"


def test_differences_for_people() -> None:
    differences = [
        Difference("added", "final", "/x", "/final/x", None, "ü\x1b"),
        Difference("removed", "final", "", "/final", {"a": 1}),
        Difference("changed", "run", "/\x1b", "/mode", 1, "two"),
    ]
    assert described(differences) == [
        "final: /x is new",
        '    + "ü\\u001b"',
        "final is gone",
        '    - {"a": 1}',
        "run: /\\u001b",
        "    - 1",
        '    + "two"',
    ]


def test_of_a_text_only_the_lines_that_changed_are_shown() -> None:
    changed = Difference("changed", "run", "/prompt", "/prompt", "a\nb\nc\nd\ne", "a\nB\nc\ne\n\x1b")
    assert described([changed]) == [
        "run: /prompt line 2",
        "    - b",
        "    + B",
        "run: /prompt line 4",
        "    - d",
        "run: /prompt line 5",
        "    + \\u001b",
    ]
    for old, new in (("a", "a\nb"), ("a\nb", "a")):
        assert described([changed._replace(old=old, new=new)])[0] == "run: /prompt line 2"
    assert described([changed._replace(old=["a\nb"], new="a\nb")])[0] == "run: /prompt"
    assert described([changed._replace(old="a\nb", new=["a\nb"])])[0] == "run: /prompt"


def test_many_lines_alike_do_not_hide_the_one_that_changed() -> None:
    same = "\n".join(["same"] * 300)
    changed = Difference("changed", "run", "/prompt", "/prompt", same, f"first\n{same}")
    assert described([changed]) == ["run: /prompt line 1", "    + first"]


def test_at_most_so_many_differences_are_shown() -> None:
    added = [Difference("added", "final", f"/{number}", "", None, number) for number in range(21)]
    assert len(described(added[:20])) == 40
    assert described(added)[-1] == "... and 1 more"
    assert len(described(added, None)) == 42
    assert described(added, 1) == ["final: /0 is new", "    + 0", "... and 20 more"]


def test_a_long_value_is_cut() -> None:
    for length, end in ((298, '"'), (299, "...")):
        (_, line) = described([Difference("added", "final", "", "", None, "x" * length)])
        assert line.endswith(end)
        assert len(line.removesuffix("...")) == len("    + ") + 300


def test_the_text_diff_names_both_sides_and_ends_after_so_many_lines() -> None:
    old, new = b"a\nb\xff\n", b"a\nc\n"
    whole = ["--- g", "+++ this run", "@@ -1,2 +1,2 @@", " a", "-b\ufffd", "+c"]
    assert text_diff(old, new, "g") == whole
    assert text_diff(old, new, "g", 6) == whole
    assert text_diff(old, new, "g", 5) == [*whole[:5], "... and 1 more lines"]
    many = b"\n".join(b"%d" % number for number in range(100))
    assert len(text_diff(b"", many, "g")) == 81
    assert len(text_diff(b"", many, "g", None)) == 103
    assert text_diff(b"\x1b", b"", "g")[-1] == "-\\u001b"

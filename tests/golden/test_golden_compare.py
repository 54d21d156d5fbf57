"""Small goldens made by hand, compared: what is a difference, where it is said to be, and what lies between the two."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from golden_bench import Recorder, step, workflow
from golden_made_up import made_up
from hypothesis import given
from hypothesis import strategies as st

from pytest_workrail.golden.diff import Difference, compare, merged
from pytest_workrail.golden.document import golden_value
from pytest_workrail.golden.encoding import same
from pytest_workrail.golden.symbols import joined
from workrail_lint.documents import pointer


def golden(*transcript: Any, final: Any = None, **members: Any) -> dict[str, Any]:
    return {**members, "transcript": list(transcript), "final": final}


def exchange(step_id: str | None = "plan", tool: str = "continue_workflow", kind: str = "ok", **response: Any) -> Any:
    pending = {"pending": {"stepId": step_id}} if step_id is not None else {}
    return {"tool": tool, "request": {}, "response": {"kind": kind, **pending, **response}}


def changes(old: Any, new: Any) -> list[tuple[str, str]]:
    """The changes between two values of one place, each with its pointer below that place."""
    return [
        (each.change, each.pointer.removeprefix("/final")) for each in compare(golden(final=old), golden(final=new))
    ]


def test_a_change_for_programs_has_only_the_sides_there_are() -> None:
    place = {"step": "", "field": "final/x", "pointer": "/final/x"}
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
    assert [(each.sort, each.pointer) for each in compare(old, new)] == [
        ("answer", "/profile"),
        ("answer", "/mode"),
        ("answer", "/come"),
        ("answer", "/transcript/0/response/a"),
        ("echo", "/final/b"),
        ("echo", "/final/z"),
        ("echo", "/final/gone"),
        ("answer", "/gone"),
    ]


def test_metadata_are_no_difference() -> None:
    assert compare(golden(metadata={"version": "1"}), golden(metadata={"version": "2"})) == []


@pytest.mark.parametrize("is_taken", [True, False])
def test_between_two_goldens_the_metadata_are_those_of_the_newer_one(is_taken: bool) -> None:
    old, new = golden(final=1, metadata={"version": "1"}), golden(final=2, metadata={"version": "2"})
    assert merged(old, new, lambda *_: is_taken).value["metadata"] == {"version": "2"}


def test_a_golden_may_lack_its_transcript_or_its_end() -> None:
    assert compare({}, {}) == []
    assert [each.pointer for each in compare({"final": 1}, {"final": 1, "transcript": []})] == ["/transcript"]
    (gone,) = compare(golden(final=1), {"transcript": []})
    assert gone == Difference("removed", "echo", "", "final", "/final", 1, None)


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
        ([{"a": 1, "b": 2}, {"a": 3, "b": 4}], [{"b": 4, "a": 3}], [("removed", "/0")]),
        # Items that are not the same belong together when they are of one kind.
        (["a", 1], [2, "a"], [("added", "/0"), ("removed", "/1")]),
        (["a", 1], [2], [("removed", "/0"), ("changed", "/0")]),
        ([{"code": "A", "x": 1}, {"code": "B"}], [{"code": "B", "x": 1}], [("removed", "/0"), ("added", "/0/x")]),
        ([{"stepId": 1, "x": 1}, {"stepId": 2}], [{"stepId": 2, "x": 1}], [("removed", "/0"), ("added", "/0/x")]),
        ([{"type": 1, "x": 1}, {"type": 2}], [{"type": 2, "x": 1}], [("removed", "/0"), ("added", "/0/x")]),
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
        (["CT1"], ["«CT1»"], [("changed", "/0")]),
        (["«a1»"], ["«a2»"], [("changed", "/0")]),
    ],
)
def test_symbols_are_compared_by_what_they_stand_for(old: Any, new: Any, expected: list[tuple[str, str]]) -> None:
    assert changes(old, new) == expected


def test_a_symbol_stands_for_one_thing_in_the_whole_golden() -> None:
    old = golden(exchange(continueToken="«CT1»"), final={"token": "«CT1»"})
    new = golden(exchange(continueToken="«CT2»"), final={"token": "«CT1»"})
    assert [(each.sort, each.pointer) for each in compare(old, new)] == [("symbol", "/final/token")]


@pytest.mark.parametrize(
    ("shown", "step_id", "kind"),
    [
        (exchange("plan"), "plan", "ok"),
        (exchange(None, stepId="act", kind="gate_checkpoint"), "act", "gated"),
        (exchange("plan", stepId="act"), "plan", "ok"),
        (exchange(None, isComplete=True), "", "complete"),
        ({"tool": "resume_session", "request": {}, "error": {"code": "X"}}, "", "error X"),
    ],
)
def test_a_turn_is_named_by_its_answer_and_the_step_it_leads_to(shown: Any, step_id: str, kind: str) -> None:
    found = [
        each for each in compare(golden(exchange("first")), golden(exchange("first"), shown)) if each.sort == "turn"
    ]
    assert [(each.change, each.step, each.field, each.pointer.rpartition("/")[0]) for each in found] == [
        ("added", step_id, kind, "/transcript/1")
    ]
    (gone,) = [
        each for each in compare(golden(exchange("first"), shown), golden(exchange("first"))) if each.sort == "turn"
    ]
    assert (gone.change, gone.step) == ("removed", step_id)


def test_what_an_agent_sends_belongs_to_the_step_it_answers() -> None:
    old, new = golden(exchange("a"), exchange("b")), golden(exchange("a"), exchange("b"))
    new["transcript"][1]["request"] = {"notes": "x"}
    (difference,) = compare(old, new)
    assert (difference.sort, difference.step, difference.field) == ("input", "a", "request/notes")
    assert difference.pointer == "/transcript/1/request/notes"


def test_one_turn_more_is_one_turn_and_what_follows_is_paired() -> None:
    prompts = [f"Prompt {number}." for number in range(5)]
    old = golden_value(made_up(*prompts))
    new = copy.deepcopy(old)
    extra = copy.deepcopy(new["transcript"][2])
    extra["response"]["kind"] = "blocked"
    new["transcript"].insert(3, extra)
    turns = [each for each in compare(old, new) if each.sort == "turn"]
    assert [(each.change, each.step, each.field) for each in turns] == [("added", "step-2", "blocked")]
    assert {each.sort for each in compare(old, new)} <= {"turn", "symbol"}


def test_the_authors_text_of_a_prompt_is_apart_from_what_the_engine_adds() -> None:
    old, new = golden_value(made_up("Plan it.⟪\\X⟫")), golden_value(made_up("Plan it.⟪\\X⟫"))
    for value, text in ((old, "⟪LOOP_FIRST⟫Plan.⟪NOTES_FULL⟫"), (new, "⟪LOOP_NEXT⟫Plan all.⟪NOTES_BRIEF⟫")):
        value["transcript"][0]["response"]["pending"]["prompt"] = text
    assert [(each.sort, each.field, each.old) for each in compare(old, new)] == [
        ("echo", "around the prompt", "⟪LOOP_FIRST⟫"),
        ("answer", "prompt", "Plan."),
        ("echo", "around the prompt", "⟪NOTES_FULL⟫"),
    ]


def test_something_else_in_place_of_an_exchange_is_still_compared() -> None:
    for damaged in ({}, {"transcript": 1}, {"transcript": [1, None, {}, {"response": 3}]}, {"final": []}):
        assert compare(damaged, golden_value(made_up("A.")))
        assert compare(golden_value(made_up("A.")), damaged)


SCALARS = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "b\nc", "«CT1»", "«CT2»"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)
GOLDENS = st.builds(
    lambda prompts, value: golden_value(made_up(*prompts, value=value)),
    st.lists(st.sampled_from(["A.", "B.", "C.\nD."]), max_size=4),
    VALUES,
)


@given(GOLDENS)
def test_nothing_differs_from_itself(value: dict[str, Any]) -> None:
    assert compare(value, copy.deepcopy(value)) == []


@given(GOLDENS, GOLDENS)
def test_what_is_not_the_same_differs_somewhere_and_pointers_lead_there(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    found = compare(old, new)
    assert not found if same(old, new) else True
    for each in found:
        if each.change != "removed" and each.sort != "turn" and each.field not in ("prompt", "around the prompt"):
            assert pointer.resolve(joined(new), each.pointer) == each.new


@given(GOLDENS, GOLDENS)
def test_between_two_goldens_are_both_of_them(old: dict[str, Any], new: dict[str, Any]) -> None:
    nothing, everything = (merged(old, new, lambda *_, all_of_it=taken: all_of_it) for taken in (False, True))
    assert compare(old, nothing.value) == []
    assert compare(new, everything.value) == []


def test_half_of_the_changes_of_a_real_run_is_what_half_of_them_would_give() -> None:
    def run(first: str, second: str) -> dict[str, Any]:
        recorder = Recorder(workflow(step("one", first), step("two", second), step("three", "Three.")))
        answer = recorder.start()
        answer = recorder.go(answer, notes="n1")
        recorder.go(answer, intent="rehydrate", workspacePath="/work/space")
        answer = recorder.go(answer, notes="n2")
        return golden_value(recorder.transcript())

    old, new, half = run("Do one.", "Do two."), run("Do the one.", "Do the two."), run("Do one.", "Do the two.")
    found = compare(old, new)
    made = merged(old, new, lambda number, _: found[number].step == "two")
    assert same(made.value, half)


def test_a_turn_between_others_can_be_taken_alone() -> None:
    def run(*steps: str) -> dict[str, Any]:
        recorder = Recorder(workflow(*(step(name, f"Do {name}.") for name in steps)))
        answer = recorder.start()
        for name in steps:
            answer = recorder.go(answer, notes=f"done {name}")
        return golden_value(recorder.transcript(outputs=[{"step": name, "notes": f"done {name}"} for name in steps]))

    old, new = run("one", "three"), run("one", "two", "three", "four")
    found = compare(old, new)
    made = merged(old, new, lambda number, _: found[number].step in ("two", ""))
    assert same(made.value, run("one", "two", "three"))
    torn = merged(old, new, lambda number, _: found[number].sort == "turn" and found[number].change == "removed")
    assert torn.is_ok or "depend" in torn.error

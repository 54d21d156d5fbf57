"""Differences between goldens: which response, which field, and no noise from what merely moved."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from golden_bench import Recorder, step, workflow
from golden_made_up import made_up
from hypothesis import given
from hypothesis import strategies as st

from pytest_workrail.golden.diff import compare, described, text_diff
from pytest_workrail.golden.document import golden_value
from pytest_workrail.golden.encoding import dumps, same
from pytest_workrail.golden.symbols import joined
from workrail_lint.documents import pointer


def _golden(*prompts: str, **final: Any) -> dict[str, Any]:
    return golden_value(made_up(*prompts, **final))


def _shown(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return described(compare(old, new))


def test_a_changed_prompt_names_the_response_the_field_and_the_line() -> None:
    old, new = _golden("One.", "Two.\nAgain.\nEnd."), _golden("One.", "Two.\nOnce more.\nEnd.")
    (difference,) = compare(old, new)
    assert difference.pointer == "/transcript/1/response/pending/prompt"
    assert _shown(old, new) == [
        "response 2 (continue_workflow to step-1): /pending/prompt line 2",
        "    - Again.",
        "    + Once more.",
    ]


def test_other_changes_name_their_place_too() -> None:
    old, new = _golden("One.", gaps=[], blockers=[1]), {**_golden("One.", status="blocked", gaps=[{"code": "X"}])}
    new["profile"] = "locked"
    new["transcript"][0]["request"]["goal"] = "another"
    new["transcript"][0]["response"]["isComplete"] = True
    assert _shown(old, new) == [
        "run: /profile",
        '    - "reference"',
        '    + "locked"',
        "response 1 (start_workflow to step-0): /request/goal",
        '    - "demo"',
        '    + "another"',
        "response 1 (start_workflow to step-0): /isComplete",
        "    - false",
        "    + true",
        "final: /status",
        '    - "complete"',
        '    + "blocked"',
        "final: /gaps/0 is new",
        '    + {"code": "X"}',
        "final: /blockers is gone",
        "    - [1]",
    ]


def test_one_call_more_is_one_difference() -> None:
    prompts = [f"Prompt {number}." for number in range(6)]
    old = _golden(*prompts)
    recorded = made_up(*prompts)
    new = golden_value(recorded)
    extra = copy.deepcopy(new["transcript"][2])
    extra["response"]["pending"]["prompt"] = "Something else."
    extra["response"]["kind"] = "blocked"
    extra["response"]["continueToken"] = "«CT99»"
    new["transcript"].insert(3, extra)
    renumbered = json.loads(json.dumps(new, ensure_ascii=False).replace("«CT4»", "«CT40»").replace("«CT5»", "«CT50»"))
    (difference,) = compare(old, renumbered)
    assert (difference.change, difference.pointer) == ("added", "/transcript/3")
    assert described([difference])[0] == "response 4 (continue_workflow to step-2) is new"
    (gone,) = compare(renumbered, old)
    assert (gone.change, gone.place) == ("removed", "response 4 (continue_workflow to step-2)")


def test_a_response_that_moved_and_changed_says_where_it_was() -> None:
    old = _golden("A.", "B.", "C.")
    new = _golden("A.", "B.", "C.")
    new["transcript"][2]["response"]["pending"]["prompt"] = "C changed."
    del new["transcript"][1]
    gone, _, *rest = _shown(old, new)
    assert gone == "response 2 (continue_workflow to step-1) is gone"
    assert rest == [
        "response 2 (continue_workflow to step-2, was 3): /pending/prompt",
        '    - "C."',
        '    + "C changed."',
    ]


def test_another_token_in_the_same_place_is_a_change() -> None:
    old = _golden("A.", "B.", "C.")
    new = copy.deepcopy(old)
    new["transcript"][2]["request"]["continueToken"] = "«CT1»"
    (difference,) = compare(old, new)
    assert difference.pointer == "/transcript/2/request/continueToken"


def test_a_token_is_not_a_node() -> None:
    old, new = _golden("See «A»."), _golden("See «A».")
    old["final"]["at"], new["final"]["at"] = "«NODE1»", "«CT1»"
    assert [difference.pointer for difference in compare(old, new)] == ["/final/at"]


def test_an_error_instead_of_an_answer() -> None:
    recorder = Recorder(workflow(step("one", "One."), step("two", "Two.")))
    answer = recorder.start()
    recorder.go(answer, notes="n")
    old = golden_value(recorder.transcript())
    broken = Recorder(workflow(step("one", "One."), step("two", "Two.")))
    answer = broken.start()
    broken.call("continue_workflow", continueToken="hello", intent="advance")
    new = golden_value(broken.transcript())
    lines = _shown(old, new)
    assert "error 2 (continue_workflow): /error is new" in lines
    assert any(line.startswith("error 2 (continue_workflow) is gone") for line in lines)


def test_truth_is_not_one() -> None:
    assert [each.pointer for each in compare(_golden(a=True, b=1), _golden(a=1, b=1.0))] == ["/final/a"]


def test_what_means_the_same_is_said_so() -> None:
    golden = _golden("A.")
    assert compare(golden, dict(reversed(golden.items()))) == []
    assert described([]) == ["only the order of members, white space or the numbers of symbols differ"]


def test_many_differences_are_counted() -> None:
    old, new = _golden(values=list(range(50))), _golden(values=[-number for number in range(50)])
    lines = _shown(old, new)
    assert lines[-1] == "... and 29 more"
    assert len(described(compare(old, new), None)) > len(lines)


def test_nothing_a_run_says_can_speak_to_the_terminal() -> None:
    old, new = _golden("A.\nB."), _golden("A.\n\x1b[2Jboo")
    assert all(line.isprintable() for line in _shown(old, new))
    assert all(line.isprintable() for line in text_diff(dumps(old), dumps(new), "x"))


def test_the_text_diff_has_an_end() -> None:
    old, new = _golden(values=list(range(200))), _golden(values=[-number for number in range(200)])
    lines = text_diff(dumps(old), dumps(new), "g.golden.json")
    assert lines[0] == "--- g.golden.json"
    assert lines[1] == "+++ this run"
    assert lines[-1].startswith("... and ")
    assert len(lines) == 81


@pytest.mark.parametrize(
    "damaged", [{}, {"transcript": 1}, {"transcript": [1, None, {}, {"response": 3}]}, {"final": []}]
)
def test_a_golden_somebody_edited_is_still_compared(damaged: dict[str, Any]) -> None:
    assert compare(damaged, _golden("A."))
    assert compare(_golden("A."), damaged)


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
def test_nothing_differs_from_itself(golden: dict[str, Any]) -> None:
    assert compare(golden, copy.deepcopy(golden)) == []


@given(GOLDENS, GOLDENS)
def test_what_differs_is_always_told(old: dict[str, Any], new: dict[str, Any]) -> None:
    differences = compare(old, new)
    assert bool(differences) == (not same(old, new))
    for difference in differences:
        side = old if difference.change == "removed" else new
        expected = difference.old if difference.change == "removed" else difference.new
        assert joined(pointer.resolve(joined(side), difference.pointer)) == expected
        assert json.dumps(difference.to_json())
    assert described(differences, None)

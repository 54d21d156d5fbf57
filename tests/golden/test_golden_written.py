"""From single exchanges to a golden, and from a golden to bytes and back: what is hidden, and what must not be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from golden_made_up import HASH, made_up
from msgspec.structs import replace

from pytest_workrail.agents.agent import Exchange
from pytest_workrail.golden import document
from pytest_workrail.golden.document import golden_bytes, golden_value, lifecycle_bytes
from pytest_workrail.golden.encoding import dumps, encode, layout, loads, same, same_metadata
from workrail_lint.base.result import Err, Ok

NODE = "node_abcdefghijklmnopqrstuvwxyz"


class Stored:
    """An event as far as a record looks at it."""

    def __init__(self, **wire: Any) -> None:
        self._wire = {"eventIndex": 3, "kind": "node_created", "eventId": "e", "timestampMs": 1, **wire}

    def to_wire(self) -> dict[str, Any]:
        return self._wire


def shown(response: dict[str, Any], *, is_error: bool = False, tool: str = "x", **request: Any) -> dict[str, Any]:
    """One exchange as its golden shows it."""
    transcript = replace(made_up(), exchanges=(Exchange(tool, request, response, is_error),))
    (one,) = golden_value(transcript)["transcript"]
    made: dict[str, Any] = one
    return made


def test_a_golden_says_which_workflow_was_run_and_how() -> None:
    value = golden_value(made_up("One.", context={"a": 1}))
    assert {**value, "transcript": len(value["transcript"])} == {
        "format": "workrail.golden/2",
        "workflow": "made-up",
        "profile": "reference",
        "mode": "guided",
        "metadata": {"workflowHash": HASH},
        "transcript": 1,
        "final": {"status": "complete", "context": {"a": 1}},
    }
    assert golden_bytes(made_up("One.")) == encode(golden_value(made_up("One.")))


def test_an_answer_and_an_error_have_members_of_their_own() -> None:
    assert shown({"kind": "ok"}, goal="g") == {"tool": "x", "request": {"goal": "g"}, "response": {"kind": "ok"}}
    assert shown({"code": "X"}, is_error=True) == {"tool": "x", "request": {}, "error": {"code": "X"}}


def test_the_workspace_of_a_request_is_a_symbol_in_its_answer() -> None:
    assert shown({"folder": "/work/space/a"}, workspacePath="/work/space") == {
        "tool": "x",
        "request": {"workspacePath": "«WORKSPACE»"},
        "response": {"folder": "«WORKSPACE»/a"},
    }


def test_long_texts_are_cut_in_what_the_agent_sent_and_nowhere_else() -> None:
    long = "x" * 9_000
    one = shown({"text": long}, goal=long)
    assert one["request"]["goal"].endswith("»")
    assert len(one["request"]["goal"]) < 300
    assert one["response"] == {"text": long}
    assert shown({"text": long}, is_error=True)["error"] == {"text": long}
    assert len(golden_value(made_up(notes=long))["final"]["notes"]) < 300


def test_our_words_about_blockers_are_hidden_and_all_else_about_them_is_shown() -> None:
    blockers = [{"code": "A", "suggestedFix": "Do it."}, {"code": "B"}, "text"]
    hidden = [{"code": "A", "suggestedFix": "⟪FIX⟫"}, {"code": "B"}, "text"]
    assert shown({"blockers": {"blockers": blockers, "more": 1}})["response"] == {
        "blockers": {"blockers": hidden, "more": 1}
    }
    assert golden_value(made_up(blockers=blockers))["final"] == {"status": "complete", "blockers": hidden}
    for odd in (["x"], {"blockers": {"suggestedFix": "kept"}}, 5):
        assert shown({"blockers": odd})["response"] == {"blockers": odd}


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ({"suggestion": "Try again.", "at": 1}, {"suggestion": "⟪SUGGESTION⟫", "at": 1}),
        ({"suggestion": 5}, {"suggestion": 5}),
        ({"at": 1}, {"at": 1}),
        ("suggestion", "suggestion"),
        (None, None),
    ],
)
def test_our_suggestion_in_an_error_is_hidden(details: Any, expected: Any) -> None:
    assert shown({"code": "X", "details": details}, is_error=True)["error"] == {"code": "X", "details": expected}


def test_candidates_say_nothing_about_the_machine_and_the_hour() -> None:
    candidates = [
        {"title": "a", "lastModifiedMs": 5, "gitBranch": "main"},
        {"title": "b", "lastModifiedMs": None, "gitBranch": None},
        {"title": "c"},
        "text",
    ]
    assert shown({"candidates": candidates})["response"]["candidates"] == [
        {"title": "a", "gitBranch": "«BRANCH»", "lastModifiedMs": "«TIME»"},
        {"title": "b", "gitBranch": None, "lastModifiedMs": None},
        {"title": "c"},
        "text",
    ]
    for odd in ({"lastModifiedMs": 5}, "text"):
        assert shown({"candidates": odd})["response"] == {"candidates": odd}


@pytest.mark.parametrize(
    ("pending", "expected"),
    [
        ({"stepId": "s", "prompt": "One.\nTwo."}, {"stepId": "s", "prompt": ["One.\n", "Two."]}),
        ({"stepId": "s", "prompt": f"At {NODE}."}, {"stepId": "s", "prompt": "At «NODE1»."}),
        ({"prompt": "«CT1»"}, {"prompt": "«\\CT1»"}),
        ({"stepId": "s"}, {"stepId": "s"}),
        ({"stepId": "s", "prompt": ["x"]}, {"stepId": "s", "prompt": ["x"]}),
        ("text", "text"),
        (None, None),
    ],
)
def test_a_prompt_is_shown_in_lines_with_symbols(pending: Any, expected: Any) -> None:
    assert shown({"kind": "ok", "pending": pending})["response"] == {"kind": "ok", "pending": expected}


def test_symbols_of_a_response_are_numbered_before_those_of_its_prompt() -> None:
    other = NODE[:-1] + "a"
    response = shown({"pending": {"prompt": f"{NODE} {other}"}, "zNode": other})["response"]
    assert response == {"pending": {"prompt": "«NODE2» «NODE1»"}, "zNode": "«NODE1»"}


def test_workflows_that_differ_by_hash_or_profile_have_slots_of_their_own() -> None:
    document._masks.clear()
    for profile in ("reference", "locked"):
        golden_value(replace(made_up("One."), profile=profile))
        golden_value(replace(made_up("One."), profile=profile))
    assert list(document._masks) == [(HASH, "reference"), (HASH, "locked")]
    kept = document._masks[HASH, "locked"]
    for number in range(62):
        golden_value(replace(made_up(), workflow_hash=f"sha256:{number}"))
    assert len(document._masks) == 64
    assert document._masks[HASH, "locked"] is kept
    golden_value(replace(made_up(), workflow_hash="sha256:one too many"))
    assert list(document._masks) == [("sha256:one too many", "reference")]


def test_a_record_of_prepared_outputs_holds_what_was_said_and_what_was_stored() -> None:
    transcript = replace(
        made_up(status="blocked"),
        exchanges=(
            Exchange("x", {"goal": "g"}, {"kind": "ok", "nodeId": NODE}, False),
            Exchange("y", {}, {"code": "X", "details": {"suggestion": "s"}}, True),
        ),
    )
    log: Any = [
        Stored(scope={"nodeId": NODE}, data={"nodeKind": "step", "snapshotRef": "sha256:1"}),
        Stored(data={"nodeKind": "blocked_attempt", "snapshotRef": "sha256:1", "a": 1}, kind="other", eventIndex=4),
    ]
    record = json.loads(lifecycle_bytes(transcript, log))
    assert record == {
        "workflowHash": HASH,
        "profile": "reference",
        "transcript": [
            {"request": {"goal": "g"}, "response": {"kind": "ok", "nodeId": "«NODE1»"}},
            {"request": {}, "response": {"code": "X", "details": {"suggestion": "⟪SUGGESTION⟫"}}},
        ],
        "log": [
            {
                "index": 3,
                "kind": "node_created",
                "data": {"nodeKind": "step", "snapshotRef": "sha256:1"},
                "scope": {"nodeId": "«NODE1»"},
            },
            {
                "index": 4,
                "kind": "other",
                "data": {"nodeKind": "blocked_attempt", "snapshotRef": "«SNAPSHOT»", "a": 1},
            },
        ],
        "status": "blocked",
    }
    assert list(record) == ["workflowHash", "profile", "transcript", "log", "status"]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"ü": ["a"]}, '{\n  "ü": [\n    "a"\n  ]\n}\n'),
        ({"n": 2**70}, '{\n  "n": 1180591620717411303424\n}\n'),
        ({"s": "ü\ud83d\udfff."}, '{\n  "s": "ü\\ud83d\\udfff."\n}\n'),
        ({"s": "\ud800\udc00", "t": "\ud7ff\ue000"}, '{\n  "s": "\\ud800\\udc00",\n  "t": "\ud7ff\ue000"\n}\n'),
    ],
    ids=["plain", "large number", "half pairs", "borders"],
)
def test_a_golden_is_written_the_same_way_whatever_is_in_it(value: dict[str, Any], written: str) -> None:
    assert dumps(value) == written.encode()


def test_a_number_that_json_does_not_know_is_refused_by_the_long_way_too() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps({"large": 2**70, "none": float("nan")})


@pytest.mark.parametrize("text", ['{"format": "workrail.golden/2"}', '{"pack": "team"}', '{"pack": "x", "format": 1}'])
def test_goldens_of_all_contracts_are_read(text: str) -> None:
    assert loads(text.encode()) == Ok(json.loads(text))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"pack": 1}', "no format"),
        ('["pack"]', "no format"),
        ("5", "no format"),
        ('"format"', "no format"),
        ('{"format": "workrail.golden/1"}', "convert it with: workrail-test golden migrate"),
        ('{"format": "workrail.golden/3"}', "'workrail.golden/3', and this version reads 'workrail.golden/2'"),
        ('{"format": null}', "of format None"),
        ('{"pack": "x", "n": NaN}', "NaN"),
        ('{"pack": "x", "n": [-Infinity]}', "-Infinity"),
        ('{"pack": "x", "n": {"a": 1, "b": 2, "b": 2, "a": 1}}', "'a' is there twice"),
        ('{"pack": "x", "n": {"a": 1, "b": 2, "b": 2}}', "'b' is there twice"),
        ("{", "not readable as JSON"),
    ],
)
def test_what_is_read_is_a_golden_or_says_why_it_is_none(text: str, problem: str) -> None:
    read = loads(text.encode())
    assert isinstance(read, Err)
    assert problem in read.error


def test_goldens_are_the_same_when_they_say_the_same() -> None:
    assert same({"a": 1, "b": ["x\n", "y"]}, {"b": "x\ny", "a": 1})
    assert not same({"a": 1}, {"a": True})
    assert not same({"a": 1}, {"a": 1, "b": None})
    assert not same({"a": [1, 2]}, {"a": [2, 1]})
    assert same({"a": 1, "metadata": {"version": "1"}}, {"a": 1, "metadata": {"version": "2"}})
    assert not same_metadata({"a": 1, "metadata": {"version": "1"}}, {"a": 1, "metadata": {"version": "2"}})
    assert same_metadata({"a": 1, "metadata": {"version": "1"}}, {"a": 2, "metadata": {"version": "1"}})


def test_what_fits_into_a_hundred_columns_is_one_line() -> None:
    fitting, long = ({"a": "x" * size, "b": 1} for size in (83, 84))
    assert layout(fitting) == f'{{"a": "{"x" * 83}", "b": 1}}'
    assert len(layout(fitting)) == 100
    assert layout(long).count("\n") == 3

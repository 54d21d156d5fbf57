"""Requests at the boundary: shapes, aliases, contradictions, and what a caller is told about them."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_workrail.engine.core.outputs import Submission
from pytest_workrail.engine.model.words import Preferences
from pytest_workrail.engine.protocol.requests import (
    AdvanceRequest,
    RehydrateRequest,
    read_checkpoint,
    read_continue,
    read_inspect,
    read_list,
    read_resume,
    read_start,
)

START = {"workflowId": "w", "workspacePath": "/w", "goal": "g"}


def issues(result: Any) -> list[tuple[str, str]]:
    """Where and what is wrong, as the error says."""
    assert not result.is_ok
    shown = result.error.to_json()
    assert (shown["code"], shown["message"], shown["retry"]) == (
        "VALIDATION_ERROR",
        "Invalid input",
        {"kind": "not_retryable"},
    )
    return [(issue["path"], issue["message"]) for issue in shown["details"]["validationErrors"]]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({}, [("workflowId", "Required"), ("workspacePath", "Required"), ("goal", "Required")]),
        (START | {"goal": ""}, [("goal", "String must contain at least 1 character(s)")]),
        (START | {"goal": 4}, [("goal", "Expected string, received number")]),
        (START | {"goal": None}, [("goal", "Expected string, received null")]),
        (START | {"workspacePath": "a/b"}, [("workspacePath", "Must be an absolute path")]),
        (
            START | {"modelTier": "huge"},
            [("modelTier", "Invalid enum value. Expected 'lightweight' | 'mid' | 'heavy', received 'huge'")],
        ),
        (START | {"modelTier": 3}, [("modelTier", "Expected 'lightweight' | 'mid' | 'heavy', received number")]),
        (START | {"x": 1, "y": 2}, [("", "Unrecognized key(s) in object: 'x', 'y'")]),
        (
            START | {"preferences": {"autonomy": "guided", "mood": "bold"}},
            [("preferences", "Unrecognized key(s) in object: 'mood'")],
        ),
        (
            START | {"workflowId": "No Such"},
            [("workflowId", "Must be a workflow id, such as `code-review` or `team.code-review`")],
        ),
        (START | {1: 2}, [("", "Member names must be strings")]),
        (START | {"preferences": {1: 2}}, [("preferences", "Member names must be strings")]),
        ([], [("", "Expected object, received array")]),
        (None, [("", "Expected object, received null")]),
        ("{}", [("", "Expected object, received string")]),
    ],
)
def test_a_malformed_start(request_: Any, expected: list[tuple[str, str]]) -> None:
    assert issues(read_start(request_)) == expected


@pytest.mark.parametrize("path", ["/w", "C:\\work", "d:/work", "\\\\host\\share"])
@pytest.mark.parametrize("workflow_id", ["w", "code_review-2", "team.code-review"])
def test_a_good_start(path: str, workflow_id: str) -> None:
    read = read_start(START | {"workspacePath": path, "workflowId": workflow_id}).value
    assert (read.workspace_path, read.workflow_id, read.initial_context, read.preferences) == (
        path,
        workflow_id,
        {},
        None,
    )


def test_one_preference_leaves_the_other_at_its_default() -> None:
    assert read_start(START | {"preferences": {"riskPolicy": "balanced"}}).value.preferences == Preferences(
        "guided", "balanced"
    )
    assert read_start(START | {"preferences": {}}).value.preferences is None


def test_unknown_members_are_matched_with_known_ones() -> None:
    """@enforces error-self-correcting"""
    shown: Any = read_continue({"continuToken": "x", "token": "y", "zzzzzz": 1}).error.to_json()
    assert shown["details"]["suggestions"] == [
        {"kind": "unknown_key", "provided": "token", "didYouMean": "continueToken", "similarity": 1},
        {"kind": "unknown_key", "provided": "continuToken", "didYouMean": "continueToken", "similarity": 0.92},
        {"kind": "missing_required", "param": "continueToken", "example": "<continueToken>"},
    ]
    many: Any = read_start({f"workflowI{letter}": 1 for letter in "abcef"}).error.to_json()
    kinds = [suggestion["kind"] for suggestion in many["details"]["suggestions"]]
    assert kinds == ["unknown_key"] * 3 + ["missing_required"] * 3
    missing = [hint["param"] for hint in many["details"]["suggestions"][3:]]
    assert missing == ["goal", "workflowId", "workspacePath"]


def test_likeness_rounds_half_up() -> None:
    shown: Any = read_continue({"continueToken": "x", "inzentxy": 1}).error.to_json()
    assert shown["details"]["suggestions"] == [
        {"kind": "unknown_key", "provided": "inzentxy", "didYouMean": "intent", "similarity": 0.63}
    ]


def test_the_template_shows_every_member() -> None:
    shown: Any = read_start({}).error.to_json()
    assert shown["details"]["correctTemplate"] == {
        "workflowId": "<workflowId>",
        "workspacePath": "<workspacePath>",
        "goal": "<goal>",
        "modelTier": "lightweight",
        "initialContext": {},
        "preferences": {"autonomy": "guided", "riskPolicy": "conservative"},
    }
    shown = read_continue({}).error.to_json()
    assert shown["details"]["correctTemplate"]["output"] == {"notesMarkdown": "<notesMarkdown>", "artifacts": []}
    shown = read_list({}).error.to_json()
    assert shown["details"]["correctTemplate"] == {
        "workspacePath": "<workspacePath>",
        "includeSources": False,
        "tags": ["<tags>"],
    }


TOKEN = {"continueToken": "ct_x"}


@pytest.mark.parametrize(
    ("members", "notes", "artifacts", "context"),
    [
        ({"output": {"notesMarkdown": "n"}}, "n", (), None),
        ({"notes": "n"}, "n", (), None),
        ({"notes": ""}, "", (), None),
        ({"artifacts": []}, None, (), None),
        ({"notes": "n", "output": {"artifacts": [1]}}, "n", (1,), None),
        ({"output": {"notesMarkdown": "n", "mood": "good"}}, "n", (), None),
        ({"output": '{"notesMarkdown":"n"}'}, "n", (), None),
        ({"intent": "advance"}, None, (), None),
        ({"intent": "advance", "output": {}}, None, (), None),
        ({"intent": "advance", "context": {"a": 1}}, None, (), {"a": 1}),
        ({"intent": "advance", "contextVariables": {"a": 1}}, None, (), {"a": 1}),
        ({"intent": "advance", "context": '{"a":1}'}, None, (), {"a": 1}),
        ({"intent": "advance", "contextVariables": '{"a":1}'}, None, (), {"a": 1}),
    ],
)
def test_advances(members: Any, notes: Any, artifacts: Any, context: Any) -> None:
    has_output = notes is not None or "artifacts" in str(members)
    expected = AdvanceRequest("ct_x", Submission(notes, artifacts), context, has_output)
    assert read_continue(TOKEN | members).value == expected


@pytest.mark.parametrize(
    ("members", "path"),
    [
        ({}, None),
        ({"output": {}}, None),
        ({"context": {"a": 1}}, None),
        ({"workspacePath": "/w"}, "/w"),
        ({"intent": "rehydrate", "workspacePath": "/w"}, "/w"),
    ],
)
def test_rehydrates(members: Any, path: str | None) -> None:
    """A call without output looks at the step; submitting nothing has to be said."""
    assert read_continue(TOKEN | members).value == RehydrateRequest("ct_x", path)


@pytest.mark.parametrize(
    ("members", "paths"),
    [
        ({"context": {}, "contextVariables": {}}, ["contextVariables"]),
        ({"notes": "n", "output": {"notesMarkdown": "m"}}, ["notes"]),
        ({"artifacts": [], "output": {"artifacts": []}}, ["artifacts"]),
        ({"intent": "rehydrate"}, ["workspacePath"]),
        ({"intent": "rehydrate", "workspacePath": "/w", "output": {}}, ["output"]),
        ({"intent": "rehydrate", "workspacePath": "/w", "notes": "n", "artifacts": []}, ["output"]),
        ({"context": {"eat_token": 1}}, ["context.eat_token"]),
        (
            {"contextVariables": {"metrics_harness": 1, "metrics_active_model": 1}},
            ["contextVariables.metrics_harness", "contextVariables.metrics_active_model"],
        ),
        ({"context": {"parent_eat_token": None}}, ["context.parent_eat_token"]),
        ({"intent": "sleep"}, ["intent"]),
        ({"output": {"notesMarkdown": ""}}, ["output.notesMarkdown"]),
        ({"output": {"artifacts": {}}}, ["output.artifacts"]),
        ({"output": "[]"}, ["output"]),
        ({"artifacts": "x"}, ["artifacts"]),
        ({"continueToken": ""}, ["continueToken"]),
        ({"workspacePath": "here"}, ["workspacePath"]),
    ],
)
def test_contradictions(members: Any, paths: list[str]) -> None:
    assert [path for path, _ in issues(read_continue(TOKEN | members))] == paths


def test_the_other_tools() -> None:
    assert read_checkpoint({"checkpointToken": "ck_x"}).value.checkpoint_token == "ck_x"
    assert issues(read_checkpoint({"checkpointToken": "ck_x", "output": {}})) == [
        ("", "Unrecognized key(s) in object: 'output'")
    ]
    resume = read_resume({"workspacePath": "/w", "runId": "run_a1", "gitHeadSha": "a" * 40}).value
    assert (resume.run_id, resume.git_head_sha, resume.same_workspace_only) == ("run_a1", "a" * 40, False)
    assert [path for path, _ in issues(read_resume({"runId": "r", "query": "", "gitHeadSha": "A" * 40}))] == [
        "workspacePath",
        "query",
        "runId",
        "gitHeadSha",
    ]
    assert read_list({"workspacePath": "/w", "tags": []}).value.tags == ()
    assert read_list({"workspacePath": "/w"}).value.tags is None
    assert read_inspect({"workflowId": "w", "workspacePath": "/w"}).value.mode == "preview"
    assert [path for path, _ in issues(read_inspect({"workflowId": "w", "workspacePath": "/w", "mode": "x"}))] == [
        "mode"
    ]

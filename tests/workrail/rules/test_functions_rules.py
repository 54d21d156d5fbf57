"""FN: definitions, calls, references."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lint_probe import fixed, lint

from workrail_lint.systems.workrail.rules.functions import (
    FunctionDefaultMismatch,
    FunctionDuplicate,
    FunctionReferenceFiltered,
    FunctionReferenceUnknown,
    FunctionScopeMismatch,
)
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow


def function(name: str = "rank", *parameters: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"name": name, "definition": "D", "parameters": list(parameters), **members}


def test_one_name_in_two_places_is_no_duplicate() -> None:
    document = workflow(
        step(functionDefinitions=[function()]),
        {**loop(), "functionDefinitions": [function()]},
        functionDefinitions=[function(), function("sort")],
    )
    assert lint(FunctionDuplicate, document) == []


def test_duplicates_in_every_place() -> None:
    twice = [function(), function("sort"), function()]
    document = workflow(step(functionDefinitions=twice), {**loop(), "functionDefinitions": twice})
    assert [finding.pointer for finding in lint(FunctionDuplicate, document)] == [
        "/steps/0/functionDefinitions/2/name",
        "/steps/1/functionDefinitions/2/name",
    ]


def test_repeated_parameters() -> None:
    limit = {"name": "limit", "type": "number"}
    document = workflow(functionDefinitions=[function("rank", limit, limit, {**limit, "name": "order"}, limit)])
    assert [finding.pointer for finding in lint(FunctionDuplicate, document)] == [
        "/functionDefinitions/0/parameters/1/name",
        "/functionDefinitions/0/parameters/3/name",
    ]


@pytest.mark.parametrize(
    ("parameter", "problem"),
    [
        ({"type": "number", "default": 3}, None),
        ({"type": "number"}, None),
        ({"type": "number", "default": "3"}, "must be of type number"),
        ({"type": "number", "default": True}, "must be of type number"),
        ({"type": "object", "default": []}, "must be of type object"),
        ({"type": "string", "default": None}, "must be of type string"),
        ({"type": "string", "enum": ["up", "down"], "default": "up"}, None),
        ({"type": "string", "enum": ["up", "down"], "default": "Up"}, "must be one of up, down"),
        ({"type": "number", "enum": [1, 2], "default": 1.0}, None),
        ({"type": "number", "enum": [1, True], "default": 3}, "must be one of 1, true"),
        ({"type": "number", "default": 3, "required": True}, "never used"),
        ({"type": "number", "default": 3, "required": False}, None),
    ],
)
def test_defaults(parameter: dict[str, Any], problem: str | None) -> None:
    findings = lint(FunctionDefaultMismatch, workflow(functionDefinitions=[function("f", {"name": "p", **parameter})]))
    assert len(findings) == (problem is not None)
    for finding in findings:
        assert str(problem) in finding.message


def test_what_a_reference_can_see() -> None:
    inner = step("inner-step", functionReferences=["mine()", "ours()", "all()", "others()"])
    inner["functionDefinitions"] = [function("mine")]
    document = workflow(
        step("apart", functionDefinitions=[function("others")], functionReferences=["ours()"]),
        {**loop(inner), "functionDefinitions": [function("ours")]},
        functionDefinitions=[function("all")],
    )
    [finding] = lint(FunctionReferenceUnknown, document)
    assert finding.pointer == "/steps/0/functionReferences/0"
    assert "'ours', 'others'" in finding.message


def test_a_body_by_reference_sees_the_loop() -> None:
    target = step("body-step", functionReferences=["ours()"])
    around = {**loop(), "body": "body-step", "functionDefinitions": [function("ours")]}
    assert lint(FunctionReferenceUnknown, workflow(target, around)) == []


def test_the_nearest_name_keeps_its_parentheses() -> None:
    document = workflow(step(functionReferences=["ranc()", "quite-another()"]), functionDefinitions=[function()])
    near, far = lint(FunctionReferenceUnknown, document)
    assert "did you mean 'rank'?" in near.message
    assert json.loads(fixed(near, document))["steps"][0]["functionReferences"][0] == "rank()"
    assert far.fix is None


def test_filtered_references() -> None:
    assert lint(FunctionReferenceFiltered, workflow(step(functionReferences=[]))) == []
    (finding,) = lint(FunctionReferenceFiltered, workflow(step(functionReferences=["a()", "b()"])))
    assert finding.pointer == "/steps/0/functionReferences"


@pytest.mark.parametrize("scope", ["workflow", "loop", "step"])
def test_scopes(scope: str) -> None:
    scoped = [function(scope=scope)]
    document = workflow(
        step(functionDefinitions=scoped), {**loop(), "functionDefinitions": scoped}, functionDefinitions=scoped
    )
    levels = {
        "workflow": "/functionDefinitions/0/scope",
        "step": "/steps/0/functionDefinitions/0/scope",
        "loop": "/steps/1/functionDefinitions/0/scope",
    }
    found = {finding.pointer for finding in lint(FunctionScopeMismatch, document)}
    assert found == set(levels.values()) - {levels[scope]}

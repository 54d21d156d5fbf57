"""ID: policies about ids, and names that get in each other's way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lint_probe import as_text, fixed, lint

from workrail_lint import check_text
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.rules.identifiers import (
    RESERVED_KEYS,
    IdConfusable,
    LoopVarCollision,
    ReservedObjectKey,
    WorkflowIdLegacy,
    WorkflowIdReserved,
)
from workrail_lint.systems.workrail.rules.samples import loop, parallel, step, workflow


@pytest.mark.parametrize(
    ("ident", "kind", "suggestion"),
    [
        ("wr.mine", "project", "project.mine"),
        ("wr.my-own", "user", "user.my_own"),
        ("wr.mine", "git", "repo.mine"),
        ("wr.mine", "bundled", None),
        ("team.mine", "project", None),
        ("wrap.mine", "project", None),
        ("wr-mine", "project", None),
    ],
)
def test_reserved(ident: str, kind: str, suggestion: str | None) -> None:
    found = lint(WorkflowIdReserved, workflow(id=ident), source_kind=kind)
    assert bool(found) == (suggestion is not None)
    for finding in found:
        assert (finding.pointer, finding.severity) == ("/id", Severity.ERROR)
        assert fixed(finding, workflow(id=ident)) == as_text(workflow(id=suggestion))


@pytest.mark.parametrize(
    ("ident", "settings", "expected"),
    [
        ("my-flow", {}, True),
        ("demo.flow", {}, False),
        ("My-Flow", {}, False),  # no id at all, as the schema says
        ("routine-look", {"is_routine": True}, False),  # its template id is made from it
        ("look-around", {"is_routine": True}, True),
    ],
)
def test_legacy(ident: str, settings: dict[str, Any], expected: bool) -> None:
    assert bool(lint(WorkflowIdLegacy, workflow(id=ident), **settings)) == expected


def test_a_bundled_legacy_id_has_no_suggestion() -> None:
    (finding,) = lint(WorkflowIdLegacy, workflow(id="my-flow"), source_kind="bundled")
    assert finding.fix is None


def each(**variables: str) -> dict[str, Any]:
    return workflow(loop(type="forEach", count=..., items="files", **variables))


@pytest.mark.parametrize(
    ("document", "places"),
    [
        (each(), []),
        (each(itemVar="i", indexVar="i"), ["indexVar"]),
        (each(iterationVar="i", itemVar="i", indexVar="i"), ["itemVar", "indexVar"]),
        (each(itemVar="currentIndex"), ["itemVar"]),  # meets the default of the other
        (each(iterationVar="currentItem"), ["iterationVar"]),
        (each(itemVar="currentIndex", indexVar="currentItem"), []),
        (workflow(loop(iterationVar="currentItem")), []),  # a for loop sets no item
        (workflow(loop(itemVar="i", indexVar="i")), []),
    ],
)
def test_loop_variables(document: dict[str, Any], places: list[str]) -> None:
    assert [f.pointer for f in lint(LoopVarCollision, document)] == [f"/steps/0/loop/{place}" for place in places]


@pytest.mark.parametrize("key", RESERVED_KEYS)
@pytest.mark.parametrize(
    ("document", "pointer", "on_name"),
    [
        (
            lambda key: workflow(step(prompt=None, promptBlocks={"goal": "x", "outputRequired": {key: "x"}})),
            "/steps/0/promptBlocks/outputRequired/{}",
            True,
        ),
        (lambda key: workflow(step(runCondition={"not": {"var": key}})), "/steps/0/runCondition/not/var", False),
        (lambda key: workflow(loop(iterationVar=key)), "/steps/0/loop/iterationVar", False),
        (
            lambda key: workflow(step(functionCalls=[{"name": "f", "args": {key: 1}}])),
            "/steps/0/functionCalls/0/args/{}",
            True,
        ),
        (
            lambda key: workflow(step(prompt=None, templateCall={"templateId": "t", "args": {key: 1}})),
            "/steps/0/templateCall/args/{}",
            True,
        ),
        (
            lambda key: workflow(parallel(parallelDelegations=[{"workflowId": "a", "contextMapping": {"x": key}}])),
            "/steps/0/parallelDelegations/0/contextMapping/x",
            False,
        ),
        (
            lambda key: workflow(parallel(parallelDelegations=[{"workflowId": "a", "contextMapping": {key: "x"}}])),
            "/steps/0/parallelDelegations/0/contextMapping/{}",
            True,
        ),
    ],
)
def test_reserved_names(key: str, document: Any, pointer: str, on_name: bool) -> None:
    (finding,) = lint(ReservedObjectKey, document(key))
    assert (finding.pointer, finding.on_name) == (pointer.format(key), on_name)


def test_a_reserved_name_behind_escapes_is_seen() -> None:
    text = json.dumps(workflow(loop(iterationVar="constructor"))).replace("constructor", "\\u0063onstructor")
    assert len(lint(ReservedObjectKey, text)) == 1


def test_reserved_words_in_prose_are_fine() -> None:
    assert lint(ReservedObjectKey, workflow(step(prompt='Explain the "constructor" and "__proto__".'))) == []


@pytest.mark.parametrize(
    ("document", "pointers"),
    [
        (workflow(step("step-1"), step("step-l")), ["/steps/1/id"]),
        (workflow(step("step-0"), loop(step("step-o"))), ["/steps/1/body/0/id"]),
        (workflow(step("step-1"), step("step-2"), step("step-11")), []),
        (workflow(step("plan"), step("plan")), []),  # the same id is another finding
        (
            workflow(
                step(promptFragments=[{"id": "go-on", "text": "x"}, {"id": "go_on", "text": "y"}]),
                step("other", promptFragments=[{"id": "go_on", "text": "z"}]),
            ),
            ["/steps/0/promptFragments/1/id"],
        ),
        (
            workflow(extensionPoints=[{"slotId": "a1"}, {"slotId": "al"}]),
            ["/extensionPoints/1/slotId"],
        ),
        (
            workflow(
                assessments=[{"id": "x-1", "dimensions": [{"id": "d0"}, {"id": "do"}]}, {"id": "x_1", "dimensions": []}]
            ),
            ["/assessments/1/id", "/assessments/0/dimensions/1/id"],
        ),
        (workflow(step("a-1"), extensionPoints=[{"slotId": "a_l"}]), []),  # different things may be alike
    ],
)
def test_look_alikes(document: dict[str, Any], pointers: list[str]) -> None:
    assert [finding.pointer for finding in lint(IdConfusable, document)] == pointers


def test_what_is_cheap_to_look_for_is_found_in_any_spelling() -> None:
    text = json.dumps(each(itemVar="i", indexVar="i")).replace("forEach", "for\\u0045ach")
    assert len(lint(LoopVarCollision, text)) == 1


def test_a_call_in_the_design_form_expands_to_ids_as_well() -> None:
    inner = {"id": "x" * 64, "title": "Look", "prompt": "Look."}
    routine = workflow(inner, id="routine-sweep")
    call = {"type": "template_call", "id": "y" * 64, "templateId": "wr.templates.routine.sweep"}
    found = check_text(json.dumps(workflow(step(), call)), "workflows/a.json", routines=[routine]).findings
    assert "expanded-id-too-long" in {finding.name for finding in found}

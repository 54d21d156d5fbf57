"""One document through all phases: what is told once, what is told for each, and how a place is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from effort import lines_run

from workrail_lint import Finding, check_text
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.rules.samples import loop, parallel, step, workflow


def told(document: dict[str, Any], name: str, **settings: Any) -> list[Finding]:
    report = check_text(json.dumps(document), "workflows/example.json", **settings)
    return [finding for finding in report.findings if finding.name == name]


def test_every_missing_member_of_an_object_is_told() -> None:
    document = workflow({"prompt": "Do it."})
    del document["name"], document["description"]
    found = told(document, "schema-missing-member")
    assert [(finding.pointer, finding.message) for finding in found] == [
        ("", "the required field 'description' is missing"),
        ("", "the required field 'name' is missing"),
        ("/steps/0", "step number 1: the required field 'id' is missing"),
        ("/steps/0", "step number 1: the required field 'title' is missing"),
    ]


def test_every_undeclared_slot_of_a_text_is_told() -> None:
    point = {"slotId": "known", "purpose": "Tells.", "default": "routine-x"}
    prompt = "{{wr.bindings.known}} {{wr.bindings.first}} {{wr.bindings.second}}"
    document = workflow(step(prompt=prompt), extensionPoints=[point])
    for parity in (False, True):
        found = told(document, "binding-slot-undeclared", engine_parity=parity)
        assert ["'first'" in finding.message for finding in found] == [True, False]
        assert ["'second'" in finding.message for finding in found] == [False, True]


def test_what_two_phases_notice_is_told_once() -> None:
    document = workflow(step(), {**loop(), "body": "nobody"})
    assert len(told(document, "loop-body-reference-invalid")) == 1
    document = workflow(step(assessmentRefs=["nobody"]))
    assert len(told(document, "assessment-ref-unknown")) == 1


def test_what_a_later_phase_knows_of_the_engine_is_kept_when_the_earlier_one_tells() -> None:
    """In a body only the compiler knows that the engine refuses prompt and promptBlocks side by side."""
    call = {"templateId": "wr.templates.routine.plan-generation"}
    blocks = {"goal": "Describe what you see."}
    inner = {"id": "inner", "title": "Inner", "prompt": "Go.", "templateCall": call, "promptBlocks": blocks}
    (finding,) = told(workflow(loop(inner)), "prompt-source-invalid", engine_parity=True)
    assert (finding.pointer, finding.severity) == ("/steps/0/body/0/promptBlocks", Severity.ERROR)
    # Without it the engine takes one of the two, and under parity only what it refuses is an error.
    del inner["prompt"]
    (finding,) = told(workflow(loop(inner)), "prompt-source-invalid", engine_parity=True)
    assert (finding.pointer, finding.severity) == ("/steps/0/body/0/promptBlocks", Severity.WARNING)


def test_a_step_without_an_id_is_named_by_its_number() -> None:
    (finding,) = told(workflow(step(), {"title": "Second"}), "prompt-source-invalid")
    assert finding.message.startswith("step number 2")
    (finding,) = told(workflow(step(), {"title": "Second", "prompt": "Go.", "runCondition": {}}), "condition-empty")
    assert "tep number 2" in finding.message


@pytest.mark.parametrize(("kind", "expected"), [("lop", 0), (5, 0), ("standard", 1), (None, 1)])
def test_a_step_of_no_known_kind_is_not_asked_for_a_prompt(kind: object, expected: int) -> None:
    document = workflow(step(), {"id": "some-step", "title": "Some", "type": kind})
    assert len(told(document, "schema-enum")) == 1
    assert len(told(document, "prompt-source-invalid")) == expected


def test_steps_that_share_an_id_name_each_other() -> None:
    document = workflow(step("one"), step("two"), step("one"), step("one"))
    found = told(document, "id-duplicate")
    assert [finding.pointer for finding in found] == ["/steps/0/id", "/steps/2/id", "/steps/3/id"]
    for finding, number in zip(found, (3, 1, 1), strict=True):
        assert f"step number {number} 'A step' has the same id" in finding.message
    document = workflow(loop(step("one"), step("two"), step("two")))
    found = told(document, "id-duplicate")
    assert [finding.pointer for finding in found] == ["/steps/0/body/1/id", "/steps/0/body/2/id"]
    for finding, number in zip(found, (3, 2), strict=True):
        assert f"step number {number} 'A step' has the same id" in finding.message


def test_a_text_on_no_disk_is_judged_for_its_delegations() -> None:
    delegations = [{"workflowId": "demo.nobody"}, {"workflowId": "demo.example"}]
    document = workflow(parallel(parallelDelegations=delegations), id="demo.example")
    other, own = (f"/steps/0/parallelDelegations/{index}/workflowId" for index in range(2))
    for parity, severity in ((False, Severity.ERROR), (True, Severity.WARNING)):
        (finding,) = told(document, "delegation-circular", engine_parity=parity)
        assert (finding.pointer, finding.severity) == (own, severity)
        assert finding.span is not None
        (finding,) = told(document, "delegation-unknown", engine_parity=parity)
        assert (finding.pointer, finding.severity) == (other, Severity.INFO)


@pytest.mark.parametrize(
    "document",
    [
        workflow(extensionPoints=[{"slotId": "slot\n\x1b[31m", "purpose": "Tells.", "default": "routine-x"}]),
        workflow(
            step(prompt="Run routine-x."),
            extensionPoints=[{"slotId": "slot\n\x1b[31m", "purpose": "Tells.", "default": "routine-x"}],
        ),
        workflow(loop(step("inner", "{{other}}"), type="forEach", items="xs", count=..., itemVar="item\n\x1b[31m")),
        workflow(step("inspect\x1b"), {**loop(), "body": "inspect"}),
        workflow(capabilities={"terminal\n\x1b[31m": "required"}),
        workflow(features=[{"id": "wr.features.x\x1b[31m", "config": {}}]),
    ],
)
def test_what_an_author_wrote_can_not_steer_a_terminal(document: dict[str, Any]) -> None:
    for finding in check_text(json.dumps(document), "workflows/example.json").findings:
        assert finding.message.isprintable(), finding
        assert finding.fix is None or finding.fix.title.isprintable(), finding


def routine(ident: str, **members: Any) -> dict[str, Any]:
    made = {"id": "look", "title": "Look", "prompt": "Look around.", **members}
    return {"id": ident, "name": ident, "description": "Looks.", "version": "1.0.0", "steps": [made]}


def calling(name: str, **members: Any) -> dict[str, Any]:
    call = {"templateId": f"wr.templates.routine.{name}"}
    return workflow(step(), step("call", None, templateCall=call), **members)


def test_the_slots_of_a_called_routine_are_used() -> None:
    points = [{"slotId": "checker", "purpose": "Checks.", "default": "routine-check"}]
    routines = [routine("routine-bound", prompt="Run {{wr.bindings.checker}}."), routine("routine-plain")]
    assert told(calling("bound", extensionPoints=points), "extension-point-unused", routines=routines) == []
    assert len(told(calling("plain", extensionPoints=points), "extension-point-unused", routines=routines)) == 1


def test_what_a_routine_got_wrong_is_not_mended_in_its_caller() -> None:
    dimension = {"id": "depth", "purpose": "How deep.", "levels": ["low", "high"]}
    assessments = [{"id": "rating", "purpose": "Rates.", "dimensions": [dimension]}]
    effect = {"kind": "require_followup", "guidance": "Look again."}
    rated = {"assessmentConsequences": [{"when": {"anyEqualsLevel": "lo"}, "effect": effect}]}
    routines = [
        routine("routine-level", assessmentRefs=["rating"], **rated),
        routine("routine-ref", assessmentRefs=["ratin"]),
    ]
    for name, found in (("level", "consequence-level-unknown"), ("ref", "assessment-ref-unknown")):
        (finding,) = told(calling(name, assessments=assessments), found, routines=routines)
        assert finding.pointer == "/steps/1/templateCall"
        assert "did you mean" in finding.message.lower()
        assert finding.fix is None


def _many_slots(number: int) -> dict[str, Any]:
    points = [{"slotId": f"x{n:05}", "purpose": "Something.", "default": "it"} for n in range(number)]
    steps = [step(f"part-{n}", f"Look at {{{{wr.bindings.y{n:05}}}}}.") for n in range(number)]
    return workflow(*steps, extensionPoints=points)


def _many_loops(number: int) -> dict[str, Any]:
    return workflow(*({**loop(ident=f"part-{n}"), "body": "nowhere"} for n in range(number)))


def _many_functions(number: int) -> dict[str, Any]:
    functions = [{"name": f"f{n:05}", "definition": "Does something."} for n in range(number)]
    steps = [step(f"part-{n}", functionCalls=[{"name": f"other{n}", "args": {}}]) for n in range(number)]
    return workflow(*steps, functionDefinitions=functions)


@pytest.mark.parametrize("made", [_many_slots, _many_loops, _many_functions])
def test_many_mistakes_among_many_names_take_no_more_than_their_share(
    made: Callable[[int], dict[str, Any]],
) -> None:
    """What every mistake is compared with must not be gone through for each of them."""

    def work(number: int) -> int:
        text = json.dumps(made(number))
        return lines_run(lambda: check_text(text))

    assert len(check_text(json.dumps(made(10))).errors) >= 10  # and what is needed is loaded
    few, many = work(50), work(200)
    assert many < 4.5 * few, (few, many)  # four times as many of both: 16 times as much if each meets each

"""Template calls and routine files."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lint_probe import fixed, lint

from workrail_lint import check_text
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.systems.workrail.model.build import workflow_model
from workrail_lint.systems.workrail.rules import RULES, templates
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.samples import loop, parallel, step, workflow
from workrail_lint.systems.workrail.structural import start_findings

SIMULATION = "wr.templates.routine.execution-simulation"
IDEATION = "wr.templates.routine.ideation"
CHALLENGE = "wr.templates.routine.hypothesis-challenge"
WHEN = {"var": "mode", "equals": "deep"}


def places(rule: type[WorkflowRule], *steps: dict[str, Any], **settings: Any) -> list[str]:
    return [finding.pointer for finding in lint(rule, workflow(*steps), **settings)]


def call(template: str, ident: str = "call-it", **members: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"templateId": template}
    if "args" in members:
        made["args"] = members.pop("args")
    return step(ident, None, templateCall=made, **members)


def test_a_missing_argument_is_told_with_all_that_the_routine_takes() -> None:
    (finding,) = [
        found
        for found in check_text(json.dumps(workflow(step(), call(IDEATION)))).findings
        if found.name == "template-argument-invalid"
    ]
    assert "argument 'quantity'" in finding.message
    assert "the routine takes quantity, deliverable" in finding.message


def test_unused_arguments_are_removed_and_near_ones_renamed() -> None:
    document = workflow(step(), call(IDEATION, args={"deliverable": "a.md", "quanttity": 3, "tone": "dry"}))
    near, far = lint(templates.TemplateArgUnused, document)
    assert (near.pointer, far.pointer) == ("/steps/1/templateCall/args/quanttity", "/steps/1/templateCall/args/tone")
    assert far.fix is None  # while one is missing
    document = json.loads(fixed(near, document))
    assert "quantity" in document["steps"][1]["templateCall"]["args"]
    (far,) = lint(templates.TemplateArgUnused, document)
    assert list(json.loads(fixed(far, document))["steps"][1]["templateCall"]["args"]) == ["deliverable", "quantity"]


@pytest.mark.parametrize("args", [{"deliverable": "a.md", "quantity": 3}, {}, {"deliverable": None, "quantity": [1]}])
def test_arguments_that_are_used_are_not_unused(args: dict[str, Any]) -> None:
    assert places(templates.TemplateArgUnused, step(), call(IDEATION, args=args)) == []


def test_an_unknown_template_has_no_unused_arguments() -> None:
    assert places(templates.TemplateArgUnused, step(), call("wr.templates.routine.nope", args={"a": 1})) == []


@pytest.mark.parametrize(
    ("first", "starts"),
    [
        (step(), True),
        (call(SIMULATION), False),
        (loop(call(SIMULATION, "inner-call")), True),
        ({**loop(), "templateCall": {"templateId": SIMULATION}}, True),
        (call("wr.templates.nope"), False),
    ],
)
def test_a_run_starts_at_a_step_that_is_still_there(first: dict[str, Any], starts: bool) -> None:
    found = start_findings(workflow_model(workflow(first, step("last-step"))))
    assert [(f.pointer, f.phase, f.details["engine"]) for f in found] == (
        [] if starts else [("/steps/0/templateCall", Phase.START, True)]
    )


@pytest.mark.parametrize("definition", [{}, {"steps": None}, {"steps": []}, {"steps": [None]}, {"steps": {"a": 1}}])
def test_a_broken_document_is_left_to_the_schema(definition: dict[str, Any]) -> None:
    assert start_findings(workflow_model(definition)) == []


def test_a_first_call_starts_where_no_engine_is_meant() -> None:
    text = json.dumps(workflow(call(SIMULATION), step("then")))
    levels = {}
    for target in ("engine", "ir"):
        found = check_text(text, "workflows/a.json", target=target).findings
        (levels[target],) = [finding.severity for finding in found if finding.name == "template-call-first-step"]
    assert levels == {"engine": Severity.ERROR, "ir": Severity.WARNING}


def test_the_inserted_first_step_has_an_id_of_its_own() -> None:
    document = workflow(call(SIMULATION), step("begin"), step("begin-2"))
    found = check_text(json.dumps(document), "workflows/a.json").findings
    (first,) = [finding for finding in found if finding.name == "template-call-first-step"]
    after = json.loads(fixed(first, document))
    assert [item["id"] for item in after["steps"]] == ["begin-3", "call-it", "begin", "begin-2"]
    assert start_findings(workflow_model(after)) == []


def test_members_that_live_on_or_are_told_elsewhere_are_not_told_again() -> None:
    kept = {**call(SIMULATION, runCondition=WHEN, promptFragments=[], unknown=1), "prompt": "P."}
    assert places(templates.TemplateCallMemberIgnored, step(), kept) == []
    dropped = call(SIMULATION, guidance=["G."], verification={}, requireConfirmation=True)
    assert places(templates.TemplateCallMemberIgnored, step(), dropped) == [
        "/steps/1/guidance",
        "/steps/1/verification",
        "/steps/1/requireConfirmation",
    ]


@pytest.mark.parametrize(("template", "count"), [("{{wr.bindings.a}}", 1), ("a{{b", 1), ("{b}", 0), (SIMULATION, 0)])
def test_tokens_in_a_template_id(template: str, count: int) -> None:
    assert len(places(templates.TemplateIdToken, step(), call(template))) == count


def test_an_unknown_template_with_a_token_says_why() -> None:
    found = check_text(json.dumps(workflow(step(), call("{{wr.bindings.a}}"))), "workflows/a.json").findings
    (finding,) = [finding for finding in found if finding.name.startswith("template-")]
    assert (finding.name, "never resolved" in finding.message) == ("template-id-token", True)


def routine_findings(*steps: dict[str, Any], is_routine: bool = True, **members: Any) -> list[Finding]:
    document = workflow(*steps, **members)
    rules = [type(rule) for rule in RULES.rules_in("templates") if isinstance(rule, templates.RoutineRule)]
    return [finding for rule in rules for finding in lint(rule, document, is_routine=is_routine)]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (step(prompt="Write {deliverable} for {{user}}."), []),
        (call(SIMULATION), [("routine-not-expandable", "/steps/0/templateCall")]),
        (step(prompt=None, promptBlocks={"goal": "G."}), [("routine-not-expandable", "/steps/0/promptBlocks")]),
        (loop(), [("routine-not-expandable", "/steps/0/type")]),
        (parallel(), [("routine-not-expandable", "/steps/0/type")]),
        (step(prompt=None), []),  # the structure says so
        (step(prompt='Emit {"kind":"x"}.'), [("routine-literal-braces", "/steps/0/prompt")]),
        (step(prompt="Pick {a, b}."), [("routine-literal-braces", "/steps/0/prompt")]),
        (step(prompt="Pick {a\nb}."), [("routine-literal-braces", "/steps/0/prompt")]),
        (step(prompt="Keep {{a: b}} and {x}}."), []),
        (step(title="For {a: b}"), [("routine-literal-braces", "/steps/0/title")]),
        (step(guidance=["Use {a}."]), [("routine-placeholder-unsupported", "/steps/0/guidance/0")]),
        (step(guidance=["Use {{a}} or { } or {1, 2}."]), []),
        (step(agentRole="A role for {tool}"), [("routine-placeholder-unsupported", "/steps/0/agentRole")]),
    ],
)
def test_what_a_routine_file_may_hold(made: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert [(finding.name, finding.pointer) for finding in routine_findings(made)] == expected
    assert routine_findings(made, is_routine=False) == []


def test_what_does_not_travel_with_the_steps() -> None:
    found = routine_findings(features=["wr.features.capabilities"], assessments=[], metaGuidance=["Keep {a} short."])
    assert [(finding.name, finding.pointer) for finding in found] == [
        ("routine-placeholder-unsupported", "/metaGuidance/0"),
        ("routine-feature-ignored", "/features"),
    ]


def test_a_routine_that_the_engine_accepts_has_no_error_under_parity() -> None:
    document = workflow(step(prompt=None, promptBlocks={"goal": "G."}), id="wr.routine-check")
    report = check_text(json.dumps(document), "workflows/routines/check.json", engine_parity=True)
    assert [finding for finding in report.findings if finding.severity is Severity.ERROR] == []
    assert "routine-not-expandable" in {finding.name for finding in report.findings}

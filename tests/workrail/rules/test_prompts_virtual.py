"""Verification, audit and synthesis: what is shown, what is not, and how to write it out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lint_probe import fixed, lint

from workrail_lint import check_text
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.rules import virtual_steps
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.samples import loop, parallel, step, workflow

CALL = {"templateId": "wr.templates.routine.execution-simulation"}


def places(rule: type[WorkflowRule], *steps: dict[str, Any], **settings: Any) -> list[str]:
    return [finding.pointer for finding in lint(rule, workflow(*steps), **settings)]


@pytest.mark.parametrize(
    ("audit", "count"),
    [
        ({"prompt": "Audit.", "rubric": ["A."]}, 1),
        ({"prompt": "Audit."}, 0),
        ({"rubric": ["A."]}, 0),
        ({"prompt": "", "rubric": ["A."]}, 0),  # an empty prompt is not used, the rubric is
    ],
)
def test_a_prompt_of_its_own_hides_the_rubric(audit: dict[str, Any], count: int) -> None:
    assert len(places(virtual_steps.VirtualConfigHidden, step(audit=audit))) == count


def test_only_what_the_prompt_lacks_is_appended() -> None:
    document = workflow(step(audit={"prompt": "Check A.\n", "rubric": ["A.", "B.", " "]}))
    (found,) = lint(virtual_steps.VirtualConfigHidden, document)
    assert json.loads(fixed(found, document))["steps"][0]["audit"] == {"prompt": "Check A.\n\nRubric:\n- B."}


def test_no_fix_makes_a_prompt_too_long() -> None:
    audit = {"prompt": "x" * 4090, "rubric": ["A long enough item."]}
    (found,) = lint(virtual_steps.VirtualConfigHidden, workflow(step(audit=audit)))
    assert found.fix is None
    verification = {"prompt": "x" * 4090, "command": "make test"}
    (found,) = lint(virtual_steps.VirtualConfigHidden, workflow(step(verification=verification)))
    assert found.fix is None


@pytest.mark.parametrize(
    ("verification", "count"),
    [
        ({"prompt": "Run make test now.", "command": "make test"}, 0),
        ({"prompt": "Run the tests.", "command": "make test"}, 1),
        ({"command": "make test"}, 0),
        ({"prompt": "Run the tests."}, 0),
        ({"prompt": "Run the tests.", "command": " "}, 0),  # refused as blank
    ],
)
def test_a_prompt_of_its_own_hides_the_command(verification: dict[str, Any], count: int) -> None:
    assert len(places(virtual_steps.VirtualConfigHidden, step(verification=verification))) == count


@pytest.mark.parametrize(("engine", "severity"), [(True, Severity.ERROR), (False, Severity.INFO)])
def test_generated_steps_fail_on_the_engine_only(engine: bool, severity: Severity) -> None:
    (found,) = lint(virtual_steps.VirtualStepNotRenderable, workflow(step(verification={})), engine=engine)
    assert found.severity is severity


def test_under_parity_a_generated_step_is_a_warning_because_the_engine_accepts_it() -> None:
    report = check_text(json.dumps(workflow(step(verification={}))), "workflows/a.json", engine_parity=True)
    found = {finding.name: finding.severity for finding in report.findings}
    assert found["virtual-step-not-renderable"] is Severity.WARNING


@pytest.mark.parametrize(
    "made",
    [
        step(prompt=None, templateCall=CALL, verification={}),
        {**loop(), "verification": {}},
        step(synthesis={"prompt": "Merge."}),
        parallel(synthesis=..., audit={"prompt": "Audit."}),
    ],
)
def test_blocks_that_generate_no_step(made: dict[str, Any]) -> None:
    assert places(virtual_steps.VirtualStepNotRenderable, made) == []


def explicit(document: dict[str, Any]) -> list[dict[str, Any]]:
    found = lint(virtual_steps.VirtualStepNotRenderable, document)
    assert [finding.fix is not None for finding in found] == [index == 0 for index in range(len(found))]
    steps: list[dict[str, Any]] = json.loads(fixed(found[0], document))["steps"]
    return steps


def test_all_blocks_of_a_step_are_written_out_in_order() -> None:
    condition = {"var": "mode", "equals": "deep"}
    made = step(runCondition=condition, audit={"rubric": ["A."]}, verification={"command": "make test"})
    first, verify, audit, last = explicit(workflow(made, step("last-step")))
    assert first == step(runCondition=condition)
    assert [verify["id"], audit["id"], last["id"]] == ["first-step-verification", "first-step-audit", "last-step"]
    assert verify["runCondition"] == audit["runCondition"] == condition
    assert "make test" in verify["prompt"]
    assert "- A." in audit["prompt"]


def test_a_body_keeps_its_generated_step_inside() -> None:
    steps = explicit(workflow(loop(step("inner-step", audit={"prompt": "Audit."}), step("other-step"))))
    assert [item["id"] for item in steps[0]["body"]] == ["inner-step", "inner-step-audit", "other-step"]


def test_a_synthesis_keeps_its_contract() -> None:
    contract = {"contractRef": "wr.contracts.review_verdict"}
    steps = explicit(workflow(step(), parallel(synthesis={"prompt": "Merge.", "outputContract": contract})))
    assert steps[2]["outputContract"] == contract
    assert "synthesis" not in steps[1]


@pytest.mark.parametrize(
    "steps",
    [
        [step(verification={}), step("first-step-verification")],
        [step("x" * 60, verification={})],
        [step(verification={}, title="T" * 125)],
        [{**loop(ident="again"), "body": "fan-out"}, parallel()],
        # Their own findings bring these into the prompt first; no generated step shows them.
        [step(verification={"prompt": "Check it.", "command": "make test"})],
        [step(audit={"prompt": "Audit it.", "rubric": ["Every claim has a source."]})],
    ],
)
def test_no_fix_where_an_explicit_step_would_not_do(steps: list[dict[str, Any]]) -> None:
    found = lint(virtual_steps.VirtualStepNotRenderable, workflow(*steps))
    assert [finding.fix for finding in found] == [None]


@pytest.mark.parametrize(
    ("steps", "count"),
    [
        ([parallel(synthesis=...)], 1),
        ([parallel(synthesis=..., parallelDelegations=[{"workflowId": "demo.one"}])], 0),
        ([parallel(synthesis=...), step("next-step", "Merge the reports.")], 0),
        ([parallel(synthesis=...), step("next-step", "Go on.", title="Synthesis: reports")], 0),
        ([parallel(synthesis=...), step("next-step", "Go on."), step("third-step", "Merge it.")], 1),
        ([loop(parallel(synthesis=...), step("next-step", "Reconcile both."))], 0),
    ],
)
def test_somebody_has_to_merge(steps: list[dict[str, Any]], count: int) -> None:
    assert len(places(virtual_steps.ParallelNoSynthesis, *steps)) == count


def reported(document: dict[str, Any], name: str) -> list[Any]:
    found = check_text(json.dumps(document), "workflows/a.json").findings
    return [finding for finding in found if finding.name == name]


def test_the_last_rubric_item_goes_only_with_its_rubric() -> None:
    (alone,) = reported(workflow(step(audit={"rubric": [" "]})), "audit-rubric-blank")
    assert alone.fix is None
    document = workflow(step(audit={"rubric": [" "], "prompt": "Audit."}))
    (prompted,) = reported(document, "audit-rubric-blank")
    assert json.loads(fixed(prompted, document))["steps"][0]["audit"] == {"prompt": "Audit."}


def test_braces_are_not_moved_into_a_prompt_of_a_routine() -> None:
    document = workflow(step(verification={"command": "awk '{print $1}' report"}))
    (plain,) = lint(virtual_steps.VirtualStepNotRenderable, document)
    (routine,) = lint(virtual_steps.VirtualStepNotRenderable, document, is_routine=True)
    assert (plain.fix is not None, routine.fix is not None) == (True, False)

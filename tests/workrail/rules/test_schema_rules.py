"""SC: the fixes that go with schema findings."""

from __future__ import annotations

from typing import Any

import pytest
from lint_probe import as_text, fixed, view

from workrail_lint.documents.schema.engine import compile_schema
from workrail_lint.findings import Finding, Safety
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.rules import RULES
from workrail_lint.systems.workrail.rules.samples import controlled_loop, loop, step, workflow
from workrail_lint.systems.workrail.schema_findings import schema_findings

VALIDATOR = compile_schema(load_schema("workflow"))
RULE = {"type": "length", "min": 200, "message": "Say more."}


def with_fix(document: dict[str, Any]) -> Finding:
    """The only schema finding of a document, with the fix its rule offers."""
    (finding,) = schema_findings(VALIDATOR.violations(document), document)
    seen = view(document)
    seen.definition = document  # as written: here it is the schema's word that counts
    finding.fix = finding.fix or RULES.rule(finding.name).fix_for(finding, seen)
    return finding


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        (workflow(step(Guidance=["x"])), workflow(step(guidance=["x"]))),
        (workflow(step(modelTier="MID")), workflow(step(modelTier="mid"))),
        (workflow(metaGuidance=["a", "b", "a"]), workflow(metaGuidance=["a", "b"])),
        (workflow(step(type="standard")), workflow(step())),
        (workflow(version="2"), workflow(version="2.0.0")),
        (workflow(step(validationCriteria=RULE)), workflow(step(validationCriteria=[RULE]))),
        (workflow(id="Demo.X Y"), workflow(id="demo.x_y")),
        (workflow(step(functionReferences=["score"])), workflow(step(functionReferences=["score()"]))),
        (workflow(step("Plan_It!")), workflow(step("plan-it"))),
        (
            workflow(step("Plan It"), {**loop(), "body": "Plan It"}),
            workflow(step("plan-it"), {**loop(), "body": "plan-it"}),
        ),
        (workflow(controlled_loop(ident="Dig In")), workflow(controlled_loop(ident="dig-in"))),
    ],
)
def test_fixes(bad: dict[str, Any], good: dict[str, Any]) -> None:
    finding = with_fix(bad)
    assert finding.fix is not None
    assert finding.fix.safety is Safety.UNSAFE
    assert RULES.by_name[finding.name].fix_safety == "unsafe"
    assert fixed(finding, bad) == as_text(good)


@pytest.mark.parametrize(
    "bad",
    [
        workflow(zzz=1),
        workflow(step(modelTier="huge")),
        workflow(step(type="template")),
        workflow(version="v1.0.0"),
        workflow(id="a.b.c"),
        workflow(id="a.review"),
        workflow(step("Plan"), step("plan")),  # the name it would get is taken
        workflow(loop(step("Plan")), step("plan")),
        workflow(step(functionCalls=[{"name": "1a", "args": {}}])),
    ],
)
def test_no_fix_where_nothing_certain_is_meant(bad: dict[str, Any]) -> None:
    assert with_fix(bad).fix is None


def test_a_body_step_is_not_what_a_loop_names() -> None:
    """Only top-level steps are bodies by reference, so a renamed inline step takes no reference along."""
    bad = workflow(loop(step("Look Up"), ident="outer"), {**loop(), "body": "Look Up"})
    finding = with_fix(bad)
    assert finding.fix is not None
    assert [operation.pointer for operation in finding.fix.operations] == ["/steps/0/body/0/id"]  # type: ignore[union-attr]

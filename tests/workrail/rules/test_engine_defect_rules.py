"""What the rules of family KD report, and what they leave alone."""

from __future__ import annotations

from typing import Any

import pytest

from workrail_lint import check_text
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.systems.workrail.rules.samples import decision, loop, step, workflow


def found(document: dict[str, Any]) -> dict[str, str]:
    """The findings of the family, with their places."""
    report = check_text(canonical_bytes(document), filename="workflows/a.json")
    return {finding.code: finding.pointer for finding in report.findings if finding.code.startswith("KD")}


METRICS = {"metricsProfile": "research"}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (workflow(), {}),
        (workflow(step(), loop()), {}),
        (workflow(loop(), step()), {"KD001": "/steps/0"}),
        (workflow(step(prompt="Use {{wr.x}} and {{ not a token }}.")), {}),
        (workflow(step(prompt="For {{goal}}."), step("two", "For {{goal}}.")), {"KD012": "/steps/0/prompt"}),
        # A composition shows no message of its own, so its length does not matter.
        (workflow(step(validationCriteria={"and": [{"type": "contains", "value": "x", "message": "m" * 600}]})), {}),
        (workflow(step(), loop(step("inner", "Pass {{currentIteration}}."))), {}),
        (workflow(step(), step("inner", "See {{currentIterations}}."), {**loop(), "body": "inner"}), {}),
        (workflow(step(), loop(step("inner"), decision()), **METRICS), {}),
        (workflow(step(), step("inner"), {**loop(), "body": "inner"}, **METRICS), {"KD042": "/steps/2"}),
        (workflow(step(), {**loop(), "body": "inner"}, step("inner"), **METRICS), {"KD042": "/steps/2"}),
        (workflow(step(), step("last", runCondition={"var": "goal"}), metricsProfile="none"), {}),
    ],
)
def test_places(document: dict[str, Any], expected: dict[str, str]) -> None:
    assert found(document) == expected


def test_a_document_is_reported_once() -> None:
    twice = [step(f"verdict-{n}", outputContract={"contractRef": "wr.contracts.review_verdict"}) for n in (1, 2)]
    assert found(workflow(*twice)) == {"KD003": "/steps/0/outputContract"}

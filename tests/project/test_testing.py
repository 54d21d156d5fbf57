"""What `workrail_lint.testing` says of rules that don't do what they show."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from workrail_lint import check, check_text
from workrail_lint.documents.operations import Replace
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Report
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.testing import check_rule, findings


class Shouting(WorkflowRule):
    code = "XX900"
    name = "shouting-name"
    severity = Severity.WARNING
    origin = "product"
    summary = "The name is in capitals."
    why = "It is hard to read."
    bad: ClassVar[Any] = {"name": "FIX IT"}
    good: ClassVar[Any] = {"name": "Fix it"}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if workflow.model.name.isupper():
            report("/name", "the name is in capitals")


def test_a_good_rule_passes() -> None:
    check_rule(Shouting)
    document = {"id": "demo.loud", "name": "LOUD", "steps": []}
    assert [finding.pointer for finding in findings(Shouting, document)] == ["/name"]


def broken(**members: Any) -> type[WorkflowRule]:
    return type("Broken", (Shouting,), members)


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"bad": {"name": "Quiet"}}, "XX900 finds nothing in its bad example"),
        ({"good": {"name": "LOUD"}}, "XX900 finds something in its good example: the name is in capitals"),
        ({"summary": "Capitals"}, "XX900: the summary has to be a sentence"),
        ({"fix": "Mend it.", "fix_safety": "unsafe"}, "XX900"),
    ],
)
def test_what_a_rule_lacks_is_said(members: dict[str, Any], problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        check_rule(broken(**members))


def test_a_fix_is_tried() -> None:
    def reporting(word: str) -> type[WorkflowRule]:
        def check_workflow(self: WorkflowRule, workflow: WorkflowContext, report: Report) -> None:
            if workflow.model.name.isupper():
                report("/name", "the name is in capitals", fix=safe("write it small", Replace("/name", word)))

        members = {"check_workflow": check_workflow, "fix": "Write it small.", "fix_safety": "safe"}
        return broken(**members)

    with pytest.raises(AssertionError, match="the fix makes something else"):
        check_rule(reporting("fix"))
    with pytest.raises(AssertionError, match="a safe fix changes the meaning"):
        check_rule(reporting("Fix it"))


def test_rules_of_your_own_run_beside_the_others(tmp_path: Path) -> None:
    (tmp_path / "loud.json").write_text('{"id": "demo.loud", "name": "LOUD", "steps": []}', encoding="utf-8")
    codes = {finding.code for finding in check([tmp_path], rules=[Shouting]).findings}
    assert "XX900" in codes
    assert len(codes) > 1
    text = (tmp_path / "loud.json").read_text("utf-8")
    assert [f.code for f in check_text(text, rules=[Shouting], select=["XX900"]).findings] == ["XX900"]
    assert "XX900" not in {finding.code for finding in check([tmp_path]).findings}

"""LC: how the text is laid out. Nothing here changes what a workflow means."""

from __future__ import annotations

import json
from collections.abc import Iterator

from workrail_lint.documents.json_format import formatted, layout_problem
from workrail_lint.documents.operations import Respell
from workrail_lint.findings import Severity
from workrail_lint.findings.fix import safe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import Workflow, WorkflowRule


class LineEndings(WorkflowRule):
    code = "LC018"
    name = "line-endings"
    severity = Severity.INFO
    origin = "product"
    summary = "Lines end in CR LF, in CR, or some in one and some in the other."
    why = "Every line differs from its version with LF, so that a one-word change looks like a rewrite."
    fix = "End every line in LF."
    fix_safety = "safe"

    def applies(self, workflow: Workflow) -> bool:
        return "\r" in workflow.document.text

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        text = workflow.document.text
        pairs, feeds, returns = text.count("\r\n"), text.count("\n"), text.count("\r")
        kind = "CR LF" if pairs == feeds == returns else "CR" if not feeds else "a mixture of CR and LF"
        # JSON strings hold no raw line end, so that each one stands between values.
        plain = text.replace("\r\n", "\n").replace("\r", "\n")
        report("", f"lines end in {kind} instead of LF", fix=safe("end lines in LF", Respell(0, len(text), plain)))

    def examples(self) -> Iterator[Example]:
        yield Example(_text().replace("\n", "\r\n"), _text(), _text())


class FormatNoncanonical(WorkflowRule):
    code = "LC019"
    name = "format-noncanonical"
    severity = Severity.INFO
    origin = "product"
    summary = "The file is not JSON indented by two spaces with one item on a line and a newline at the end."
    why = (
        "One layout keeps differences small and reviews about content. Short lists and objects that stand on one line "
        "may stay there; the order of members, escapes and numbers are the author's."
    )
    fix = "Lay the text out anew."
    fix_safety = "safe"

    def applies(self, workflow: Workflow) -> bool:
        return not workflow.document.problems

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        text = workflow.document.text
        line = layout_problem(text)
        if line is not None:
            fix = safe("lay the text out anew", Respell(0, len(text), formatted(text)))
            report("", _complaint(text, line), fix=fix)

    def examples(self) -> Iterator[Example]:
        document = samples.workflow()
        yield Example(json.dumps(document), _text(), _text())


def _complaint(text: str, line: int) -> str:
    if not text.endswith("\n"):
        return "the file does not end in a newline"
    return f"line {line} is not laid out with two spaces per level and one item per line"


def _text() -> str:
    return json.dumps(samples.workflow(), indent=2) + "\n"

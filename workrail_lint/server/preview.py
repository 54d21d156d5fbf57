"""The studio page of one open workflow."""

from __future__ import annotations

from typing import Any

from workrail_lint.findings import Finding
from workrail_lint.report.json import step_of
from workrail_lint.server.document import OpenDocument
from workrail_lint.studio.inputs import Inputs
from workrail_lint.studio.page import page
from workrail_lint.studio.project import project_data
from workrail_lint.studio.workflow import Source


def preview(document: OpenDocument) -> str:
    """A page about the text as it is typed, with its findings."""
    source = Source(document.path, document.compiled, [_finding(each) for each in document.checked.findings])
    known = document.project.plan.selection.known
    reasons = {
        each.name: rule.why
        for each in document.checked.findings
        if (rule := known.get(each.code, each.name)) is not None
    }
    data = project_data(document.path, [source], Inputs(), document.project.settings.catalog, reasons=reasons)
    return page(data, document.path)


def _finding(finding: Finding) -> dict[str, Any]:
    fix = finding.fix
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "pointer": finding.pointer,
        "step": step_of(finding),
        "range": None
        if finding.span is None
        else {
            "start": {"line": finding.span.start.line, "column": finding.span.start.column},
            "end": {"line": finding.span.end.line, "column": finding.span.end.column},
        },
        "fix": None if fix is None else {"title": fix.title, "safety": fix.safety.value},
    }

"""What readers notice in a text, as findings: the same for every kind of document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.findings.fix import safe

if TYPE_CHECKING:
    from workrail_lint.documents.problems import Problem
    from workrail_lint.documents.source_text import SourceText
    from workrail_lint.rules.table import RuleInfo


def reader_finding(
    problem: Problem,
    source: SourceText,
    rule: RuleInfo | None,
    message: str | None = None,
    *,
    start: int = 0,
    severity: Severity | None = None,
    cut: bool = True,
) -> Finding:
    """A slip under the rule that speaks for it (none: under its own name), with the fix that cuts it out.

    `start` is where the part of the text begins that was read by itself; without `cut` there is no fix.
    """
    code, name = (problem.name, problem.name) if rule is None else (rule.code, rule.name)
    level = severity or (Severity.ERROR if rule is None else rule.severity)
    finding = Finding(code, name, level, message or problem.message, problem.pointer, phase=Phase.READ)
    finding.span = source.span(start + problem.start, start + problem.end)
    finding.details["blocking"] = problem.blocking
    if cut and problem.removes:
        from workrail_lint.documents.operations import Cut

        finding.fix = safe("remove it", *(Cut(begin, end) for begin, end in problem.removes))
    return finding

"""Reports made for tests: from findings written by hand, and from a real check."""

from __future__ import annotations

from typing import Any

from workrail_lint import check_text
from workrail_lint.documents.source_text import SourceText
from workrail_lint.findings import Edit, Finding, Fix, Safety, Severity
from workrail_lint.report.data import ReportData, Reported, Sources
from workrail_lint.report.rule_docs import rules, shipped
from workrail_lint.rules.table import info_of

PATH = "workflows/a.json"
TEXT = '{\n  "id": "demo.flow",\n  "steps": []\n}\n'
RULES = {rule.name: info_of(rule) for rule in rules()}


def finding(
    message: str = "something is wrong",
    *,
    at: tuple[int, int] | None = (4, 8),
    text: str = TEXT,
    code: str = "LP002",
    name: str = "loop-member-missing",
    severity: Severity = Severity.ERROR,
    path: str = PATH,
    pointer: str = "/id",
    **more: Any,
) -> Finding:
    """A finding at offsets of a text, or about the file as a whole."""
    span = None if at is None else SourceText(text).span(*at)
    return Finding(code, name, severity, message, pointer, path=path, span=span, **more)


def report(*findings: Finding | Reported, text: str | None = TEXT, **more: Any) -> ReportData:
    """A report on findings, all of one text (None: it can't be read any more)."""
    source = None if text is None else SourceText(text)
    items = [item if isinstance(item, Reported) else Reported(item) for item in findings]
    settings: dict[str, Any] = {"rules": {}, "files": 1, "version": "1.2.3", **more}
    return ReportData(items, sources=lambda path: source, **settings)


def fixed(message: str, edit: Edit, safety: Safety = Safety.SAFE, **more: Any) -> Reported:
    """A finding with a fix whose edit is known."""
    return Reported(finding(message, fix=Fix("mend it", safety, ()), **more), (edit,))


def checked(text: str, path: str = PATH, **more: Any) -> ReportData:
    """The report of a real check."""
    found = check_text(text, path).findings
    sources = Sources({path: text.encode("utf-8", "surrogatepass")})
    return ReportData(
        sources.reported(found), sources=sources, rules=RULES, load=shipped().rule, files=1, version="1.2.3", **more
    )

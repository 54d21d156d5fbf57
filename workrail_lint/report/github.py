"""Workflow commands for GitHub Actions: each finding becomes an annotation on its line."""

from __future__ import annotations

from workrail_lint.base.terminal import printable
from workrail_lint.findings import Severity
from workrail_lint.report.data import ReportData, Reported, portable

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_LONGEST = 4_000


def render(data: ReportData) -> str:
    return "".join(f"{_command(item, data)}\n" for item in data.shown)


def _command(item: Reported, data: ReportData) -> str:
    finding, span = item.finding, item.span
    properties = {"file": portable(finding.path), "line": str(span.start.line), "endLine": str(span.end.line)}
    if span.start.line == span.end.line:  # columns on different lines are refused
        properties |= {"col": str(span.start.column), "endColumn": str(span.end.column)}
    properties["title"] = f"{finding.code} {finding.name}"
    parameters = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    paragraphs = [finding.message, data.help(finding)]
    if finding.fix is not None:
        paragraphs.append(f"Fix: {finding.fix.title}")
    message = "\n".join(printable(text[:_LONGEST]) for text in paragraphs if text)
    return f"::{_COMMANDS[finding.severity]} {parameters}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")

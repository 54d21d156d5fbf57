"""One JSON object with all findings; its shape is fixed."""

from __future__ import annotations

from typing import Any

from workrail_lint.base.terminal import json_text
from workrail_lint.documents.pointer import decode
from workrail_lint.findings import Edit, Finding, Position, Span
from workrail_lint.report.data import ReportData, Reported, Summary, portable

VERSION = 1


def render(data: ReportData) -> str:
    report = {
        "version": VERSION,
        "findings": [finding_object(item, data) for item in data.findings],
        "summary": summary_object(data.summary),
    }
    return json_text(report, indent=2) + "\n"


def render_lines(data: ReportData) -> str:
    """Return one JSON object per line for each finding; no line when there is nothing to report."""
    return "".join(f"{json_text(finding_object(item, data))}\n" for item in data.findings)


def finding_object(item: Reported, data: ReportData) -> dict[str, Any]:
    finding = item.finding
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "message": finding.message,
        "path": portable(finding.path),
        "pointer": finding.pointer,
        "step": step_of(finding),
        "range": range_object(item.span),
        "fix": _fix(item, data),
        "help": data.help(finding),
    }


def step_of(finding: Finding) -> str | None:
    """Return the id of the step that a finding is about: the innermost on the way to its place."""
    place = finding.details.get("place")
    if not isinstance(place, str):
        return None
    tokens = decode(place) if place.startswith("/") else []
    steps = [tokens[at + 1] for at, token in enumerate(tokens[:-1]) if token in ("steps", "body")]
    return steps[-1] if tokens[:1] == ["steps"] and steps and not steps[-1].isdecimal() else None


def summary_object(summary: Summary) -> dict[str, int]:
    return {
        "files": summary.files,
        "findings": summary.findings,
        "errors": summary.errors,
        "warnings": summary.warnings,
        "infos": summary.infos,
        "fixable": summary.fixable,
        "fixableUnsafe": summary.fixable_unsafe,
        "baselined": summary.baselined,
        "suppressed": summary.suppressed,
    }


def _fix(item: Reported, data: ReportData) -> dict[str, Any] | None:
    fix, spans = item.finding.fix, edit_spans(item, data)
    if fix is None or not spans:
        return None
    edits = [{"range": range_object(span), "text": edit.text} for span, edit in spans]
    return {"title": fix.title, "safety": fix.safety.value, "edits": edits}


def edit_spans(item: Reported, data: ReportData) -> list[tuple[Span, Edit]]:
    """Return the edits of a fix with their places; none when the text they belong to is gone."""
    source = data.sources(item.finding.path) if item.edits else None
    if source is None or any(edit.end > len(source.text) for edit in item.edits):
        return []
    return [(source.span(edit.start, edit.end), edit) for edit in item.edits]


def range_object(span: Span) -> dict[str, Any]:
    return {"start": _position(span.start), "end": _position(span.end)}


def _position(position: Position) -> dict[str, int]:
    return {"line": position.line, "column": position.column}

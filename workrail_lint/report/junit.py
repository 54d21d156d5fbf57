"""JUnit XML: a suite for each file, a case for each finding.

What makes the run fail is a failure; other findings are passing cases with the finding as their output, so that
the report never says more than the exit code does.
"""

from __future__ import annotations

from html import escape
from itertools import groupby

from workrail_lint.base.terminal import one_line, shown_path
from workrail_lint.report.data import ReportData, Reported

_TOOL = "workrail-lint"


def render(data: ReportData) -> str:
    text = data.shown
    failures = sum(1 for item in text if data.fails(item.finding))
    suites = [_suite(path, list(items), data) for path, items in groupby(text, lambda i: i.finding.path)]
    if not suites:
        suites = [_clean(data)]
    total = len(text) or 1
    head = f'<testsuites name="{_TOOL}" tests="{total}" failures="{failures}" errors="0">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>"]) + "\n"


def _suite(path: str, items: list[Reported], data: ReportData) -> str:
    failures = sum(1 for item in items if data.fails(item.finding))
    name = _escaped(path)
    head = f'  <testsuite name="{name}" tests="{len(items)}" failures="{failures}" errors="0" skipped="0">'
    return "\n".join([head, *(_case(item, data) for item in items), "  </testsuite>"])


def _case(item: Reported, data: ReportData) -> str:
    finding, start = item.finding, item.span.start
    # Consumers merge cases with the same name.
    name = _escaped(f"{finding.code} {finding.name} at {start.line}:{start.column}")
    text = f"{shown_path(finding.path)}:{start.line}:{start.column}: {finding.severity.value}: {finding.message}"
    notes = {"at": finding.pointer, "help": data.help(finding)}
    lines = [text, *(f"{label}: {note}" for label, note in notes.items() if note)]
    body = "\n".join(map(_escaped, lines))
    if data.fails(finding):
        kind = finding.severity.value
        inner = f'<failure message="{_escaped(finding.message)}" type="{kind}">{body}</failure>'
    else:
        inner = f"<system-out>{body}</system-out>"
    head = f'    <testcase name="{name}" classname="{_escaped(finding.path)}" file="{_escaped(finding.path)}"'
    return f'{head} line="{start.line}">\n      {inner}\n    </testcase>'


def _clean(data: ReportData) -> str:
    head = f'  <testsuite name="{_TOOL}" tests="1" failures="0" errors="0" skipped="0">'
    return f'{head}\n    <testcase name="{data.files} files checked" classname="{_TOOL}"/>\n  </testsuite>'


def _escaped(text: str) -> str:
    """One harmless line in ASCII; `one_line` leaves nothing that XML 1.0 forbids."""
    return escape(one_line(text), quote=True).encode("ascii", "xmlcharrefreplace").decode()

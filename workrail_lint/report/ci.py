"""Reports for CI services: workflow commands of GitHub Actions, GitLab Code Quality, JUnit XML."""

from __future__ import annotations

from collections import Counter
from html import escape
from itertools import groupby
from typing import Any

from workrail_lint.base.terminal import json_text, one_line, printable, shown_path
from workrail_lint.findings import Severity
from workrail_lint.report.data import ReportData, Reported, portable, unique_fingerprint

# GitHub Actions

_GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_LONGEST = 4_000


def render_github(data: ReportData) -> str:
    """Return workflow commands: each finding becomes an annotation on its line."""
    return "".join(f"{_command(item, data)}\n" for item in data.shown)


def _command(item: Reported, data: ReportData) -> str:
    finding, span = item.finding, item.span
    properties = {"file": portable(finding.path), "line": str(span.start.line), "endLine": str(span.end.line)}
    if span.start.line == span.end.line:  # columns on different lines are refused
        properties |= {"col": str(span.start.column), "endColumn": str(span.end.column)}
    properties["title"] = f"{finding.code} {finding.name}"
    parameters = ",".join(f"{name}={_command_property(value)}" for name, value in properties.items() if value)
    paragraphs = [finding.message, data.help(finding)]
    if finding.fix is not None:
        paragraphs.append(f"Fix: {finding.fix.title}")
    message = "\n".join(printable(text[:_LONGEST]) for text in paragraphs if text)
    return f"::{_GITHUB_COMMANDS[finding.severity]} {parameters}::{_command_data(message)}"


def _command_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _command_property(text: str) -> str:
    return _command_data(printable(text)).replace(":", "%3A").replace(",", "%2C")


# GitLab

_GITLAB_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def render_gitlab(data: ReportData) -> str:
    """Return a Code Quality report: a JSON array, shown in merge requests."""
    seen: Counter[str] = Counter()
    return json_text([_issue(item, seen) for item in data.shown], indent=2) + "\n"


def _issue(item: Reported, seen: Counter[str]) -> dict[str, Any]:
    finding, span = item.finding, item.span
    return {
        "description": f"{one_line(finding.code)}: {one_line(finding.message)}",
        "check_name": one_line(finding.name),
        "fingerprint": unique_fingerprint(item, seen),
        "severity": _GITLAB_SEVERITIES[finding.severity],
        "location": {
            "path": one_line(portable(finding.path)).removeprefix("./"),
            "lines": {"begin": span.start.line, "end": span.end.line},
        },
    }


# JUnit

_TOOL = "workrail-lint"


def render_junit(data: ReportData) -> str:
    """Return JUnit XML: a suite for each file, a case for each finding.

    What makes the run fail is a failure; other findings are passing cases with the finding as their output, so that
    the report never says more than the exit code does.
    """
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
    """Return one harmless line in ASCII; `one_line` leaves nothing that XML 1.0 forbids."""
    return escape(one_line(text), quote=True).encode("ascii", "xmlcharrefreplace").decode()

"""A GitLab Code Quality report: a JSON array, shown in merge requests."""

from __future__ import annotations

from collections import Counter
from typing import Any

from workrail_lint.base.terminal import json_text, one_line
from workrail_lint.findings import Severity
from workrail_lint.report.data import ReportData, Reported, portable, unique_fingerprint

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(data: ReportData) -> str:
    seen: Counter[str] = Counter()
    return json_text([_issue(item, seen) for item in data.shown], indent=2) + "\n"


def _issue(item: Reported, seen: Counter[str]) -> dict[str, Any]:
    finding, span = item.finding, item.span
    return {
        "description": f"{one_line(finding.code)}: {one_line(finding.message)}",
        "check_name": one_line(finding.name),
        "fingerprint": unique_fingerprint(item, seen),
        "severity": _SEVERITIES[finding.severity],
        "location": {
            "path": one_line(portable(finding.path)).removeprefix("./"),
            "lines": {"begin": span.start.line, "end": span.end.line},
        },
    }

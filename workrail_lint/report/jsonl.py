"""One JSON object per line for each finding; no line when there is nothing to report."""

from __future__ import annotations

from workrail_lint.base.neutral import json_text
from workrail_lint.report.data import ReportData
from workrail_lint.report.json import finding_object


def render(data: ReportData) -> str:
    return "".join(f"{json_text(finding_object(item, data))}\n" for item in data.findings)

"""Compile errors, one line each, for all commands except `check`."""

from __future__ import annotations

from workrail_lint.base.terminal import err, printable
from workrail_lint.findings import Finding


def report_errors(findings: list[Finding]) -> None:
    for finding in findings:
        place = f":{finding.span.start.line}:{finding.span.start.column}" if finding.span else ""
        err(f"{printable(finding.path)}{place}: error {finding.code}: {printable(finding.message)}")

"""Findings about scenarios, for every system whose documents a scenario can be about."""

from __future__ import annotations

from workrail_lint.findings import Finding, Severity

_WARNINGS = ("scenario-checks-little",)


def scenario_finding(name: str, pointer: str, message: str) -> Finding:
    """A finding under the name of its rule; the scenario system gives it the rule's code."""
    return Finding(name, name, Severity.WARNING if name in _WARNINGS else Severity.ERROR, message, pointer)

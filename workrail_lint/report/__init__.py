"""Findings as text: one module for each format, imported when it is asked for.

A format is a pure function of `ReportData`. The content of documents is neutralised: no control
characters, escape sequences or CI commands get through, and machine formats stay valid.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workrail_lint.report.data import ReportData

FORMATS = ("text", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit")


def render(name: str, data: ReportData) -> str:
    """The report in one of the formats: complete lines, or nothing at all."""
    if name not in FORMATS:
        raise ValueError(f"unknown format {name!r}")
    return str(import_module(f"workrail_lint.report.{name}").render(data))


def render_statistics(name: str, data: ReportData) -> str:
    """How many findings each rule has: a table, or JSON if the format is JSON."""
    from workrail_lint.report import statistics

    return statistics.as_json(data) if name in ("json", "jsonl") else statistics.as_table(data)

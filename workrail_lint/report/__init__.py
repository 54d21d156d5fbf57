"""Findings as text, in several formats. The module of a format is imported when it is asked for.

A format is a pure function of `ReportData`. The content of documents is neutralised: no control
characters, escape sequences or CI commands get through, and machine formats stay valid.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workrail_lint.report.data import ReportData

# The name of a format, and the function that renders it.
_RENDERERS = {
    "text": ("text", "render"),
    "concise": ("text", "render_concise"),
    "json": ("json", "render"),
    "jsonl": ("json", "render_lines"),
    "sarif": ("sarif", "render"),
    "github": ("github", "render"),
    "gitlab": ("gitlab", "render"),
    "junit": ("junit", "render"),
}
FORMATS = tuple(_RENDERERS)


def render(name: str, data: ReportData) -> str:
    """The report in one of the formats: complete lines, or nothing at all."""
    if name not in FORMATS:
        raise ValueError(f"unknown format {name!r}")
    module, function = _RENDERERS[name]
    return str(getattr(import_module(f"workrail_lint.report.{module}"), function)(data))


def render_statistics(name: str, data: ReportData) -> str:
    """Return how many findings each rule has: a table, or JSON if the format is JSON."""
    from workrail_lint.report import statistics

    return statistics.as_json(data) if name in ("json", "jsonl") else statistics.as_table(data)

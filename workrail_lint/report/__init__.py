"""Findings as text, in several formats. The module of a format is imported when it is asked for.

A format is a pure function of `ReportData`. The content of documents is neutralised: no control
characters, escape sequences or CI commands get through, and machine formats stay valid.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workrail_lint.report.data import ReportData


class Format:
    """How a report is written: the module and function that render it, and what others must know about it."""

    __slots__ = ("counts_hidden", "function", "module", "needs_fingerprints", "syntax")

    def __init__(
        self, module: str, function: str, syntax: str, *, counts_hidden: bool = False, needs_fingerprints: bool = False
    ) -> None:
        self.module = module
        self.function = function
        self.syntax = syntax  # lines, json, jsonl or xml
        self.counts_hidden = counts_hidden  # the report says how many findings it leaves out
        self.needs_fingerprints = needs_fingerprints

    def render(self, data: ReportData) -> str:
        return str(getattr(import_module(f"workrail_lint.report.{self.module}"), self.function)(data))


FORMATS = {
    "text": Format("text", "render", "lines", counts_hidden=True),
    "concise": Format("text", "render_concise", "lines", counts_hidden=True),
    "grouped": Format("text", "render_grouped", "lines", counts_hidden=True),
    "json": Format("json", "render", "json", counts_hidden=True),
    "jsonl": Format("json", "render_lines", "jsonl", counts_hidden=True),
    "sarif": Format("sarif", "render", "json", needs_fingerprints=True),
    "github": Format("ci", "render_github", "lines"),
    "gitlab": Format("ci", "render_gitlab", "json", needs_fingerprints=True),
    "junit": Format("ci", "render_junit", "xml"),
}
_STATISTICS = {"text": Format("statistics", "as_table", "lines"), "json": Format("statistics", "as_json", "json")}


def render(name: str, data: ReportData) -> str:
    """Return the report in one of the formats: complete lines, or nothing at all."""
    if name not in FORMATS:
        raise ValueError(f"unknown format {name!r}")
    return FORMATS[name].render(data)


def render_statistics(name: str, data: ReportData) -> str:
    """Return the number of findings of each rule: a table, or JSON if the format is JSON."""
    return _STATISTICS["json" if name in ("json", "jsonl") else "text"].render(data)

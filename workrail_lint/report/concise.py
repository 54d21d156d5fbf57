"""One line for each finding, as editors and grep like it."""

from __future__ import annotations

from workrail_lint.base.neutral import one_line, shown_path
from workrail_lint.base.terminal import Style
from workrail_lint.report.data import ReportData, Reported
from workrail_lint.report.text import COLOURS, closing, style_link


def render(data: ReportData) -> str:
    style = Style(data.colour)
    return "".join(f"{_line(item, data, style)}\n" for item in data.shown) + closing(data.summary, style, data.hidden)


def _line(item: Reported, data: ReportData, style: Style) -> str:
    finding, start = item.finding, item.span.start
    where = f"{shown_path(finding.path)}:{start.line}:{start.column}"
    if data.link is not None:
        where = style_link(where, data.link(finding.path))
    level = style(finding.severity.value, COLOURS[finding.severity], "bold")
    mark = "" if finding.fix is None else " [*]"
    return f"{where}: {level} {one_line(finding.code)} {one_line(finding.name)}: {one_line(finding.message)}{mark}"

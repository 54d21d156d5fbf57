"""How many findings each rule has."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from workrail_lint.base.terminal import Style, json_text, one_line
from workrail_lint.findings import Safety, Severity
from workrail_lint.report.data import ReportData
from workrail_lint.report.text import COLOURS, MARKS, closing


class Row(NamedTuple):
    """A rule, the number of its findings, and how many of them have a fix."""

    code: str
    name: str
    severity: Severity
    hits: int
    fixable: int
    fixable_unsafe: int


def rows(data: ReportData) -> list[Row]:
    """Return the most frequent first; then the most severe, then by code."""
    counts: Counter[tuple[str, str, Severity]] = Counter()
    fixes: Counter[tuple[str, str, Severity, Safety]] = Counter()
    for item in data.findings:
        key = (item.finding.code, item.finding.name, item.finding.severity)
        counts[key] += 1
        if item.finding.fix is not None:
            fixes[*key, item.finding.fix.safety] += 1
    table = [Row(*key, number, fixes[*key, Safety.SAFE], fixes[*key, Safety.UNSAFE]) for key, number in counts.items()]
    return sorted(table, key=lambda row: (-row.hits, row.severity.rank, row.code))


def as_table(data: ReportData) -> str:
    style = Style(data.colour)
    table = rows(data)
    width = max((len(str(row.hits)) for row in table), default=0)
    code = max((len(one_line(row.code)) for row in table), default=0)
    lines = []
    for row in table:
        mark = MARKS[Safety.SAFE] if row.fixable else MARKS[Safety.UNSAFE] if row.fixable_unsafe else "[ ]"
        some = row.fixable + row.fixable_unsafe
        part = f" ({some} of them fixable)" if 0 < some < row.hits else ""
        number = style(str(row.hits).rjust(width), "bold")
        level = style(row.severity.value.ljust(7), COLOURS[row.severity])
        lines.append(f"{number}  {one_line(row.code).ljust(code)}  {level}  {mark}  {one_line(row.name)}{part}\n")
    return "".join(lines) + ("\n" if lines else "") + closing(data.summary, style, explains_marks=True)


def as_json(data: ReportData) -> str:
    table = [
        {
            "code": row.code,
            "name": row.name,
            "severity": row.severity.value,
            "count": row.hits,
            "fixable": row.fixable,
            "fixableUnsafe": row.fixable_unsafe,
        }
        for row in rows(data)
    ]
    return json_text(table, indent=2) + "\n"

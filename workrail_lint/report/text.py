"""For people: message, source frame, reason and fix of each finding, or one line for each; and a count at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple, TextIO

from workrail_lint.base.terminal import Style, one_line, shown_path, uses_colour
from workrail_lint.base.wording import counted, listed
from workrail_lint.findings import Confidence, Finding, Safety, Severity
from workrail_lint.report.data import ReportData, Reported, Summary
from workrail_lint.report.source_frame import Frame, frame

COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_HOW = {Safety.SAFE: "--fix", Safety.UNSAFE: "--fix --unsafe-fixes"}


def render(data: ReportData) -> str:
    style = Style(data.colour)
    explained: set[str] = set()  # a reason is shown once, not for each of a hundred findings
    parts = [_block(item, data, style, explained) for item in data.shown]
    return "".join(f"{block}\n\n" for block in parts) + closing(data.summary, style, data.hidden)


def _block(item: Reported, data: ReportData, style: Style, explained: set[str]) -> str:
    finding = item.finding
    colour = COLOURS[finding.severity]
    title = style(f"{finding.severity.value}[{one_line(finding.code)} {one_line(finding.name)}]", colour, "bold")
    source = data.sources(finding.path) if finding.span is not None else None
    excerpt = Frame([], 1)
    if source is not None and finding.span is not None:
        excerpt = frame(source, finding.span, data.width, style, colour)
    margin = " " * excerpt.gutter
    lines = [f"{title}: {style(one_line(finding.message), 'bold')}{_doubt(finding)}"]
    lines += [f"{margin}{style('-->', 'blue')} {_where(item, data)}", *excerpt.lines]
    for label, text in _notes(item, data, explained):
        lines.append(f"{margin} {style('=', 'blue')} {style(f'{label}:', 'bold')} {one_line(text)}")
    return "\n".join(lines)


def _doubt(finding: Finding) -> str:
    """Return how sure a finding is, where it is not high."""
    return "" if finding.confidence is Confidence.HIGH else f" ({finding.confidence.value} confidence)"


def _notes(item: Reported, data: ReportData, explained: set[str]) -> Iterator[tuple[str, str]]:
    finding = item.finding
    rule = data.rules.get(finding.name)
    if rule is not None and rule.name not in explained:
        explained.add(rule.name)
        yield "why", rule.why
    if finding.help:
        yield "help", finding.help
    if (fix := finding.fix) is not None:
        yield "fix", f"{fix.title} ({fix.safety.value}; {_HOW[fix.safety]})"


def _where(item: Reported, data: ReportData) -> str:
    finding = item.finding
    start = finding.span.start if finding.span is not None else None
    text = shown_path(finding.path) + (f":{start.line}:{start.column}" if start is not None else "")
    text = style_link(text, data.link(finding.path)) if data.link is not None else text
    place = finding.details.get("place") or finding.pointer
    return f"{text} ({one_line(str(place))})" if place else text


def style_link(text: str, address: str) -> str:
    """A link as terminals understand it (OSC 8)."""
    return f"\x1b]8;;{one_line(address)}\x1b\\{text}\x1b]8;;\x1b\\"


def closing(summary: Summary, style: Style, hidden: str = "") -> str:
    """Return what was found, how much of it is hidden, and what can be fixed automatically."""
    files = counted(summary.files, "file")
    if not summary.findings:
        lines = [style(f"No findings in {files}.", "green")]
    else:
        parts = [
            style(counted(number, word), COLOURS[severity], "bold")
            for number, word, severity in (
                (summary.errors, "error", Severity.ERROR),
                (summary.warnings, "warning", Severity.WARNING),
                (summary.infos, "info", Severity.INFO),
            )
            if number
        ]
        aside = f" ({hidden})" if hidden else ""
        lines = [f"Found {listed(parts)} in {files}{aside}."]
    fixes = []
    if summary.fixable:
        fixes.append(f"{summary.fixable} with --fix")
    if summary.fixable_unsafe:
        fixes.append(f"{summary.fixable_unsafe} with --fix --unsafe-fixes")
    if fixes:
        lines.append(f"Fixable: {listed(fixes)}.")
    accepted = []
    if summary.baselined:
        accepted.append(f"{summary.baselined} in the baseline")
    if summary.suppressed:
        accepted.append(f"{summary.suppressed} suppressed")
    if accepted:
        lines.append(f"Not shown: {listed(accepted)}.")
    return "\n".join(lines) + "\n"


def render_concise(data: ReportData) -> str:
    """Return one line for each finding, as editors and grep like it."""
    style = Style(data.colour)
    return "".join(f"{_line(item, data, style)}\n" for item in data.shown) + closing(data.summary, style, data.hidden)


def _line(item: Reported, data: ReportData, style: Style) -> str:
    finding, start = item.finding, item.span.start
    where = f"{shown_path(finding.path)}:{start.line}:{start.column}"
    if data.link is not None:
        where = style_link(where, data.link(finding.path))
    level = style(finding.severity.value, COLOURS[finding.severity], "bold")
    mark = "" if finding.fix is None else " [*]"
    rule = f"{one_line(finding.code)} {one_line(finding.name)}"
    return f"{where}: {level} {rule}: {one_line(finding.message)}{_doubt(finding)}{mark}"


_WIDTH = 100
_WIDEST = 160


class Terminal(NamedTuple):
    """The arguments of `ReportData` that depend on where the output goes."""

    colour: bool
    link: Callable[[str], str] | None
    width: int


def terminal_of(stream: TextIO | None) -> Terminal:
    """Return what the stream can show; None means a file."""
    if stream is None or not stream.isatty():
        return Terminal(stream is not None and uses_colour(stream), None, _WIDTH)
    colour = uses_colour(stream)
    return Terminal(colour, file_address if colour else None, min(_WIDEST, _columns(stream)))


def _columns(stream: TextIO) -> int:
    try:
        return int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size(stream.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH


def file_address(path: str) -> str:
    """The address of a file, without anything that a terminal could interpret as a command."""
    from urllib.parse import quote

    absolute = os.path.abspath(path).replace(os.sep, "/")
    return "file://" + quote(os.fsencode(absolute if absolute.startswith("/") else f"/{absolute}"))

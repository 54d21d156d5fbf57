"""For people: message, source frame, reason and fix of each finding, and a count at the end."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.base.neutral import one_line, shown_path
from workrail_lint.base.terminal import Style
from workrail_lint.base.wording import counted, listed
from workrail_lint.findings import Safety, Severity
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
    shown = Frame([], 1)
    if source is not None and finding.span is not None:
        shown = frame(source, finding.span, data.width, style, colour)
    margin = " " * shown.gutter
    lines = [f"{title}: {style(one_line(finding.message), 'bold')}"]
    lines += [f"{margin}{style('-->', 'blue')} {_where(item, data)}", *shown.lines]
    for label, text in _notes(item, data, explained):
        lines.append(f"{margin} {style('=', 'blue')} {style(f'{label}:', 'bold')} {one_line(text)}")
    return "\n".join(lines)


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
    shown = shown_path(finding.path) + (f":{start.line}:{start.column}" if start is not None else "")
    shown = style_link(shown, data.link(finding.path)) if data.link is not None else shown
    place = finding.details.get("place") or finding.pointer
    return f"{shown} ({one_line(str(place))})" if place else shown


def style_link(text: str, address: str) -> str:
    """A link as terminals understand it (OSC 8)."""
    return f"\x1b]8;;{one_line(address)}\x1b\\{text}\x1b]8;;\x1b\\"


def closing(summary: Summary, style: Style, hidden: str = "") -> str:
    """What was found, how much of it is hidden, and what can be fixed automatically."""
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

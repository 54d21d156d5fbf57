"""For people: message, source frame, reason and fix of each finding, or one line for each; and a count at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TextIO

from workrail_lint.base.result import Record
from workrail_lint.base.terminal import LOG_COMMAND, Style, columns, one_line, printable, shown_path, uses_colour
from workrail_lint.base.wording import counted, folded, listed
from workrail_lint.documents.source_text import SourceText
from workrail_lint.findings import Confidence, Finding, Safety, Severity, Span
from workrail_lint.report.data import Edits, ReportData, Reported, Summary

_TAB = "    "
_OPENERS = ("{", "[")
_MORE_LINES = 2
_LEAST_WIDTH = 20
_LEAST_MESSAGE = 40  # in a narrower column, a message begins on the next line
_MOST_CHANGES, _LONGEST_CHANGE = 8, 160  # a fix that changes more is shown by --diff


class Frame(Record):
    """The lines, and how many cells their numbers take."""

    __slots__ = ("gutter", "lines")

    def __init__(self, lines: list[str], gutter: int) -> None:
        self.lines = lines
        self.gutter = gutter


class _Window(Record):
    """The part of a line that is shown, and how many cells it takes up to the marked stretch and in it."""

    __slots__ = ("indent", "marked", "text")

    def __init__(self, text: str, indent: int, marked: int) -> None:
        self.text = text
        self.indent = indent
        self.marked = marked


def frame(source: SourceText, span: Span, width: int, style: Style, colour: str) -> Frame:
    """Return the frame of a place; without lines when the text no longer has the place."""
    first = span.start.line
    if first > len(source.line_starts):
        return Frame([], 1)
    line = source.line(first)
    start = min(span.start.column - 1, len(line))
    end = max(start, min(span.end.column - 1, len(line))) if span.end.line == first else len(line)
    # A lone bracket says nothing about what it opens; the next lines do.
    lone = span.end.line > first and line[start:].strip() in _OPENERS
    numbers = range(first, min(first + (_MORE_LINES if lone else 0), len(source.line_starts)) + 1)
    gutter = len(str(numbers[-1]))
    room = max(_LEAST_WIDTH, width - gutter - 3)
    window = _window(line, start, end, room)
    caret = " " * window.indent + style("^" * max(1, window.marked), colour, "bold")
    note = style(f" to line {span.end.line}", colour) if span.end.line > first else ""
    bar = style("|", "blue")
    labels = [style(str(number).rjust(gutter), "blue") for number in numbers]
    empty = f"{' ' * gutter} {bar}"
    lines = [empty, f"{labels[0]} {bar} {window.text}".rstrip(), f"{empty} {caret}{note}"]
    for label, number in zip(labels[1:], numbers[1:], strict=True):
        lines.append(f"{label} {bar} {_window(source.line(number), 0, 0, room).text}".rstrip())
    return Frame(lines, gutter)


def cells(text: str) -> int:
    """Return how many terminal cells a printable text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def _cells(char: str) -> int:
    import unicodedata  # here, because most lines are plain ASCII

    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _shown(char: str) -> str:
    return _TAB if char == "\t" else printable(char)


def _window(line: str, start: int, end: int, room: int) -> _Window:
    """Return the part of a line to show: the marked stretch, some text before it, and what fits after it."""
    room -= 2  # for the ellipses
    marked = _fitting(line, start, end, room * 3 // 4)
    free = room - _width(line, start, marked)
    following = _width(line, marked, _fitting(line, marked, len(line), free // 3)) if marked == end else 0
    left = _fitting_back(line, start, free - following)
    free = room - _width(line, left, start)
    marked = _fitting(line, start, end, free)
    right = _fitting(line, marked, len(line), free - _width(line, start, marked)) if marked == end else marked
    cut, more = "…" if left > 0 else "", "…" if right < len(line) else ""
    visible = line[left:right]
    if _is_plain(visible) and "##" not in visible:
        return _Window(f"{cut}{visible}{more}", len(cut) + start - left, marked - start)
    pieces = [_shown(char) for char in visible]
    for match in LOG_COMMAND.finditer(line, left, right):
        pieces[match.start() + 1 - left] = "\\u0023"
    before, inside, after = ("".join(part) for part in _split(pieces, start - left, marked - left))
    return _Window(f"{cut}{before}{inside}{after}{more}", len(cut) + cells(before), cells(inside))


def _split(pieces: list[str], start: int, end: int) -> tuple[list[str], list[str], list[str]]:
    return pieces[:start], pieces[start:end], pieces[end:]


def _is_plain(text: str) -> bool:
    """Return whether every character takes one cell, as in nearly all lines."""
    return text.isascii() and text.isprintable()


def _width(line: str, start: int, end: int) -> int:
    if _is_plain(line[start:end]):
        return max(0, end - start)
    return sum(cells(_shown(char)) for char in line[start:end])


def _fitting(line: str, start: int, end: int, room: int) -> int:
    """Return where to stop so that what is shown from `start` on fits."""
    if _is_plain(line[start : min(end, start + max(room, 0) + 1)]):
        return min(end, start + max(room, 0)) if end > start else end
    used = 0
    for index in range(start, end):
        used += cells(_shown(line[index]))
        if used > room:
            return index
    return end


def _fitting_back(line: str, end: int, room: int) -> int:
    """Return where to begin so that what is shown up to `end` fits."""
    if _is_plain(line[max(0, end - max(room, 0) - 1) : end]):
        return max(0, end - max(room, 0))
    used = 0
    for index in range(end - 1, -1, -1):
        used += cells(_shown(line[index]))
        if used > room:
            return index + 1
    return 0


COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
MARKS = {Safety.SAFE: "[*]", Safety.UNSAFE: "[-]"}
_HOW = {Safety.SAFE: "--fix", Safety.UNSAFE: "--fix --unsafe-fixes"}


def render(data: ReportData) -> str:
    style = Style(data.colour)
    explained: set[str] = set()  # a reason is shown once, not for each of a hundred findings
    parts = [_block(item, data, style, explained) for item in data.shown]
    return "".join(f"{block}\n\n" for block in parts) + closing(data.summary, style, data.hidden)


def _block(item: Reported, data: ReportData, style: Style, explained: set[str]) -> str:
    finding = item.finding
    colour = COLOURS[finding.severity]
    title = style(f"{finding.severity.value}[{_rule(finding, data)}]", colour, "bold")
    source = data.sources(finding.path) if finding.span is not None else None
    excerpt = Frame([], 1)
    if source is not None and finding.span is not None:
        excerpt = frame(source, finding.span, data.width, style, colour)
    margin = " " * excerpt.gutter
    before = cells(f"{finding.severity.value}[{_rule(finding, data, linked=False)}]: ")
    message, *more = folded(one_line(finding.message), data.wrap, before, len(_TAB), cells)
    lines = [
        f"{title}: {style(message, 'bold')}" if message else f"{title}:",
        *(f"{_TAB}{style(part, 'bold')}" for part in more),
    ]
    lines[-1] += _doubt(finding)
    lines += [f"{margin}{style('-->', 'blue')} {_where(item, data)}", *excerpt.lines]
    for label, text in _notes(item, data, explained):
        start = len(margin) + 3
        head, *more = folded(one_line(text), data.wrap, start + len(label) + 2, start, cells)
        lines.append(f"{margin} {style('=', 'blue')} {style(f'{label}:', 'bold')} {head}")
        lines += [f"{' ' * start}{part}" for part in more]
    if data.shows_fixes and source is not None:
        for change in _fix_diff(item.edits, source.text):
            lines.append(f"{margin}   {style(one_line(change), 'green' if change[0] == '+' else 'red')}")
    return "\n".join(lines)


def _fix_diff(edits: Edits, text: str) -> list[str]:
    """Return the lines that a fix changes, before and after; nothing if they are many."""
    if not edits:
        return []
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    start = text.rfind("\n", 0, ordered[0].start) + 1
    end = text.find("\n", max(edit.end for edit in ordered))
    end = len(text) if end < 0 else end
    after, at = "", start
    for edit in ordered:
        after += text[at : edit.start] + edit.text
        at = edit.end
    after += text[at:end]
    old, new = (part.rstrip("\n").split("\n") if part else [] for part in (text[start:end], after))
    while old and new and old[0] == new[0]:
        del old[0], new[0]
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    changes = [f"-{line}" for line in old] + [f"+{line}" for line in new]
    return changes if len(changes) <= _MOST_CHANGES and all(len(each) <= _LONGEST_CHANGE for each in changes) else []


def _rule(finding: Finding, data: ReportData, *, linked: bool = True) -> str:
    """Return the code and name of a rule, on a terminal with a link to its page."""
    text = f"{one_line(finding.code)} {one_line(finding.name)}"
    rule = data.rules.get(finding.name)
    address = data.rule_address(rule) if linked and rule is not None and data.link is not None else None
    return text if address is None else style_link(text, address)


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
    text = style_link(text, data.link(finding.path, start.line if start else 0)) if data.link is not None else text
    place = finding.details.get("place") or finding.pointer
    return f"{text} ({one_line(str(place))})" if place else text


def style_link(text: str, address: str) -> str:
    """Return a link as terminals understand it (OSC 8)."""
    return f"\x1b]8;;{one_line(address)}\x1b\\{text}\x1b]8;;\x1b\\"


def closing(summary: Summary, style: Style, hidden: str = "", *, explains_marks: bool = False) -> str:
    """Return what was found, how much of it is hidden, and what can be fixed automatically: the legend of marks."""
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
        fixes.append(f"{summary.fixable} with --fix{_legend(Safety.SAFE, explains_marks)}")
    if summary.fixable_unsafe:
        fixes.append(f"{summary.fixable_unsafe} with --fix --unsafe-fixes{_legend(Safety.UNSAFE, explains_marks)}")
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


def _mark(finding: Finding) -> str:
    return "" if finding.fix is None else f" {MARKS[finding.fix.safety]}"


def _legend(safety: Safety, is_wanted: bool) -> str:
    return f" {MARKS[safety]}" if is_wanted else ""


def render_concise(data: ReportData) -> str:
    """Return one line for each finding, as editors and grep like it."""
    style = Style(data.colour)
    lines = "".join(f"{_line(item, data, style)}\n" for item in data.shown)
    return lines + closing(data.summary, style, data.hidden, explains_marks=True)


def _line(item: Reported, data: ReportData, style: Style) -> str:
    finding, start = item.finding, item.span.start
    where = f"{shown_path(finding.path)}:{start.line}:{start.column}"
    if data.link is not None:
        where = style_link(where, data.link(finding.path, start.line))
    level = style(finding.severity.value, COLOURS[finding.severity], "bold")
    return f"{where}: {level} {_rule(finding, data)}: {one_line(finding.message)}{_doubt(finding)}{_mark(finding)}"


def render_grouped(data: ReportData) -> str:
    """Return the findings of each file below its name, in columns."""
    style = Style(data.colour)
    files: dict[str, list[Reported]] = {}
    for item in data.shown:
        files.setdefault(item.finding.path, []).append(item)
    blocks = (_group(path, items, data, style) for path, items in files.items())
    return "".join(f"{block}\n" for block in blocks) + closing(data.summary, style, data.hidden, explains_marks=True)


def _group(path: str, items: list[Reported], data: ReportData, style: Style) -> str:
    starts = [item.span.start for item in items]
    line = max(len(str(start.line)) for start in starts)
    column = max(len(str(start.column)) for start in starts)
    level = max(len(item.finding.severity.value) for item in items)
    rule = max(cells(_rule(item.finding, data, linked=False)) for item in items)
    name = style(shown_path(path), "bold")
    lines = [f"{name if data.link is None else style_link(name, data.link(path, 0))}:"]
    for item, start in zip(items, starts, strict=True):
        finding = item.finding
        place = f"{start.line}:{start.column}"
        margin, gap = " " * (line - len(str(start.line))), " " * (column - len(str(start.column)))
        word = style(finding.severity.value.ljust(level), COLOURS[finding.severity], "bold")
        place = place if data.link is None else style_link(place, data.link(path, start.line))
        padding = " " * (rule - cells(_rule(finding, data, linked=False)))
        message = f"{one_line(finding.message)}{_doubt(finding)}{_mark(finding)}"
        before = line + column + level + rule + 9
        is_narrow = data.wrap is not None and data.wrap < before + _LEAST_MESSAGE
        indent = len(_TAB) if is_narrow else before
        head, *more = folded(message, data.wrap, indent, indent, cells)
        middle = f"\n{_TAB}" if is_narrow else f"{padding}  "
        lines.append(f"  {margin}{place}{gap}  {word}  {_rule(finding, data)}{middle}{head}")
        lines += [" " * indent + part for part in more]
    return "".join(f"{each}\n" for each in lines)


_WIDTH = 100
_WIDEST = 160


class Terminal(Record):
    """The arguments of `ReportData` that depend on where the output goes."""

    __slots__ = ("colour", "link", "width", "wrap")

    def __init__(self, colour: bool, link: Callable[[str, int], str] | None, width: int, wrap: int | None) -> None:
        self.colour = colour
        self.link = link
        self.width = width
        self.wrap = wrap


def terminal_of(stream: TextIO | None) -> Terminal:
    """Return what the stream can show; None means a file."""
    if stream is None or not stream.isatty():
        return Terminal(stream is not None and uses_colour(stream), None, _WIDTH, None)
    colour = uses_colour(stream)
    width = min(_WIDEST, columns(stream) or _WIDTH)
    return Terminal(colour, file_address if colour else None, width, width)


def file_address(path: str, line: int = 0) -> str:
    """Return the address of a file and a line in it, without anything that a terminal could interpret as a command."""
    from urllib.parse import quote

    absolute = os.path.abspath(path).replace(os.sep, "/")
    address = "file://" + quote(os.fsencode(absolute if absolute.startswith("/") else f"/{absolute}"))
    return f"{address}#{line}" if line else address

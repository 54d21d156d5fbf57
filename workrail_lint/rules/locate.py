"""From pointers to places: what a report, a baseline and a suppression need to know about where a finding is."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Protocol

from workrail_lint.base.canonical import CanonicalError, canonical_hash
from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.documents.operations import Cut
from workrail_lint.documents.pointer import id_pointer, resolve
from workrail_lint.documents.source_text import Problem, SourceText, Span
from workrail_lint.findings import Finding, Phase, Severity, safe
from workrail_lint.rules.table import RuleInfo

# The detail with the pointer of another place that the message speaks of last.
ALSO = "also"
# A string of so many characters is longer than a line.
_LONG = 160
_LONGEST_ESCAPE = 12  # of a character beyond the first 65,536
_LEAST = 3
_QUOTED = Pattern(r"'([^']+)'")
_LABEL = Pattern(r"^(?:step|loop) '[^']*'(?: \(in loop '[^']*'\))?:? ")


class Located(Protocol):
    """A document that was read: any reader's."""

    @property
    def readable(self) -> bool: ...

    def locate(self, pointer: str, on_name: bool = False) -> Span | None: ...


def locate(
    findings: list[Finding],
    document: Located,
    path: str,
    *,
    value: object,
    fingerprints: bool = True,
    named: Callable[[object, str], str] = id_pointer,
) -> None:
    """Give findings their file, their span, and what a baseline or suppression needs to know the place again.

    `value` is what the document holds; `named` writes a pointer with ids in the place of numbers.
    """
    for finding in findings:
        finding.path = path
        if finding.span is None:
            finding.span = _words_in(document, finding, value) or nearest_span(document, finding)
        also = finding.details.get(ALSO)
        if isinstance(also, str) and (other := document.locate(also)) is not None:
            finding.message += f" (line {other.start.line})"
            del finding.details[ALSO]
        if document.readable:
            finding.details["place"] = named(value, finding.pointer)
            if fingerprints:
                finding.details["valueHash"] = _value_hash(value, finding.pointer)


def _words_in(document: Located, finding: Finding, value: object) -> Span | None:
    """Return where a long string has the words that the message quotes, else where it is; None for anything else."""
    if finding.on_name or not isinstance(document, JsonDocument):
        return None
    if not _is_long(value, finding.pointer):
        return None  # without looking for its place
    node = document.node(finding.pointer)
    if node is None or node.end - node.start < _LONG or document.text[node.start] != '"':
        return None
    raw = document.text[node.start : node.end]
    for quoted in _QUOTED.findall(_LABEL.sub("", finding.message)):
        words = json.dumps(quoted.removesuffix("…"), ensure_ascii=False)[1:-1]
        for wanted in ("{{" + words, words) if len(words) >= _LEAST else ():
            start = _place_of(wanted, raw)
            if start > 0:
                start += len(wanted) - len(words)
                return document.source.span(node.start + start, node.start + start + len(words))
    return document.source.span(node.start, node.end)


def _is_long(root: object, pointer: str) -> bool:
    """Return whether there is a string that may have more than a line, as it is written with escapes."""
    try:
        value = resolve(root, pointer)
    except (KeyError, ValueError):
        return False
    return isinstance(value, str) and len(value) * _LONGEST_ESCAPE + len('""') >= _LONG


def _place_of(words: str, text: str) -> int:
    """Return where a text has some words that are no part of longer ones, else where it has them at all."""
    first = start = text.find(words)
    while start >= 0:
        end = start + len(words)
        if not _in_word(text[max(0, start - 1) : start]) and not _in_word(text[end : end + 1]):
            return start
        start = text.find(words, start + 1)
    return first


def _in_word(character: str) -> bool:
    return character.isalnum() or character in ("_", "-")


def nearest_span(document: Located, finding: Finding) -> Span | None:
    """Return the span of the place, or of the nearest one above it that exists."""
    pointer = finding.pointer
    while True:
        span = document.locate(pointer, finding.on_name and pointer == finding.pointer)
        if span is not None or not pointer:
            return span
        pointer = "" if pointer.startswith("#") else pointer.rpartition("/")[0]


def _value_hash(value: object, pointer: str) -> str:
    try:
        return canonical_hash(resolve(value, pointer))[7:23]
    except (KeyError, ValueError, CanonicalError):
        return ""


def reader_finding(
    problem: Problem,
    source: SourceText,
    rule: RuleInfo | None,
    message: str | None = None,
    *,
    start: int = 0,
    severity: Severity | None = None,
    cut: bool = True,
) -> Finding:
    """Return a slip under the rule that speaks for it (none: under its own name), with the fix that cuts it out.

    `start` is where the part of the text begins that was read separately; without `cut` there is no fix.
    """
    code, name = (problem.name, problem.name) if rule is None else (rule.code, rule.name)
    level = severity or (Severity.ERROR if rule is None else rule.severity)
    finding = Finding(code, name, level, message or problem.message, problem.pointer, phase=Phase.READ)
    finding.span = source.span(start + problem.start, start + problem.end)
    finding.details["blocking"] = problem.blocking
    if cut and problem.removes:
        finding.fix = safe("remove it", *(Cut(begin, end) for begin, end in problem.removes))
    return finding

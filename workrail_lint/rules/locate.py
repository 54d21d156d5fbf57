"""From pointers to places: what a report, a baseline and a suppression need to know about where a finding is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from workrail_lint.base.canonical import CanonicalError, canonical_hash
from workrail_lint.documents.operations import Cut
from workrail_lint.documents.pointer import id_pointer, resolve
from workrail_lint.documents.source_text import Problem, SourceText, Span
from workrail_lint.findings import Finding, Phase, Severity, safe
from workrail_lint.rules.table import RuleInfo


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
            finding.span = nearest_span(document, finding)
        if document.readable:
            finding.details["place"] = named(value, finding.pointer)
            if fingerprints:
                finding.details["valueHash"] = _value_hash(value, finding.pointer)


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

    `start` is where the part of the text begins that was read by itself; without `cut` there is no fix.
    """
    code, name = (problem.name, problem.name) if rule is None else (rule.code, rule.name)
    level = severity or (Severity.ERROR if rule is None else rule.severity)
    finding = Finding(code, name, level, message or problem.message, problem.pointer, phase=Phase.READ)
    finding.span = source.span(start + problem.start, start + problem.end)
    finding.details["blocking"] = problem.blocking
    if cut and problem.removes:
        finding.fix = safe("remove it", *(Cut(begin, end) for begin, end in problem.removes))
    return finding

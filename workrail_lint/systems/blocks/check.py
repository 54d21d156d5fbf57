"""One document of the block contract through its rules, and a unit through those that need several files."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.documents.operations import Cut
from workrail_lint.findings import Finding, Fix, Phase, Severity
from workrail_lint.findings.fix import safe
from workrail_lint.systems.blocks.documents import BlockKind, validator
from workrail_lint.systems.blocks.options import BlockOptions
from workrail_lint.systems.blocks.rules.base import DECIDED, BlockDocument, BlockRule
from workrail_lint.systems.blocks.rules.registry import all_rules, by_name
from workrail_lint.systems.blocks.wording import json_type

if TYPE_CHECKING:
    from workrail_lint.documents.structure import Violation
    from workrail_lint.systems.blocks.units import Unit

# What one rule says about one file; a file made to provoke more is told so, and no more.
_MOST = 100
_READ_RULES = {"json-bom": "block-byte-order-mark", "json-duplicate-key": "block-duplicate-key"}
_UNREADABLE = "block-unreadable-document"
_NO_SCHEMA = (BlockKind.TRACE, BlockKind.PROMPT, BlockKind.FOLDER)


class _Enough(Exception):  # noqa: N818 - control flow inside this module
    """A rule has said all that is reported of it; looking further would only take time."""


class _Sink:
    """Collects findings: severities by profile, and never more than a person can use."""

    def __init__(self, options: BlockOptions, phase: Phase) -> None:
        self.findings: list[Finding] = []
        self.phase = phase
        self._options = options
        self._counts: dict[tuple[str, str], int] = {}

    def add(
        self,
        rule: BlockRule,
        path: str,
        pointer: str,
        message: str,
        fix: Fix | None,
        severity: Severity | None,
        on_name: bool,
    ) -> bool:
        """Keep a finding; False when there were too many of its kind already."""
        level = severity or rule.severity
        if self._options.lenient and rule.origin == DECIDED and level is Severity.ERROR:
            level = Severity.WARNING
        key = rule.name, path
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count > _MOST:
            if count == _MOST + 1:
                more = "there is more of this in the file; the rest is not listed"
                self.findings.append(Finding(rule.code, rule.name, level, more, phase=self.phase, path=path))
            return False
        finding = Finding(rule.code, rule.name, level, message, pointer, phase=self.phase, path=path)
        finding.fix, finding.on_name = fix, on_name
        self.findings.append(finding)
        return True


class _Reporter:
    """What a rule calls to report about the document at hand."""

    def __init__(self, rule: BlockRule, sink: _Sink, path: str) -> None:
        self._rule, self._sink, self._path = rule, sink, path

    def __call__(
        self,
        pointer: str,
        message: str,
        *,
        fix: Fix | None = None,
        on_name: bool = False,
        severity: Severity | None = None,
        original: bool = False,
    ) -> None:
        if not self._sink.add(self._rule, self._path, pointer, message, fix, severity, on_name):
            raise _Enough


class _UnitReporter:
    """What a rule calls to report about a file of the unit at hand."""

    def __init__(self, rule: BlockRule, sink: _Sink) -> None:
        self._rule, self._sink = rule, sink

    def __call__(
        self, path: str, pointer: str, message: str, *, fix: Fix | None = None, severity: Severity | None = None
    ) -> None:
        self._sink.add(self._rule, path, pointer, message, fix, severity, False)


def read_document(path: str, data: bytes | str, kind: BlockKind, options: BlockOptions) -> BlockDocument:
    """A document, read as far as it can be."""
    if kind is not BlockKind.PROMPT:
        return BlockDocument(path, kind, read_json(data), options)
    from workrail_lint.systems.blocks.unit_files import prompt_text

    text = data if isinstance(data, str) else prompt_text(data)
    document = JsonDocument(text if text is not None else "")
    document.readable = text is not None
    document.value = text
    return BlockDocument(path, kind, document, options)


def check_document(document: BlockDocument) -> list[Finding]:
    """Everything that a document alone shows."""
    reading = _Sink(document.options, Phase.READ)
    _read_problems(document, reading)
    is_object = document.document.readable and isinstance(document.document.value, dict)
    if not is_object:
        if document.document.readable and document.kind is not BlockKind.PROMPT:
            rule = by_name()["block-wrong-root-type"]
            what = f"the document is {json_type(document.document.value)}, not an object"
            reading.add(rule, document.path, "", what, None, None, False)
        return reading.findings
    shape = _Sink(document.options, Phase.SCHEMA)
    content = _Sink(document.options, Phase.LINT)
    concerned = [rule for rule in all_rules() if document.kind in rule.kinds]
    _violations(document, concerned, shape)
    for rule in concerned:
        with suppress(_Enough):
            rule.check_document(document, _Reporter(rule, content, document.path))
    return reading.findings + shape.findings + content.findings


def _read_problems(document: BlockDocument, sink: _Sink) -> None:
    source = document.document.source
    for problem in document.document.problems:
        rule = by_name()[_READ_RULES.get(problem.name, _UNREADABLE)]
        span = source.span(problem.start, problem.end)
        fix, message = None, problem.message
        if rule.name == _UNREADABLE and not message.startswith("line "):
            message = f"{span.start.line}:{span.start.column}: {message}"
        elif problem.name == "json-bom":
            fix = safe("remove it", *(Cut(start, end) for start, end in problem.removes))
        before = len(sink.findings)
        sink.add(rule, document.path, problem.pointer, message, fix, None, False)
        for finding in sink.findings[before:]:
            finding.span = span
    if not document.document.readable and not document.document.problems:
        message = "1:1: the file is not UTF-8 text"
        sink.add(by_name()[_UNREADABLE], document.path, "", message, None, None, False)


def _violations(document: BlockDocument, concerned: list[BlockRule], sink: _Sink) -> None:
    if document.kind in _NO_SCHEMA:
        return
    reporters = [(rule, _Reporter(rule, sink, document.path)) for rule in concerned]
    for violation in validator(document.kind, document.options.extended).violations(document.value):
        if not _taken(violation, document, reporters):
            raise AssertionError(f"no rule takes {violation.keyword} at {violation.pointer} of a {document.kind.value}")


def _taken(violation: Violation, document: BlockDocument, reporters: list[tuple[BlockRule, _Reporter]]) -> bool:
    try:
        return any(rule.check_violation(violation, document, report) for rule, report in reporters)
    except _Enough:
        return True


def check_unit(unit: Unit) -> list[Finding]:
    """Everything that only shows when the files of a unit are seen together; the findings have no spans yet."""
    sink = _Sink(unit.options, Phase.REGISTRY)
    for rule in all_rules():
        rule.check_unit(unit, _UnitReporter(rule, sink))
    return sink.findings


def check_trace(value: dict[str, Any], options: BlockOptions | None = None) -> list[Finding]:
    """What the trace of a run shows, for a driver that has it in memory."""
    from workrail_lint.systems.blocks.documents import TRACE_FILE

    document = JsonDocument("")
    document.readable, document.value = True, value
    return check_document(BlockDocument(TRACE_FILE, BlockKind.TRACE, document, options or BlockOptions()))


def unusable(paths: Iterable[str], message: str) -> list[Finding]:
    """Files that can't be used for what they are, for a reason that their content does not show."""
    sink = _Sink(BlockOptions(), Phase.READ)
    for path in paths:
        sink.add(by_name()[_UNREADABLE], path, "", message, None, None, False)
    return sink.findings

"""One document of the block contract through its rules, and a unit through those that need several files."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.rules.base import Rule
from workrail_lint.rules.describing import Describers
from workrail_lint.rules.locate import reader_finding
from workrail_lint.rules.ruleset import MOST_OF_A_RULE, Levels, RuleSet
from workrail_lint.rules.table import RuleInfo
from workrail_lint.systems.blocks.documents import TRACE_FILE, BlockKind
from workrail_lint.systems.blocks.options import BlockOptions
from workrail_lint.systems.blocks.rules import RULES
from workrail_lint.systems.blocks.rules.base import DECIDED, BlockDocument, BlockRule
from workrail_lint.systems.blocks.unit_files import prompt_text
from workrail_lint.systems.blocks.units import Unit
from workrail_lint.systems.blocks.wording import json_type

_READ_RULES = {"json-bom": "block-byte-order-mark", "json-duplicate-key": "block-duplicate-key"}
_UNREADABLE = "block-unreadable-document"


@cache
def rules_for(kind: BlockKind | None) -> RuleSet[BlockRule]:
    """Return the rules about documents of a kind; None for those about a unit."""
    infos = (info for info in RULES.infos if info.runs or info.describes)
    rules = (rule for rule in RULES.rules(infos) if kind is None or kind in rule.kinds)
    return RuleSet(rules, BlockRule, MOST_OF_A_RULE)


@cache
def describers_for(kind: BlockKind) -> Describers[BlockRule]:
    """Return the rules that describe violations in documents of a kind."""
    rules = RULES.rules(info for info in RULES.infos if info.describes)
    return Describers((rule for rule in rules if kind in rule.kinds), RULES.rule)


def _levels(options: BlockOptions) -> Levels | None:
    return _lenient if options.lenient else None


def _lenient(rule: Rule | RuleInfo, severity: Severity) -> Severity:
    return Severity.WARNING if rule.origin == DECIDED and severity is Severity.ERROR else severity


def read_document(path: str, data: bytes | str, kind: BlockKind, options: BlockOptions) -> BlockDocument:
    """Return a document, read as far as it can be."""
    if kind is not BlockKind.PROMPT:
        return BlockDocument(path, kind, read_json(data), options)

    text = data if isinstance(data, str) else prompt_text(data)
    document = JsonDocument(text if text is not None else "")
    document.readable = text is not None
    document.value = text
    return BlockDocument(path, kind, document, options)


def check_document(document: BlockDocument) -> list[Finding]:
    """Return everything that a document alone shows."""
    findings = _document_findings(document)
    for finding in findings:
        finding.path = document.path
    return findings


def _document_findings(document: BlockDocument) -> list[Finding]:
    findings = _read_findings(document)
    is_object = document.document.readable and isinstance(document.document.value, dict)
    if not is_object:
        if document.document.readable and document.kind is not BlockKind.PROMPT:
            what = f"the document is {json_type(document.document.value)}, not an object"
            findings += _reading("block-wrong-root-type", [document.path], what)
        return findings
    rules = rules_for(document.kind)
    levels = _levels(document.options)
    rules.collector.begin(levels=levels, phase=Phase.SCHEMA)
    describers_for(document.kind).report(document.violations, document, rules.collector)
    findings += rules.collector.finish()
    rules.collector.begin(levels=levels)
    for check, report in rules.calls("check_document"):
        check(document, report)
    return findings + rules.collector.finish()


def _read_findings(document: BlockDocument) -> list[Finding]:
    source = document.document.source
    findings = []
    for problem in document.document.problems[:MOST_OF_A_RULE]:
        rule = RULES.by_name[_READ_RULES.get(problem.name, _UNREADABLE)]
        message = problem.message
        if rule.name == _UNREADABLE and not message.startswith("line "):
            place = source.position(problem.start)
            message = f"{place.line}:{place.column}: {message}"
        level = _lenient(rule, rule.severity) if document.options.lenient else None
        findings.append(reader_finding(problem, source, rule, message, severity=level, cut=problem.name == "json-bom"))
    if not document.document.readable and not document.document.problems:
        findings += _reading(_UNREADABLE, [document.path], "1:1: the file is not UTF-8 text")
    return findings


def check_unit(unit: Unit) -> list[Finding]:
    """Return everything that only shows when the files of a unit are seen together; the findings have no spans yet."""
    rules = rules_for(None)
    rules.collector.begin(levels=_levels(unit.options), phase=Phase.REGISTRY)
    for check, report in rules.calls("check_unit"):
        check(unit, report)
    return rules.collector.finish()


def check_trace(value: dict[str, Any], options: BlockOptions | None = None) -> list[Finding]:
    """Return what the trace of a run shows, for a driver that has it in memory."""
    document = JsonDocument("")
    document.readable, document.value = True, value
    return check_document(BlockDocument(TRACE_FILE, BlockKind.TRACE, document, options or BlockOptions()))


def unusable(paths: Iterable[str], message: str) -> list[Finding]:
    """Return files that can't be used for what they are, for a reason that their content does not show."""
    return _reading(_UNREADABLE, paths, message)


def _reading(name: str, paths: Iterable[str], message: str) -> list[Finding]:
    rule = RULES.by_name[name]
    return [Finding(rule.code, rule.name, rule.severity, message, phase=Phase.READ, path=path) for path in paths]

"""SARIF 2.1.0: for code scanning services and viewers.

Findings of the baseline and suppressed findings are in it too, marked as such: a viewer decides what to show.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from workrail_lint.base.terminal import json_text
from workrail_lint.findings import Confidence, Severity, Span
from workrail_lint.report.data import ReportData, Reported, portable, unique_fingerprint
from workrail_lint.report.json import edit_spans
from workrail_lint.report.rule_docs import page

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PRECISIONS = {Confidence.HIGH: "very-high", Confidence.MEDIUM: "high", Confidence.LOW: "medium"}
_PROBLEMS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}


def render(data: ReportData) -> str:
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(data)]}, indent=2) + "\n"


def _run(data: ReportData) -> dict[str, Any]:
    new, accepted, suppressed = data.shown, data.severe(data.accepted), data.severe(data.suppressed)
    items = [*new, *accepted, *suppressed]
    rules = _rules(items, data)
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    seen: Counter[str] = Counter()
    results = []
    for state, group in (("new", new), ("unchanged", accepted), ("new", suppressed)):
        for item in group:
            result = _result(item, data, index, seen)
            if data.has_baseline:
                result["baselineState"] = state
            if suppressed:  # all results say whether they are suppressed, or none does
                result["suppressions"] = _suppressions(item) if group is suppressed else []
            results.append(result)
    driver = {"name": "workrail-lint", "version": data.version, "semanticVersion": data.version, "rules": rules}
    return {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "newlineSequences": ["\r\n", "\r", "\n"],
        "results": results,
    }


def _rules(items: Iterable[Reported], data: ReportData) -> list[dict[str, Any]]:
    """Return the descriptions of the rules that occur, by code."""
    named = {item.finding.code: item.finding.name for item in items}
    return [_rule(code, named[code], data) for code in sorted(named)]


def _rule(code: str, name: str, data: ReportData) -> dict[str, Any]:
    rule = data.rules.get(name)
    if rule is None:
        return {"id": code, "name": name}
    text = {"text": rule.why}
    if data.load is not None:
        text["markdown"] = page(data.load(rule))
    address = data.rule_address(rule)
    return {
        "id": code,
        "name": name,
        **({"helpUri": address} if address else {}),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": f"{rule.summary} {rule.why}"},
        "help": text,
        "defaultConfiguration": {"enabled": rule.default_on, "level": _LEVELS[rule.severity]},
        "properties": {
            "tags": [rule.family],
            "origin": rule.origin,
            "fix": rule.fix_safety or "none",
            "problem.severity": _PROBLEMS[rule.severity],
            "precision": _PRECISIONS[rule.confidence],
        },
    }


def _result(item: Reported, data: ReportData, index: dict[str, int], seen: Counter[str]) -> dict[str, Any]:
    finding = item.finding
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": _artifact(finding.path)}}
    if finding.span is not None:
        location["physicalLocation"]["region"] = _region(finding.span)
    if finding.pointer:
        place = str(finding.details.get("place") or finding.pointer)
        location["logicalLocations"] = [{"fullyQualifiedName": finding.pointer, "name": place}]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(finding.message)},
        "properties": {"confidence": finding.confidence.value},
        "locations": [location],
        "partialFingerprints": {"workrailLint/v1": unique_fingerprint(item, seen)},
    }
    fix, spans = finding.fix, edit_spans(item, data)
    if fix is not None and spans:
        replacements = [
            {"deletedRegion": _region(span), "insertedContent": {"text": edit.text}} for span, edit in spans
        ]
        change = {"artifactLocation": _artifact(finding.path), "replacements": replacements}
        description = {"text": _message(f"{fix.title} ({fix.safety.value})")}
        result["fixes"] = [{"description": description, "artifactChanges": [change]}]
    return result


def _suppressions(item: Reported) -> list[dict[str, str]]:
    entry = {"kind": "external", "status": "accepted"}
    return [{**entry, "justification": item.reason} if item.reason else entry]


def _message(text: str) -> str:
    """Return a message in which viewers find no link, `[text](target)`: a document must not add its own."""
    return text.replace("](", "] (") or "-"


def _artifact(path: str) -> dict[str, str]:
    """Return the path relative to the root of the sources, unless the file is somewhere else."""
    data = portable(path).encode("utf-8", "surrogateescape" if _is_native(path) else "surrogatepass")
    if os.path.isabs(path):
        return {"uri": f"file:///{quote(data, safe='/:').lstrip('/')}"}
    return {"uri": quote(data).removeprefix("./") or ".", "uriBaseId": _ROOT}


def _is_native(path: str) -> bool:
    """Return whether the lone surrogates of a path represent bytes of a file name."""
    try:
        path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.start.line,
        "startColumn": span.start.column,
        "endLine": span.end.line,
        "endColumn": span.end.column,
    }

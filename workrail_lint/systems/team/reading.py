"""From bytes to a document of the team contract, and the findings of the readers about its text."""

from __future__ import annotations

import json

from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.documents.jsonl_reader import JsonlDocument, read_jsonl
from workrail_lint.documents.markdown_reader import read_markdown
from workrail_lint.documents.operations import Respell
from workrail_lint.documents.scanner import skip_value
from workrail_lint.documents.source_text import Problem
from workrail_lint.findings import Finding, Phase, Severity, safe
from workrail_lint.rules.locate import reader_finding
from workrail_lint.systems.team.documents import MARKDOWN, MAX_HISTORY_BYTES, TREES, TeamKind
from workrail_lint.systems.team.rules import RULES
from workrail_lint.systems.team.rules.base import Reader
from workrail_lint.systems.team.rules.walk import lowered
from workrail_lint.systems.team.session import plan_document
from workrail_lint.systems.team.vocabulary import Profile
from workrail_lint.systems.team.wording import in_line, type_name

K = TeamKind
# The first problems describe a file that is wrong everywhere as well as all of them.
_MOST = 20
_DUPLICATES = ("json-duplicate-key", "yaml-duplicate-key")
# What the readers notice in YAML, and how a message calls it.
_FEATURES = {
    "yaml-anchor": "anchor",
    "yaml-alias": "alias",
    "yaml-tag": "tag",
    "yaml-merge-key": "merge key",
    "yaml-multiple-documents": "second document",
    "yaml-key-not-string": "non-string key",
    "yaml-non-finite-number": "non-finite number",
    "yaml-ambiguous-boolean": "ambiguous word",
    "yaml-ambiguous-number": "ambiguous number",
    "yaml-ambiguous-line-break": "ambiguous line break",
}
# A problem of a whole file has no position in it.
# What to do with a list where an object belongs.
_ROOTS = {
    K.TASKS: "; put the list under `tasks:`",
    K.ACCEPTANCE: '; put it into {"acceptance_criteria": [...]}',
}
_WHOLE = ("file-too-large", "json-syntax")
# Another rule reports the byte order mark, and a date is meant to be a string.
_LEFT_OUT = ("json-bom", "yaml-ambiguous-date")


def read_document(kind: TeamKind, data: bytes | str) -> Reader:
    """Return the text of a document, read by the reader of its kind."""
    if kind is K.TASKS:
        return plan_document(data)
    if kind is K.HISTORY:
        return read_jsonl(data, max_bytes=MAX_HISTORY_BYTES)
    if kind in MARKDOWN:
        return read_markdown(data)
    return read_json(data)


def finding(name: str, message: str) -> Finding:
    """Return a finding of a rule that the readers detect."""
    rule = RULES.by_name[name]
    return Finding(rule.code, rule.name, rule.severity, message, phase=Phase.READ)


def reading_findings(kind: TeamKind, document: Reader, profile: Profile) -> list[Finding]:
    """Return problems of the text, and of a root that is not an object."""
    findings = [
        _of_problem(problem, 0, kind, document, profile)
        for problem in document.problems
        if problem.name not in _LEFT_OUT
    ]
    if isinstance(document, JsonlDocument):
        # TC601 reports broken lines; a duplicate key is the same problem in every document.
        for line in document.lines:
            for problem in line.document.problems if line.document is not None else ():
                if problem.name in _DUPLICATES:
                    findings.append(_of_problem(problem, line.start, kind, document, profile))
                    findings[-1].pointer = f"/{line.index}{problem.pointer}"
                    findings[-1].message = in_line(problem.message, line.index)
    if len(findings) > _MOST:
        findings[_MOST - 1].message += f" (and {len(findings) - _MOST} more problems in this file)"
        del findings[_MOST:]
    # The value of a broken text is a guess, so its type is not reported.
    is_broken = any(item.code == "TC001" for item in findings)
    if kind in TREES and document.readable and type(document.value) is not dict and not is_broken:
        advice = _ROOTS.get(kind, "") if type(document.value) is list else ""
        message = f"the document is {type_name(document.value)}, not an object{advice}"
        findings.append(finding("team-wrong-root-type", message))
    return findings


def _of_problem(problem: Problem, start: int, kind: TeamKind, document: Reader, profile: Profile) -> Finding:
    place = document.source.position(start + problem.start)
    at = f"{place.line}:{place.column}"
    if problem.name == "json-duplicate-key":  # its message names both places
        name, message = "team-duplicate-key", problem.message
    elif problem.name in _DUPLICATES:
        name, message = "team-duplicate-key", f"at {at}: {problem.message}"
    elif problem.name in _FEATURES:
        name, message = "yaml-feature", f"{_FEATURES[problem.name]} at {at}: {problem.message}"
    else:
        where = "" if problem.name in _WHOLE else f" at {at}"
        name, message = "team-unreadable-document", f"this {kind.value} file can't be read{where}: {problem.message}"
    rule = RULES.by_name[name]
    level = lowered(rule, rule.severity, profile)
    finding = reader_finding(problem, document.source, rule, message, start=start, severity=level, cut=False)
    if finding.severity is not Severity.ERROR:
        finding.phase = Phase.LINT
    return finding


def read_output(data: bytes | str) -> tuple[JsonDocument, Finding | None]:
    """Return an agent's reply. Text around its one object is blanked out, so that the object can still be checked."""
    document = read_json(data)
    if document.readable and not [p for p in document.problems if p.name not in (*_DUPLICATES, "json-bom")]:
        return document, None
    text = document.text
    if any(p.name in ("file-too-large", "json-invalid-utf8") for p in document.problems):
        return document, None
    extents = _object_extents(text)
    if not extents and "{" not in text:
        problem = finding("output-not-json-only", "the reply contains no JSON object")
        problem.span = document.source.span(0, 0)
        return JsonDocument(text), problem
    if not extents:
        return document, None
    start, end = extents[0]
    before, after = text[:start], text[end:]
    if not before.strip() and not after.strip():
        return document, None
    inner = read_json(_blanked(before) + text[start:end] + _blanked(after))
    extra = 0 if before.strip() else end
    offset = extra + len(text[extra:]) - len(text[extra:].lstrip())
    problem = finding(
        "output-not-json-only", f"unexpected text at offset {offset}; the reply must be a single JSON object"
    )
    problem.span = document.source.span(offset, min(offset + 1, len(text)))
    if len(extents) == 1:
        problem.fix = safe("keep only the object", Respell(0, len(text), text[start:end]))
    return inner, problem


def _blanked(text: str) -> str:
    return "".join(char if char in "\r\n" else " " for char in text)


def _object_extents(text: str) -> list[tuple[int, int]]:
    """Return the extents of JSON objects that may be the reply; a correct output has one.

    Objects that look like replies take precedence, because prose may contain objects too. After a brace that opens
    no object, only they count: anything else may be part of a broken reply.
    """
    replies: list[tuple[int, int]] = []
    others: list[tuple[int, int]] = []
    at = text.find("{")
    broken = 0
    while at >= 0 and broken <= _MOST:
        try:
            end = skip_value(text, at)
        except (ValueError, StopIteration, RecursionError):
            broken += 1
            at = text.find("{", at + 1)
            continue
        (replies if _is_reply(text[at:end]) else others).append((at, end))
        at = text.find("{", end)
    return replies or ([] if broken else others)


def _is_reply(text: str) -> bool:
    """Return whether an object is a reply, not a part of a broken one or of the prose around it."""
    value = json.loads(text)
    return isinstance(value, dict) and len(value.keys() & {"status", "summary", "artifacts", "gates", "next"}) > 1

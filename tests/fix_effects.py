"""What a fix does beside removing its finding: what it leaves, adds and loses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from workrail_lint import check_text
from workrail_lint.documents.json_edit import apply_fix, fix_edits
from workrail_lint.documents.json_reader import MANY_PROBLEMS, JsonDocument, read_json
from workrail_lint.documents.operations import Remove, Replace
from workrail_lint.documents.pointer import resolve
from workrail_lint.findings import Finding, Phase, Severity

WORD = re.compile(r"[^\W\d]\w*")
PROSE = 3  # a string with so many words is no name
# Until these are mended nothing else in the document, or in the step, can be checked.
FIRST = frozenset({"design-form-construct", "schema-enum"})
PHASES = list(Phase)


def check(text: str, path: str) -> list[Finding]:
    return check_text(text, path).findings


def problems(text: str, path: str) -> Iterator[str]:
    """Yield what is wrong with the fixes of a document."""
    findings = check(text, path)
    document = read(text)
    for finding in findings:
        edits = fix_edits(document, finding.fix) if finding.fix is not None else ()
        if edits:
            for problem in _of_fix(finding, document, apply_fix(text, edits), findings, path):
                yield f"{finding.code} {problem} ({finding.message})"


def _of_fix(finding: Finding, document: JsonDocument, fixed: str, findings: list[Finding], path: str) -> Iterator[str]:
    after = check(fixed, path)
    left = [each for each in after if (each.code, each.pointer, each.message) == _key(finding)]
    if len(left) >= len([each for each in findings if _key(each) == _key(finding)]):
        yield "stays"
    for code in _added(finding, findings, after):
        yield f"adds {code}"
    lost = _lost(finding, document, read(fixed))
    if lost:
        yield f"loses {lost}"


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.code, finding.pointer, finding.message


def _added(fixed: Finding, before: list[Finding], after: list[Finding]) -> list[str]:
    """The codes that are reported more often. What an error hid was there before; it is not the fix that adds it."""
    counts, errors = Counter(each.code for each in before), _errors(before)
    hidden = errors - _errors(after)
    earliest = min((PHASES.index(each.phase) for each in before if each.code in errors), default=0)
    added: list[str] = []
    for each in after:
        counts[each.code] -= 1
        if counts[each.code] >= 0 or (hidden and fixed.name in FIRST):
            continue
        is_later = each.severity is not Severity.ERROR or PHASES.index(each.phase) > earliest
        if not (hidden and is_later):
            added.append(each.code)
    return added


def _errors(findings: list[Finding]) -> Counter[str]:
    return Counter(each.code for each in findings if each.severity is Severity.ERROR)


def _lost(finding: Finding, before: JsonDocument, after: JsonDocument) -> list[str]:
    """The author's words that are gone, although neither message nor title says so."""
    if not (before.readable and after.readable) or finding.fix is None:
        return []
    said = f"{finding.message} {finding.fix.title}"
    if finding.fix.title.startswith("remove "):
        removed = [each for each in finding.fix.operations if isinstance(each, Remove | Replace)]
        said += " ".join(string for each in removed for string in _strings(resolve(before.value, each.pointer)))
    left = "".join(WORD.findall(" ".join(_strings(after.value))))  # an invisible character may have cut a word in two
    words = (WORD.findall(string) for string in _strings(before.value))
    return [word for group in words if len(group) >= PROSE for word in group if word not in left and word not in said]


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict() | list():
            for each in value.values() if isinstance(value, dict) else value:
                yield from _strings(each)


def read(text: str) -> JsonDocument:
    return read_json(text, parity=True, max_bytes=None, most_problems=MANY_PROBLEMS)


def wrong_fixes(documents: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return what is wrong with the fixes of documents, each given by name, path and text."""
    return [f"{name}: {problem}" for name, path, text in documents for problem in problems(text, path)]


def files(folder: Path) -> list[tuple[str, str, str]]:
    """Return the workflows below a folder: name, path and text."""
    texts = ((file, file.read_text("utf-8", errors="replace")) for file in sorted(folder.rglob("*.json")))
    return [(str(file), str(file), text) for file, text in texts if '"steps"' in text]

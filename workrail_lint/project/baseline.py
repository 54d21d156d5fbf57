"""Baselines: adopt the linter on old files, and see only new findings.

A fingerprint is the rule, the file, the place by ids and a hash of the value found there: it survives
reformatting and moved steps, and changes with the value. A finding about the whole document has no value: it stays
accepted, because every edit would change it.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_hash
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.pointer import relative_to
from workrail_lint.findings import Finding
from workrail_lint.rules.table import former_names, retired_rule

VERSION = 1


def fingerprint(finding: Finding, root: str = os.curdir, name: str | None = None) -> str:
    """Return the finding's identity across runs, under the name of its rule or a former one.

    `details` has what only the check knows.
    """
    parts = [name or finding.name, relative_to(root, finding.path), finding.details.get("place", finding.pointer)]
    value = finding.details.get("valueHash", "") if finding.pointer else ""
    return canonical_hash([*parts, value])[7:39]


class Baseline:
    """The accepted findings, with how often each occurs. Paths are relative to the folder of the baseline."""

    def __init__(self, entries: Counter[str] | None = None, root: str = os.curdir, has_retired: bool = False) -> None:
        self.entries: Counter[str] = entries or Counter()
        self.root = root
        self._has_retired = has_retired  # it accepts findings of rules that were merged into others since

    def split(self, findings: list[Finding]) -> tuple[list[Finding], list[Finding]]:
        """Return the new findings, and the accepted ones (marked, for formats that show them)."""
        left = Counter(self.entries)
        new: list[Finding] = []
        accepted: list[Finding] = []
        for finding in findings:
            key = next((key for key in self._keys(finding) if left[key] > 0), None)
            if key is not None:
                left[key] -= 1
                finding.details["baselined"] = True
                accepted.append(finding)
            else:
                new.append(finding)
        return new, accepted

    def _keys(self, finding: Finding) -> Iterator[str]:
        yield fingerprint(finding, self.root)
        if self._has_retired:
            for name in former_names(finding.code):
                yield fingerprint(finding, self.root, name)


def baseline_text(findings: list[Finding], root: str = os.curdir) -> str:
    """Return the content of a baseline file, in a stable order, readable in a review."""
    entries: list[dict[str, Any]] = [
        {
            "fingerprint": fingerprint(finding, root),
            "code": finding.code,
            "name": finding.name,
            "path": relative_to(root, finding.path),
            "place": finding.details.get("place", finding.pointer),
        }
        for finding in findings
    ]
    return _text(entries)


def merged_baseline(text: str, added: str) -> str | None:
    """Return the content of a baseline file with the entries of another; None if it can't be used as one."""
    entries: list[dict[str, Any]] = json.loads(added)["entries"]
    if text:
        if isinstance(parse_baseline(text.encode()), Err):
            return None
        entries += json.loads(text)["entries"]
    return _text(entries)


def _text(entries: list[dict[str, Any]]) -> str:
    entries.sort(key=lambda entry: tuple(str(entry.get(key)) for key in ("path", "place", "code", "fingerprint")))
    return json.dumps({"baselineVersion": VERSION, "entries": entries}, indent=2, ensure_ascii=False) + "\n"


def parse_baseline(data: bytes) -> Ok[Baseline] | Err[str]:
    document = read_json(data, max_bytes=None)
    if not document.readable or document.problems:
        return Err(f"it is not valid JSON ({document.problems[0].message})")
    value = document.value
    entries = js.list_in(value, "entries")
    if type(value) is not dict or entries is None:
        return Err("it is not a baseline")
    if value.get("baselineVersion") != VERSION:
        return Err(f"it has version {value.get('baselineVersion')!r}, but this program supports version {VERSION}")
    keys = [js.string_in(entry, "fingerprint") for entry in entries]
    if None in keys:
        return Err("one of its entries has no fingerprint")
    has_retired = any(retired_rule(js.string_in(entry, "name") or "") for entry in entries)
    return Ok(Baseline(Counter(key for key in keys if key is not None), has_retired=has_retired))

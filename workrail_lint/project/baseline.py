"""Baselines: adopt the linter on old files, and see only new findings.

A fingerprint is the rule, the file, the place by ids and a hash of the value found there: it survives
reformatting and moved steps, and changes with the value. A finding about the whole document has no value: it stays
accepted, because every edit would change it.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_hash
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.pointer import relative_to
from workrail_lint.findings import Finding

VERSION = 1


def fingerprint(finding: Finding, root: str = os.curdir) -> str:
    """The finding's identity across runs; `details` has what only the check knows."""
    parts = [finding.name, relative_to(root, finding.path), finding.details.get("place", finding.pointer)]
    value = finding.details.get("valueHash", "") if finding.pointer else ""
    return canonical_hash([*parts, value])[7:39]


class Baseline:
    """The accepted findings, with how often each occurs. Paths are relative to the folder of the baseline."""

    def __init__(self, entries: Counter[str] | None = None, root: str = os.curdir) -> None:
        self.entries: Counter[str] = entries or Counter()
        self.root = root

    def split(self, findings: list[Finding]) -> tuple[list[Finding], list[Finding]]:
        """The new findings, and the accepted ones (marked, for formats that show them)."""
        left = Counter(self.entries)
        new: list[Finding] = []
        accepted: list[Finding] = []
        for finding in findings:
            key = fingerprint(finding, self.root)
            if left[key] > 0:
                left[key] -= 1
                finding.details["baselined"] = True
                accepted.append(finding)
            else:
                new.append(finding)
        return new, accepted


def baseline_text(findings: list[Finding], root: str = os.curdir) -> str:
    """The content of a baseline file, in a stable order, readable in a review."""
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
    """The content of a baseline file with the entries of another; None if it can't be used as one."""
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
    return Ok(Baseline(Counter(key for key in keys if key is not None)))

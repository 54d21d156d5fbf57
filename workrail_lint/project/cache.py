"""Results of earlier runs, keyed by content and by everything else that decides a result.

One file for each combination of version, rules, catalog and configuration, replaced atomically. A file that is
missing, damaged or from another version is not used: deleting it is always safe.
"""

from __future__ import annotations

import json
import os
from typing import Any

from workrail_lint.base.files import CACHE_FOLDER
from workrail_lint.documents.operations import Cut, Insert, Remove, Rename, Replace, ReplaceText, Respell
from workrail_lint.findings import Finding, Fix, Phase, Position, Safety, Severity, Span
from workrail_lint.systems.base import FileResult

# Folders in which agents keep their files; any other file there is a finding.
_AGENT_FOLDERS = (".output", ".run", ".agents-work")
_FORMAT = 5


def content_key(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _home(folder: str) -> str:
    """The folder itself, or the nearest one above it that does not belong to agents."""
    names = os.path.abspath(folder).split(os.sep)
    first = next((at for at, name in enumerate(names) if name in _AGENT_FOLDERS), None)
    return folder if first is None else os.sep.join(names[:first]) or os.sep


class Cache:
    """The results for one key. `entries` maps a path to its content key and result."""

    def __init__(self, folder: str | None, key: str) -> None:
        self.path = None if folder is None else os.path.join(_home(folder), CACHE_FOLDER, f"{key[:32]}.json")
        self.entries: dict[str, list[Any]] = {}
        self.changed = False
        if self.path is not None:
            self.entries = _load(self.path)

    def get(self, path: str, content: str) -> FileResult | None:
        entry = self.entries.get(path)
        if entry is None or entry[0] != content:
            return None
        try:
            return FileResult([_finding(path, item) for item in entry[1]], entry[2])
        except (KeyError, TypeError, ValueError, IndexError):
            return None

    def system_of(self, path: str) -> int:
        """Which system a cached result is from."""
        return int(self.entries[path][3])

    def put(self, path: str, content: str, result: FileResult, system: int = 0) -> None:
        if self.path is None or not result.cacheable:
            return
        records = [_record(finding) for finding in result.findings]
        if any(record is None for record in records):
            return
        self.entries[path] = [content, records, result.record, system]
        self.changed = True

    def save(self) -> None:
        """Write new results. A folder that can't be written is not an error: the next run is only slower."""
        if self.path is None or not self.changed:
            return
        from workrail_lint.base.files import write_atomically

        folder = os.path.dirname(self.path)
        try:
            os.makedirs(folder, exist_ok=True)
            ignore = os.path.join(folder, ".gitignore")
            if not os.path.exists(ignore):
                write_atomically(ignore, b"*\n")
            write_atomically(self.path, json.dumps({"format": _FORMAT, "entries": self.entries}).encode())
        except (OSError, TypeError, ValueError):
            return


def _load(path: str) -> dict[str, list[Any]]:
    try:
        with open(path, "rb") as file:
            data = json.load(file)
        entries = data["entries"]
        if data["format"] != _FORMAT or not isinstance(entries, dict):
            return {}
        return {name: entry for name, entry in entries.items() if isinstance(entry, list) and len(entry) == 4}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def _record(finding: Finding) -> list[Any] | None:
    """A finding as JSON; None when its fix is too large to keep (it would hold most of the file)."""
    fix = None if finding.fix is None else _fix_record(finding.fix)
    if fix is not None and len(json.dumps(fix)) > _LARGEST_FIX:
        return None
    span = None if finding.span is None else [*finding.span.start, *finding.span.end]
    return [
        finding.code,
        finding.name,
        finding.severity.value,
        finding.message,
        finding.pointer,
        finding.phase.value,
        span,
        finding.help,
        {name: value for name, value in finding.details.items() if isinstance(value, str | int | bool)},
        finding.on_name,
        fix,
    ]


def _fix_record(fix: Fix) -> list[Any]:
    operations = [
        [type(operation).__name__, *(getattr(operation, name) for name in operation.__match_args__)]
        for operation in fix.operations
    ]
    return [fix.title, fix.safety.value, operations]


def _fix(record: list[Any]) -> Fix:
    title, safety, operations = record
    return Fix(title, Safety(safety), tuple(_OPERATIONS[name](*values) for name, *values in operations))


_LARGEST_FIX = 2_000
_OPERATIONS: dict[str, Any] = {
    kind.__name__: kind for kind in (Cut, Insert, Remove, Rename, Replace, ReplaceText, Respell)
}


def _finding(path: str, record: list[Any]) -> Finding:
    code, name, severity, message, pointer, phase, span, help_text, details, on_name, fix = record
    return Finding(
        code,
        name,
        Severity(severity),
        message,
        pointer,
        phase=Phase(phase),
        path=path,
        span=None if span is None else Span(Position(*span[:4]), Position(*span[4:])),
        fix=None if fix is None else _fix(fix),
        help=help_text,
        details=details,
        on_name=on_name,
    )

"""Checking block documents the way a run does, in memory or on a disk."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from workrail_lint.documents.json_edit import apply_fixes, fix_edits
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Finding
from workrail_lint.project.discovery import discover
from workrail_lint.project.run import Plan, order, run
from workrail_lint.project.selection import KnownRules, Selection
from workrail_lint.systems.base import RunSettings
from workrail_lint.systems.blocks.system import BlockSystem


def as_bytes(content: Any) -> bytes:
    """A document as it would stand on disk: text as it is, a value as indented JSON."""
    if isinstance(content, bytes):
        return content
    text = content if isinstance(content, str) else json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "surrogatepass")


def settings(options: Mapping[str, Any] | None = None) -> Any:
    return RunSettings(dict(options or {}))


def write(folder: Path, files: Mapping[str, Any]) -> None:
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(as_bytes(content))


def check_paths(paths: Iterable[str], options: Mapping[str, Any] | None = None) -> list[Finding]:
    """A run over files and folders with the block system alone."""
    names = list(paths)
    system = BlockSystem()
    complete = any(os.path.isdir(name) for name in names)
    plan = Plan([system], settings(options), Selection(KnownRules([system])), jobs=1, complete=complete)
    return run(discover(names), plan).findings


def check_folder(
    folder: Path, options: Mapping[str, Any] | None = None, paths: Iterable[str] = (".",)
) -> list[Finding]:
    with contextlib.chdir(folder):
        return check_paths(paths, options)


def check_files(folder: Path, files: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> list[Finding]:
    """Write files and check their folder."""
    write(folder, files)
    return check_folder(folder, options)


def check_text(content: Any, path: str, options: Mapping[str, Any] | None = None) -> list[Finding]:
    """Check one document in memory, as if it had been asked for by name."""
    system, data = BlockSystem(), as_bytes(content)
    kind = system.claims(path, data, True)
    assert kind is not None, path
    return sorted(system.check(path, data, kind, settings(options)).findings, key=order)


def told(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """Code and pointer of each finding, in order."""
    return [(finding.code, finding.pointer) for finding in findings]


def fix_once(text: str, findings: list[Finding]) -> str:
    """Apply the fixes of findings to the text they are about."""
    document = read_json(text, parity=True, max_bytes=None)
    return apply_fixes(text, [fix_edits(document, finding.fix) for finding in findings if finding.fix is not None])[0]

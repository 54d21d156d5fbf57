"""Team documents through the system, in memory or as files."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from workrail_lint.findings import Finding
from workrail_lint.project.discovery import discover
from workrail_lint.project.fixing import Fixed, fix_text
from workrail_lint.project.run import Plan, order, run
from workrail_lint.project.selection import KnownRules, Selection
from workrail_lint.systems.base import RunSettings
from workrail_lint.systems.team.documents import SUFFIXES
from workrail_lint.systems.team.system import TeamSystem

Settings = RunSettings


def as_bytes(content: Any) -> bytes:
    """A document as it would stand on disk: text as it is, a value as indented JSON."""
    if isinstance(content, bytes):
        return content
    text = content if isinstance(content, str) else json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "surrogatepass")


def lint_text(content: Any, path: str, options: dict[str, object] | None = None) -> list[Finding]:
    """One document by itself, in memory."""
    system = TeamSystem()
    data = as_bytes(content)
    kind = system.claims(path, data, True)
    assert kind is not None, path
    return sorted(system.check(path, data, kind, Settings(options)).findings, key=order)


def write_files(folder: Path, files: dict[str, Any]) -> None:
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(as_bytes(content))


def lint_paths(folder: Path, *paths: str, options: dict[str, object] | None = None, jobs: int = 1) -> list[Finding]:
    """Files or folders below a folder, as the command line would check them."""
    with contextlib.chdir(folder):
        names = list(paths) or ["."]
        system = TeamSystem()
        selection = system.choice = Selection(KnownRules([system]))
        complete = any(Path(name).is_dir() for name in names)
        settings = Settings(options, ".")
        plan = Plan([system], settings, selection, jobs=jobs, complete=complete)
        return run(discover(names, suffixes=SUFFIXES), plan).findings


def fix(
    content: Any, path: str, *, unsafe: bool = False, options: dict[str, object] | None = None, only: str = ""
) -> Fixed:
    """A document after `--fix`."""

    def findings_of(text: str) -> list[Finding]:
        return [finding for finding in lint_text(text, path, options) if only in ("", finding.name)]

    return fix_text(as_bytes(content).decode("utf-8", "surrogatepass"), findings_of, unsafe=unsafe)


def codes(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.code, finding.pointer) for finding in findings]


def fix_on_disk(folder: Path, path: str, only: str) -> str:
    """A file of a folder after the fixes of one rule, as `--fix` would write it."""
    with contextlib.chdir(folder):
        text = Path(path).read_bytes().decode()

        def findings_of(current: str) -> list[Finding]:
            system = TeamSystem()
            kind = system.claims(path, current.encode(), True)
            assert kind is not None
            found = system.check(path, current.encode(), kind, Settings(None, ".")).findings
            return [finding for finding in found if finding.name == only]

        return fix_text(text, findings_of, unsafe=True).text

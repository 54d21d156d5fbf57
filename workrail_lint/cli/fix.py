"""`check --fix` and `check --diff`: write the fixed files, or show what would be written."""

from __future__ import annotations

import difflib

from workrail_lint.cli.output import Style, err, out, printable, uses_colour
from workrail_lint.findings import Finding
from workrail_lint.project.discovery import Discovery, Found
from workrail_lint.project.files import write_atomically
from workrail_lint.project.fixing import fix_text
from workrail_lint.project.run import Plan, settled
from workrail_lint.project.systems import System
from workrail_lint.result import Err
from workrail_lint.workrail.sources import read_file


def fix_files(discovery: Discovery, plan: Plan, *, unsafe: bool, write: bool) -> int:
    """Fix the files, or with `write` false print the differences. Returns how many files (would) change."""
    changed = fixed = 0
    for file in discovery.files:
        count = _fix_file(file, plan, unsafe=unsafe, write=write)
        changed += count > 0
        fixed += count
    if write and fixed:
        err(f"workrail-lint: {fixed} finding(s) fixed in {changed} file(s)")
    return changed


def _fix_file(file: Found, plan: Plan, *, unsafe: bool, write: bool) -> int:
    read = read_file(file.path)
    if isinstance(read, Err):
        return 0
    data = read.value
    claimed = _claimed(file, data, plan)
    if claimed is None:
        return 0
    system, kind = claimed
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return 0  # the report says so; guessing at bytes is nothing a fix should do

    def findings_of(current: str) -> list[Finding]:
        result = system.check(file.path, current.encode("utf-8", "surrogatepass"), kind, plan.settings)
        return settled(result.findings, [], plan).findings

    fixed = fix_text(text, findings_of, unsafe=unsafe)
    if fixed.text == text:
        return 0
    if not write:
        _show(file.path, text, fixed.text)
    elif not _write(file.path, data, fixed.text):
        return 0
    return len(fixed.applied)


def _claimed(file: Found, data: bytes, plan: Plan) -> tuple[System, str] | None:
    for system in plan.systems:
        kind = system.claims(file.path, data, file.named)
        if kind is not None:
            return system, kind
    return None


def _write(path: str, before: bytes, text: str) -> bool:
    """Write the fixed text, unless somebody changed the file in the meantime."""
    now = read_file(path)
    if isinstance(now, Err) or now.value != before:
        err(f"workrail-lint: {printable(path)} changed while it was being fixed; left alone")
        return False
    try:
        write_atomically(path, text.encode("utf-8", "surrogatepass"))
    except OSError as error:
        err(f"workrail-lint: {printable(path)} can't be written ({error.strerror})")
        return False
    return True


def _show(path: str, before: str, after: str) -> None:
    style = Style(uses_colour())
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="")
    for line in lines:
        colour = {"+": ("green",), "-": ("red",), "@": ("cyan",)}.get(line[:1], ())
        out(style(printable(line), *colour))

"""`check --fix` and `check --diff`: write the fixed files, or show what would be written."""

from __future__ import annotations

import os
from typing import NamedTuple

from workrail_lint.base.files import output_root, read_file, sweep, write_atomically
from workrail_lint.base.line_diff import unified_diff
from workrail_lint.base.progress import tracked
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import Style, err, out, printable, uses_colour
from workrail_lint.base.wording import counted
from workrail_lint.documents.operations import Cut, Respell
from workrail_lint.findings import Finding, Phase, by_path
from workrail_lint.project.discovery import Discovery, Found
from workrail_lint.project.fixing import fix_once, fix_text, is_applicable
from workrail_lint.project.run import Outcome, Plan, reported_outcome, run
from workrail_lint.systems.workrail.workflow_registry import RENAMES

# A fix that involves several files may allow another fix in another file.
_MAX_ROUNDS = 20


class Result(NamedTuple):
    """How many files changed, or would change; and the findings after that."""

    changed: int
    outcome: Outcome


class _Change(NamedTuple):
    """A changed file: its text before and after, and the number of findings this resolves."""

    before: str
    after: str
    resolved: int


def fix_files(discovery: Discovery, plan: Plan, *, unsafe: bool, write: bool) -> Result:
    """Fix the files, or with `write` false print the differences."""
    fixing = _Fixing(discovery, plan, unsafe=unsafe, write=write)
    if write:
        for folder in {os.path.dirname(file.path) for file in discovery.files}:
            sweep(folder, output_root(folder))
    for file in tracked(discovery.files, "file"):
        fixing.fix_alone(file)
    outcome = run(discovery, plan)
    for _ in range(_MAX_ROUNDS):
        if not fixing.fix_together(outcome):
            break
        outcome = run(discovery, plan)
    if not write:
        for path, change in fixing.changes.items():
            out_diff(path, change.before, change.after)
    elif fixing.changes:
        resolved = sum(change.resolved for change in fixing.changes.values())
        err(f"workrail-lint: {counted(resolved, 'finding')} fixed in {counted(len(fixing.changes), 'file')}")
    return Result(len(fixing.changes), outcome)


class _Fixing:
    """The files changed so far, by path. With `write` they are already on disk."""

    def __init__(self, discovery: Discovery, plan: Plan, *, unsafe: bool, write: bool) -> None:
        self.changes: dict[str, _Change] = {}
        self._files = {file.path: file for file in discovery.files}
        self._plan = plan
        self._unsafe = unsafe
        self._write = write

    def fix_alone(self, file: Found) -> None:
        """Apply the fixes of a file's own findings until none is left."""
        data = _read(file.path)
        fixed = None if data is None else _fixed(file, data, self._plan, unsafe=self._unsafe, alone=False)
        if fixed is not None:
            self._keep(file.path, *fixed)

    def fix_together(self, outcome: Outcome) -> bool:
        """Apply the fixes of findings that involve several files; returns whether another round may find more."""
        together = [each for each in outcome.findings if each.phase is Phase.REGISTRY or each.name in RENAMES]
        written = False
        for path, findings in by_path(each for each in together if is_applicable(each, unsafe=self._unsafe)).items():
            if path in self._files and self._fix_from_outside(path, findings) and self._write:
                self.fix_alone(self._files[path])
                written = True
        return written

    def _fix_from_outside(self, path: str, findings: list[Finding]) -> bool:
        data = _read(path)
        if data is None:
            return False
        text = data.decode("utf-8", "surrogateescape")
        change = self.changes.get(path)
        if change is not None and not self._write:
            # Nothing was written, so these findings are about the old text. Their pointers are still valid.
            text, findings = change.after, [finding for finding in findings if not _has_offsets(finding)]
        fixed = fix_once(text, findings, unsafe=self._unsafe)
        return self._keep(path, text, fixed.text, len(fixed.applied))

    def _keep(self, path: str, before: str, after: str, count: int) -> bool:
        if after == before or (self._write and not _write(path, before, after)):
            return False
        earlier = self.changes.get(path)
        first, resolved = (before, 0) if earlier is None else (earlier.before, earlier.resolved)
        self.changes[path] = _Change(first, after, resolved + count)
        return True


def diff_text(name: str, data: bytes, plan: Plan, *, unsafe: bool) -> bool:
    """Print how fixing would change a text from stdin; returns whether it would."""
    change = _fixed(Found(name, True), data, plan, unsafe=unsafe)
    if change is None or change.before == change.after:
        return False
    out_diff(name, change.before, change.after)
    return True


def _fixed(file: Found, data: bytes, plan: Plan, *, unsafe: bool, alone: bool = True) -> _Change | None:
    """Return a document before and after; None for unknown documents, or bytes that are not UTF-8.

    Unless it is checked `alone`, it keeps its id for now: only all files together show which ids are free.
    """
    claims = ((system, system.claims(file.path, data, file.named)) for system in plan.systems)
    system, kind = next((pair for pair in claims if pair[1] is not None), (None, None))
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None  # the report says so, and a fix must not guess the encoding
    if system is None or kind is None:
        return None

    def findings_of(current: str) -> list[Finding]:
        result = system.check(file.path, current.encode("utf-8", "surrogatepass"), kind, plan.settings)
        findings = reported_outcome(result.findings, [], plan).findings
        return findings if alone else [finding for finding in findings if finding.name not in RENAMES]

    plan.settings.options["fixing"] = True
    fixed = fix_text(text, findings_of, unsafe=unsafe)
    plan.settings.options["fixing"] = False
    return _Change(text, fixed.text, len(fixed.applied))


def _has_offsets(finding: Finding) -> bool:
    return finding.fix is not None and any(isinstance(op, Cut | Respell) for op in finding.fix.operations)


def _read(path: str) -> bytes | None:
    read = read_file(path)
    return None if isinstance(read, Err) else read.value


def _write(path: str, before: str, after: str) -> bool:
    """Write the fixed text, unless the file changed in the meantime."""
    if _read(path) != before.encode("utf-8", "surrogateescape"):
        err(f"workrail-lint: {printable(path)} changed on disk while it was being fixed, so the fixes were not written")
        return False
    try:
        write_atomically(path, after.encode("utf-8", "surrogatepass"), output_root(os.path.dirname(path)))
    except OSError as error:
        err(f"workrail-lint: {printable(path)} can't be written ({error.strerror})")
        return False
    return True


# As in every unified diff, this marks a last line that has no line end.
_NO_END = "\n\\ No newline at end of file"


def _lines(text: str) -> list[str]:
    """Return the lines of a text; CR LF and LF are different line ends."""
    *lines, last = text.split("\n")
    return [*lines, last + _NO_END] if last else lines


def out_diff(path: str, before: str, after: str) -> None:
    """Print how a file would change, as a unified diff, coloured on a terminal."""
    style = Style(uses_colour())
    for line in unified_diff(_lines(before), _lines(after), path):
        colour = {"+": ("green",), "-": ("red",), "@": ("cyan",)}.get(line[:1], ())
        out(style(printable(line.removesuffix(_NO_END)), *colour))
        if line.endswith(_NO_END):
            out(_NO_END[1:])

"""`workrail-lint diff`: how behaviour changed between two workflows, or since a git revision."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from workrail_lint.base.terminal import Style, err, out, out_json, printable, uses_colour
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, OK, USAGE, UsageError
from workrail_lint.cli.arguments import (
    Workflow,
    configuration,
    is_workflow,
    read_named,
    refuse_others,
    settings,
    workflow_files,
)
from workrail_lint.cli.output import report_errors
from workrail_lint.cli.parser import Parser, add_inputs, add_text_or_json
from workrail_lint.cli.revision import Revision
from workrail_lint.documents.json_reader import read_json
from workrail_lint.project.config import Config
from workrail_lint.project.discovery import is_wanted
from workrail_lint.systems.workrail.check import check_document
from workrail_lint.systems.workrail.compile import errors_of, read_for_compiling
from workrail_lint.systems.workrail.compiler.ir import FORMAT
from workrail_lint.systems.workrail.diff import Change, Outline, compare, describe, outline
from workrail_lint.systems.workrail.document_kinds import Kind, kind_of
from workrail_lint.systems.workrail.settings import Settings

_COLOURS = {"added": "green", "removed": "red", "moved": "yellow", "renamed": "yellow", "changed": "cyan"}


class _FileChange(NamedTuple):
    """How a workflow file changed since a revision."""

    path: str
    status: str  # "added", "removed", "changed", "renamed" (in its folder) or "moved" (to another one)
    before: str | None  # the path it had
    changes: list[Change]

    def as_json(self) -> dict[str, Any]:
        changes = [change.as_json() for change in self.changes]
        return {"path": self.path, "status": self.status, "from": self.before, "changes": changes}


def main(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    if args.git is None and len(args.paths) != 2:
        raise UsageError("name two workflows, or use --git REV [PATH...]")
    paths = args.paths or [os.curdir]
    config = configuration(args, paths[-1])
    active = settings(args, config)
    as_json = args.format == "json"
    if args.git is None:
        old, new = paths
        return _compare_two(old, read_named(old), new, read_named(new), active, as_json=as_json)
    revision = Revision(args.git, config.root, paths[0])
    if len(paths) > 1 or os.path.isdir(paths[0]):
        return _compare_folders(paths, revision, config, active, as_json=as_json)
    return _compare_with_revision(paths[0], revision, active, as_json=as_json)


def parser() -> Parser:
    result = Parser("diff", "Show how behaviour changed between two workflows, or since a git revision.")
    result.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="two workflows or IRs, OLD and NEW; with --git, files and folders (default: .)",
    )
    result.add_argument("--git", "--base", metavar="REV", help="compare with this git revision")
    add_text_or_json(result, "changes")
    add_inputs(result)
    return result


# ----------------------------------------------------------------------------------------------- two workflows


def _compare_two(
    old_path: str, old_data: bytes, new_path: str, new_data: bytes, active: Settings, *, as_json: bool
) -> int:
    changes = _changes(old_path, old_data, new_path, new_data, active)
    return USAGE if changes is None else _show(changes, None, new_path, as_json=as_json)


def _compare_with_revision(path: str, revision: Revision, active: Settings, *, as_json: bool) -> int:
    """Compare one file. If the revision lacks it, find the workflow with the same id whose file is gone."""
    data = read_named(path)
    before = None if revision.holds(path) else former_path(data, revision)
    old = revision.read(before or path)
    changes = _changes_since(revision, before or path, old, path, data, active)
    return USAGE if changes is None else _show(changes, before, path, as_json=as_json)


def _show(changes: list[Change], before: str | None, path: str, *, as_json: bool) -> int:
    if as_json:
        record: dict[str, Any] = {"version": 1, "changes": [change.as_json() for change in changes]}
        out_json(record if before is None else {**record, "from": before})
        return FINDINGS if changes or before else OK
    style = Style(uses_colour())
    if before is not None:
        out(style(printable(_renamed(before, path)), "yellow"))
    if not changes:
        out("no change in behaviour")
    _print(changes, style)
    return FINDINGS if changes or before else OK


def former_path(data: bytes, revision: Revision) -> str | None:
    """Return where a workflow was in a revision, if exactly one file that is gone had its id."""
    ident = workflow_id(data)
    if ident is None:
        return None
    candidates = [other for other in revision.gone() if workflow_id(revision.read(other)) == ident]
    return candidates[0] if len(candidates) == 1 else None


# ---------------------------------------------------------------------------------------------------- folders


def _compare_folders(paths: list[str], revision: Revision, config: Config, active: Settings, *, as_json: bool) -> int:
    now = {os.path.normpath(file.path): file for file in workflow_files(paths, config)}
    then = {file.path: file for path in paths for file in files_then(path, revision, config)}
    former = former_paths(then, now)
    changes: list[_FileChange] = []
    not_compared = 0
    for path in sorted(then.keys() | now.keys()):
        if path not in now:
            if path not in former.values():
                changes.append(_FileChange(path, "removed", path, []))
            continue
        before = former.get(path)
        if before is None:
            changes.append(_FileChange(path, "added", None, []))
            continue
        differences = _changes_since(revision, before, then[before].data, path, now[path].data, active)
        if differences is None:
            not_compared += 1
        elif differences or before != path:
            changes.append(_FileChange(path, _status(before, path), before, differences))
    if as_json:
        out_json({"version": 1, "files": [change.as_json() for change in changes]})
    else:
        _print_files(changes, revision, complete=not not_compared)
    if not_compared:
        err(f"workrail-lint: not compared: {counted(not_compared, 'workflow')} with compile errors")
        return USAGE
    return FINDINGS if changes else OK


def files_then(path: str, revision: Revision, config: Config) -> list[Workflow]:
    """Return the workflows at or below a path in a revision."""
    if not os.path.isdir(path):
        return [Workflow(os.path.normpath(path), revision.read(path))] if revision.holds(path) else []
    include, exclude = config.strings("include"), config.strings("exclude")
    names = [
        name
        for name in revision.files(path)
        if is_wanted(name, path, include=include, exclude=exclude, root=config.root)
    ]
    files = [Workflow(name, revision.read(name)) for name in names]
    return [file for file in files if is_workflow(file.path, file.data)]


def former_paths(then: dict[str, Workflow], now: dict[str, Workflow]) -> dict[str, str]:
    """Return the former path of each file: the same one, or that of a missing file with the same workflow id."""
    pairs = {path: path for path in now if path in then}
    gone: dict[str, list[str]] = {}
    for path in then.keys() - pairs.keys():
        ident = workflow_id(then[path].data)
        if ident is not None:
            gone.setdefault(ident, []).append(path)
    for path in sorted(now.keys() - pairs.keys()):
        candidates = gone.get(workflow_id(now[path].data) or "", [])
        if len(candidates) == 1:
            pairs[path] = candidates.pop()
    return pairs


def _status(before: str, path: str) -> str:
    if before == path:
        return "changed"
    return "renamed" if os.path.dirname(before) == os.path.dirname(path) else "moved"


def _renamed(before: str, path: str) -> str:
    return f"{path}: {_status(os.path.normpath(before), os.path.normpath(path))} from {before}"


def _print_files(changes: list[_FileChange], revision: Revision, *, complete: bool) -> None:
    style = Style(uses_colour())
    if not changes and complete:
        out(f"no change in behaviour since {printable(revision.name)}")
    for change in changes:
        before = "" if change.before in (None, change.path) else f" from {change.before}"
        out(style(printable(f"{change.path}: {change.status}{before}"), _COLOURS[change.status], "bold"))
        _print(change.changes, style, "  ")


# ---------------------------------------------------------------------------------------------- what is shared


def workflow_id(data: bytes) -> str | None:
    document = read_json(data, parity=True)
    ident = document.value.get("id") if isinstance(document.value, dict) else None
    return ident if isinstance(ident, str) and ident else None


def _changes_since(
    revision: Revision, before: str, old: bytes, path: str, new: bytes, active: Settings
) -> list[Change] | None:
    """Return how a workflow changed. The same bytes changed nothing, even if they do not compile (as in a baseline)."""
    return [] if old == new else _changes(f"{revision.name}:{before}", old, path, new, active)


def _changes(old_path: str, old_data: bytes, new_path: str, new_data: bytes, active: Settings) -> list[Change] | None:
    """Return the changes of behaviour; None, after the reasons, if one of the two does not compile."""
    old = read_outline(old_path, old_data, active)
    new = read_outline(new_path, new_data, active)
    return None if old is None or new is None else compare(old, new)


def read_outline(path: str, data: bytes, active: Settings, *, quiet: bool = False) -> Outline | None:
    """Return the outline of a workflow or an IR; None, after the reasons, if it does not compile."""
    document = read_json(data)
    if document.readable and kind_of(path, document.value) is Kind.IR:
        ir = document.value
        if not isinstance(ir, dict) or ir.get("format") != FORMAT:
            raise UsageError(f"{printable(path)} is an IR in an unknown format; this version reads {FORMAT}")
        try:
            read = outline(ir)
        except (KeyError, TypeError, AttributeError):
            read = None
        if read is None or not all(isinstance(step.id, str) for step in read.steps):
            raise UsageError(f"{printable(path)} is a damaged IR")
        return read
    refuse_others(path, data)
    checked = check_document(read_for_compiling(data), path, active, None)
    if checked.compiled is None:
        if not quiet:
            report_errors(errors_of(checked, path))
        return None
    return outline(checked.compiled.ir)


def _print(changes: list[Change], style: Style, indent: str = "") -> None:
    for change in changes:
        head, *rest = describe(change)
        out(indent + style(printable(head), _COLOURS[change.kind]))
        for line in rest:
            colour = {"+": ("green",), "-": ("red",)}.get(line.strip()[:1], ())
            out(indent + style(printable(line), *colour))

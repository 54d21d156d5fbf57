"""`workrail-lint lock`: pin the hashes of a repository's workflows, or verify them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import NamedTuple

from workrail_lint.base.canonical import CanonicalError
from workrail_lint.base.files import output_root, sweep
from workrail_lint.base.progress import tracked
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import Style, err, out, printable, uses_colour
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, NOTHING, OK, UsageError
from workrail_lint.cli.arguments import configuration, found_files, read_named, read_workflows, settings
from workrail_lint.cli.output import report_errors, write_output
from workrail_lint.cli.parser import Parser, add_inputs, add_paths
from workrail_lint.findings import Finding
from workrail_lint.project.baseline import Baseline
from workrail_lint.project.config import Config
from workrail_lint.project.discovery import Found
from workrail_lint.project.plan import load_baseline
from workrail_lint.systems.workrail.catalog.engine_digests import ENGINE_VERSION
from workrail_lint.systems.workrail.check import check_document
from workrail_lint.systems.workrail.compile import read_for_compiling, refusals
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.diff import describe, outline_from_json
from workrail_lint.systems.workrail.lockfile import (
    FILE_NAME,
    Difference,
    Lockfile,
    catalog_entry,
    differences,
    entry_text,
    lock_entry,
    lockfile_bytes,
    parse_lockfile,
)
from workrail_lint.systems.workrail.semver import judge_change
from workrail_lint.systems.workrail.settings import Settings

_CREATE = "create it with workrail-lint lock --update"


def main(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    config = configuration(args, args.paths[0])
    active = settings(args, config)
    root = os.path.dirname(os.path.abspath(args.file))
    # Before compiling: its text and the new entries are never in memory together.
    lock = None if args.update else _existing(args.file, must_exist=True)
    build = _compile(found_files(args.paths, config), active, root, _baseline(config))
    scope = _Scope(args.paths, root)
    if lock is None:
        return _update(args.file, active, build, scope, config.text("semver") or "warn")
    return _check(args.file, lock, active, build, scope, config.text("semver") or "warn")


def parser() -> Parser:
    result = Parser("lock", f"Pin the hashes of all workflows in {FILE_NAME}, or verify them.")
    result.add_alternatives(
        {
            "--update": "write the current hashes to the lockfile",
            "--check": "fail if a workflow differs from the lockfile",
        },
        required=True,
    )
    add_paths(result)
    result.add_argument("--file", default=FILE_NAME, metavar="FILE", help=f"the lockfile (default: {FILE_NAME})")
    add_inputs(result)
    return result


class _Scope:
    """Which entries a run covers: those at or below the given paths."""

    def __init__(self, paths: list[str], root: str) -> None:
        self.paths = [os.path.abspath(path) for path in paths]
        self.root = root

    def holds(self, key: str) -> bool:
        # The lockfile may be below a path or above it.
        whole = os.path.normpath(os.path.join(self.root, key))
        return any(whole == path or whole.startswith(path.rstrip(os.sep) + os.sep) for path in self.paths)


def _key(path: str, root: str) -> str:
    return os.path.relpath(path, root).replace(os.sep, "/")


class _Made(NamedTuple):
    """The workflows by their keys: pinned, failed, or skipped because a baseline accepts their errors.

    Of each only the text of its entry is kept, and why the engine rejects it: what was compiled is much larger.
    """

    entries: dict[str, str]
    failed: set[str]
    accepted: set[str]
    rejected: dict[str, str]

    @property
    def left_alone(self) -> set[str]:
        """Workflows that can't be compared or pinned; their entries stay as they are."""
        return self.failed | self.accepted


def _baseline(config: Config) -> Baseline | None:
    path = config.file("baseline")
    if path is None:
        return None
    loaded = load_baseline(path)
    if isinstance(loaded, Err):
        raise UsageError(printable(loaded.error))
    return loaded.value


def _compile(files: list[Found], active: Settings, root: str, baseline: Baseline | None) -> _Made:
    result = _Made({}, set(), set(), {})
    for file in read_workflows(tracked(files, "file")):
        key = _key(file.path, root)
        checked = check_document(read_for_compiling(file.data), file.path, active, None)
        if checked.compiled is None:
            errors = refusals(checked, file.path)
            if baseline is not None and errors and not baseline.split(errors)[0]:
                result.accepted.add(key)
            else:
                result.failed.add(key)
                report_errors(errors)
        elif _has_hash(checked.compiled, file.path):
            result.entries[key] = entry_text(lock_entry(checked.compiled))
            if checked.compiled.engine_errors:
                result.rejected[key] = _rejection(checked.compiled.engine_errors)
        else:
            result.failed.add(key)
    if result.accepted:
        number = counted(len(result.accepted), "workflow")
        err(f"workrail-lint: skipped {number} with compile errors that are in the baseline")
    return result


def _rejection(errors: Sequence[Finding]) -> str:
    first, *others = errors
    more = f" (and {len(others)} more)" if others else ""
    return f"the engine rejects the workflow: {first.code} {printable(first.message)}{more}"


def _has_hash(compiled: CompiledWorkflow, path: str) -> bool:
    try:
        return bool(compiled.hash)
    except CanonicalError as error:
        err(f"{printable(path)}: error: the workflow has no hash: {error}")
        return False


def _existing(path: str, *, must_exist: bool) -> Lockfile | None:
    if not os.path.lexists(path):
        if must_exist:
            above = _above(path)
            advice = f"found {printable(above)}: run this command there, or use --file" if above else _CREATE
            raise UsageError(f"{printable(path)} does not exist; {advice}")
        return None
    return read_lockfile(path)


def read_lockfile(path: str) -> Lockfile:
    """Return the lockfile at a path; one that can't be used is a usage error."""
    parsed = parse_lockfile(read_named(path))
    if isinstance(parsed, Err):
        raise UsageError(f"{printable(path)} can't be used: {parsed.error}")
    return parsed.value


def _above(path: str) -> str | None:
    """Return the nearest lockfile in a parent folder, most likely the one that is meant."""
    folder, name = os.path.split(os.path.abspath(path))
    while folder != (parent := os.path.dirname(folder)):
        folder = parent
        if os.path.isfile(lockfile := os.path.join(folder, name)):
            return os.path.relpath(lockfile)
    return None


def _update(path: str, active: Settings, build: _Made, scope: _Scope, semver: str) -> int:
    folder = os.path.dirname(path)
    sweep(folder, output_root(folder))
    old = _existing(path, must_exist=False) or Lockfile({}, {})
    entries = old.workflows
    kept = {key: entry_text(entries[key]) for key in entries if not scope.holds(key) or key in build.left_alone}
    if not build.entries and not kept:
        err(
            "workrail-lint: no workflow compiles, so nothing is pinned"
            if build.left_alone
            else "workrail-lint: no workflow found to pin"
        )
        return FINDINGS if build.failed else NOTHING
    low = _low_versions(old, build, semver)
    if low and semver == "error":
        err("workrail-lint: nothing is pinned; workrail-lint semver --fix raises versions")
        return FINDINGS
    pinned = {**kept, **build.entries}
    catalog = catalog_entry(active.base_catalog)
    added = len(pinned.keys() - entries.keys())
    removed = len(entries.keys() - pinned.keys())
    engine = _engine_version(active)
    changed = sum(
        not old.has_text(key, pinned[key]) and entries[key] != json.loads(pinned[key])
        for key in entries.keys() & build.entries.keys()
    )
    is_new = old.catalog != catalog or old.engine_version != engine or bool(added or removed or changed)
    del old, entries  # not in memory together with the new content
    if is_new:
        write_output(path, lockfile_bytes(catalog, pinned, engine))
    for key, reason in build.rejected.items():
        err(f"workrail-lint: {printable(key)}: engineHash is null, because {reason}")
    out(f"{path}: {len(pinned)} pinned ({added} new, {changed} changed, {removed} removed)")
    return _failed(build, "not pinned")


def _failed(build: _Made, what: str) -> int:
    """Return the exit code. Workflows that can't be compiled were reported one by one and are counted here."""
    if build.failed:
        err(f"workrail-lint: {counted(len(build.failed), 'workflow')} can't be compiled and {_be(build.failed)} {what}")
    return FINDINGS if build.failed else OK


def _be(names: set[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _low_versions(lock: Lockfile, build: _Made, semver: str) -> list[str]:
    """Return the workflows whose version does not say what changed since they were pinned, after naming them."""
    if semver == "off":
        return []
    low = []
    for key in sorted(lock.workflows.keys() & build.entries.keys()):
        if lock.has_text(key, build.entries[key]):
            continue
        entry, now = lock.workflows[key], json.loads(build.entries[key])
        if entry["hash"] == now["hash"]:
            continue
        judgement = judge_change(now["workflowId"], *(outline_from_json(each["outline"]) for each in (entry, now)))
        if not judgement.ok:
            low.append(key)
            first = judgement.reasons[0]
            where = f"step '{first.step}': " if first.step else ""
            err(f"workrail-lint: {printable(f'{key}: {judgement.describe()} ({where}{first.text})')}")
    return low


def _check(path: str, lock: Lockfile, active: Settings, build: _Made, scope: _Scope, semver: str) -> int:
    asked = {key for key in lock.workflows.keys() | build.entries.keys() if scope.holds(key)} - build.left_alone
    style = Style(uses_colour())
    now = catalog_entry(active.base_catalog)
    if lock.catalog != now:
        out(f"catalog: changed from {_catalog(lock.catalog)} to {_catalog(now)}")
    # A lockfile that does not say was written for the newest engine of its time.
    pinned_for = lock.engine_version or ENGINE_VERSION
    engine = _engine_version(active)
    if pinned_for != engine:
        out(f"engine: changed from {printable(pinned_for)} to {engine}")
    changes = differences(lock, build.entries, asked)
    for difference in changes:
        for line in _described(difference, style):
            out(line)
    has_changed = bool(changes) or lock.catalog != now or pinned_for != engine
    if not has_changed and (asked or not build.failed):
        out(f"{path}: {counted(len(asked), 'workflow')} unchanged")
    code = _failed(build, "not verified")
    if has_changed:
        if _low_versions(lock, build, semver) and semver == "error":
            err("workrail-lint: raise these versions first, with workrail-lint semver --fix")
        err("workrail-lint: to accept these changes, run workrail-lint lock --update")
        return FINDINGS
    return code


def _engine_version(active: Settings) -> str:
    return ENGINE_VERSION if active.release is None else active.release.version


def _catalog(entry: dict[str, str]) -> str:
    return f"{entry['id']} {entry['version']} ({entry['digest'][:19]}…)"


def _described(difference: Difference, style: Style) -> list[str]:
    path = style(printable(difference.path), "bold")
    match difference.kind:
        case "new":
            return [f"{path}: not in the lockfile"]
        case "missing":
            return [f"{path}: in the lockfile, but the file is gone"]
        case "engine":
            return [f"{path}: only the engine hash changed"]
        case "metadata":
            return [f"{path}: the hash changed, but not the behaviour: provenance or warnings differ"]
        case _:
            lines = [f"{path}: changed"]
            for change in difference.changes:
                lines += [f"  {printable(line)}" for line in describe(change)]
            return lines

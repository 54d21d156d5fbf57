"""Arguments that the commands share: configuration, catalog, bindings, and the workflow files they read."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, printable
from workrail_lint.cli import NOTHING, UsageError
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Finding
from workrail_lint.project.config import Config, find_config, load_config, unconfigured
from workrail_lint.project.discovery import Found, discover
from workrail_lint.systems.base import System
from workrail_lint.systems.builtin import known_systems
from workrail_lint.systems.workrail.document_kinds import Kind, kind_by_name, kind_of, may_be_ours
from workrail_lint.systems.workrail.settings import (
    BINDINGS_FILE,
    Builtins,
    Settings,
    resolve_bindings,
    resolve_catalog,
    resolve_release,
)


def configuration(args: argparse.Namespace, start: str = os.curdir) -> Config:
    if args.isolated:
        return unconfigured(start)
    loaded = load_config(args.config) if args.config else find_config(start)
    if isinstance(loaded, Err):
        raise UsageError(loaded.error)
    for path in loaded.value.passed_over:
        _report_passed_over(path)
    return loaded.value


@cache
def _report_passed_over(path: str) -> None:
    """Say once that a configuration is not used: many folders may be below it."""
    err(f"workrail-lint: {printable(path)} belongs to another user and is not used; name it with --config to use it")


def judging_settings(args: argparse.Namespace, config: Config, *, parity: bool) -> Settings:
    """Return the settings of `check`: for the public engine, unless the project's target is the IR."""
    return settings(args, config, parity=parity, engine=config.text("target") != "ir")


def settings(args: argparse.Namespace, config: Config, *, parity: bool = False, engine: bool = False) -> Settings:
    """Return the catalog, routines and bindings that a command compiles with; without `engine`, to the IR."""
    builtins = _builtins(args, config)
    bindings = resolve_bindings(_path(bindings_file(args, config)))
    if isinstance(bindings, Err):
        raise UsageError(_named("bindings", args.bindings or args.bindings_dir, bindings.error))
    compat = config.text("compat")
    return Settings(
        builtins.catalog,
        base_catalog=builtins.base,
        bindings=bindings.value,
        parity=parity,
        engine=engine,
        policy=compat,
        workspace=config.file("workspace") or config.root,
        source_kind=config.text("source-kind"),
        options={
            "evidence": config.text("evidence") or "normal",
            "new-files": config.strings("new-files"),
            "root": config.root,
            **config.system_options(),
        },
        release=builtins.release,
    )


def _builtins(args: argparse.Namespace, config: Config) -> Builtins:
    named, routines = args.catalog or config.file("catalog"), args.routines or config.file("routines")
    has_own = named is not None or routines is not None
    base = resolve_catalog(_path(named)) if has_own else None
    if isinstance(base, Err):
        raise UsageError(_named("catalog", args.catalog, base.error))
    release = resolve_release(
        args.engine_version or config.text("engine-version"), None if base is None else base.value
    )
    if isinstance(release, Err):
        raise UsageError(f"{'--' if args.engine_version else ''}engine-version: {release.error}")
    if base is None:
        return Builtins(None, None, release.value)
    dated = resolve_catalog(base.value, release=release.value).value
    remarks: list[Finding] = []
    catalog = resolve_catalog(dated, _path(routines), remarks, release.value)
    if isinstance(catalog, Err):
        raise UsageError(_named("routines", args.routines, catalog.error))
    for remark in remarks:
        err(f"workrail-lint: {printable(remark.path)}: {printable(remark.message)}")
    return Builtins(catalog.value, dated, release.value)


class _Path(os.PathLike[str]):
    """A path as the API wants it, without the cost of pathlib."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return self.path


def _path(path: str | None) -> _Path | None:
    return None if path is None else _Path(path)


def bindings_file(args: argparse.Namespace, config: Config) -> str | None:
    """Return the bindings file: from the command line, from the configuration, or the default one if it exists."""
    if args.bindings:
        return str(args.bindings)
    if args.bindings_dir is not None and not os.path.isdir(args.bindings_dir):
        raise UsageError(f"--bindings-dir: {printable(args.bindings_dir)} is not a folder")
    if args.bindings_dir is None and (configured := config.file("bindings")):
        return configured
    default = os.path.join(args.bindings_dir or os.path.relpath(config.root), BINDINGS_FILE)
    return default if os.path.isfile(default) else None


def _named(key: str, option: str | None, findings: list[Finding]) -> str:
    """Return a problem with a file, after the option or configuration key that names it."""
    return f"{'--' if option else ''}{key}: {first_line(findings, option or key)}"


def first_line(findings: list[Finding], subject: str) -> str:
    """Return the first of several problems, and the number of the others."""
    if not findings:
        return f"{subject} can't be used"
    first = findings[0]
    where = f"{first.path}: " if first.path and not first.message.startswith(first.path) else ""
    place = f" (at {first.pointer})" if first.pointer else ""
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return printable(f"{where}{first.message}{place}{more}")


def read_named(path: str) -> bytes:
    """Return the content of a file that the user named; one that can't be read is a usage error."""
    read = read_file(path)
    if isinstance(read, Err):
        raise UsageError(printable(read.error.message))
    return read.value


class Workflow:
    """A workflow file that a command was asked to work on, already read."""

    __slots__ = ("data", "path")

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data


def workflow_files(paths: list[str], config: Config, *, others: bool = False) -> list[Workflow]:
    """Return the workflows at and below the paths. A file that was named and can't be read is an error.

    With `others`, a named file may also be one that another system compiles.
    """
    return list(read_workflows(found_files(paths, config), others=others))


def found_files(paths: list[str], config: Config) -> list[Found]:
    """Return the files at and below the paths that may be workflows. A path that leads nowhere is an error."""
    include, exclude = config.strings("include"), config.strings("exclude")
    discovery = discover(paths, include=include, exclude=exclude, root=config.root)
    for path, reason in discovery.problems:
        raise UsageError(f"{printable(path)} {reason}")
    return discovery.files


def read_workflows(files: Iterable[Found], *, others: bool = False) -> Iterator[Workflow]:
    """Yield the workflows among some files, read one at a time: thousands of them need not be in memory together."""
    for file in files:
        data = read_named(file.path)
        if file.named:
            if not (others and compiled_by_other(file.path, data)):
                _refuse_other_kind(file.path, data)
        elif not is_workflow(file.path, data):
            continue
        yield Workflow(file.path, data)


def report_no_workflow(paths: list[str]) -> int:
    """Say that there is nothing to work on, and return the exit code for that."""
    err(f"workrail-lint: no workflow found in {', '.join(map(printable, paths))}")
    return NOTHING


class Owner:
    """The system that a file other than a workflow belongs to, and what such a file is called in a message."""

    __slots__ = ("kind", "noun", "system")

    def __init__(self, system: System, kind: str, noun: str) -> None:
        self.system = system
        self.kind = kind
        self.noun = noun


def compiled_by_other(path: str, data: bytes) -> Owner | None:
    """Return the owner of a file that another system compiles, or None."""
    # Without a file name, the content decides.
    return _owner(path if path.endswith(".json") else "stdin.json", data, True, lambda system: system.compiled_kinds)


def drawn_by_other(file: Found, data: bytes) -> Owner | None:
    """Return the owner of a file that another system draws, or None."""
    return _owner(file.path, data, file.named, lambda system: system.drawn_kinds)


def _owner(path: str, data: bytes, named: bool, kinds: Callable[[System], Mapping[str, str]]) -> Owner | None:
    for system in known_systems():
        kind = system.claims(path, data, named) if kinds(system) else None
        if kind in kinds(system):
            return Owner(system, str(kind), kinds(system)[str(kind)])
    return None


def refuse_others(path: str, data: bytes) -> None:
    owner = compiled_by_other(path, data)
    if owner is not None:
        raise UsageError(f"{printable(path)} is {owner.noun}, not a workflow")


def _refuse_other_kind(path: str, data: bytes) -> None:
    refuse_others(path, data)
    kind = _kind(path, data)
    if kind not in (Kind.WORKFLOW, Kind.ROUTINE, Kind.UNKNOWN):
        raise UsageError(f"{printable(path)} is a {kind.value}, not a workflow")


def is_workflow(path: str, data: bytes) -> bool:
    return _kind(path, data) in (Kind.WORKFLOW, Kind.ROUTINE)


def _kind(path: str, data: bytes) -> Kind:
    named = kind_by_name(path)
    if named is not None:
        return named
    document = read_json(data, parity=True)
    if document.readable:
        return kind_of(path, document.value)
    return Kind.WORKFLOW if may_be_ours(path, document.text) else Kind.UNKNOWN

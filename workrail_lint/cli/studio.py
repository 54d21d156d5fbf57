"""`workrail-lint studio`: one self-contained HTML page of a project."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from workrail_lint.base.canonical import digest
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, printable
from workrail_lint.base.wording import counted
from workrail_lint.cli import NOTHING, OK, UsageError
from workrail_lint.cli.arguments import Workflow, configuration, found_files, read_workflows, settings
from workrail_lint.cli.check import checked_projects
from workrail_lint.cli.check import parser as check_parser
from workrail_lint.cli.output import write_output
from workrail_lint.cli.parser import Parser, add_inputs
from workrail_lint.cli.report import report_data
from workrail_lint.cli.revision import Revision
from workrail_lint.cli.watch import watch
from workrail_lint.project.config import Config
from workrail_lint.project.run import merged_outcome
from workrail_lint.report.json import finding_object
from workrail_lint.studio.inputs import Inputs, read_data, read_runs, recorded_runs, session_reports, without_known
from workrail_lint.studio.page import page_bytes, script_bytes
from workrail_lint.studio.project import project_data
from workrail_lint.studio.workflow import Source
from workrail_lint.systems.workrail.check import check_document
from workrail_lint.systems.workrail.compile import read_for_compiling
from workrail_lint.systems.workrail.diff import Change, compare, outline
from workrail_lint.systems.workrail.settings import Settings

# What a JSON file must have to be shown, by option, and what such a file is called.
_FILES = {
    "coverage": ("a coverage report", "workflows"),
    "mutation": ("a mutation report", "workflows"),
    "cost": ("a cost report", "workflows"),
    "locks": ("a lock coverage report", "totalLocks"),
}
# The members of a finding that the page shows.
_SHOWN = ("code", "name", "severity", "message", "pointer", "step", "range", "fix")


def main(arguments: list[str]) -> int:
    args = parser().parsed(arguments)
    if args is None:
        return OK
    args.paths = args.paths or [os.curdir]
    if args.watch:
        return watch(args.paths, lambda: build(args), lambda: _deciding_files(args))
    return build(args)


def parser() -> Parser:
    result = Parser(
        "studio", "Write one self-contained HTML page that shows a project: every workflow as a flow graph."
    )
    result.add_argument("paths", nargs="*", metavar="PATH", help="workflows and folders of them (default: .)")
    result.add_argument("--output", metavar="FILE", default="studio.html", help="the page (default: studio.html)")
    result.add_argument("--coverage", metavar="FILE", help="show coverage, from pytest --workrail-cov-json=FILE")
    result.add_argument(
        "--goldens",
        metavar="PATH",
        action="append",
        default=[],
        help="goldens to show as runs (a folder), or pending changes (from workrail-test golden diff --json)",
    )
    result.add_argument(
        "--runs", metavar="FILE", help="show the runs of a test suite, from pytest --workrail-runs-json=FILE"
    )
    result.add_argument("--mutation", metavar="FILE", help="show surviving mutants, from workrail-test mutate --json")
    result.add_argument(
        "--sessions",
        metavar="FILE",
        action="append",
        default=[],
        help="count sessions (from workrail-test sessions stats --json), or play one (from sessions show --json)",
    )
    result.add_argument("--cost", metavar="FILE", help="show what a run costs, from workrail-test generate --json")
    result.add_argument("--locks", metavar="FILE", help="show locks, from pytest --workrail-lock-report")
    result.add_argument("--git", metavar="REV", help="show what changed since this git revision")
    result.add_argument("--title", metavar="TEXT", help="name of the project (default: its folder)")
    result.add_argument(
        "--format", choices=("html", "json"), default="html", help="the page, or its data (default: html)"
    )
    result.add_argument(
        "--watch", action="store_true", help="build again after each change; an open page reloads itself"
    )
    add_inputs(result)
    return result


def build(args: argparse.Namespace) -> int:
    config = configuration(args, args.paths[0])
    active = settings(args, config)
    files = found_files(args.paths, config)
    if not any(True for _ in read_workflows(files)):
        err(f"workrail-lint: no workflow found in {', '.join(map(printable, args.paths))}")
        return NOTHING
    inputs = _inputs(args, config)
    findings, reasons = _findings(args)
    root = os.path.abspath(config.root)
    # One at a time: what was compiled is much larger than what the page shows of it.
    sources: Iterable[Source] = _sources(read_workflows(files), active, root, findings)
    changes: dict[str, list[Change] | None] = {}
    committed: dict[str, int] = {}
    if args.git is not None:
        workflows = list(read_workflows(files))
        sources = list(_sources(workflows, active, root, findings))
        changes, committed = _history(args.git, workflows, sources, config, active)
    name = args.title or os.path.basename(root) or "project"
    data = project_data(
        name,
        sources,
        inputs,
        active.catalog,
        changes=changes if args.git is not None else None,
        revision=args.git,
        reasons=reasons,
        committed=committed,
    )
    if args.watch:
        data["watched"] = digest(script_bytes(data))
    content = page_bytes(data, name) if args.format == "html" else b"%b\n" % script_bytes(data)
    write_output(args.output, content)
    err(f"workrail-lint: wrote {counted(len(data['workflows']), 'workflow')} to {printable(args.output)}")
    return OK


def _sources(
    workflows: Iterable[Workflow], active: Settings, root: str, findings: dict[str, list[bytes]]
) -> Iterator[Source]:
    for file in workflows:
        checked = check_document(read_for_compiling(file.data), file.path, active, None)
        path = os.path.relpath(file.path, root).replace(os.sep, "/")
        yield Source(path, checked, [*map(json.loads, findings.get(os.path.normpath(file.path), ()))])


def _inputs(args: argparse.Namespace, config: Config) -> Inputs:
    given: dict[str, Any] = {}
    for option, (what, member) in _FILES.items():
        path = getattr(args, option)
        if path is not None:
            given[option] = _read(f"--{option}", path, what, member)
    folders = [path for path in args.goldens if os.path.isdir(path)]
    pending = [path for path in args.goldens if path not in folders]
    if len(pending) > 1:
        raise UsageError("--goldens takes one file of pending changes; name folders for runs")
    if pending:
        given["goldens"] = _read("--goldens", pending[0], "a list of pending changes", "groups")
    reports = [
        (path, _read("--sessions", path, "a report about sessions", "workflows", "runs")) for path in args.sessions
    ]
    given["sessions"], sessions = session_reports(reports)
    recorded = _read("--runs", args.runs, "a report about runs", "runs") if args.runs is not None else {}
    runs = list(recorded_runs(recorded))
    goldens = without_known(read_runs(folders, os.path.abspath(config.root)), runs)
    return Inputs(runs=(*runs, *goldens, *sessions), **given)


def _read(option: str, path: str, what: str, *members: str) -> Any:
    data = read_data(path, what, *members)
    if isinstance(data, Err):
        raise UsageError(f"{option}: {printable(data.error)}")
    return data.value


def _findings(args: argparse.Namespace) -> tuple[dict[str, list[bytes]], dict[str, str]]:
    """The findings of `check` for the same paths, as its JSON report has them, by file; and why the rules exist.

    They are JSON until their file is looked at: all of them together may take more memory than the rest of the page.
    """
    passed = ["--severity", "info"]
    for option in ("config", "catalog", "routines", "bindings", "bindings_dir"):
        value = getattr(args, option, None)
        if value:
            passed += [f"--{option.replace('_', '-')}", value]
    if args.isolated:
        passed.append("--isolated")
    chosen = check_parser().parse_args([*passed, "--", *args.paths])
    checked = checked_projects(chosen)
    data = report_data(chosen, merged_outcome([each.outcome for each in checked]), checked)
    by_path: dict[str, list[bytes]] = {}
    for item in data.findings:
        about = finding_object(item, data)
        if about["fix"] is not None:
            about["fix"] = {name: about["fix"][name] for name in ("title", "safety")}
        record = json.dumps({name: about[name] for name in _SHOWN}, separators=(",", ":")).encode()
        by_path.setdefault(os.path.normpath(item.finding.path), []).append(record)
    return by_path, {name: rule.why for name, rule in sorted(data.rules.items())}


def _history(
    name: str, files: list[Any], sources: list[Source], config: Config, active: Settings
) -> tuple[dict[str, list[Change] | None], dict[str, int]]:
    """Return the changes since a revision by path, None for a new workflow, and when each file was last committed."""
    revision = Revision(name, config.root, files[0].path)
    changes: dict[str, list[Change] | None] = {}
    for file, source in zip(files, sources, strict=True):
        compiled = source.checked.compiled
        if not revision.holds(file.path):
            changes[source.path] = None
            continue
        before = check_document(read_for_compiling(revision.read(file.path)), file.path, active, None).compiled
        if before is not None and compiled is not None:
            changes[source.path] = compare(outline(before.ir), outline(compiled.ir))
    times = revision.last_changes([file.path for file in files])
    names = {file.path: source.path for file, source in zip(files, sources, strict=True)}
    return changes, {names[path]: seconds for path, seconds in times.items()}


def _deciding_files(args: argparse.Namespace) -> list[str]:
    named = [*(getattr(args, option) for option in _FILES), args.runs, *args.goldens, *args.sessions]
    return [path for path in named if path is not None and os.path.exists(path)]

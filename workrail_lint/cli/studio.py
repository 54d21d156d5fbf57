"""`workrail-lint studio`: one self-contained HTML page of a project."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from workrail_lint.base.canonical import digest
from workrail_lint.base.progress import tracked
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, out, out_bytes, printable
from workrail_lint.base.wording import counted, listed
from workrail_lint.cli import OK, UsageError
from workrail_lint.cli.arguments import (
    Workflow,
    configuration,
    drawn_by_other,
    first_line,
    found_files,
    read_named,
    read_workflows,
    report_no_workflow,
    settings,
)
from workrail_lint.cli.check import checked_projects
from workrail_lint.cli.check import parser as check_parser
from workrail_lint.cli.output import write_output
from workrail_lint.cli.parser import Parser, add_inputs, add_paths, given_inputs
from workrail_lint.cli.report import report_data
from workrail_lint.cli.revision import Revision, earlier_versions
from workrail_lint.cli.watch import watch
from workrail_lint.findings import Finding, Severity, by_path
from workrail_lint.project.config import Config
from workrail_lint.project.discovery import Found
from workrail_lint.project.run import CheckedProject, Plan, merged_outcome, reported_outcome
from workrail_lint.report.json import finding_object
from workrail_lint.studio.inputs import Inputs, read_data, read_runs, recorded_runs, session_reports, with_goldens
from workrail_lint.studio.page import page_bytes, script_bytes
from workrail_lint.studio.page_data import Data
from workrail_lint.studio.project import NEW, FindingChanges, changes_since, markdown_summary, project_data
from workrail_lint.studio.runs import document_run
from workrail_lint.studio.workflow import Source
from workrail_lint.systems.workrail.check import CheckedDocument, check_document
from workrail_lint.systems.workrail.compile import read_for_compiling, refusals
from workrail_lint.systems.workrail.settings import Settings

# What a JSON file must have to be shown, by option, and what such a file is called.
_FILES = {
    "coverage": ("a coverage report", "workflows"),
    "mutation": ("a mutation report", "workflows"),
    "cost": ("a cost report", "workflows"),
    "locks": ("a lock coverage report", "totalLocks"),
}
# The members of a finding that the page shows.
_MOST_COMMITS = 20  # that are looked through for a version that compiles
_LONGEST_LINE = 400
_SHOWN = ("code", "name", "severity", "message", "pointer", "step", "range", "fix")


def main(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    if args.watch:
        return watch(args.paths, lambda: build(args), lambda: deciding_files(args))
    return build(args)


def parser() -> Parser:
    result = Parser(
        "studio", "Write one self-contained HTML page that shows a project: every workflow as a flow graph."
    )
    add_paths(result)
    result.add_argument(
        "--output", metavar="FILE", default="studio.html", help="the page (default: studio.html); - is standard output"
    )
    result.add_argument(
        "--format",
        choices=("html", "json", "markdown"),
        default="html",
        help="the page, its data, or a summary of what changed since --git REV (default: html)",
    )
    result.add_argument(
        "--replays", metavar="FILE", help="sessions in that summary, from workrail-test sessions replay --json"
    )
    result.add_argument(
        "--watch", action="store_true", help="build again after each change; an open page reloads itself"
    )
    add_shown(result)
    return result


def add_shown(result: Parser) -> None:
    """Add the options for what a page shows besides the workflows."""
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
    result.add_argument("--git", "--base", metavar="REV", help="show what changed since this git revision")
    result.add_argument("--title", metavar="TEXT", help="name of the project (default: its folder)")
    add_inputs(result)


class Shown(NamedTuple):
    """The data of a page, and what it was made from before anything was redacted."""

    data: dict[str, Any]
    name: str
    config: Config
    inputs: Inputs
    documents: int


def build(args: argparse.Namespace) -> int:
    project = collect(args)
    if project is None:
        return report_no_workflow(args.paths)
    if args.format == "markdown":
        return _write_summary(args, project)
    data = project.data
    if args.watch:
        data["watched"] = digest(script_bytes(data))
    content = page_bytes(data, project.name) if args.format == "html" else b"%b\n" % script_bytes(data)
    if args.output == "-":
        out_bytes(content)
        return OK
    write_output(args.output, content)
    drawn = [counted(len(data["workflows"]), "workflow")] if data["workflows"] or not project.documents else []
    drawn += [counted(project.documents, "other document")] if project.documents else []
    err(f"workrail-lint: wrote {listed(drawn)} to {printable(args.output)}")
    return OK


def _write_summary(args: argparse.Namespace, project: Shown) -> int:
    """Write what changed since a revision as Markdown."""
    if args.git is None:
        raise UsageError("--format markdown needs --git REV")
    replays = (
        [] if args.replays is None else _read("--replays", args.replays, "a report of replays", "sessions")["sessions"]
    )
    findings = _finding_changes(args, project.config)
    text = markdown_summary(project.data, findings, [each for each in replays if isinstance(each, dict)])
    if args.output in ("-", "studio.html"):
        out(text, end="")
    else:
        write_output(args.output, text.encode("utf-8", "replace"))
    return OK


def _finding_changes(args: argparse.Namespace, config: Config) -> dict[str, FindingChanges]:
    """Return the findings that came and went since the revision, by the names of files that differ from it."""
    changes: dict[str, FindingChanges] = {}
    root = os.path.abspath(config.root)
    for project in _checked(args):
        findings = by_path(project.outcome.findings)
        revision = Revision(args.git, config.root, args.paths[0])
        for path in project.outcome.files:
            data = revision.read(path) if revision.holds(path) else None
            if data == read_named(path):
                continue
            now = _counted(findings.get(path, ()))
            before = _counted(_former_findings(path, data, project.plan))
            if now != before:
                name = os.path.relpath(path, root).replace(os.sep, "/")
                new, gone = (sorted(each.elements(), key=_rank) for each in (now - before, before - now))
                changes[name] = FindingChanges(new, gone)
    return changes


def _counted(findings: Iterable[Finding]) -> Counter[tuple[Severity, str, str]]:
    """Return what a summary says of findings; advice is not worth a reviewer's time."""
    return Counter((each.severity, each.code, each.message) for each in findings if each.severity is not Severity.INFO)


def _rank(counted_finding: tuple[Severity, str, str]) -> tuple[int, str, str]:
    severity, code, message = counted_finding
    return severity.rank, code, message


def _former_findings(path: str, data: bytes | None, plan: Plan) -> list[Finding]:
    """Return the findings of a file as it was, of the rules that are selected now."""
    if data is None:
        return []
    for system in plan.systems:
        kind = system.claims(path, data, True)
        if kind is not None:
            return reported_outcome(system.check(path, data, kind, plan.settings).findings, [path], plan).findings
    return []


def collect(args: argparse.Namespace, *, goldens: Data | None = None, runs: Data | None = None) -> Shown | None:
    """Return what a page shows; None if there is nothing to show.

    Pending `goldens` and `runs` that are already in memory take the place of the files that the options name.
    """
    config = configuration(args, args.paths[0])
    active = settings(args, config)
    files = found_files(args.paths, config)
    root = os.path.abspath(config.root)
    documents = list(_documents(files, active, root))
    if not documents and not any(True for _ in read_workflows(files)):
        return None
    inputs = _inputs(args, config, documents, goldens=goldens, runs=runs)
    findings, reasons = _findings(args)
    # One at a time: what was compiled is much larger than what the page shows of it.
    sources: Iterable[Source] = _sources(read_workflows(tracked(files, "file")), active, root, findings)
    changes: dict[str, Data] = {}
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
    return Shown(data, name, config, inputs, len(documents))


def _sources(
    workflows: Iterable[Workflow], active: Settings, root: str, findings: dict[str, list[bytes]]
) -> Iterator[Source]:
    for file in workflows:
        checked = check_document(read_for_compiling(file.data), file.path, active, None)
        path = os.path.relpath(file.path, root).replace(os.sep, "/")
        listed: list[Data] = [*map(json.loads, findings.get(os.path.normpath(file.path), ()))]
        if checked.compiled is not None:
            yield Source(path, checked, listed)
        else:
            instead, about = _drawn_instead(file.path, checked, active, root)
            yield Source(path, instead, listed, {**_first_error(checked, file.path), **about})


def _drawn_instead(
    path: str, checked: CheckedDocument, active: Settings, root: str
) -> tuple[CheckedDocument, dict[str, Any]]:
    """Return what a page draws of a workflow that does not compile: the last committed version that does, else the
    steps that can be read, one after the other.
    """
    for commit, seconds, data in earlier_versions(root, path, _MOST_COMMITS):
        earlier = check_document(read_for_compiling(data), path, active, None)
        if earlier.compiled is not None:
            return earlier, {"stale": True, "commit": commit, "committed": seconds}
    sketch = _sketch(checked.document.value)
    sketched = check_document(read_for_compiling(json.dumps(sketch).encode()), path, active, None)
    return (sketched, {"stale": True, "sketch": True}) if sketched.compiled is not None else (checked, {"stale": True})


def _sketch(value: object) -> dict[str, Any]:
    """Return a workflow of the steps that can be read, without anything that could keep it from compiling."""
    document = value if isinstance(value, dict) else {}
    listed = document.get("steps")
    texts: dict[str, dict[str, str]] = {}
    for step in listed if isinstance(listed, list) else ():
        if isinstance(step, dict) and isinstance(step.get("id"), str):
            title, prompt = (step.get(name) for name in ("title", "prompt"))
            texts[step["id"]] = {
                "title": title if isinstance(title, str) and title else step["id"],
                "prompt": prompt.replace("{{wr.", "{{ wr.") if isinstance(prompt, str) and prompt else step["id"],
            }
    facts = {name: document.get(name) for name in ("id", "name", "description", "version")}
    usual = {"id": "unknown", "name": "Unknown", "description": "It does not compile.", "version": "0.0.0"}
    return {
        **{name: value if isinstance(value, str) and value else usual[name] for name, value in facts.items()},
        "steps": [{"id": ident, **step} for ident, step in texts.items()],
    }


def _first_error(checked: CheckedDocument, path: str) -> dict[str, Any]:
    """Return what keeps a workflow from compiling: the message, and the place with a line around it."""
    errors = refusals(checked, path)
    first = next((finding for finding in errors if finding.span is not None), None)
    if first is None or first.span is None:
        return {"message": errors[0].message if errors else "it does not compile"}
    start = first.span.start
    lines = checked.document.text.split("\n")[max(0, start.line - 2) : start.line + 1]
    excerpt = {"first": max(1, start.line - 1), "lines": [line[:_LONGEST_LINE] for line in lines]}
    return {
        "code": first.code,
        "message": first.message,
        "line": start.line,
        "column": start.column,
        "excerpt": excerpt,
    }


def _documents(files: list[Found], active: Settings, root: str) -> Iterator[Data]:
    """Yield the documents of other systems, such as session folders, as runs."""
    for file in files:
        data = read_named(file.path)
        owner = drawn_by_other(file, data)
        if owner is None:
            continue
        drawn = owner.system.picture(file.path, data, owner.kind, active)
        if isinstance(drawn, Err):
            err(f"workrail-lint: left out: {first_line(drawn.error, file.path)}")
        else:
            path = os.path.relpath(file.path, root).replace(os.sep, "/")
            yield document_run(drawn.value, path, owner.noun)


def _inputs(
    args: argparse.Namespace, config: Config, documents: list[Data], *, goldens: Data | None, runs: Data | None
) -> Inputs:
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
    elif goldens is not None:
        given["goldens"] = goldens
    reports = [
        (path, _read("--sessions", path, "a report about sessions", "workflows", "runs")) for path in args.sessions
    ]
    given["sessions"], sessions = session_reports(reports)
    played = list(recorded_runs(read_suite(args) if runs is None else runs))
    recorded = read_runs(folders, os.path.abspath(config.root))
    return Inputs(runs=(*with_goldens(played, recorded), *sessions, *documents), **given)


def read_suite(args: argparse.Namespace) -> Data:
    """Return the runs of a test suite that an option names."""
    return {} if args.runs is None else _read("--runs", args.runs, "a report about runs", "runs")


def _read(option: str, path: str, what: str, *members: str) -> Any:
    data = read_data(path, what, *members)
    if isinstance(data, Err):
        raise UsageError(f"{option}: {printable(data.error)}")
    return data.value


def _check_arguments(args: argparse.Namespace) -> argparse.Namespace:
    return check_parser().parse_args(["--severity", "info", *given_inputs(args), "--", *args.paths])


def _checked(args: argparse.Namespace) -> list[CheckedProject]:
    return checked_projects(_check_arguments(args))


def _findings(args: argparse.Namespace) -> tuple[dict[str, list[bytes]], dict[str, str]]:
    """Return the findings of `check` for the same paths, as its JSON report has them, by file; and why the rules exist.

    They are JSON until their file is looked at: all of them together may take more memory than the rest of the page.
    """
    checked = _checked(args)
    data = report_data(_check_arguments(args), merged_outcome([each.outcome for each in checked]), checked)
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
) -> tuple[dict[str, Data], dict[str, int]]:
    """Return the changes since a revision by path, and when each file was last committed."""
    revision = Revision(name, config.root, files[0].path)
    changes: dict[str, Data] = {}
    for file, source in zip(tracked(files, "workflow"), sources, strict=True):
        compiled = source.checked.compiled
        if not revision.holds(file.path):
            changes[source.path] = NEW
            continue
        before = check_document(read_for_compiling(revision.read(file.path)), file.path, active, None).compiled
        if before is not None and compiled is not None and source.broken is None:
            changes[source.path] = changes_since(before, compiled)
    times = revision.last_changes([file.path for file in files])
    names = {file.path: source.path for file, source in zip(files, sources, strict=True)}
    return changes, {names[path]: seconds for path, seconds in times.items()}


def deciding_files(args: argparse.Namespace) -> list[str]:
    named = [*(getattr(args, option) for option in _FILES), args.runs, *args.goldens, *args.sessions]
    return [path for path in named if path is not None and os.path.exists(path)]

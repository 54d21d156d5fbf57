"""`workrail-lint semver`: which part of a workflow's version must rise for what changed, and why."""

from __future__ import annotations

import os
from typing import NamedTuple

from workrail_lint.base.terminal import Style, err, out, out_json, printable, uses_colour
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, OK, USAGE, UsageError
from workrail_lint.cli.arguments import Workflow, configuration, report_no_workflow, settings, workflow_files
from workrail_lint.cli.diff import files_then, former_paths, read_outline, workflow_id
from workrail_lint.cli.lock import read_lockfile
from workrail_lint.cli.output import write_output
from workrail_lint.cli.parser import Parser, add_inputs, add_paths, add_text_or_json
from workrail_lint.cli.revision import Revision
from workrail_lint.documents.json_edit import apply_fix, fix_edits
from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.operations import Replace
from workrail_lint.findings import Fix, Safety
from workrail_lint.project.config import Config
from workrail_lint.systems.workrail.diff import Outline, digested, outline_from_json
from workrail_lint.systems.workrail.semver import Judgement, Part, damaged_facet, judge_change
from workrail_lint.systems.workrail.settings import Settings

_COLOURS = {Part.MAJOR: "red", Part.MINOR: "yellow", Part.PATCH: "cyan"}
_REASONS_SHOWN = 8


class _Result(NamedTuple):
    """A workflow file, and whether its version says what changed; else why there is nothing to compare it with."""

    file: Workflow
    judgement: Judgement | None
    remark: str = ""


def main(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    config = configuration(args, args.paths[0])
    active = settings(args, config)
    files = workflow_files(args.paths, config)
    if not files:
        return report_no_workflow(args.paths)
    if os.path.isfile(args.base):
        results = _since_lockfile(args.base, files, active)
    else:
        results = _since_revision(Revision(args.base, config.root, args.paths[0]), args.paths, files, config, active)
    low = [result for result in results if result.judgement is not None and not result.judgement.ok]
    if args.fix:
        _write_versions(low)
    elif args.format == "json":
        out_json({"workflows": [each.judgement.as_json() for each in results if each.judgement is not None]})
    else:
        _print(low if args.check else results, len(low))
    if len(results) < len(files):
        return USAGE  # the others do not compile, which was reported
    return FINDINGS if low and args.check else OK


def parser() -> Parser:
    result = Parser("semver", "Say which part of a workflow's version must rise for what changed, and why.")
    add_paths(result)
    result.add_argument(
        "--base",
        metavar="REV",
        default="HEAD",
        help="compare with this git revision, or with this lockfile (default: HEAD)",
    )
    result.add_alternatives(
        {
            "--check": "show only versions that are too low, and exit with 1 if there are any",
            "--fix": "write the least version that says what changed",
        }
    )
    add_text_or_json(result, "answer")
    add_inputs(result)
    return result


def _since_revision(
    revision: Revision, paths: list[str], files: list[Workflow], config: Config, active: Settings
) -> list[_Result]:
    now = {os.path.normpath(file.path): file for file in files}
    then = {file.path: file for path in paths for file in files_then(path, revision, config)}
    former = former_paths(then, now)
    results = []
    for path, file in sorted(now.items()):
        new = read_outline(path, file.data, active)
        before = former.get(path)
        if new is None:
            continue
        if before is None:
            results.append(_Result(file, None, f"new since {revision.name}"))
            continue
        old = read_outline(f"{revision.name}:{before}", then[before].data, active, quiet=True)
        if old is None:
            results.append(_Result(file, None, f"does not compile in {revision.name}, so nothing can rely on it"))
            continue
        _keep_id(old, then[before])
        _keep_id(new, file)
        results.append(_Result(file, judge_change(workflow_id(file.data) or "", old, new)))
    return results


def _keep_id(outline: Outline, file: Workflow) -> None:
    outline.workflow["workflowId"] = workflow_id(file.data)


def _since_lockfile(path: str, files: list[Workflow], active: Settings) -> list[_Result]:
    lock = read_lockfile(path)
    root = os.path.dirname(os.path.abspath(path))
    results = []
    for file in files:
        new = read_outline(file.path, file.data, active)
        if new is None:
            continue
        entry = lock.workflows.get(os.path.relpath(file.path, root).replace(os.sep, "/"))
        if entry is None:
            results.append(_Result(file, None, f"not in {path}"))
            continue
        old = outline_from_json(entry["outline"])
        damaged = damaged_facet(old)
        if damaged is not None:
            name = printable(damaged)
            raise UsageError(
                f"{printable(path)} can't be used: the entry of {printable(file.path)} is damaged ('{name}')"
            )
        old.workflow["workflowId"] = entry["workflowId"]
        new = digested(new)
        _keep_id(new, file)
        results.append(_Result(file, judge_change(workflow_id(file.data) or "", old, new)))
    return results


def _write_versions(low: list[_Result]) -> None:
    for file, judgement, _ in low:
        if judgement is None:
            continue
        if judgement.due is None or judgement.declared is None:
            err(f"workrail-lint: {printable(file.path)}: {judgement.describe()}")
            continue
        document = read_json(file.data)
        edits = fix_edits(document, Fix("write the version", Safety.SAFE, (Replace("/version", judgement.due),)))
        write_output(file.path, apply_fix(document.text, edits).encode("utf-8", "surrogateescape"))
        out(f"{printable(file.path)}: version {judgement.declared} -> {judgement.due} ({judgement.required.word})")
    if not low:
        out("every version says what changed")


def _print(results: list[_Result], low: int) -> None:
    style = Style(uses_colour())
    for file, judgement, remark in results:
        path = style(printable(file.path), "bold")
        if judgement is None:
            out(f"{path}: {printable(remark)}")
            continue
        out(f"{path}: {printable(judgement.describe())}")
        for reason in judgement.reasons[:_REASONS_SHOWN]:
            subject = f"step '{reason.step}': " if reason.step else ""
            out(f"  {style(reason.part.word, _COLOURS[reason.part])}: {printable(subject + reason.text)}")
        if len(judgement.reasons) > _REASONS_SHOWN:
            out(f"  and {len(judgement.reasons) - _REASONS_SHOWN} more (--json lists all)")
    if low:
        err(f"workrail-lint: {counted(low, 'version')} too low; workrail-lint semver --fix raises {_them(low)}")
    elif not results:
        out("every version says what changed")


def _them(number: int) -> str:
    return "it" if number == 1 else "them"

"""`workrail-lint docs`: one Markdown page for each workflow of a project, and an index."""

from __future__ import annotations

import os
import re

from workrail_lint.base.files import output_root, read_file, remove_file
from workrail_lint.base.result import Ok
from workrail_lint.base.terminal import err, neutral, out, printable
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, OK, UsageError
from workrail_lint.cli.arguments import Workflow, configuration, report_no_workflow, settings, workflow_files
from workrail_lint.cli.output import report_errors, write_output
from workrail_lint.cli.parser import Parser, add_inputs, add_paths
from workrail_lint.systems.workrail.analysis.analysis import analyse
from workrail_lint.systems.workrail.analysis.inputs import configured_inputs
from workrail_lint.systems.workrail.check import check_document
from workrail_lint.systems.workrail.compile import errors_of, read_for_compiling
from workrail_lint.systems.workrail.settings import Settings
from workrail_lint.systems.workrail.workflow_page import MARK, plain, workflow_page

_INDEX = "README.md"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def main(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    config = configuration(args, args.paths[0])
    active = settings(args, config)
    files = workflow_files(args.paths, config)
    if not files:
        return report_no_workflow(args.paths)
    pages, failed = _pages(files, active, config.system_options())
    existing = _existing(args.out)
    foreign = [name for name, text in existing.items() if name in pages and not text.startswith(MARK)]
    if foreign:
        raise UsageError(f"{printable(os.path.join(args.out, foreign[0]))} was not written by this command; move it")
    stale = [name for name, text in sorted(pages.items()) if existing.get(name) != text]
    # A workflow that does not compile at the moment keeps the page it has.
    orphans = [name for name, text in existing.items() if name not in pages and text.startswith(MARK) and not failed]
    if args.check:
        return _report(args.out, stale, orphans, failed)
    for name in stale:
        write_output(os.path.join(args.out, name), pages[name].encode(), folder=args.out)
    for name in orphans:
        _remove(os.path.join(args.out, name), args.out)
    out(f"{printable(args.out)}: {counted(len(pages), 'page')}, {len(stale)} written, {len(orphans)} removed")
    return FINDINGS if failed else OK


def parser() -> Parser:
    result = Parser("docs", "Write one Markdown page for each workflow: purpose, inputs, steps, outputs, modes, graph.")
    add_paths(result)
    result.add_argument("--output", "--out", dest="out", required=True, metavar="DIR", help="the folder of the pages")
    result.add_argument(
        "--check", action="store_true", help="write nothing; name pages that are not up to date and exit with 1"
    )
    add_inputs(result)
    return result


def _pages(files: list[Workflow], active: Settings, options: dict[str, object]) -> tuple[dict[str, str], int]:
    """Return the pages by file name, the index among them, and how many workflows do not compile."""
    pages: dict[str, str] = {}
    rows: list[str] = []
    failed = 0
    for file in files:
        checked = check_document(read_for_compiling(file.data), file.path, active, None)
        compiled = checked.compiled
        if compiled is None:
            report_errors(errors_of(checked, file.path))
            failed += 1
            continue
        program = compiled.program
        given = configured_inputs(options, program.workflow_id)
        analysis = analyse(compiled.model, compiled.catalog, compiled=compiled, path=file.path, given=given)
        name = _free_name(_UNSAFE.sub("-", program.workflow_id).strip(".-") or "workflow", pages)
        pages[name] = neutral(workflow_page(program, analysis))
        rows.append(f"| [{plain(program.name)}]({name}) | {plain(program.version)} | {plain(program.description)} |")
    table = "\n".join(["| workflow | version | what it does |", "| --- | --- | --- |", *sorted(rows)])
    pages[_INDEX] = neutral(f"{MARK}\n\n# Workflows\n\n{table}\n")
    return pages, failed


def _free_name(stem: str, pages: dict[str, str]) -> str:
    """Return a file name that no page has yet, also on disks that ignore case."""
    names = {name.lower() for name in (_INDEX, *pages)}
    number = 1
    while (name := f"{stem}{'' if number == 1 else f'-{number}'}.md").lower() in names:
        number += 1
    return name


def _existing(folder: str) -> dict[str, str]:
    """Return the Markdown files of the folder."""
    if not os.path.isdir(folder):
        return {}
    result = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".md") and isinstance(read := read_file(os.path.join(folder, name)), Ok):
            result[name] = read.value.decode("utf-8", "replace")
    return result


def _remove(path: str, folder: str) -> None:
    try:
        remove_file(path, output_root(folder))
    except OSError as problem:
        raise UsageError(f"{printable(path)} can't be removed ({problem.strerror})") from None


def _report(folder: str, stale: list[str], orphans: list[str], failed: int) -> int:
    for name in stale:
        out(f"{printable(os.path.join(folder, name))}: not up to date")
    for name in orphans:
        out(f"{printable(os.path.join(folder, name))}: its workflow is gone")
    if stale or orphans:
        err(f"workrail-lint: to update them, run workrail-lint docs --out {printable(folder)}")
    elif not failed:
        out(f"{printable(folder)}: every page is up to date")
    return FINDINGS if stale or orphans or failed else OK

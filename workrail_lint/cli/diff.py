"""`workrail-lint diff`: what changed in behaviour between two workflows."""

from __future__ import annotations

import os
import subprocess

from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import Style, out, out_json, printable, uses_colour
from workrail_lint.cli import FINDINGS, OK, USAGE, UsageError
from workrail_lint.cli.arguments import configuration, refuse_others, settings
from workrail_lint.cli.parser import Parser, add_inputs
from workrail_lint.cli.reporting import report_errors
from workrail_lint.documents.json_reader import read_json
from workrail_lint.systems.workrail.check import check_document
from workrail_lint.systems.workrail.compile import errors_of, read_for_compiling
from workrail_lint.systems.workrail.compiler.ir import FORMAT
from workrail_lint.systems.workrail.diff import Change, compare, describe
from workrail_lint.systems.workrail.kinds import Kind, kind_of
from workrail_lint.systems.workrail.outline import Outline, outline
from workrail_lint.systems.workrail.settings import Settings

_COLOURS = {"added": "green", "removed": "red", "moved": "yellow", "changed": "cyan"}


def main(arguments: list[str]) -> int:
    args = _parser().parsed(arguments)
    if args is None:
        return OK
    if args.git is not None and len(args.paths) != 1:
        raise UsageError("with --git REV give one PATH")
    if args.git is None and len(args.paths) != 2:
        raise UsageError("give two workflows, or --git REV PATH")
    active = settings(args, configuration(args, args.paths[-1]))
    new_path = args.paths[-1]
    new_data = _read(new_path)
    if args.git is not None:
        old_path = f"{args.git}:{new_path}"
        old_data = _git_show(args.git, new_path)
    else:
        old_path = args.paths[0]
        old_data = _read(old_path)
    old = _outline(old_path, old_data, active)
    new = _outline(new_path, new_data, active)
    if old is None or new is None:
        return USAGE
    changes = compare(old, new)
    if args.output_format == "json":
        out_json({"version": 1, "changes": [change.as_json() for change in changes]})
    else:
        _print(changes)
    return FINDINGS if changes else OK


def _parser() -> Parser:
    parser = Parser("diff", "What changed in behaviour between two workflows (or compiled IRs).")
    parser.add_argument("paths", nargs="+", metavar="PATH", help="OLD and NEW, or with --git one PATH")
    parser.add_argument("--git", metavar="REV", help="compare with the file as it was in this revision")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="how to print the changes")
    add_inputs(parser)
    return parser


def _read(path: str) -> bytes:
    read = read_file(path)
    if isinstance(read, Err):
        raise UsageError(printable(read.error.message))
    return read.value


def _outline(path: str, data: bytes, active: Settings) -> Outline | None:
    document = read_json(data)
    if document.readable and kind_of(path, document.value) is Kind.IR:
        ir = document.value
        if not isinstance(ir, dict) or ir.get("format") != FORMAT:
            raise UsageError(f"{printable(path)} is an IR of an unknown format (this program knows {FORMAT})")
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
        report_errors(errors_of(checked, path))
        return None
    return outline(checked.compiled.ir)


def _git_show(revision: str, path: str) -> bytes:
    folder, name = os.path.split(os.path.abspath(path))
    if revision.startswith("-"):
        raise UsageError(f"not a revision: {printable(revision)}")
    try:
        shown = subprocess.run(
            ["git", "show", f"{revision}:./{name}"], cwd=folder, capture_output=True, check=False, timeout=60
        )
    except FileNotFoundError:
        missing = "git is not installed" if os.path.isdir(folder) else f"{printable(folder)} does not exist"
        raise UsageError(missing) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"git can't be run: {error}") from None
    if shown.returncode:
        reason = shown.stderr.decode(errors="replace").strip().splitlines()
        raise UsageError(f"git: {printable(reason[0]) if reason else 'failed'}")
    return shown.stdout


def _print(changes: list[Change]) -> None:
    style = Style(uses_colour())
    if not changes:
        out("no change in behaviour")
    for change in changes:
        head, *rest = describe(change)
        out(style(printable(head), _COLOURS[change.kind]))
        for line in rest:
            colour = {"+": ("green",), "-": ("red",)}.get(line.strip()[:1], ())
            out(style(printable(line), *colour))

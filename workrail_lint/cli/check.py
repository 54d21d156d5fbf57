"""`workrail-lint check`: lint, fix, baseline, report."""

from __future__ import annotations

import argparse
import os
import sys

from workrail_lint.cli import FINDINGS, NOTHING, OK, UsageError
from workrail_lint.cli.arguments import Parser, add_inputs, configuration, settings
from workrail_lint.cli.output import err, printable
from workrail_lint.findings import Finding, Severity
from workrail_lint.project.config import Config
from workrail_lint.project.discovery import Discovery, discover
from workrail_lint.project.planning import Request, make_plan
from workrail_lint.project.run import Outcome, Plan, default_jobs, run
from workrail_lint.result import Err

FORMATS = ("text", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit")


def main(arguments: list[str]) -> int:
    args = _parser().parsed(arguments)
    if args is None:
        return OK
    _refuse_nonsense(args)
    if args.watch:
        from workrail_lint.cli.watch import watch

        return watch(args.paths, lambda: _run(args))
    return _run(args)


def _parser() -> Parser:
    parser = Parser("check", "Lint workflows: what is wrong, where, why, and how to fix it.")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders (default: .), or - for stdin")
    parser.add_argument("--fix", action="store_true", help="apply safe fixes")
    parser.add_argument("--unsafe-fixes", action="store_true", help="with --fix or --diff: unsafe fixes too")
    parser.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")
    for option, text in (
        ("select", "only these rules (codes, prefixes, names or ALL)"),
        ("ignore", "not these rules"),
        ("extend-select", "these rules too"),
    ):
        parser.add_argument(f"--{option}", action="append", default=[], metavar="RULES", help=text)
    parser.add_argument("--strict", action="store_true", help="warnings count as errors for the exit code")
    parser.add_argument("--output-format", choices=FORMATS, default="text", help="how to report")
    parser.add_argument("--output-file", metavar="FILE", help="write the report there instead of stdout")
    parser.add_argument("--statistics", action="store_true", help="count findings by rule instead of listing them")
    parser.add_argument("--baseline", metavar="FILE", help="report only what is not in this baseline")
    parser.add_argument("--write-baseline", metavar="FILE", help="accept all findings into this file")
    parser.add_argument("--no-cache", action="store_true", help="neither use nor write cached results")
    parser.add_argument("--jobs", type=int, metavar="N", help="number of processes (default: one per core)")
    parser.add_argument("--stdin-filename", metavar="NAME", help="the name of the document on stdin (with -)")
    parser.add_argument("--exit-zero", action="store_true", help="exit 0 even when there are findings")
    parser.add_argument("--watch", action="store_true", help="check again whenever a file changes")
    parser.add_argument("--engine-parity", action="store_true", help="errors are exactly what the engine rejects")
    add_inputs(parser)
    return parser


def _refuse_nonsense(args: argparse.Namespace) -> None:
    if args.unsafe_fixes and not (args.fix or args.diff):
        raise UsageError("--unsafe-fixes goes with --fix or --diff")
    if args.jobs is not None and args.jobs < 1:
        raise UsageError("--jobs must be at least 1")
    if "-" in args.paths and len(args.paths) > 1:
        raise UsageError("- (stdin) can't be mixed with other paths")
    if args.paths == ["-"] and (args.watch or args.fix):
        raise UsageError("stdin can be checked and shown with --diff, but not watched or fixed in place")
    if args.stdin_filename and args.paths != ["-"]:
        raise UsageError("--stdin-filename goes with -")


def _run(args: argparse.Namespace) -> int:
    paths = args.paths or [os.curdir]
    start = args.stdin_filename or paths[0] if paths == ["-"] else paths[0]
    config = configuration(args, os.curdir if start == "-" else start)
    plan = _plan(args, config, paths)
    if paths == ["-"]:
        from workrail_lint.cli.stdin import check_stdin

        outcome, discovery = check_stdin(args, plan, sys.stdin.buffer.read())
    else:
        discovery = discover(paths, include=config.strings("include"), exclude=config.strings("exclude"))
        _refuse_missing(discovery, paths)
        if args.fix or args.diff:
            from workrail_lint.cli.fix import fix_files

            changed = fix_files(discovery, plan, unsafe=args.unsafe_fixes, write=args.fix)
            if args.diff:
                return FINDINGS if changed and not args.exit_zero else OK
        outcome = run(discovery, plan)
    if not outcome.files and not outcome.findings:
        err(f"workrail-lint: no document found in {', '.join(map(printable, paths))}")
        return OK if args.exit_zero else NOTHING
    if args.write_baseline:
        return _write_baseline(args.write_baseline, outcome)
    _report(args, outcome, plan)
    return OK if args.exit_zero else exit_code(outcome.findings, args.strict or config.flag("strict"))


def exit_code(findings: list[Finding], strict: bool) -> int:
    """1 when something is an error, or with `strict` a warning; advice never fails a run."""
    failing = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    return FINDINGS if any(finding.severity in failing for finding in findings) else OK


def _refuse_missing(discovery: Discovery, paths: list[str]) -> None:
    for path, reason in discovery.problems:
        if path in paths:
            raise UsageError(f"{printable(path)} {reason}")


def _plan(args: argparse.Namespace, config: Config, paths: list[str]) -> Plan:
    baseline = args.baseline or config.file("baseline")
    request = Request(
        _split(args.select),
        _split(args.ignore),
        _split(args.extend_select),
        baseline=None if args.write_baseline else baseline,
        fingerprints=bool(args.write_baseline or baseline),
        # Fixing needs the fixes themselves, which the cache does not keep.
        use_cache=not (args.no_cache or args.fix or args.diff or paths == ["-"]),
        jobs=args.jobs or default_jobs(),
        complete=any(os.path.isdir(path) for path in paths),
    )
    plan = make_plan(settings(args, config, parity=args.engine_parity), config, request)
    if isinstance(plan, Err):
        raise UsageError(printable(plan.error))
    return plan.value


def _split(values: list[str]) -> list[str]:
    return [item.strip() for value in values for item in value.split(",") if item.strip()]


def _write_baseline(path: str, outcome: Outcome) -> int:
    from workrail_lint.project.baseline import baseline_text
    from workrail_lint.project.files import write_atomically

    try:
        write_atomically(path, baseline_text(outcome.findings).encode("utf-8", "surrogatepass"))
    except OSError as error:
        raise UsageError(f"{printable(path)} can't be written ({error.strerror})") from None
    err(f"workrail-lint: {len(outcome.findings)} finding(s) accepted into {printable(path)}")
    return OK


def _report(args: argparse.Namespace, outcome: Outcome, plan: Plan) -> None:
    clean = not outcome.findings and not outcome.accepted
    if clean and args.output_format in ("text", "concise") and not args.output_file and not args.statistics:
        if args.output_format == "text":
            err(f"workrail-lint: {len(outcome.files)} file(s) checked, nothing found")
        return
    from workrail_lint.cli.report import write_report

    write_report(args, outcome, plan)

"""`workrail-lint check`: lint, fix, baseline, report."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable

from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, one_line, printable
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, NOTHING, OK, USAGE, UsageError
from workrail_lint.cli.arguments import bindings_file, configuration, judging_settings
from workrail_lint.cli.parser import Parser, add_format, add_inputs
from workrail_lint.findings import Finding, Severity
from workrail_lint.project.baseline import baseline_text
from workrail_lint.project.config import Config, system_keys
from workrail_lint.project.discovery import Discovery
from workrail_lint.project.plan import Project, Request, document_suffixes, make_plan, projects
from workrail_lint.project.run import CheckedProject, Outcome, Plan, default_jobs, merged_outcome, reported_outcome, run
from workrail_lint.report import FORMATS
from workrail_lint.systems.workrail.document_kinds import Kind, kind_by_name
from workrail_lint.systems.workrail.settings import BINDINGS_CHECKED

SWITCHES = {
    "--fix": "apply safe fixes",
    "--unsafe-fixes": "with --fix or --diff: also apply unsafe fixes",
    "--diff": "show what --fix would change, and write nothing, even with --fix",
    "--show-fixes": "show what the fix of a finding changes below it, where that is short",
    "--strict": "exit 1 for warnings too",
    "--statistics": "show the number of findings per rule instead of the findings",
    "--no-cache": "ignore the cache, and don't write it",
    "--exit-zero": "exit 0 even if there are findings",
    "--watch": "keep running, and check again when a file changes",
    "--engine-parity": "report as errors exactly what the public WorkRail engine rejects",
}
_MANY = 16  # fewer files are checked before anyone asks how far it is
SEVERITIES = ("error", "warning", "info")
CONFIDENCES = ("high", "medium", "low")


def parser() -> Parser:
    """Return the argument parser, with the options that systems add."""
    arguments = Parser("check", "Find and fix problems in workflows.")
    arguments.add_argument(
        "paths", nargs="*", metavar="PATH", help="files and folders to check (default: .), or - for stdin"
    )
    for switch, text in SWITCHES.items():
        arguments.add_argument(switch, action="store_true", help=text)
    for option, text in (
        ("select", "check only these rules: codes, prefixes of codes, names or ALL"),
        ("ignore", "skip these rules"),
        ("extend-select", "check these rules too, even if they are off by default"),
    ):
        arguments.add_argument(f"--{option}", action="append", default=[], metavar="RULES", help=text)
    arguments.add_argument(
        "--severity",
        choices=SEVERITIES,
        help="the lowest severity to show (default: warning, or info with --select); json and jsonl contain all",
    )
    arguments.add_argument(
        "--confidence",
        choices=CONFIDENCES,
        default="low",
        help="the lowest confidence to show (default: low, which is all); json and jsonl contain all",
    )
    add_format(arguments, FORMATS, "format of the report")
    arguments.add_argument(
        "--output", metavar="FILE", help="write the report to this file instead of stdout", former=("--output-file",)
    )
    arguments.add_argument("--baseline", metavar="FILE", help="report only findings that are not in this baseline")
    arguments.add_argument("--write-baseline", metavar="FILE", help="write all findings to this baseline")
    arguments.add_argument("--jobs", type=int, metavar="N", help="number of processes (default: one per core)")
    arguments.add_argument("--stdin-filename", metavar="NAME", help="the file name to assume for - (stdin)")
    for setting in system_keys().values():
        if setting.option is not None:
            arguments.add_argument(setting.option, choices=setting.allowed, metavar="NAME", help=setting.help)
    add_inputs(arguments)
    return arguments


def main(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    _validate_args(args)
    # Here and below: what only some options or findings need is imported there, since every check pays for the rest.
    if args.watch:
        from workrail_lint.cli.watch import Changes, watch

        changes = Changes(args)
        return watch(args.paths, lambda: _run(args, changes.report), lambda: _deciding_files(args))
    return _run(args)


def _validate_args(args: Namespace) -> None:
    if args.unsafe_fixes and not (args.fix or args.diff):
        raise UsageError("--unsafe-fixes needs --fix or --diff")
    if args.jobs is not None and args.jobs < 1:
        raise UsageError("--jobs must be at least 1")
    if "-" in args.paths and len(args.paths) > 1:
        raise UsageError("- (stdin) can't be combined with other paths")
    if args.paths == ["-"] and (args.watch or (args.fix and not args.diff)):
        raise UsageError("--fix and --watch need a file, not - (stdin); use --diff to see the fixes for stdin")
    if args.stdin_filename and args.paths != ["-"]:
        raise UsageError("--stdin-filename needs - (stdin) as the path")


def _deciding_files(args: Namespace) -> list[str]:
    """Return the other files that affect the findings. If the configuration is broken, only that file."""
    try:
        configs = [project.config for project in found_projects(args)]
    except UsageError:
        configs = [Config(os.curdir, path=args.config)]
    deciding = [args.catalog, args.routines, args.baseline]
    for config in configs:
        deciding += [bindings_file(args, config), config.path]
        deciding += map(config.file, ("catalog", "routines", "baseline"))
    return [path for path in deciding if path is not None]


def _run(args: Namespace, compare: Callable[[list[Finding]], None] | None = None) -> int:
    """Check, report and return the exit code; `compare` receives the findings after that."""
    if args.paths == ["-"]:
        return _run_stdin(args)
    changed = 0
    if args.fix or args.diff:
        from workrail_lint.cli.fix import fix_files

        checked = []
        for project in found_projects(args):
            plan = make_project_plan(args, project.config, complete=project.is_whole, has=project.has)
            result = fix_files(project.discovery, plan, unsafe=args.unsafe_fixes, write=not args.diff)
            changed += result.changed
            checked.append(_checked(args, project.config, plan, result.outcome))
    else:
        checked = checked_projects(args)
    code = (FINDINGS if changed and not args.exit_zero else OK) if args.diff else _conclude(args, checked)
    if compare is not None:
        compare([finding for each in checked for finding in each.outcome.findings])
    return _with_plugins(code, [each.plan for each in checked])


def checked_projects(args: Namespace) -> list[CheckedProject]:
    """Return every project that the paths belong to, checked."""
    checked = []
    for project in found_projects(args):
        plan = make_project_plan(args, project.config, complete=project.is_whole, has=project.has)
        checked.append(_checked(args, project.config, plan, _run_watched(project.discovery, plan)))
    return checked


def _run_watched(discovery: Discovery, plan: Plan) -> Outcome:
    """Check the files, and show how far it is where that may take long."""
    if len(discovery.files) < _MANY or not sys.stderr.isatty():
        return run(discovery, plan)
    from workrail_lint.base.progress import Progress

    with Progress(len(discovery.files), "file") as progress:
        return run(discovery, plan, progress.step)


def _with_plugins(code: int, plans: list[Plan]) -> int:
    """Return the exit code, unless a plugin failed: then the run is not complete, whatever it found."""
    problems = list(dict.fromkeys(problem for plan in plans for problem in plan.plugin_problems))
    for remark in dict.fromkeys(remark for plan in plans for remark in plan.selection.remarks):
        err(f"workrail-lint: {remark}")
    for problem in problems:
        err(f"workrail-lint: {one_line(problem)}")
    return USAGE if problems else code


def _run_stdin(args: Namespace) -> int:
    config = configuration(args, args.stdin_filename or os.curdir)
    plan = make_project_plan(args, config, complete=False)
    data = sys.stdin.buffer.read()
    if args.diff:
        return _with_plugins(FINDINGS if _diff_stdin(args, plan, data) and not args.exit_zero else OK, [plan])
    checked = _checked(args, config, plan, _check_stdin(args, plan, data))
    return _with_plugins(_conclude(args, [checked]), [plan])


def _check_stdin(args: Namespace, plan: Plan, data: bytes) -> Outcome:
    """Check the bytes under the given file name, without the other files of the project."""
    name = _stdin_name(args)
    args.stdin_data = data  # the report quotes these lines, not the file of that name on disk
    for system in plan.systems:
        kind = system.claims(name, data, True)
        if kind is not None:
            result = system.check_data(name, data, kind, plan.settings)
            return reported_outcome(result.findings, [name], plan)
    return Outcome([], [], [], [])


def _diff_stdin(args: Namespace, plan: Plan, data: bytes) -> bool:
    """Show how fixing would change the document; returns whether it would."""
    from workrail_lint.cli.fix import diff_text

    return diff_text(_stdin_name(args), data, plan, unsafe=args.unsafe_fixes)


def _stdin_name(args: Namespace) -> str:
    return args.stdin_filename or "<stdin>"


def _conclude(args: Namespace, checked: list[CheckedProject]) -> int:
    """Report the findings and return the exit code."""
    outcome = merged_outcome([each.outcome for each in checked])
    if not outcome.files and not outcome.findings:
        where = ", ".join(map(printable, args.paths or [os.curdir]))
        err(f"workrail-lint: no document found in {where}; name another path, or start with workrail-lint init")
        return OK if args.exit_zero else NOTHING
    if args.write_baseline:
        return _write_baseline(args.write_baseline, outcome)
    _report(args, outcome, checked)
    codes = [exit_code(each.outcome.findings, each.strict) for each in checked]
    return OK if args.exit_zero else max(codes)


def found_projects(args: Namespace) -> list[Project]:
    """Return the paths to check, grouped by the configuration that applies to them."""
    paths = args.paths or [os.curdir]
    fixed = configuration(args, paths[0]) if args.config or args.isolated else None
    result = projects(paths, lambda path: fixed or configuration(args, path), document_suffixes, nested=fixed is None)
    for project in result:
        for path, reason in project.problems:
            if path in paths:
                raise UsageError(f"{printable(path)} {reason}")
    return result


def _checked(args: Namespace, config: Config, plan: Plan, outcome: Outcome) -> CheckedProject:
    is_strict = bool(args.strict) or config.flag("strict")
    return CheckedProject(outcome, plan, is_strict, config.text("docs-url") or "")


def exit_code(findings: list[Finding], strict: bool) -> int:
    """Return 1 for errors and, with `strict`, for warnings; advice never fails a run."""
    failing = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    return FINDINGS if any(finding.severity in failing for finding in findings) else OK


def make_project_plan(
    args: Namespace, config: Config, *, complete: bool, has: Callable[[str], bool] | None = None
) -> Plan:
    """Return how the files of a project are checked; `has` says whether a path is one of them."""
    baseline = args.baseline or config.file("baseline")
    request = Request(
        _split(args.select),
        _split(args.ignore),
        _split(args.extend_select),
        baseline=None if args.write_baseline else baseline,
        fingerprints=bool(args.write_baseline or baseline or FORMATS[args.format].needs_fingerprints),
        # Fixing needs the fixes themselves, which the cache does not keep.
        use_cache=not (args.no_cache or args.fix or args.diff or args.paths == ["-"]),
        jobs=args.jobs or default_jobs(),
        complete=complete,
    )
    chosen = judging_settings(args, config, parity=args.engine_parity)
    chosen.options.update(_system_options(args))
    if has is not None and chosen.bindings is not None:
        # Only its default name makes it a document.
        path = bindings_file(args, config) or ""
        chosen.options[BINDINGS_CHECKED] = kind_by_name(path) is Kind.BINDINGS and has(path)
    plan = make_plan(chosen, config, request)
    if isinstance(plan, Err):
        raise UsageError(printable(plan.error))
    return plan.value


def _system_options(args: Namespace) -> dict[str, object]:
    """Return the settings of systems that were given on the command line."""
    given = vars(args)
    options = {key: setting.option for key, setting in system_keys().items() if setting.option is not None}
    values = {key: given.get(option.strip("-").replace("-", "_")) for key, option in options.items()}
    return {key: value for key, value in values.items() if value is not None}


def _split(values: list[str]) -> list[str]:
    return [item.strip() for value in values for item in value.split(",") if item.strip()]


def _write_baseline(path: str, outcome: Outcome) -> int:
    from workrail_lint.cli.output import write_output

    text = baseline_text(outcome.findings, os.path.dirname(os.path.abspath(path)))
    write_output(path, text.encode("utf-8", "surrogatepass"))
    err(f"workrail-lint: wrote {counted(len(outcome.findings), 'finding')} to {printable(path)}")
    return OK


def _report(args: Namespace, outcome: Outcome, checked: list[CheckedProject]) -> None:
    clean = not outcome.findings and not outcome.accepted
    if clean and args.format in ("text", "concise") and not args.output and not args.statistics:
        if args.format == "text":
            err(f"workrail-lint: {counted(len(outcome.files), 'file')} checked, nothing found")
        return
    from workrail_lint.cli.report import write_report

    write_report(args, outcome, checked)

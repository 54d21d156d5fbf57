"""`workrail-test run`: a workflow once through, played by the automatic agent."""

from __future__ import annotations

import json
from typing import Any

from pytest_workrail.cli.workflows import add_profile_option, chosen_profiles, searched_workflows, shown_path
from pytest_workrail.engine.model.words import AUTONOMIES
from pytest_workrail.run import start
from pytest_workrail.run.result import Run, transcript_lines, unreached_steps
from workrail_lint.base.terminal import out, out_json, printable
from workrail_lint.cli import FINDINGS, OK, UsageError
from workrail_lint.cli.parser import Parser, add_inputs, add_text_or_json


def main(arguments: list[str]) -> int:
    """Run every workflow and report how the runs ended."""
    args = parser().parse_args(arguments)
    searched = searched_workflows(args)
    if not searched.workflows:
        return searched.nothing_found()
    configured = searched.config.text("profile")
    profiles = [name for name in chosen_profiles(args) if args.profile or configured in (None, name)]
    reports: list[dict[str, Any]] = [
        {
            "workflowId": workflow.compiled.workflow_id,
            "path": shown_path(workflow.path),
            "runs": [_played(workflow.compiled, profile, args) for profile in profiles],
        }
        for workflow in searched.workflows
    ]
    if args.format == "json":
        out_json({"workflows": reports}, indent=2)
    else:
        for report in reports:
            _print(report)
    is_fine = all(run["problem"] is None for report in reports for run in report["runs"])
    return searched.exit_code(OK if is_fine else FINDINGS)


def parser() -> Parser:
    arguments = Parser("run", "Run workflows with the automatic agent.", "workrail-test")
    arguments.add_argument("paths", nargs="+", metavar="WORKFLOW", help="workflows, or folders of workflows")
    add_text_or_json(arguments, "answer")
    arguments.add_argument("-v", "--verbose", action="store_true", help="show what the agent reads and answers")
    arguments.add_argument(
        "--step", action="append", default=[], metavar="ID", help="show what it reads and answers at this step only"
    )
    arguments.add_argument(
        "--context",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="start with this variable; a value that is JSON is taken as JSON (can be given more than once)",
    )
    arguments.add_argument("--mode", choices=AUTONOMIES, default="guided", help="how autonomous the runs are")
    add_profile_option(arguments, "default: the one of the project, else both")
    add_inputs(arguments)
    arguments.epilog = (
        "Exit codes: 0 all runs are complete and reach every step they can; 1 one is not; 2 an error; "
        "3 no workflow found."
    )
    return arguments


def _context(given: list[str]) -> dict[str, Any]:
    """Return the variables that a run starts with."""
    context: dict[str, Any] = {}
    for each in given:
        name, separator, text = each.partition("=")
        if not separator or not name:
            raise UsageError(f"--context needs NAME=VALUE, found '{printable(each)}'")
        try:
            context[name] = json.loads(text)
        except ValueError:
            context[name] = text
    return context


def _played(compiled: Any, profile: Any, args: Any) -> dict[str, Any]:
    """Make one run and return its steps, and what is wrong with it."""
    try:
        run = start.run(compiled, mode=args.mode, profile=profile, context=_context(args.context))
    except start.RunFailed as failure:
        return {"profile": profile, "status": "failed", "steps": [], "problem": str(failure)}
    if (args.verbose or args.step) and args.format != "json":
        _print_exchanges(run, args.step)
    problem = None
    unreached = unreached_steps(run.transcript)
    # A run that never stops may complete with gaps: that is what it is for.
    is_complete = run.status == "complete" or (
        args.mode == "full_auto_never_stop" and run.status == "complete_with_gaps"
    )
    if not is_complete:
        problem = "\n".join(transcript_lines(run))
    elif unreached:
        problem = "\n".join(["the run is complete, but steps never ran:", *unreached])
    return {"profile": profile, "status": run.status, "steps": list(run.steps), "problem": problem}


def _print_exchanges(run: Run, steps: list[str]) -> None:
    """Print what the agent answered and read, call by call, at these steps or at all."""
    answered = None  # the step that a call answers
    reached = set()
    for exchange in run.transcript.exchanges:
        request: Any = exchange.request
        asked = exchange.step
        if not steps or answered in steps:
            names = ("initialContext", "context", "notes", "output", "artifacts", "intent")
            answer = {name: request[name] for name in names if name in request}
            out(f"{exchange.tool} {printable(json.dumps(answer, ensure_ascii=False))}")
        if asked is not None and exchange.pending is not None and (not steps or asked in steps):
            out(f"  {printable(asked)}:")
            for line in str(exchange.pending["prompt"]).splitlines():
                out(f"  | {printable(line)}")
        answered = asked
        reached.add(asked)
    for step in steps:
        if step not in reached:
            out(f"  {printable(step)}: this run does not reach it")


def _print(report: dict[str, Any]) -> None:
    for run in report["runs"]:
        steps = " -> ".join(map(printable, run["steps"]))
        out(f"{printable(report['path'])}: {run['status']} ({run['profile']}): {steps}")
        for line in (run["problem"] or "").splitlines():
            out(f"  {printable(line)}")

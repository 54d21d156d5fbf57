"""`workrail-test explore`: a hostile, lossy, forgetful agent looks for a run that breaks a promise."""

from __future__ import annotations

import os
from typing import Any

from pytest_workrail.cli.searches import add_search_options, interruption, perform
from pytest_workrail.cli.workflows import (
    SearchedWorkflow,
    add_profile_option,
    chosen_profiles,
    searched_workflows,
    shown_path,
)
from pytest_workrail.explore.hostile_search import TASK, combined, pieces, scenario_bytes, scenario_name, story_of
from workrail_lint.base.terminal import out, out_json, printable
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, OK, UsageError
from workrail_lint.cli.output import write_output
from workrail_lint.cli.parser import Parser

_RUNS = 150


def main(arguments: list[str]) -> int:
    """Search every workflow and report."""
    args = parser().parse_args(arguments)
    if args.runs < 1:
        raise UsageError("--runs must be at least 1")
    searched = searched_workflows(args)
    workflows = searched.workflows
    if not workflows:
        return searched.nothing_found()
    profiles = chosen_profiles(args)
    work: list[Any] = [
        piece
        for number, workflow in enumerate(workflows)
        for piece in pieces(number, workflow.compiled.ir, profiles, args.runs, args.seed, args.seconds)
    ]
    gathered = perform(args, TASK, work, "batches of 25 runs", "run", [piece["runs"] for piece in work])
    reports: list[dict[str, Any]] = []
    for number, workflow in enumerate(workflows):
        results: list[Any] = [each for each in gathered.values if isinstance(each, dict) and each["workflow"] == number]
        report = {"workflowId": workflow.compiled.workflow_id, "path": shown_path(workflow.path), **combined(results)}
        if args.out is not None:
            _write_scenarios(args.out, workflow, report)
        reports.append(report)
    if args.format == "json":
        out_json({"seed": args.seed, **interruption(gathered), "workflows": reports}, indent=2)
    else:
        for report in reports:
            if report["violations"] or not gathered.is_interrupted:
                _print(report)
    return searched.exit_code(
        FINDINGS if any(report["violations"] for report in reports) else OK, is_interrupted=gathered.is_interrupted
    )


def parser() -> Parser:
    arguments = Parser("explore", "Look for runs that break a promise of the engine.", "workrail-test")
    add_search_options(arguments)
    arguments.add_argument("--runs", type=int, default=_RUNS, metavar="N", help=f"runs per workflow (default: {_RUNS})")
    arguments.add_argument("--seed", type=int, default=1, metavar="N", help="decides about chance (default: 1)")
    arguments.add_argument(
        "--seconds", type=float, metavar="S", help="stop after this much processor time per workflow"
    )
    arguments.add_argument(
        "--output",
        "--out",
        dest="out",
        metavar="DIR",
        help="write the shortest story of each violation there, as a scenario",
    )
    add_profile_option(arguments, "default: both")
    arguments.epilog = "Exit codes: 0 no promise broken; 1 a promise is broken; 2 an error; 3 no workflow found."
    return arguments


def _write_scenarios(folder: str, workflow: SearchedWorkflow, report: dict[str, Any]) -> None:
    relative = shown_path(os.path.relpath(workflow.path, folder))
    for violation in report["violations"]:
        path = os.path.join(folder, scenario_name(report["workflowId"], violation))
        story = story_of(violation)
        data = scenario_bytes(relative, workflow.compiled.ir, story, violation["promise"], violation["how"])
        write_output(path, data, folder=folder)
        violation["scenario"] = shown_path(path)


def _print(report: dict[str, Any]) -> None:
    faults = report["faults"]
    summary = (
        f"{counted(report['runs'], 'run')}, {faults['landed']:,} faults landed (of {faults['tried']:,} tried), "
        f"{report['states']:,} states"
    )
    if not report["violations"]:
        out(f"{printable(report['workflowId'])}: {summary}, no promise broken")
    else:
        broken = counted(len(report["violations"]), "promise")
        out(f"{printable(report['workflowId'])}: {summary}, {broken} broken")
    kinds = ", ".join(f"{kind} {number['landed']}/{number['tried']}" for kind, number in faults["byKind"].items())
    out(f"  faults landed by kind: {kinds}")
    if report["noOccasion"]:
        out(f"  promises without an occasion: {', '.join(report['noOccasion'])}")
    for violation in report["violations"]:
        out(f"  {violation['promise']}: {printable(violation['how'])} ({violation['profile']}, {violation['mode']})")
        for number, turn in enumerate(violation["transcript"], 1):
            out(f"    {number}. {printable(turn)}")
        if not violation["transcript"]:
            out("    no turn is needed: doing everything right breaks it")
        if "scenario" in violation:
            out(f"    written to {printable(violation['scenario'])}")

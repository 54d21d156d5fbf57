"""`workrail-test compare`: where do the two profiles part on a workflow, and why?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct, field, to_builtins

from pytest_workrail.agents.agent import Agent
from pytest_workrail.agents.correct import Auto
from pytest_workrail.agents.misbehaving import Unsetting
from pytest_workrail.cli.mutate import workflow_scenarios
from pytest_workrail.cli.workflows import SearchedWorkflow, searched_workflows, shown_path
from pytest_workrail.engine.model.words import AUTONOMIES, DEFAULT_PREFERENCES
from pytest_workrail.golden.profiles import Comparison, ProfileReason, both_profiles, profile_reasons
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.result import Run
from pytest_workrail.run.start import preferences
from pytest_workrail.scenarios.workflow_driver import Loaded, setup_and_agent
from workrail_lint.base.terminal import out, out_json, printable
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, OK, UsageError
from workrail_lint.cli.parser import Parser, add_inputs, add_text_or_json
from workrail_lint.systems.workrail.scenario import Scenario

_MOST_HEADLINES = 5
_MOST_STEPS = 8


class _Case(NamedTuple):
    """One run to compare: what it is called, what it starts with, and who plays it."""

    name: str
    setup: Setup
    agent: Agent


class _Ending(Struct):
    """How a run ended, and what it came across."""

    status: str
    ending: str
    why: str
    steps: tuple[str, ...]
    blockers: tuple[str, ...]
    gaps: tuple[str, ...]


class _RunReport(Struct, rename="camel"):
    """One run under both profiles, and the choices of a profile that make the difference."""

    run: str
    agree: bool
    reference: _Ending
    locked: _Ending
    reasons: list[str]
    engine_defects: list[str]


class _Shown(Struct):
    """The differences of a run that a reason explains."""

    run: str
    shows: list[str]


class _ReasonReport(Struct):
    """A choice in which the profiles differ, and the runs that show it."""

    choice: str
    topic: str
    reference: str
    locked: str
    defects: tuple[str, ...]
    runs: list[_Shown] = field(default_factory=list)


class _WorkflowReport(Struct, rename="camel"):
    """One workflow."""

    workflow_id: str
    path: str
    runs: list[_RunReport]
    reasons: list[_ReasonReport]


def main(arguments: list[str]) -> int:
    """Run every workflow under both profiles and report where they part."""
    args = parser().parse_args(arguments)
    searched = searched_workflows(args)
    if not searched.workflows:
        return searched.nothing_found()
    folder = args.scenarios or searched.config.root
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder {printable(folder)}")
    reports = [_report(workflow, folder) for workflow in searched.workflows]
    if args.format == "json":
        out_json({"workflows": to_builtins(reports)}, indent=2)
    else:
        for report in reports:
            _print(report)
    they_agree = all(run.agree for report in reports for run in report.runs)
    return searched.exit_code(OK if they_agree else FINDINGS)


def parser() -> Parser:
    arguments = Parser("compare", "Show where the two profiles part on a workflow, and why.", "workrail-test")
    arguments.add_argument("paths", nargs="+", metavar="WORKFLOW", help="workflows, or folders of workflows")
    arguments.add_argument(
        "--scenarios", metavar="DIR", help="look for scenarios below this folder (default: the project)"
    )
    add_text_or_json(arguments, "answer")
    add_inputs(arguments)
    arguments.epilog = "Exit codes: 0 the profiles agree; 1 they part; 2 an error; 3 no workflow found."
    return arguments


def _cases(workflow: SearchedWorkflow, folder: str) -> Iterator[_Case]:
    ir = workflow.compiled.ir
    for mode in AUTONOMIES:
        yield _Case(f"automatic agent ({mode})", Setup(ir, preferences=preferences(mode, None)), Auto())
    yield _Case(f"agent that sets no variables ({DEFAULT_PREFERENCES.autonomy})", Setup(ir), Unsetting())
    for each in workflow_scenarios(workflow, folder):
        Scenario.model_validate(each["value"])
        yield _Case(each["name"], *setup_and_agent(Loaded(each["value"], each.get("ir", ir))))


def _report(workflow: SearchedWorkflow, folder: str) -> _WorkflowReport:
    """Return the report on one workflow: its runs, and the reasons for their differences, most frequent first."""
    runs: list[_RunReport] = []
    reasons: dict[str, _ReasonReport] = {}
    for name, setup, agent in _cases(workflow, folder):
        compared = both_profiles(setup, agent)
        differences = profile_reasons(setup, agent, compared)
        runs.append(_run(name, compared, differences))
        for reason in differences:
            group = reasons.setdefault(reason.choice, _ReasonReport(reason.choice, *reason.facts))
            group.runs.append(_Shown(name, reason.headlines))
    ordered = sorted(reasons.values(), key=lambda group: -len(group.runs))
    return _WorkflowReport(workflow.compiled.workflow_id, shown_path(workflow.path), runs, ordered)


def _run(name: str, compared: Comparison, reasons: list[ProfileReason]) -> _RunReport:
    return _RunReport(
        name,
        compared.agree,
        _ending(compared.reference),
        _ending(compared.locked),
        [reason.choice for reason in reasons],
        list(dict.fromkeys(mark.id for mark in compared.reference.engine_defects)),
    )


def _ending(run: Run) -> _Ending:
    return _Ending(str(run.status), run.ending.kind, run.ending.why, run.steps, run.blockers, run.gaps)


def _print(report: _WorkflowReport) -> None:
    parted = [run for run in report.runs if not run.agree]
    among = counted(len(report.runs), "run")
    verdict = f"the profiles part in {len(parted)} of {among}" if parted else f"both profiles do the same in {among}"
    out(f"{printable(report.workflow_id)}: {verdict}")
    for reason in report.reasons:
        known = f" ({', '.join(reason.defects)})" if reason.defects else ""
        out(f"  {reason.topic}{known}")
        out(f"    reference: {reason.reference}")
        out(f"    locked: {reason.locked}")
        for headlines, names in _alike(reason.runs):
            out(f"    in {printable('; '.join(names))}")
            for line in headlines[:_MOST_HEADLINES]:
                out(f"      {printable(line)}")
            if len(headlines) > _MOST_HEADLINES:
                out(f"      … and {len(headlines) - _MOST_HEADLINES} more")
    if parted and not report.reasons:
        out("  no single choice decides it")
    for run in parted:
        endings = {"reference": _described(run.reference), "locked": _described(run.locked)}
        if len(set(endings.values())) > 1:
            out(f"  {printable(run.run)}")
            for profile, ending in endings.items():
                out(f"    {profile}: {ending}")
    marked = list(dict.fromkeys(ident for run in report.runs for ident in run.engine_defects))
    if marked:
        out(f"  the public engine differs from both: {', '.join(marked)} (docs/engine-defects.md)")


def _alike(runs: list[_Shown]) -> list[tuple[list[str], list[str]]]:
    """Return what runs show, each once, with the names of those that show it."""
    names_by_headlines: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        names_by_headlines.setdefault(tuple(run.shows), []).append(run.run)
    return [(list(headlines), names) for headlines, names in names_by_headlines.items()]


def _described(ending: _Ending) -> str:
    """Return how a run ended, in one line."""
    done = [printable(step) for step in ending.steps]
    more = f", … ({counted(len(done), 'step')})" if len(done) > _MOST_STEPS else ""
    text = f"{ending.status} after {', '.join(done[:_MOST_STEPS]) or 'no step'}{more}"
    codes = list(dict.fromkeys([*ending.blockers, *ending.gaps]))
    text += f" ({', '.join(codes)})" if codes else ""
    return text if ending.ending != "misplayed" else f"{text}; the script does not fit: {printable(ending.why)}"

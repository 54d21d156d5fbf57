"""`workrail-test mutate`: how many changes to a workflow its scenarios notice."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from pytest_workrail.cli.searches import add_search_options, perform, scenarios_about
from pytest_workrail.cli.workflows import SearchedWorkflow, add_profile_option, searched_workflows, shown_path
from pytest_workrail.engine.core.profiles import PROFILES
from pytest_workrail.explore import mutation_report as report
from pytest_workrail.explore.mutation_operators import injections_of, mutants
from pytest_workrail.explore.mutation_report import TASK, pieces, sentence
from pytest_workrail.explore.mutation_verdicts import MutationCache, UnstableScenario, mutant_keys
from pytest_workrail.golden.files import SCENARIO_ENDING
from workrail_lint.base.terminal import err, json_text, out, out_json, printable
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, OK, UsageError
from workrail_lint.cli.arguments import configuration, settings
from workrail_lint.cli.output import write_output
from workrail_lint.cli.parser import Parser
from workrail_lint.studio.page import mutants_page
from workrail_lint.studio.workflow import Source
from workrail_lint.systems.workrail.check import check_document
from workrail_lint.systems.workrail.compile import read_for_compiling
from workrail_lint.systems.workrail.scenario import Scenario


def main(arguments: list[str]) -> int:
    """Judge the mutants of every workflow and report."""
    args = parser().parse_args(arguments)
    if args.fail_under is not None and not 0 <= args.fail_under <= 100:
        raise UsageError("--fail-under takes a number from 0 to 100")
    searched = searched_workflows(args)
    config, workflows = searched.config, searched.workflows
    if not workflows:
        return searched.nothing_found()
    folder = args.scenarios or config.root
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder {printable(folder)}")
    cache = MutationCache(config.root, enabled=not args.no_cache)
    work: list[Any] = []
    known: list[dict[str, dict[str, Any]]] = []
    keys: list[dict[str, str]] = []
    for number, workflow in enumerate(workflows):
        payload = _payload(workflow, folder, args.profile)
        mutants_of_workflow = mutants(payload["ir"], payload["injections"])
        keys.append(mutant_keys(mutants_of_workflow, payload))
        known.append({name: result for name, key in keys[-1].items() if (result := cache.get(key)) is not None})
        work += pieces(number, payload, [each.id for each in mutants_of_workflow if each.id not in known[-1]])
    try:
        gathered = perform(args, TASK, work, "batches of mutants", "mutant", [len(piece["mutants"]) for piece in work])
    except UnstableScenario as problem:
        raise UsageError(str(problem)) from None
    for piece in gathered.values:
        assert isinstance(piece, dict)
        judged: Any = piece["results"]
        for result in judged:
            known[int(str(piece["workflow"]))][result["id"]] = result
            cache.put(keys[int(str(piece["workflow"]))][result["id"]], result)
    cache.save()
    if gathered.is_interrupted:
        judged_count, total = sum(map(len, known)), sum(map(len, keys))
        kept = "" if args.no_cache else "; the next run continues from there"
        err(f"workrail-test mutate: no score: {judged_count} of {counted(total, 'mutant')} judged{kept}")
        return searched.exit_code(OK, is_interrupted=gathered.is_interrupted)
    results = [[each[name] for name in names if name in each] for each, names in zip(known, keys, strict=True)]
    return searched.exit_code(_report(args, folder, workflows, results), is_interrupted=gathered.is_interrupted)


def _payload(workflow: SearchedWorkflow, folder: str, profiles: list[str] | None) -> dict[str, Any]:
    scenarios = workflow_scenarios(workflow, folder)
    used = {
        profile
        for each in scenarios
        for profile in each["value"].get("profiles") or [each["value"].get("profile", "reference")]
    }
    named = set(profiles or used or PROFILES)
    if not scenarios:
        name = printable(workflow.path)
        err(f"workrail-test mutate: no scenario runs {name}; workrail-test generate writes some")
    injections = injections_of(workflow.compiled)
    return {
        "ir": workflow.compiled.ir,
        "injections": {step: [list(each) for each in values] for step, values in injections.items()},
        "scenarios": scenarios,
        "profiles": [name for name in PROFILES if name in named],
    }


def _report(args: Any, folder: str, workflows: list[SearchedWorkflow], results: list[list[dict[str, Any]]]) -> int:
    reports = [
        report.summary(workflow.compiled, shown_path(workflow.path), judged)
        for workflow, judged in zip(workflows, results, strict=True)
    ]
    if args.write:
        for workflow, judged in zip(workflows, results, strict=True):
            for path in write_missing(workflow, folder, judged):
                err(f"workrail-test mutate: wrote {printable(shown_path(path))}")
    if args.html is not None:
        write_output(args.html, _page(args, workflows, reports))
    if args.report is not None:
        files = {
            shown_path(workflow.path): report.stryker_file(workflow.text, workflow.compiled, judged)
            for workflow, judged in zip(workflows, results, strict=True)
        }
        write_output(args.report, (json_text(report.stryker_report(files), indent=1) + "\n").encode())
    if args.format == "json":
        out_json({"workflows": reports}, indent=2)
    else:
        for summary, judged in zip(reports, results, strict=True):
            _print(summary, judged)
    total = report.score(sum(each["killed"] for each in reports), sum(len(each["survived"]) for each in reports))
    if args.fail_under is not None and total < args.fail_under:
        err(f"workrail-test mutate: the score {total} % is below {args.fail_under:g} %")
        return FINDINGS
    return OK


def _page(args: Any, workflows: list[SearchedWorkflow], reports: list[dict[str, Any]]) -> bytes:
    """Return the page of the surviving mutants: each workflow with those of its steps."""
    config = configuration(args, args.paths[0])
    active = settings(args, config)
    sources = [
        Source(shown_path(each.path), check_document(read_for_compiling(each.text), each.path, active, None), ())
        for each in workflows
    ]
    name = os.path.basename(os.path.abspath(config.root)) or "project"
    return mutants_page(sources, {"workflows": reports}, active.catalog, name)


def parser() -> Parser:
    arguments = Parser(
        "mutate", "Measure how many small changes of a workflow its scenarios would notice.", "workrail-test"
    )
    add_search_options(arguments)
    arguments.add_argument(
        "--scenarios", metavar="DIR", help="look for scenarios below this folder (default: the project)"
    )
    arguments.add_argument("--fail-under", type=float, metavar="PERCENT", help="exit with 1 if the score is lower")
    arguments.add_argument("--html", metavar="FILE", help="write a page with scores and survivors")
    arguments.add_argument("--report", metavar="FILE", help="write a report in the Stryker mutation testing format")
    arguments.add_argument("--write", action="store_true", help="add the missing scenario of each surviving mutant")
    arguments.add_argument("--no-cache", action="store_true", help="judge all mutants anew, not only what changed")
    add_profile_option(arguments, "default: those of the scenarios")
    arguments.epilog = "Exit codes: 0 done; 1 the score is below --fail-under; 2 an error; 3 no workflow found."
    return arguments


def _print(totals: dict[str, Any], results: list[dict[str, Any]]) -> None:
    counts = f"{counted(totals['mutants'], 'mutant')}, {totals['killed']} killed, {len(totals['survived'])} survived"
    bounded = f", {totals['inertBounded']} of them by bounded search" if totals["inertBounded"] else ""
    out(f"{printable(totals['workflowId'])}: {totals['score']} % ({counts}, {totals['inert']} inert{bounded})")
    if totals["survived"]:  # else every row of the tables says the same
        for line in (*report.table(results, "operator"), *report.table(results, "place")):
            out(f"  {printable(line)}")
    if totals["unchecked"]:
        out(
            f"  {counted(totals['unchecked'], 'killed mutant')} changed only what the scenarios don't compare: "
            "give them goldens"
        )
    for each in totals["survived"]:
        out(f"  {printable(each['id'])}: {printable(each['change'])}")


def workflow_scenarios(workflow: SearchedWorkflow, folder: str) -> list[dict[str, Any]]:
    """Return the scenarios below a folder that run a workflow. One that can't be played is an error."""
    scenarios = list(scenarios_about(workflow, folder))
    for each in scenarios:
        if each.problem is not None:
            raise UsageError(printable(each.problem))
    return [each.to_json() for each in scenarios]


def write_missing(workflow: SearchedWorkflow, folder: str, results: Sequence[dict[str, Any]]) -> list[str]:
    """Add the scenarios that would have noticed; one that notices several mutants is written once."""
    written: list[str] = []
    seen: list[Any] = []
    stem = os.path.basename(workflow.path).removesuffix(".json")
    for result in results:
        if result["status"] != "survived" or result["missing"] in seen:
            continue
        missing: dict[str, Any] = result["missing"]
        seen.append(missing)
        name = result["id"].lower()
        slug = "".join(char if char.isalnum() else "-" for char in name).strip("-")
        path = os.path.join(folder, f"{stem}.notices-{slug}{SCENARIO_ENDING}")
        value = {
            "description": sentence(result),
            "workflow": shown_path(os.path.relpath(workflow.path, folder)),
            **missing,
        }
        Scenario.model_validate(value)
        write_output(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode(), folder=folder)
        written.append(path)
    return written

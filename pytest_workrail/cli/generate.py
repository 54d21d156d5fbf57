"""`workrail-test generate`: write the scenarios that cover a workflow, or a document of another contract."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pytest_workrail.cli.searches import add_search_options, interruption, perform, scenario_files, scenarios_about
from pytest_workrail.cli.workflows import (
    Searched,
    SearchedWorkflow,
    add_profile_option,
    chosen_profiles,
    searched_workflows,
    shown_path,
)
from pytest_workrail.explore.executor import Gathered
from pytest_workrail.explore.generation import TASK, generation_piece
from pytest_workrail.scenarios.drivers import file_bytes
from workrail_lint.base.files import output_root, read_file, remove_file, write_atomically
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.terminal import err, out, out_json, printable
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, OK, UsageError
from workrail_lint.cli.arguments import compiled_by_other, configuration
from workrail_lint.cli.parser import Parser
from workrail_lint.project.config import Config
from workrail_lint.project.discovery import discover
from workrail_lint.systems.base import ScenarioKind, System, resolved
from workrail_lint.systems.builtin import known_systems

# Proofs about what a profile or a contract never asks for: no news for the author, so only the JSON has them.
_BY_DESIGN = ("never-asked", "accepts-all")

# A task and the piece it is for.
Work = tuple[str, dict[str, Any]]


def main(arguments: list[str]) -> int:
    """Run the command and return its exit code."""
    args = parser().parse_args(arguments)
    if args.check and args.out is None:
        raise UsageError("--check needs --out DIR, the folder with the generated scenarios")
    if args.prune and (args.out is None or args.check):
        raise UsageError("--prune needs --out DIR and can't be combined with --check")
    if not args.paths and args.system is None:
        raise UsageError("name a workflow, a folder, or a system (--system)")
    work, searched = _work(args)
    if not work:
        return searched.nothing_found()
    gathered = _performed(args, work)
    results: list[Any] = gathered.values
    for each in results:
        if args.check:
            each["covered"] -= len(each["new"])
        elif args.out is not None:
            _write(Path(args.out), each, prune=args.prune)
    if args.format == "json":
        workflows = [{"workflowId": each["workflowId"], **each} for each in results]
        out_json({**interruption(gathered), "workflows": workflows}, indent=2)
    else:
        for each in results:
            _report(each, args)
    return searched.exit_code(
        FINDINGS if args.check and any(each["new"] for each in results) else OK, is_interrupted=gathered.is_interrupted
    )


def parser() -> Parser:
    arguments = Parser(
        "generate", "Write scenarios that show every goal of a workflow that can be shown.", "workrail-test"
    )
    add_search_options(arguments, "*")
    arguments.add_argument(
        "--system",
        choices=systems_without_files(),
        help="generate scenarios for the contract of this system, which needs no workflow",
    )
    arguments.add_argument(
        "--output", "--out", dest="out", metavar="DIR", help="write the scenarios to this folder (default: only report)"
    )
    add_profile_option(arguments, "default: both")
    arguments.add_argument("--golden", action="store_true", help="let the scenarios compare with a golden as well")
    arguments.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if the scenarios in --out miss a feasible goal"
    )
    arguments.add_argument(
        "--prune", action="store_true", help="remove generated scenarios that others make needless or that fail"
    )
    arguments.epilog = (
        "Exit codes: 0 done; 1 --check found goals that a scenario could show and none does; 2 an error; "
        "3 no workflow found."
    )
    return arguments


def _work(args: Any) -> tuple[list[Work], Searched]:
    """Return a task and a piece for everything that scenarios are generated for."""
    config = configuration(args, args.paths[0] if args.paths else os.curdir)
    others = other_documents(args.paths, config)
    args.paths = [path for path in args.paths if path not in {each for each, _ in others}]
    searched = searched_workflows(args)
    work_items: list[Work] = [(TASK, _piece(args, searched.config, each)) for each in searched.workflows]
    if args.system is not None:
        work_items.append(system_work(args.system, args.out, args.golden))
    for path, kind in others:
        work = document_work(path, kind, args.out, args.golden)
        if work is None:
            searched = replace(searched, has_broken=True)
        else:
            work_items.append(work)
    return work_items, searched


def _performed(args: Any, work: list[Work]) -> Gathered:
    """The results in the order of the pieces; pieces of one task are performed together."""
    together = Gathered()
    for task in dict.fromkeys(task for task, _ in work):
        places = [place for place, (each, _) in enumerate(work) if each == task]
        gathered = perform(args, task, [work[place][1] for place in places], "workflows", "workflow")
        together.results += [(places[place], value) for place, value in gathered.results]
        together.is_interrupted = gathered.is_interrupted
        if together.is_interrupted:
            break
    together.results.sort(key=lambda each: each[0])
    return together


def _piece(args: Any, config: Config, workflow: SearchedWorkflow) -> dict[str, Any]:
    folder = os.path.dirname(workflow.path) or os.curdir if args.out is None else args.out
    named = {"workflow": workflow.path, "catalog": args.catalog, "routines": args.routines}
    # A scenario names what the command line names. What the configuration names is found again, but only from inside
    # its project.
    if not Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(config.root)):
        named = {member: path or config.file(member) for member, path in named.items()}
    sources: dict[str, Json] = {
        member: shown_path(os.path.relpath(os.path.realpath(path), os.path.realpath(folder)))
        for member, path in named.items()
        if path is not None
    }
    present = [] if args.out is None else [each.to_json() for each in scenarios_about(workflow, args.out)]
    profiles = chosen_profiles(args)
    return generation_piece(
        workflow.path, workflow.compiled.ir, profiles, sources=sources, scenarios=present, golden=args.golden
    )


def _write(folder: Path, result: dict[str, Any], *, prune: bool) -> None:
    """Write what is new. Nothing that somebody edited is touched: new names are never those of other files."""
    try:
        root = output_root(os.fspath(folder))
        for each in result["scenarios"]:
            write_atomically(os.fspath(folder / each["name"]), file_bytes(each["document"]), root, parents=True)
        written = {each["name"] for each in result["scenarios"]}
        result["pruned"] = []
        for name in [*result["redundant"], *result["stale"]] if prune else ():
            if name not in written:
                remove_file(os.fspath(folder / name), root)
                result["pruned"].append(name)
    except OSError as problem:
        raise UsageError(f"{printable(os.fspath(folder))} can't be written: {problem.strerror}") from None


def _report(result: dict[str, Any], args: Any) -> None:
    uncovered = result["uncovered"]
    infeasible = len([each for each in result["infeasible"] if each["proof"]["kind"] not in _BY_DESIGN])
    _say(
        f"{result['workflow']}: {counted(result['goals'], 'goal')}, {result['covered']} covered"
        + (f", {len(uncovered)} uncovered" if uncovered else "")
        + (f", {infeasible} proved infeasible" if infeasible else "")
    )
    missing = " (missing)" if args.check else "" if args.out else " (not written; add --out DIR)"
    for each in result["scenarios"]:
        _say(f"  {each['name']}{_extent(each)}{missing}")
    if args.check:
        for goal in result["new"]:
            _say(f"  feasible and not covered: {goal}")
    for each in uncovered:
        tried = ", ".join(each["tried"]) or "nothing"
        _say(f"  uncovered: {each['goal']} (tried: {tried})")
    for each in result["infeasible"]:
        if each["proof"]["kind"] not in _BY_DESIGN:
            _say(f"  infeasible: {each['goal']} ({_shown(each['proof'])})")
    for name in result.get("pruned", ()):
        _say(f"  removed: {name}")
    for word in ("redundant", "stale", "edited"):
        for name in result[word]:
            if name not in result.get("pruned", ()):
                _say(f"  {word}: {name}")
    _cost(result["cost"])


def _extent(scenario: dict[str, Any]) -> str:
    """Return how long a scenario is and for which profiles, where its system has both."""
    if not scenario["profiles"]:
        return ""
    profiles = "both profiles" if len(scenario["profiles"]) > 1 else scenario["profiles"][0]
    return f": {counted(scenario['turns'], 'turn')}, {profiles}"


def _say(line: str) -> None:
    """Print a line about a workflow, whatever its names hold."""
    out(printable(line))


def _shown(proof: dict[str, Any]) -> str:
    match proof:
        case {"kind": "contradiction" | "fixed", "conditions": conditions}:
            return f"{counted(len(conditions), 'condition')} contradict: no value meets them"
        case {"kind": "contradiction" | "fixed"}:
            return "conditions contradict in every iteration"
        case {"kind": "behind", "of": other}:
            return f"only after {other}"
        case {"kind": "bound", "limit": limit}:
            return f"its bound of {limit} rules it out"
        case _:
            return str(proof.get("why", proof["kind"]))


def _cost(cost: dict[str, Any]) -> None:
    if not cost:
        return
    for word in ("shortest", "typical", "longest"):
        run = cost[word]
        _say(
            f"  {word} run: {counted(run['calls'], 'call')}, reads about {run['tokensRead']} tokens, "
            f"writes about {run['tokensWritten']}"
        )
    dearest = ", ".join(f"{each['step']} ({each['tokens']})" for each in cost["dearestSteps"])
    _say(f"  dearest steps, in tokens: {dearest}")


def systems_without_files() -> list[str]:
    """Return the systems for which scenarios are generated from their contract alone."""
    return [system.name for system in known_systems() if _kind(system) is not None and not system.compiled_kinds]


def _kind(system: System) -> ScenarioKind | None:
    return system.scenario if system.scenario is not None and system.scenario.generator else None


def other_documents(paths: list[str], config: Config) -> list[tuple[str, ScenarioKind]]:
    """Return the files at and below the paths that another system than that of workflows generates scenarios for."""
    documents: list[tuple[str, ScenarioKind]] = []
    include, exclude = config.strings("include"), config.strings("exclude")
    for file in discover(paths, include=include, exclude=exclude, root=config.root).files:
        data = read_file(file.path)
        owner = compiled_by_other(file.path, data.value) if isinstance(data, Ok) else None
        kind = None if owner is None else _kind(owner.system)
        if kind is not None:
            documents.append((file.path, kind))
    return documents


def system_work(name: str, folder: str | None, golden: bool) -> Work:
    """Return what is generated from the contract of a system."""
    (kind,) = [kind for system in known_systems() if system.name == name and (kind := _kind(system)) is not None]
    work = document_work(name, kind, folder, golden)
    assert work is not None, "a contract can always be used"
    return work


def document_work(path: str, kind: ScenarioKind, folder: str | None, golden: bool) -> Work | None:
    """Return what is generated for one document; None, with a message, if it can't be used."""
    prepared = resolved(f"{kind.generator}:prepare")(path, folder or os.path.dirname(path) or os.curdir)
    if isinstance(prepared, Err):
        err(f"workrail-test: {printable(path)} can't be used: {printable(prepared.error)}")
        return None
    present = [] if folder is None else list(_present(path, kind, folder))
    piece = {"workflow": path, **prepared.value, "scenarios": present, "golden": golden}
    return f"{kind.generator}:perform", piece


def _present(path: str, kind: ScenarioKind, folder: str) -> Iterator[dict[str, Any]]:
    is_about = resolved(f"{kind.generator}:is_about")
    for file in scenario_files(folder):
        read = read_file(file)
        try:
            value = json.loads(read.value) if isinstance(read, Ok) else None
        except (ValueError, RecursionError):
            continue
        if not isinstance(value, dict) or not isinstance(value.get(kind.member), dict) or value.get("skip"):
            continue
        if is_about(value, os.path.dirname(file), path):
            yield {"name": shown_path(os.path.relpath(file, folder)), "value": value}

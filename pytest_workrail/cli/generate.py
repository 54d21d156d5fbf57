"""`workrail-test generate`: scenarios that show everything a workflow can do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pytest_workrail.engine.core.profiles import PROFILES
from pytest_workrail.explore.executor import gather, open_executor
from pytest_workrail.explore.writer import file_bytes
from workrail_lint.base.files import remove_file, write_atomically
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, out, out_json, printable
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, NOTHING, OK, USAGE, UsageError
from workrail_lint.cli.parser import Parser

_TASK = "pytest_workrail.explore.generation:generated_piece"


def main(arguments: list[str]) -> int:
    """Run the command and return its exit code."""
    args = _parser().parsed(arguments)
    if args is None:
        return OK
    if args.check and args.out is None:
        raise UsageError("--check needs --out DIR, the folder with the generated scenarios")
    if args.prune and (args.out is None or args.check):
        raise UsageError("--prune needs --out DIR and can't be combined with --check")
    files = _workflows(args.paths)
    if not files:
        err("workrail-test generate: no workflow found")
        return NOTHING
    pieces: list[Any] = [
        {
            "workflow": path,
            "profiles": args.profile or list(PROFILES),
            "out": args.out,
            "golden": args.golden,
        }
        for path in files
    ]
    opened = open_executor(args.jobs, args.scheduler)
    if isinstance(opened, Err):
        raise UsageError(opened.error)
    with opened.value as executor:
        gathered = gather(executor, _TASK, pieces)
    results: list[Any] = gathered.values
    broken = [each for each in results if "error" in each]
    for each in broken:
        err(f"workrail-test generate: {printable(each['workflow'])}: {printable(each['error'])}")
    results = [each for each in results if "error" not in each]
    if not args.check and args.out is not None:
        for each in results:
            _write(Path(args.out), each, prune=args.prune)
    if args.json:
        out_json({"workflows": [_public(each) for each in results]}, indent=2)
    else:
        for each in results:
            _report(each, args)
    if broken or gathered.is_interrupted:
        return USAGE
    return FINDINGS if args.check and any(each["new"] for each in results) else OK


def _parser() -> Parser:
    parser = Parser(
        "generate", "Write scenarios that show every goal of a workflow that can be shown.", "workrail-test"
    )
    parser.add_argument("paths", nargs="+", metavar="WORKFLOW", help="workflow files, or folders with them")
    parser.add_argument("--out", metavar="DIR", help="write the scenarios to this folder (default: only report)")
    parser.add_argument(
        "--profile",
        action="append",
        choices=list(PROFILES),
        help="only for this profile; can be repeated (default: both)",
    )
    parser.add_argument("--golden", action="store_true", help="let the scenarios compare with a golden as well")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if the scenarios in --out miss a feasible goal"
    )
    parser.add_argument(
        "--prune", action="store_true", help="remove generated scenarios that others make needless or that fail"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="use this many processes")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="use the dask cluster at this address")
    parser.epilog = (
        "Exit codes: 0 done; 1 --check found goals that a scenario could show and none does; 2 an error; "
        "3 no workflow found."
    )
    return parser


def _workflows(paths: list[str]) -> list[str]:
    from workrail_lint.cli.arguments import workflow_files
    from workrail_lint.project.config import find_config

    config = find_config(os.curdir)
    if isinstance(config, Err):
        raise UsageError(config.error)
    return [each.path for each in workflow_files(paths, config.value)]


def _write(folder: Path, result: dict[str, Any], *, prune: bool) -> None:
    """Write what is new. Nothing that somebody edited is touched: new names are never those of other files."""
    try:
        if result["scenarios"]:
            folder.mkdir(parents=True, exist_ok=True)
        for each in result["scenarios"]:
            write_atomically(os.fspath(folder / each["name"]), file_bytes(each["document"]))
        written = {each["name"] for each in result["scenarios"]}
        result["pruned"] = []
        for name in [*result["redundant"], *result["stale"]] if prune else ():
            if name not in written:
                remove_file(os.fspath(folder / name))
                result["pruned"].append(name)
    except OSError as problem:
        raise UsageError(f"{printable(os.fspath(folder))} can't be written: {problem.strerror}") from None


def _public(result: dict[str, Any]) -> dict[str, Any]:
    return {
        "workflowId": result["workflowId"],
        **{name: value for name, value in result.items() if name != "workflowId"},
    }


def _report(result: dict[str, Any], args: Any) -> None:
    found, infeasible = result["uncovered"], len(result["infeasible"])
    _say(
        f"{result['workflow']}: {counted(result['goals'], 'goal')}, {result['covered']} covered"
        + (f", {len(found)} uncovered" if found else "")
        + (f", {infeasible} proved infeasible" if infeasible else "")
    )
    missing = " (missing)" if args.check else "" if args.out else " (not written; add --out DIR)"
    for each in result["scenarios"]:
        profiles = "both profiles" if len(each["profiles"]) > 1 else each["profiles"][0]
        _say(f"  {each['name']}: {counted(each['turns'], 'turn')}, {profiles}{missing}")
    if args.check:
        for goal in result["new"]:
            _say(f"  feasible and not covered: {goal}")
    for each in found:
        tried = ", ".join(each["tried"]) or "nothing"
        _say(f"  uncovered: {each['goal']} (tried: {tried})")
    for each in result["infeasible"]:
        _say(f"  infeasible: {each['goal']} ({_shown(each['proof'])})")
    for name in result.get("pruned", ()):
        _say(f"  removed: {name}")
    for word in ("redundant", "stale", "edited"):
        for name in result[word]:
            if name not in result.get("pruned", ()):
                _say(f"  {word}: {name}")
    _cost(result["cost"])


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

"""`workrail-golden`: look at pending changes of goldens, and take them or drop them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pytest_workrail.golden import diff, encoding, files, pending
from pytest_workrail.golden import failure_text as messages
from pytest_workrail.golden.keys import ENDING, PENDING, SCENARIO_ENDING, is_source, source_base
from pytest_workrail.golden.modes import in_ci
from pytest_workrail.golden.pending import Proposal
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.terminal import err, out
from workrail_lint.cli import FINDINGS, NOTHING, OK, USAGE

_COMMANDS = {
    "list": "name the goldens that have a pending change",
    "diff": "show what would change",
    "accept": "make the goldens what the tests saw",
    "reject": "drop the changes",
}
_SKIPPED_FOLDERS = (".*", "node_modules", "__pycache__", "venv")
_EPILOG = "Exit codes: 0 done, or nothing pending; 1 changes are pending (list, diff); 2 an error; 3 nothing found."


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    try:
        args = _parser().parse_args(arguments)
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else USAGE
    try:
        code = _run(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader (head, a pager) has gone; the interpreter must not try to flush into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    return code


def _run(args: argparse.Namespace) -> int:
    paths = [Path(path) for path in args.paths]
    absent = [path for path in paths if not _may_be_pending(path)]
    if absent:
        err(f"workrail-golden: there is no {absent[0]}")
        return USAGE
    # One file may be named in several ways, and is shown as it was named first.
    found = {os.path.abspath(path): path for path in reversed(list(_pending_files(paths)))}
    offered = [pending.proposal(path) for path in sorted(found.values())]
    match args.command:
        case "list":
            return _list(offered, args.json)
        case "diff":
            return _diff(offered, args.json)
        case "accept":
            return _accept(offered, args.json, args.write_in_ci)
        case _:
            return _decide(offered, args.json, "rejected", pending.reject)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="workrail-golden", description="Pending changes of goldens.", epilog=_EPILOG, allow_abbrev=False
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in _COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        decides = name in ("accept", "reject")
        command.add_argument(
            "paths",
            nargs="+" if decides else "*",
            default=None if decides else [os.curdir],
            metavar="PATH",
            help="goldens, scenarios, test files or folders"
            + ("; '.' for all of them" if decides else " (default: .)"),
        )
        command.add_argument("--json", action="store_true", help="answer with one JSON object")
        if name == "accept":
            command.add_argument("--write-in-ci", action="store_true", help="also where the variable CI is set")
    return parser


def _may_be_pending(path: Path) -> bool:
    return path.exists() or pending.pending_of(path).exists()


def _goldens_of(path: Path) -> Path:
    """Where the goldens of a scenario or a test file are; any other path stays what it is."""
    if not is_source(path.name):
        return path
    base = Path(source_base(path.as_posix()))
    return base.with_name(base.name + ENDING) if path.name.endswith(SCENARIO_ENDING) else base


def _pending_files(paths: list[Path]) -> Iterator[Path]:
    for path in map(_goldens_of, paths):
        if path.is_dir():
            for folder, names in files.goldens_below([path], _SKIPPED_FOLDERS, ENDING + PENDING):
                yield from (folder / name for name in names)
        elif path.name.endswith(ENDING + PENDING):
            yield path
        elif path.name.endswith(ENDING) and pending.pending_of(path).exists():
            yield pending.pending_of(path)


def _list(offered: list[Proposal], as_json: bool) -> int:
    if as_json:
        _answer({"pending": [_about(each) for each in offered]})
    else:
        for each in offered:
            out(f"{_name(each)}: {each.state}{f' ({each.problem})' if each.problem else ''}")
    return FINDINGS if offered else OK


def _diff(offered: list[Proposal], as_json: bool) -> int:
    if as_json:
        _answer({"pending": [{**_about(each), "differences": _differences(each)} for each in offered]})
        return FINDINGS if offered else OK
    for each in offered:
        if each.state != "changed":
            out(f"{_name(each)}: {each.problem or 'nothing would change'}")
        if each.state != "settled" and each.old is not None and each.pending is not None:
            out("\n".join(messages.change(_name(each), each.old, each.new, in_full=True)))
        out("")
    return FINDINGS if offered else OK


def _differences(each: Proposal) -> list[dict[str, Any]]:
    old = encoding.loads(each.old or b"")
    if isinstance(old, Err) or each.pending is None:
        return []
    return [difference.to_json() for difference in diff.compare(old.value, each.pending.golden)]


def _accept(offered: list[Proposal], as_json: bool, write_in_ci: bool) -> int:
    if in_ci() and not write_in_ci:
        err("workrail-golden: nothing is accepted in CI without --write-in-ci")
        return USAGE
    return _decide(offered, as_json, "accepted", pending.accept)


def _decide(
    offered: list[Proposal], as_json: bool, word: str, decide: Callable[[Proposal], Ok[None] | Err[str]]
) -> int:
    done: list[str] = []
    failed: list[tuple[str, str]] = []
    for each in offered:
        result = decide(each)
        if isinstance(result, Err):
            failed.append((_name(each), result.error))
        else:
            done.append(_name(each))
    if as_json:
        _answer({word: done, "failed": [{"golden": name, "problem": problem} for name, problem in failed]})
    else:
        for name in done:
            out(f"{word} {name}")
        for name, problem in failed:
            err(f"workrail-golden: {name} was not {word}: {problem}")
        if not offered:
            err("workrail-golden: nothing is pending there")
    if failed:
        return USAGE
    return OK if offered else NOTHING


def _about(each: Proposal) -> dict[str, Any]:
    about: dict[str, Any] = {"golden": _name(each), "pending": each.path.as_posix(), "state": each.state}
    if each.pending is not None:
        about["test"] = each.pending.test
    if each.problem:
        about["problem"] = each.problem
    return about


def _name(each: Proposal) -> str:
    return each.golden_path.as_posix()


def _answer(data: dict[str, Any]) -> None:
    import json

    # In ASCII, because a terminal that can't show a character must not make it something else than JSON.
    out(json.dumps({"version": 1, **data}, indent=2))


if __name__ == "__main__":
    sys.exit(main())

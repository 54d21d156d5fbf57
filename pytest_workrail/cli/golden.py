"""`workrail-test golden`: pending changes of goldens, listed, shown, reviewed one by one, accepted or rejected."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from pytest_workrail.cli.golden_review import review, sections
from pytest_workrail.golden import files, pending
from pytest_workrail.golden.diff import Group
from pytest_workrail.golden.edits import Explained, Outlines, outlines_since
from pytest_workrail.golden.encoding import FORMAT, migrated
from pytest_workrail.golden.files import ENDING, PENDING
from pytest_workrail.golden.golden_records import in_ci
from pytest_workrail.golden.pending import (
    Outcome,
    PendingChanges,
    about,
    golden_files,
    pending_changes,
    pending_data,
)
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import Style, err, out, printable, uses_colour
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, NOTHING, OK, USAGE, UsageError
from workrail_lint.cli.arguments import configuration, settings
from workrail_lint.cli.output import write_output
from workrail_lint.cli.parser import Parser, add_inputs, add_text_or_json
from workrail_lint.studio.page import goldens_page

_PROGRAM = "workrail-test golden"
_COMMANDS = {
    "list": "name the goldens that have pending changes",
    "diff": "show each change once, word by word, and the goldens that have it",
    "accept": "make goldens what the tests saw",
    "reject": "drop changes; the goldens stay as they are",
    "review": "go through the changes one by one with single keys",
    "migrate": "bring goldens of an earlier format into the format of today",
}
_LINE_FEED = b"\n"
_EPILOG = "Exit codes: 0 done, or nothing pending; 1 changes are pending; 2 an error; 3 nothing there to decide about."


def main(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    args = parser().parse_args(arguments)
    paths = [Path(path) for path in args.paths]
    absent = [path for path in paths if not os.path.exists(path) and not os.path.exists(pending.pending_of(path))]
    if absent:
        raise UsageError(f"there is no {printable(str(absent[0]))}")
    match args.command:
        case "list":
            return _list(pending_changes(paths), args.format == "json")
        case "diff":
            return _diff(pending_changes(paths), args)
        case "accept":
            if in_ci() and not args.write_in_ci:
                raise UsageError("nothing is accepted in CI without --write-in-ci")
            return _decide(pending_changes(paths), args, "accepted")
        case "reject":
            return _decide(pending_changes(paths), args, "rejected")
        case "migrate":
            return _migrate(paths, args.dry_run)
        case _:
            return _review(paths, args)


def parser() -> Parser:
    parser = Parser("golden", "Pending changes of goldens, each change once.", "workrail-test")
    parser.epilog = _EPILOG
    for name, command in parser.add_actions(_COMMANDS, "command").items():
        decides = name in ("accept", "reject")
        command.add_argument(
            "paths",
            nargs="*",
            default=[] if decides else [os.curdir],
            metavar="PATH",
            help=f"goldens, scenarios, test files or folders{'' if decides else ' (default: .)'}",
        )
        if decides:
            command.add_argument("--all", action="store_true", help="everything that is pending below this folder")
        if decides or name == "diff":
            command.add_argument(
                "--group", action="append", default=[], metavar="ID", help="only this change, by the id that diff shows"
            )
            command.add_argument("--step", action="append", default=[], metavar="ID", help="only changes of this step")
        if decides:
            command.add_argument(
                "--edit", action="append", default=[], metavar="ID", help="all changes that this edit explains"
            )
        if decides or name in ("diff", "review"):
            command.add_argument(
                "--base",
                former=("--git",),
                metavar="REV",
                help="explain changes by edits since this git revision, or lockfile (default: the last commit)",
            )
            add_inputs(command)
        if name in ("list", "diff", "accept", "reject"):
            add_text_or_json(command, "answer")
        if name == "diff":
            command.add_argument("--full", action="store_true", help="show all lines of a change, and all its goldens")
            command.add_argument("--html", metavar="FILE", help="write a page to look at instead")
        if name == "accept":
            command.add_argument("--write-in-ci", action="store_true", help="also where the variable CI is set")
        if name == "migrate":
            command.add_argument("--dry-run", action="store_true", help="only say what would be done")
    return parser


def _selected(changes: PendingChanges, args: argparse.Namespace) -> list[Group]:
    """Return the changes that the options name; all of them where there are none."""
    for wanted in args.group:
        matching = [group for group in changes.groups if group.key.id.startswith(wanted)]
        if len(matching) != 1:
            problem = "is not unique" if matching else "does not exist"
            raise UsageError(f"the change '{printable(wanted)}' {problem} (see {_PROGRAM} diff)")
    return [
        group
        for group in changes.groups
        if (not args.group or any(group.key.id.startswith(wanted) for wanted in args.group))
        and (not args.step or group.key.step in args.step)
    ]


def _list(changes: PendingChanges, as_json: bool) -> int:
    if as_json:
        _answer({"pending": [about(changes, each) for each in changes.proposals]})
    else:
        for each in changes.proposals:
            ids = " ".join(changes.ids(each.name))
            remark = f" ({each.problem})" if each.problem else f" [{ids}]" if ids else ""
            out(f"{printable(each.name)}: {each.state}{remark}")
    return FINDINGS if changes.proposals else OK


def _diff(changes: PendingChanges, args: argparse.Namespace) -> int:
    groups = _selected(changes, args)
    explained = _explained(changes, groups, args)
    if args.html is not None:
        content = goldens_page({**pending_data(changes, groups), **explained.to_json()}, _project_name())
        write_output(args.html, content)
        return FINDINGS if groups else OK
    if args.format == "json":
        _answer({**pending_data(changes, groups), **explained.to_json()})
        return FINDINGS if changes.proposals else OK
    style = Style(uses_colour())
    header = ""
    for section in sections(explained):
        if section.header != header:
            header = section.header
            out(style(printable(header), "bold"))
        for line in section.lines(style, in_full=args.full):
            out(line)
    for each in changes.proposals:
        if each.problem or each.state == "settled":
            out(f"{printable(each.name)}: {each.problem or 'nothing would change'}")
    if groups:
        goldens = counted(len({name for group in groups for name in group.goldens}), "golden")
        by_edit = "--edit ID, --group ID" if explained.in_goldens else "--group ID"
        out(f"\n{_count(explained, groups)} in {goldens}; accept with: {_PROGRAM} accept {by_edit} (or --all)")
    return FINDINGS if changes.proposals else OK


def _project_name() -> str:
    return os.path.basename(os.getcwd()) or "project"


def _count(explained: Explained, groups: list[Group]) -> str:
    """Return how many changes there are, and how many of them edits explain."""
    total = counted(len(groups), "change")
    if not explained.edits:
        return total
    left = len(explained.unexplained)
    edits = counted(len(explained.in_goldens), "edit")
    verb = "explains" if len(explained.in_goldens) == 1 else "explain"
    rest = f", {left} not explained," if left else ""
    return f"{edits} {verb} {len(groups) - left} of {total}{rest}"


def _explained(changes: PendingChanges, groups: list[Group], args: argparse.Namespace) -> Explained:
    return Explained(groups, *_outlines(changes, args))


def _outlines(changes: PendingChanges, args: argparse.Namespace) -> tuple[Outlines, str | None]:
    if not changes.groups:
        return {}, None
    config = configuration(args, args.paths[0] if args.paths else os.curdir)
    return outlines_since(changes.groups, args.base, config, settings(args, config))


def _named_by_edit(changes: PendingChanges, args: argparse.Namespace) -> list[Group]:
    """Return the changes of the edits that the options name."""
    explained = _explained(changes, changes.groups, args)
    chosen: list[Group] = []
    for wanted in args.edit:
        matching = [each for each in explained.in_goldens if each.id.startswith(wanted)]
        if len(matching) != 1:
            problem = "is not unique" if matching else "does not exist"
            raise UsageError(f"the edit '{printable(wanted)}' {problem} (see {_PROGRAM} diff)")
        chosen += matching[0].groups
    return chosen


def _decide(changes: PendingChanges, args: argparse.Namespace, word: str) -> int:
    if not args.paths and not args.group and not args.step and not args.edit and not args.all:
        raise UsageError(
            f"say what is {word}: --edit ID, --group ID, --step ID, paths, or --all "
            f"(see {_PROGRAM} {args.command} --help)"
        )
    groups = _named_by_edit(changes, args) if args.edit else _selected(changes, args)
    chosen = {group.key.id for group in groups}
    outcome = changes.accept(chosen) if word == "accepted" else changes.reject(chosen)
    if not args.group and not args.step and not args.edit:
        outcome = _with_rest(changes, outcome, word)
    refused = {name for names, _ in outcome.refused for name in names.split(", ")}
    decided = [group for group in groups if not refused & set(group.goldens)]
    if args.format == "json":
        failed = [{"golden": name, "problem": problem} for name, problem in outcome.refused]
        _answer({word: outcome.done, "groups": [group.key.id for group in decided], "failed": failed})
    else:
        for group in decided:
            out(f"{word} [{group.key.id}] {group.title}")
        for name in outcome.done if not groups else ():
            out(f"{word} {printable(name)}")
        for name, problem in outcome.refused:
            err(f"{_PROGRAM}: {printable(name)} was not {word}: {problem}")
        if not outcome.done and not outcome.refused:
            err(f"{_PROGRAM}: nothing is pending there")
    if outcome.refused:
        return USAGE
    return OK if outcome.done else NOTHING


def _with_rest(changes: PendingChanges, outcome: Outcome, word: str) -> Outcome:
    """Return what has no changes to choose from: finished by hand already, gone, or damaged."""
    done, refused = list(outcome.done), list(outcome.refused)
    for each in changes.proposals:
        if changes.ids(each.name):
            continue
        if word == "accepted" and each.state != "settled":
            refused.append((each.name, f"{each.problem}; run the test again"))
            continue
        removed = files.remove(each.path)
        if isinstance(removed, Err):
            refused.append((each.name, f"it can't be removed: {removed.error}"))
        else:
            done.append(each.name)
    return Outcome(done, refused)


def _migrate(paths: list[Path], is_dry: bool) -> int:
    problems = count = 0
    for path in [*golden_files(paths, ENDING), *golden_files(paths, ENDING + PENDING)]:
        data = files.read(path) or b""
        migration = migrated(data)
        if isinstance(migration, Err):
            err(f"{_PROGRAM}: {printable(path.as_posix())} is {migration.error}")
            problems += 1
        elif migration.value is not None:
            written = Err("") if is_dry else files.write(path, migration.value)
            if isinstance(written, Err) and not is_dry:
                err(f"{_PROGRAM}: {printable(path.as_posix())} can't be written: {written.error}")
                problems += 1
                continue
            lines = f"{counted(data.count(_LINE_FEED), 'line')} before, {migration.value.count(_LINE_FEED)} now"
            out(f"{'would migrate' if is_dry else 'migrated'} {printable(path.as_posix())} to {FORMAT}: {lines}")
            count += 1
    if not count and not problems:
        err(f"{_PROGRAM}: all goldens there are of format {FORMAT}")
    return USAGE if problems else OK


def _review(paths: list[Path], args: argparse.Namespace) -> int:
    if in_ci():
        raise UsageError("nothing is reviewed in CI: a review needs a person")
    outlines, base = _outlines(pending_changes(paths), args)
    return review(lambda: pending_changes(paths), lambda groups: Explained(groups, outlines, base))


def _answer(data: dict[str, Any]) -> None:
    # In ASCII, because a terminal that can't show a character must not make it something else than JSON.
    out(json.dumps({"version": 1, **data}, indent=2))

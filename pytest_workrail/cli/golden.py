"""`workrail-test golden`: pending changes of goldens, listed, shown, reviewed one by one, accepted or rejected."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pytest_workrail.golden import files, pending
from pytest_workrail.golden.diff import Group
from pytest_workrail.golden.encoding import FORMAT, migrated
from pytest_workrail.golden.files import ENDING, PENDING, SCENARIO_ENDING, is_source, source_base
from pytest_workrail.golden.golden_records import in_ci
from pytest_workrail.golden.pending import Outcome, PendingChanges, about, pending_data, pending_of
from pytest_workrail.golden.show import golden_names, group_lines, page
from workrail_lint.base.processes import run_attached
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import Style, err, out, printable, uses_colour
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, NOTHING, OK, USAGE, UsageError
from workrail_lint.cli.output import write_output
from workrail_lint.cli.parser import Parser

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
_SKIPPED_FOLDERS = (".*", "node_modules", "__pycache__", "venv")
_EPILOG = "Exit codes: 0 done, or nothing pending; 1 changes are pending; 2 an error; 3 nothing there to decide about."

_KEYS = "[a]ccept  [r]eject  [s]kip  show a[l]l runs  [o]pen both  [q]uit"
_END = ("", "q", "\x03", "\x04")


def main(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    args = parser().parsed(arguments)
    if args is None:
        return OK
    paths = [Path(path) for path in args.paths]
    absent = [path for path in paths if not os.path.exists(path) and not os.path.exists(pending.pending_of(path))]
    if absent:
        raise UsageError(f"there is no {printable(str(absent[0]))}")
    match args.command:
        case "list":
            return _list(_changes(paths), args.json)
        case "diff":
            return _diff(_changes(paths), args)
        case "accept":
            if in_ci() and not args.write_in_ci:
                raise UsageError("nothing is accepted in CI without --write-in-ci")
            return _decide(_changes(paths), args, "accepted")
        case "reject":
            return _decide(_changes(paths), args, "rejected")
        case "migrate":
            return _migrate(paths, args.dry_run)
        case _:
            return _review(paths)


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
        if name in ("list", "diff", "accept", "reject"):
            command.add_argument("--json", action="store_true", help="answer with one JSON object")
        if name == "diff":
            command.add_argument("--full", action="store_true", help="show all lines of a change, and all its goldens")
            command.add_argument("--html", metavar="FILE", help="write a page to look at instead")
        if name == "accept":
            command.add_argument("--write-in-ci", action="store_true", help="also where the variable CI is set")
        if name == "migrate":
            command.add_argument("--dry-run", action="store_true", help="only say what would be done")
    return parser


def _goldens_of(path: Path) -> Path:
    """Return where the goldens of a scenario or a test file are; any other path stays what it is."""
    if not is_source(path.name):
        return path
    base = Path(source_base(path.as_posix()))
    return base.with_name(base.name + ENDING) if path.name.endswith(SCENARIO_ENDING) else base


def _files(paths: list[Path], ending: str) -> list[Path]:
    """Return the goldens, or what is pending beside them, that some paths name. A file named twice is one."""
    files = {os.path.abspath(path): path for path in reversed(list(_found(paths, ending)))}
    return sorted(files.values())


def _found(paths: list[Path], ending: str) -> Iterator[Path]:
    for path in map(_goldens_of, paths):
        if os.path.isdir(path):
            for folder, names in files.goldens_below([path], _SKIPPED_FOLDERS, ending):
                yield from (folder / name for name in names)
        elif path.name.endswith(ending):
            yield path
        elif path.name.endswith(ENDING) and os.path.exists(pending.pending_of(path)):
            yield pending.pending_of(path)


def _changes(paths: list[Path]) -> PendingChanges:
    return PendingChanges(_files(paths or [Path()], ENDING + PENDING))


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
    if args.html is not None:
        write_output(args.html, page(changes, groups).encode("utf-8", "replace"))
        return FINDINGS if groups else OK
    if args.json:
        _answer(pending_data(changes, groups))
        return FINDINGS if changes.proposals else OK
    style = Style(uses_colour())
    for group in groups:
        for line in group_lines(group, style, all_goldens=args.full, in_full=args.full):
            out(line)
    for each in changes.proposals:
        if each.problem or each.state == "settled":
            out(f"{printable(each.name)}: {each.problem or 'nothing would change'}")
    if groups:
        goldens = counted(len({name for group in groups for name in group.goldens}), "golden")
        out(f"\n{counted(len(groups), 'change')} in {goldens}; accept with: {_PROGRAM} accept --group ID (or --all)")
    return FINDINGS if changes.proposals else OK


def _decide(changes: PendingChanges, args: argparse.Namespace, word: str) -> int:
    if not args.paths and not args.group and not args.step and not args.all:
        raise UsageError(
            f"say what is {word}: --group ID, --step ID, paths, or --all (see {_PROGRAM} {args.command} --help)"
        )
    groups = _selected(changes, args)
    chosen = {group.key.id for group in groups}
    outcome = changes.accept(chosen) if word == "accepted" else changes.reject(chosen)
    if not args.group and not args.step:
        outcome = _with_rest(changes, outcome, word)
    refused = {name for names, _ in outcome.refused for name in names.split(", ")}
    decided = [group for group in groups if not refused & set(group.goldens)]
    if args.json:
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
    for path in [*_files(paths, ENDING), *_files(paths, ENDING + PENDING)]:
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


def _review(paths: list[Path]) -> int:
    if in_ci():
        raise UsageError("nothing is reviewed in CI: a review needs a person")
    return review(lambda: _changes(paths))


def _answer(data: dict[str, Any]) -> None:
    # In ASCII, because a terminal that can't show a character must not make it something else than JSON.
    out(json.dumps({"version": 1, **data}, indent=2))


def review(load: Callable[[], PendingChanges]) -> int:
    """Ask about every change. The exit code says whether some are left."""
    style = Style(uses_colour())
    changes = load()
    if not changes.groups:
        _others(changes)
        out("nothing is pending")
        return FINDINGS if changes.proposals else OK
    later = changes.skipped()
    # What was left for later comes again, but after what nobody has seen yet.
    queue = sorted((group.key.id for group in changes.groups), key=lambda each: each in later)
    if later:
        out(f"{counted(len(later), 'change')} skipped earlier: at the end")
    for number, wanted in enumerate(queue, 1):
        changes = load()
        group = next((each for each in changes.groups if each.key.id == wanted), None)
        if group is None:
            continue  # it went with another one
        out(f"\n{number} of {len(queue)}")
        for line in group_lines(group, style):
            out(line)
        if not _asked(changes, group, style):
            break
    changes = load()
    _others(changes)
    left = len(changes.groups)
    out(f"\n{counted(left, 'change')} left" if left else "\nnothing is left")
    return FINDINGS if changes.proposals else OK


def _asked(changes: PendingChanges, group: Group, style: Style) -> bool:
    """Return one decision. False when that was all for now."""
    while True:
        out(f"{style(_KEYS, 'bold')} ", end="")
        sys.stdout.flush()
        key = _key()
        out("" if key in _END else key)
        match key.lower():
            case "a":
                return _done(changes.accept({group.key.id}), "accepted")
            case "r":
                return _done(changes.reject({group.key.id}), "rejected")
            case "s":
                return _done(changes.skip(group), "left for later")
            case "l":
                for line in golden_names(group.goldens, all_goldens=True):
                    out(f"    {line}")
            case "o":
                _open(group)
            case key if key in _END:
                return False


def _done(outcome: Outcome, word: str) -> bool:
    if outcome.refused:
        for name, problem in outcome.refused:
            err(f"{printable(name)} was not {word}: {problem}")
    else:
        out(f"{word} in {counted(len(outcome.done), 'golden')}")
    return True


def _others(changes: PendingChanges) -> None:
    for each in changes.proposals:
        if each.problem:
            out(f"{printable(each.name)}: {each.problem}; run the test again")


def _open(group: Group) -> None:
    """The golden and what it would become, in the reader's editor."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        out("set VISUAL to a program that opens two files, for example: export VISUAL='code --diff'")
        return
    golden = Path(group.goldens[0])
    try:
        run_attached([*shlex.split(editor), str(golden), str(pending_of(golden))])
    except (OSError, ValueError) as problem:
        out(f"{printable(editor)} can't be started: {problem}")


def _key() -> str:
    """One key from a terminal, or the first letter of a line from anything else; nothing at the end of input."""
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        return line.strip()[:1] or ("s" if line else "")
    try:
        import termios
        import tty
    except ImportError:
        return input()[:1]
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        return os.read(descriptor, 1).decode("utf-8", "replace")
    except KeyboardInterrupt:
        raise UsageError("interrupted; what was decided is done") from None
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)

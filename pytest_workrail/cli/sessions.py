"""`workrail-test sessions`: what real agents did, as a story, as counts, as tests, and on a new version.

The data folder is only read. Importing writes to a folder of our own engine, and to no other.
"""

from __future__ import annotations

import argparse
import datetime
import os
import time
from collections.abc import Collection
from importlib import import_module
from typing import Any

from pytest_workrail.sessions.data_folder import DataFolder, usual_place
from pytest_workrail.sessions.listing import STATUSES, Summary, duration, summaries
from workrail_lint.base.files import PRIVATE
from workrail_lint.base.redaction import Redactor, Rule, chosen_rules
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, json_text, out, printable
from workrail_lint.base.wording import columns, counted
from workrail_lint.cli import NOTHING, OK, UsageError
from workrail_lint.cli.output import write_output
from workrail_lint.cli.parser import Parser, add_text_or_json

PROGRAM = "workrail-test sessions"
_COMMANDS = {
    "list": "list sessions, the newest first",
    "show": "show what happened in a session, node by node",
    "stats": "count over many sessions where agents get blocked, retry and stop",
    "record": "turn sessions into scenarios with their goldens",
    "replay": "see whether recorded sessions still get through on a new version",
    "export": "write a session to one file",
    "import": "read such a file into a data folder of our own engine, as a new session",
}
# Imported when asked for: a list must not wait for the engine.
_MODULES = {
    "list": ("sessions", "run_list"),
    "show": ("sessions_show", "run_show"),
    "stats": ("sessions_show", "run_stats"),
    "record": ("sessions_replay", "run_record"),
    "replay": ("sessions_replay", "run_replay"),
    "export": ("sessions_replay", "run_export"),
    "import": ("sessions_replay", "run_import"),
}
_EPILOG = (
    "Exit codes: 0 done, nothing broke; 1 a session breaks, does not reproduce or is damaged; 2 an error; 3 no session."
)

_DAY_MS = 86_400_000
_HEAD = ("session", "workflow", "status", "pending", "steps", "blocks", "gaps", "forks", "age")


def main(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    args = parser(arguments).parse_args(arguments)
    module, function = _MODULES[args.command]
    return int(getattr(import_module(f"pytest_workrail.cli.{module}"), function)(args))


def data_folder(args: argparse.Namespace) -> DataFolder:
    """Return the folder that the options name, else the engine's usual place."""
    folder = DataFolder(args.data or usual_place())
    if not folder.exists:
        raise UsageError(f"{printable(folder.root)} holds no sessions; name the engine's data folder with --data DIR")
    return folder


def chosen_sessions(args: argparse.Namespace, folder: DataFolder) -> list[str]:
    """The sessions that the arguments name, each by its id or by the start of it; all of them when none is named."""
    known = [each.session_id for each in folder.sessions()]
    if not args.sessions:
        return known
    chosen: list[str] = []
    for wanted in args.sessions:
        matching = [each for each in known if each == wanted] or [
            each for each in known if each.startswith((wanted, f"sess_{wanted}"))
        ]
        if not matching:
            raise UsageError(f"there is no session {printable(wanted)} in {printable(folder.root)}")
        if len(matching) > 1:
            raise UsageError(f"{printable(wanted)} is the start of {len(matching)} sessions; name more of the id")
        chosen += matching
    return list(dict.fromkeys(chosen))


def nothing(folder: DataFolder) -> int:
    """Return what is said, and answered, when there is no session to work on."""
    err(f"{PROGRAM}: no session was found in {printable(folder.root)}")
    return NOTHING


def empty_remark(sessions: Collection[str]) -> str:
    """Return the remark about sessions that have nothing to record, replay or count."""
    return f"{counted(len(sessions), 'session')} left out, never started: {', '.join(sessions)}"


def answer(value: dict[str, Any]) -> None:
    """A result as JSON, in ASCII so that every terminal leaves it what it is."""
    out(json_text({"version": 1, **value}, indent=2))


def redacted(report: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Return a report as others may see it, and how often each rule of redaction had something to do."""
    return {**redactor.report(report), "redacted": redactor.totals}


def write_file(path: str, data: bytes) -> None:
    """Write a result where the user said."""
    write_output(path, data, folder=os.path.dirname(path) or os.curdir, mode=PRIVATE)


def parser(arguments: Collection[str] = _COMMANDS.keys()) -> Parser:
    """Return all commands, with options for those that are called: a list must not wait for those of the others."""
    parser = Parser("sessions", "Sessions of the WorkRail engine on this machine; they are only read.", "workrail-test")
    parser.epilog = _EPILOG
    for name, command in parser.add_actions(_COMMANDS, "command").items():
        if name not in arguments:
            continue
        if name == "import":
            command.add_argument("files", nargs="+", metavar="FILE", help="files that export wrote")
            command.add_argument(
                "--into", metavar="DIR", help="the data folder of our engine (default: the one it always uses)"
            )
            add_text_or_json(command, "answer")
            continue
        _add_common(command, name)
        _OPTIONS[name](command)
    return parser


def _add_common(command: Parser, name: str) -> None:
    command.add_argument(
        "--data",
        metavar="DIR",
        help="the engine's data folder (default: WORKRAIL_DATA_DIR, else .workrail/data in the home folder)",
    )
    if name != "export":
        add_text_or_json(command, "answer")
    if name != "list":
        many = name in ("stats", "record", "replay")
        command.add_argument(
            "sessions",
            nargs="*" if many else 1,
            metavar="SESSION",
            help=f"a session by its id, or the start of it{' (default: all)' if many else ''}",
        )


def _list_options(command: Parser) -> None:
    _add_filters(command)
    command.add_argument("--limit", type=_count, metavar="N", help="show no more than this many")
    command.add_argument("--no-cache", action="store_true", help="read everything anew")
    add_redaction(command)


def _add_filters(command: Parser) -> None:
    command.add_argument("--workflow", metavar="ID", help="only sessions of this workflow")
    command.add_argument("--status", action="append", choices=STATUSES, metavar="STATUS", help=", ".join(STATUSES))
    command.add_argument("--since", type=_date, metavar="DATE", help="only sessions with events on or after 2026-01-31")
    command.add_argument("--until", type=_date, metavar="DATE", help="only sessions started on or before 2026-01-31")


def _add_profile(command: Parser) -> None:
    from pytest_workrail.engine.core.profiles import PROFILES  # here, because a list must not wait for the engine

    command.add_argument(
        "--profile",
        choices=list(PROFILES),
        default="reference",
        help="of sessions of our own engine: the profile it ran with (default: reference)",
    )


def _show_options(command: Parser) -> None:
    _add_profile(command)
    command.add_argument("--prompts", action="store_true", help="what the agent read, rebuilt from the pinned workflow")
    command.add_argument("--full", action="store_true", help="do not shorten notes and artifacts")
    command.add_argument("--mermaid", action="store_true", help="draw the nodes as a mermaid diagram")
    command.add_argument("--html", metavar="FILE", help="write a studio of this session instead")
    add_redaction(command)


def _stats_options(command: Parser) -> None:
    command.add_argument("--workflow", metavar="ID", help="only sessions of this workflow")
    command.add_argument("--each", action="store_true", help="with --json: also list the sessions of each version")
    command.add_argument("--html", metavar="FILE", help="write a studio of these sessions instead")
    add_redaction(command)


def _record_options(command: Parser) -> None:
    _add_profile(command)
    command.add_argument("--output", "--out", dest="out", metavar="DIR", help="the folder for the scenarios")
    command.add_argument(
        "--workflow",
        action="append",
        metavar="PATH",
        help="the workflow file, or a folder with it (default: the version each session was pinned to, written to DIR)",
    )
    add_redaction(command)
    command.add_argument("--rules", action="store_true", help="list the rules of redaction and do nothing else")
    command.add_argument("--force", action="store_true", help="replace scenarios that exist")


def add_redaction(command: Parser) -> None:
    """Add the options that choose what is redacted before sessions are written."""
    command.add_argument(
        "--redact",
        action="append",
        default=[],
        metavar="REGEX",
        help="also replace whatever matches; NAME=REGEX gives the rule a name",
    )
    command.add_argument("--keep", action="append", default=[], metavar="RULE", help="leave out a rule of redaction")


def redaction_rules(args: argparse.Namespace) -> list[Rule]:
    """Return the rules of redaction that the options ask for."""
    rules = chosen_rules(args.redact, args.keep)
    if isinstance(rules, Err):
        raise UsageError(printable(rules.error))
    return rules.value


def _replay_options(command: Parser) -> None:
    _add_profile(command)
    command.add_argument(
        "--workflow",
        action="append",
        metavar="PATH",
        help="the new version: a workflow file or a folder (default: the current folder)",
    )


def _export_options(command: Parser) -> None:
    command.add_argument(
        "--output", "--out", dest="out", metavar="FILE", help="the file to write (default: SESSION.session.json)"
    )
    command.add_argument("--salvage", action="store_true", help="of a damaged session, as much as can be trusted")


_OPTIONS = {
    "list": _list_options,
    "show": _show_options,
    "stats": _stats_options,
    "record": _record_options,
    "replay": _replay_options,
    "export": _export_options,
}


def _date(text: str) -> int:
    """Return the start of a day in UTC, in milliseconds."""
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a date like 2026-01-31") from None
    return int(datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC).timestamp() * 1000)


def _count(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number")
    return int(text)


def shown_path(path: str) -> str:
    """Return a path as it is printed: relative where that is shorter."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        relative = path
    return printable(relative if len(relative) < len(path) else path)


def run_list(args: argparse.Namespace) -> int:
    """List the sessions that the filters leave."""
    folder = data_folder(args)
    redactor = Redactor(redaction_rules(args))
    listed = summaries(folder, use_cache=not args.no_cache)
    if not listed:
        return nothing(folder)
    chosen = [each for each in listed if _matches(each, args)]
    page = chosen if args.limit is None else chosen[: args.limit]
    if args.format == "json":
        report = {"sessions": [each.to_json() for each in page], "total": len(listed), "matching": len(chosen)}
        answer(redacted(report, redactor))
        return OK if chosen else NOTHING
    if not chosen:
        err(f"{PROGRAM}: none of {counted(len(listed), 'session')} matches")
        return NOTHING
    now = time.time_ns() // 1_000_000
    for line in columns([_HEAD, *(_row(each, now) for each in page)]):
        out(line)
    for each in page:
        if each.damage is not None:
            out(f"{each.session} is damaged: {printable(each.damage)}")
        if each.unknown:
            out(f"{each.session} holds {counted(each.unknown, 'event')} of kinds that are not known here")
    return OK


def _row(each: Summary, now: int) -> tuple[str, ...]:
    return (
        each.session,
        printable(each.workflow_id),
        each.status,
        printable(each.step or ""),
        str(each.steps),
        str(each.blocks),
        str(each.gaps),
        str(each.forks),
        duration(now - each.ended_ms) if each.ended_ms else "",
    )


def _matches(each: Summary, args: argparse.Namespace) -> bool:
    if args.workflow is not None and each.workflow_id != args.workflow:
        return False
    if args.status and each.status not in args.status:
        return False
    if args.since is not None and each.ended_ms < args.since:
        return False
    return args.until is None or each.started_ms < args.until + _DAY_MS

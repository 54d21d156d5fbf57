"""`workrail-test sessions list`: every session in one line."""

from __future__ import annotations

import argparse
import time

from pytest_workrail.cli.sessions import PROGRAM, answer, data_folder, nothing
from pytest_workrail.sessions.listing import summaries
from pytest_workrail.sessions.summary import Summary
from workrail_lint.base.terminal import err, out, printable
from workrail_lint.base.wording import counted
from workrail_lint.cli import NOTHING, OK

_DAY_MS = 86_400_000


def run_list(args: argparse.Namespace) -> int:
    """List the sessions that the filters leave."""
    folder = data_folder(args)
    found = summaries(folder, use_cache=not args.no_cache)
    if not found:
        return nothing(folder)
    chosen = [each for each in found if _matches(each, args)]
    shown = chosen if args.limit is None else chosen[: args.limit]
    if args.json:
        answer({"sessions": [each.to_json() for each in shown], "total": len(found), "matching": len(chosen)})
        return OK if chosen else NOTHING
    if not chosen:
        err(f"{PROGRAM}: none of {counted(len(found), 'session')} matches")
        return NOTHING
    now = time.time_ns() // 1_000_000
    rows = [_HEAD, *(_row(each, now) for each in shown)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    for row in rows:
        out("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for each in shown:
        if each.damage is not None:
            out(f"{each.session} is damaged: {printable(each.damage)}")
        if each.unknown:
            out(f"{each.session} holds {counted(each.unknown, 'event')} of kinds that are not known here")
    return OK


_HEAD = ("session", "workflow", "status", "pending", "steps", "blocks", "gaps", "forks", "age")


def _row(each: Summary, now: int) -> tuple[str, ...]:
    from pytest_workrail.sessions.story_text import duration

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

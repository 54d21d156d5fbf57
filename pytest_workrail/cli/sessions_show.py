"""`workrail-test sessions show` and `stats`: one session as a story, many as counts."""

from __future__ import annotations

import argparse
from typing import Any

from pytest_workrail.cli.redaction import redaction_rules
from pytest_workrail.cli.sessions import (
    PROGRAM,
    answer,
    chosen_sessions,
    data_folder,
    empty_remark,
    nothing,
    redacted,
    write_file,
)
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.listing import duration
from pytest_workrail.sessions.prompts import node_prompts
from pytest_workrail.sessions.session_log import read_log
from pytest_workrail.sessions.stats import Statistics, WorkflowStats, count_sessions, stats_page, story_page, times
from pytest_workrail.sessions.story import Story, defects_of, stories, story_json
from pytest_workrail.sessions.story_text import story_lines, story_mermaid
from workrail_lint.base.redaction import Redactor
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, out, printable
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, OK


def run_show(args: argparse.Namespace) -> int:
    """Print the story of a session."""
    folder = data_folder(args)
    (session_id,) = chosen_sessions(args, folder)
    redactor = Redactor(redaction_rules(args))  # of what is written for others; a terminal shows everything

    log = read_log(folder, session_id)
    all_runs = [
        (story, _prompts(args, folder, story), defects_of(folder, story)) for story in stories(folder, session_id, log)
    ]
    is_damaged = log.damage is not None or any(story.damage for story, _, _ in all_runs)
    if args.json:
        runs = [redactor.for_report(run).report(run) for run in (story_json(*each) for each in all_runs)]
        facts = {"session": session_id, "damage": log.damage, "unknownEvents": log.unknown}
        answer({**facts, "redacted": redactor.totals, "runs": runs})
    elif args.html is not None:
        pages = [
            list(story_lines(*each, full=True, redactor=redactor.for_report(story_json(each[0])))) for each in all_runs
        ]
        page = story_page(session_id, pages)
        write_file(args.html, page.encode("utf-8", "replace"))
    elif args.mermaid:
        out("".join(story_mermaid(story) for story, _, _ in all_runs), end="")
    else:
        for each in all_runs:
            for line in story_lines(*each, full=args.full):
                out(line)
    if log.is_empty:
        err(f"{PROGRAM}: {session_id} was never started")
        return OK
    if not all_runs:
        err(f"{PROGRAM}: {session_id} holds no run: {printable(log.damage or 'no run was started')}")
    return FINDINGS if is_damaged or not all_runs else OK


def _prompts(args: argparse.Namespace, folder: DataFolder, story: Story) -> dict[int, dict[str, Any]] | None:
    if not args.prompts:
        return None

    prompts = node_prompts(folder, story, args.profile)
    if isinstance(prompts, Err):
        err(f"{PROGRAM}: the prompts can't be rebuilt: {printable(prompts.error)}")
        return None
    return prompts.value


def run_stats(args: argparse.Namespace) -> int:
    """Print the counts over the chosen sessions."""
    folder = data_folder(args)
    redactor = Redactor(redaction_rules(args))
    statistics = count_sessions(folder, chosen_sessions(args, folder), args.workflow)
    if not statistics.workflows:
        if statistics.empty:
            err(f"{PROGRAM}: {empty_remark(statistics.empty)}")
        return nothing(folder)
    if args.json:
        answer(redacted(statistics.to_json(), redactor))
    elif args.html is not None:
        write_file(args.html, stats_page(statistics).encode("utf-8", "replace"))
    else:
        _print(statistics)
    return OK


def _print(statistics: Statistics) -> None:
    for name, stats in sorted(statistics.workflows.items()):
        statuses = ", ".join(f"{count} {printable(status)}" for status, count in sorted(stats.statuses.items()))
        out(f"{printable(name)}: {counted(stats.sessions, 'session')} ({statuses})")
        for text in stats.to_mend():
            out(f"  {printable(text)}")
        for row in _table(stats):
            out(f"  {row}")
        out("")
    if statistics.damaged:
        out(f"{counted(statistics.damaged, 'session')} damaged; what can be trusted of them is counted")
    if statistics.empty:
        out(empty_remark(statistics.empty))
    if statistics.unknown_events:
        out(f"{counted(statistics.unknown_events, 'event')} of kinds that are not known here")


def _table(stats: WorkflowStats) -> list[str]:
    rows = [("step", "visits", "calls", "blocks", "retries", "tries", "skipped", "left", "mean", "longest")]
    rows += [
        (
            printable(name),
            str(step.visits),
            str(step.calls),
            str(step.blocks),
            str(step.retries),
            str(step.most_tries),
            str(step.skipped),
            str(step.abandoned),
            duration(step.total_ms // step.accepted) if step.accepted else "",
            duration(step.longest_ms) if step.accepted else "",
        )
        for name, step in stats.steps.items()
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += [
        f"loop {printable(name)}: finished {times(loop.runs)}, most passes {loop.most_passes}, "
        f"ended by its bound {times(loop.hit_bound)}"
        for name, loop in stats.loops.items()
    ]
    return lines

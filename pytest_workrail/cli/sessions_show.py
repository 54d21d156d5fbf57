"""`workrail-test sessions show` and `stats`: one session as a story, many as counts."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

from pytest_workrail.cli.sessions import (
    PROGRAM,
    answer,
    chosen_sessions,
    data_folder,
    empty_remark,
    nothing,
    redacted,
    redaction_rules,
    write_file,
)
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.listing import duration
from pytest_workrail.sessions.prompts import node_prompts
from pytest_workrail.sessions.replay import pinned_of
from pytest_workrail.sessions.session_log import read_log
from pytest_workrail.sessions.stats import Statistics, WorkflowStats, count_sessions, times
from pytest_workrail.sessions.story import Story, defects_of, stories, story_json
from pytest_workrail.sessions.story_text import story_lines, story_mermaid
from workrail_lint.base.progress import tracked
from workrail_lint.base.redaction import Redactor
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.terminal import err, out, printable
from workrail_lint.base.wording import columns, counted
from workrail_lint.cli import FINDINGS, OK, UsageError
from workrail_lint.studio.inputs import Inputs
from workrail_lint.studio.page import sessions_page
from workrail_lint.studio.runs import session_runs
from workrail_lint.systems.workrail.model.build import program_model
from workrail_lint.systems.workrail.model.ir import Program


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
    if args.format == "json" or args.html is not None:
        runs = [redactor.for_report(run).report(run) for run in (story_json(*each) for each in all_runs)]
    if args.html is not None:
        pins = dict.fromkeys((story.workflow_hash,) for story, _, _ in all_runs)
        inputs = Inputs(runs=tuple(session_runs({"runs": runs}, session_id)))
        write_file(args.html, sessions_page(_programs(folder, pins, redactor), inputs, session_id))
    elif args.format == "json":
        facts = {"session": session_id, "damage": log.damage, "unknownEvents": log.unknown}
        answer({**facts, "redacted": redactor.totals, "runs": runs})
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


def _programs(folder: DataFolder, pins: Iterable[Iterable[str]], redactor: Redactor) -> Iterator[tuple[str, Program]]:
    """Yield of each workflow the first of these versions that can be drawn, with its hash."""
    for hashes in pins:
        for pin_hash in hashes:
            pinned = pinned_of(folder, pin_hash)
            if isinstance(pinned, Ok):
                yield pin_hash, program_model(redactor.value(pinned.value.runnable))
                break


def run_stats(args: argparse.Namespace) -> int:
    """Print the counts over the chosen sessions."""
    folder = data_folder(args)
    if args.each and args.format != "json":
        raise UsageError("--each needs --json")
    redactor = Redactor(redaction_rules(args))
    each = args.each or args.html is not None
    chosen = tracked(chosen_sessions(args, folder), "session")
    statistics = count_sessions(folder, chosen, args.workflow, each=each)
    if not statistics.workflows:
        if statistics.empty:
            err(f"{PROGRAM}: {empty_remark(statistics.empty)}")
        return nothing(folder)
    if args.html is not None:
        report = redacted(statistics.to_json(each=each), redactor)
        pins = [[version["hash"] for version in entry["each"]] for entry in report["workflows"]]
        inputs = Inputs(sessions=report)
        write_file(args.html, sessions_page(_programs(folder, pins, redactor), inputs, "sessions"))
    elif args.format == "json":
        answer(redacted(statistics.to_json(each=each), redactor))
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
    lines = columns(rows)
    lines += [
        f"loop {printable(name)}: finished {times(loop.runs)}, most passes {loop.most_passes}, "
        f"ended by its bound {times(loop.hit_bound)}"
        for name, loop in stats.loops.items()
    ]
    return lines

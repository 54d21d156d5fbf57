"""`workrail-test sessions replay`: the gate before a release."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from typing import Any

from pytest_workrail.cli.sessions import PROGRAM, answer, chosen_sessions, data_folder, nothing
from pytest_workrail.sessions.judging import judge_session
from pytest_workrail.sessions.replay import Judgement
from pytest_workrail.sessions.versions import Version, versions_below
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, out, printable
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, NOTHING, OK, UsageError


def versions_of(paths: list[str]) -> dict[str, Version]:
    """The workflows at and below some paths, by their ids."""
    found = versions_below(paths)
    if isinstance(found, Err):
        raise UsageError(printable(found.error))
    return found.value


def run_replay(args: argparse.Namespace) -> int:
    """Replay sessions on the new versions and say which of them no longer get through."""
    folder = data_folder(args)
    chosen = chosen_sessions(args, folder)
    if not chosen:
        return nothing(folder)
    versions = versions_of(args.workflow or [os.curdir])
    if not versions:
        err(f"{PROGRAM}: no workflow was found in {', '.join(map(printable, args.workflow or [os.curdir]))}")
        return NOTHING
    results = [judge_session(folder, session, versions, args.profile) for session in chosen]
    judged = [each for result in results for each in result.judgements]
    failed = [result for result in results if result.problem is not None]
    left_out = Counter(name for result in results for name in result.left_out)
    for result in failed:
        err(f"{PROGRAM}: {result.session} was not replayed: {printable(str(result.problem))}")
    if left_out:
        names = ", ".join(printable(name) for name in sorted(left_out))
        err(f"{PROGRAM}: {counted(left_out.total(), 'run')} left out, of workflows that have no new version: {names}")
    # A session that is unreadable from its start may be of any workflow; unless it was named, it stops nothing.
    unjudged = [result for result in failed if result.concerns or args.sessions]
    if not judged and not unjudged:
        err(f"{PROGRAM}: none of {counted(len(chosen), 'session')} is of a workflow that was found")
        return NOTHING
    if args.json:
        others = {
            "failed": [{"session": result.session, "reason": result.problem} for result in failed],
            "leftOut": dict(sorted(left_out.items())),
        }
        verdicts = {"verdicts": _verdicts(judged), "groups": _groups(judged)}
        answer({"sessions": [_json(each) for each in judged], **verdicts, **others})
    else:
        _print(judged)
    return FINDINGS if unjudged or any(each.verdict in ("breaks", "invalid") for each in judged) else OK


def _json(each: Judgement) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "session": each.session,
        "workflowId": each.workflow_id,
        "verdict": each.verdict,
        "at": each.at,
        "reason": each.reason,
        "call": each.call,
        "differences": list(each.differences),
        "pending": each.pending,
        "canContinue": each.can_continue,
        "note": each.note,
    }
    for name, outcome in (("recorded", each.recorded), ("now", each.now)):
        if outcome is not None:
            kinds = {"kind": outcome.kind, "pending": outcome.pending, "isComplete": outcome.is_complete}
            shown[name] = {**kinds, "codes": list(outcome.codes)}
    return shown


def _verdicts(judged: list[Judgement]) -> dict[str, int]:
    counts = Counter(each.verdict for each in judged)
    return {verdict: counts[verdict] for verdict in ("same", "differs", "breaks", "invalid")}


def _groups(judged: list[Judgement]) -> list[dict[str, Any]]:
    """What is the matter, each matter once, with the sessions that have it; what breaks first."""
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    for each in judged:
        if each.verdict == "differs":
            for difference in each.differences:
                groups.setdefault(("differs", each.workflow_id, "", difference), []).append(each.session)
        elif each.verdict != "same":
            key = (each.verdict, each.workflow_id, each.at or "", each.reason)
            groups.setdefault(key, []).append(each.session)
    order = ("invalid", "breaks", "differs")
    ranked = sorted(groups.items(), key=lambda item: (order.index(item[0][0]), item[0][1], -len(item[1]), item[0]))
    return [
        {"verdict": verdict, "workflowId": workflow, "at": at or None, "what": what, "sessions": sessions}
        for (verdict, workflow, at, what), sessions in ranked
    ]


def _print(judged: list[Judgement]) -> None:
    for group in _groups(judged):
        at = f" at step {printable(group['at'])}" if group["at"] else ""
        out(f"{group['verdict']}: {printable(group['workflowId'])}{at}: {printable(group['what'])}")
        if group["verdict"] != "differs":
            for session in group["sessions"]:
                out(f"  {session}")
        else:
            out(f"  in {counted(len(group['sessions']), 'session')}")
    for each in judged:
        if each.note:
            out(f"note: {each.session}: {printable(each.note)}")
    counts = ", ".join(f"{count} {verdict}" for verdict, count in _verdicts(judged).items() if count)
    out(f"{counted(len(judged), 'run')} replayed: {counts}")

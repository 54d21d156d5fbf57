"""`workrail-test sessions record`, `replay`, `export`, `import`: sessions as tests and as files."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from pytest_workrail.cli.sessions import (
    PROGRAM,
    answer,
    chosen_sessions,
    data_folder,
    empty_remark,
    nothing,
    redaction_rules,
    shown_path,
    write_file,
)
from pytest_workrail.engine.model.ids import SessionId
from pytest_workrail.engine.store.bundle import Producer
from pytest_workrail.engine.store.disk import SystemClock, SystemEntropy, data_root, on_disk
from pytest_workrail.engine.store.transfer import export_session, import_bundle
from pytest_workrail.sessions.prompts import read_only_home
from pytest_workrail.sessions.recorded_session import replay_session
from pytest_workrail.sessions.recording import RecordedScenario, record
from pytest_workrail.sessions.replay import Judgement, recorded_runs
from pytest_workrail.sessions.versions import BUNDLE_ENDING, Version, versions_below
from workrail_lint.base.files import read_bytes
from workrail_lint.base.progress import tracked
from workrail_lint.base.redaction import Redactor, Rule
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, out, printable
from workrail_lint.base.version import VERSION
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, NOTHING, OK, UsageError
from workrail_lint.cli.output import make_data_folder


def versions_of(paths: list[str]) -> dict[str, Version]:
    """Return the workflows at and below some paths, by their ids."""
    loaded = versions_below(paths)
    if isinstance(loaded, Err):
        raise UsageError(printable(loaded.error))
    return loaded.value


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
    results = [replay_session(folder, session, versions, args.profile) for session in tracked(chosen, "session")]
    judged = [each for result in results for each in result.judgements]
    failed = [result for result in results if result.problem is not None]
    empty = [result.session for result in results if result.is_empty]
    left_out = Counter(name for result in results for name in result.left_out)
    for result in failed:
        err(f"{PROGRAM}: {result.session} was not replayed: {printable(str(result.problem))}")
    if empty:
        err(f"{PROGRAM}: {empty_remark(empty)}")
    if left_out:
        names = ", ".join(printable(name) for name in sorted(left_out))
        err(f"{PROGRAM}: {counted(left_out.total(), 'run')} left out, of workflows that have no new version: {names}")
    # A session that is unreadable from its start may be of any workflow; unless it was named, it stops nothing.
    unjudged = [result for result in failed if result.concerns or args.sessions]
    if not judged and not unjudged:
        err(f"{PROGRAM}: none of {counted(len(chosen), 'session')} is of a workflow that was found")
        return NOTHING
    if args.format == "json":
        others = {
            "failed": [{"session": result.session, "reason": result.problem} for result in failed],
            "leftOut": dict(sorted(left_out.items())),
        }
        verdicts = {"verdicts": _verdicts(judged), "groups": _groups(judged)}
        answer({"sessions": [_judgement_json(each) for each in judged], **verdicts, **others})
    else:
        _print_judgements(judged)
    return FINDINGS if unjudged or any(each.verdict in ("breaks", "invalid") for each in judged) else OK


def _judgement_json(each: Judgement) -> dict[str, Any]:
    members: dict[str, Any] = {
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
            members[name] = {**kinds, "codes": list(outcome.codes)}
    return members


def _verdicts(judged: list[Judgement]) -> dict[str, int]:
    counts = Counter(each.verdict for each in judged)
    return {verdict: counts[verdict] for verdict in ("same", "differs", "breaks", "invalid")}


def _groups(judged: list[Judgement]) -> list[dict[str, Any]]:
    """Return what is the matter, each matter once, with the sessions that have it; what breaks first."""
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


def _print_judgements(judged: list[Judgement]) -> None:
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


def run_record(args: argparse.Namespace) -> int:
    """Write scenarios and goldens, and say of each whether it passes."""
    rules = redaction_rules(args)
    if args.rules:
        _show_rules(rules, args.format == "json")
        return OK
    if args.out is None:
        raise UsageError(f"say where the scenarios go: --out DIR (run {PROGRAM} record --help for details)")
    folder = data_folder(args)
    chosen = chosen_sessions(args, folder)
    if not chosen:
        return nothing(folder)
    versions = versions_of(args.workflow) if args.workflow else None
    scenarios: list[RecordedScenario] = []
    failed: list[dict[str, Any]] = []
    empty: list[str] = []
    for session in tracked(chosen, "session"):
        runs = recorded_runs(folder, session, args.profile)
        if isinstance(runs, Err):
            failed.append({"session": session, "reason": runs.error})
            continue
        if not runs.value:
            empty.append(session)
        for run in runs.value:
            workflow = _workflow(versions, run.story.workflow_id)
            if isinstance(workflow, Err):
                failed.append({"session": session, "reason": workflow.error})
                continue
            recorded = record(run, Path(args.out), workflow, Redactor(rules), force=args.force)
            if isinstance(recorded, Err):
                failed.append({"session": session, "reason": recorded.error})
            else:
                scenarios.append(recorded.value)
    if empty:
        err(f"{PROGRAM}: {empty_remark(empty)}")
    if len(empty) == len(chosen):
        return nothing(folder)
    if args.format == "json":
        answer({"recorded": [_recorded_json(each) for each in scenarios], "failed": failed})
    else:
        _print_recorded(scenarios, failed)
    return FINDINGS if failed or any(each.problem is not None for each in scenarios) else OK


def _workflow(versions: dict[str, Version] | None, workflow_id: str) -> Path | Err[str] | None:
    if versions is None:
        return None
    version = versions.get(workflow_id)
    return Err(f"no workflow {workflow_id} was found where --workflow says") if version is None else version.path


def _show_rules(rules: list[Rule], as_json: bool) -> None:
    rows = [{"name": rule.name, "summary": rule.summary, "pattern": rule.pattern.source} for rule in rules]
    if as_json:
        answer({"rules": rows})
        return
    for rule in rows:
        out(f"{rule['name']}: {printable(rule['summary'])}")


def _recorded_json(each: RecordedScenario) -> dict[str, Any]:
    return {
        "session": each.session,
        "scenario": each.path.as_posix(),
        "passes": each.problem is None,
        "problem": each.problem,
        "filledIn": list(each.filled),
        "redacted": each.redacted,
    }


def _print_recorded(scenarios: list[RecordedScenario], failed: list[dict[str, Any]]) -> None:
    for each in scenarios:
        verdict = "passes" if each.problem is None else f"does not pass: {printable(each.problem)}"
        out(f"{shown_path(str(each.path))}: {verdict}")
        for line in each.filled:
            out(f"  filled in: {printable(line)}")
        if each.redacted:
            counts = ", ".join(f"{name} {count}" for name, count in each.redacted.items())
            out(f"  redacted: {printable(counts)}")
    for failure in failed:
        err(f"{PROGRAM}: {failure['session']} was not recorded: {printable(failure['reason'])}")
    passing = sum(each.problem is None for each in scenarios)
    out(f"{counted(len(scenarios), 'scenario')} written, {passing} of them pass")


def run_export(args: argparse.Namespace) -> int:
    """Write a session, its snapshots and its workflow to one file."""
    folder = data_folder(args)
    (session_id,) = chosen_sessions(args, folder)
    home = read_only_home(folder.root)
    bundle = export_session(
        home.stores,
        SessionId(session_id),
        producer=Producer(app_version=VERSION),
        clock=home.clock,
        entropy=home.entropy,
        salvage=args.salvage,
    )
    if isinstance(bundle, Err):
        advice = "" if args.salvage else "; --salvage exports as much as can be trusted"
        err(f"{PROGRAM}: {session_id} was not exported: {printable(bundle.error.message)}{advice}")
        return FINDINGS
    target = args.out or f"{session_id}{BUNDLE_ENDING}"
    write_file(target, json.dumps(bundle.value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
    out(f"exported {session_id} to {shown_path(target)}")
    return OK


def run_import(args: argparse.Namespace) -> int:
    """Bring sessions in as new ones, after everything about them was verified."""
    root = data_root(os.environ, Path.home(), override=None if args.into is None else Path(args.into))
    if isinstance(root, Err):
        raise UsageError(root.error)
    if args.into is not None:
        make_data_folder(args.into)
    home = on_disk(root.value, SystemClock(), SystemEntropy())
    if isinstance(home, Err):
        raise UsageError(home.error)
    imported: list[dict[str, str]] = []
    refused: list[dict[str, str]] = []
    for name in args.files:
        try:
            raw = read_bytes(name)
        except OSError as problem:
            raise UsageError(f"{printable(name)} can't be read ({problem.strerror})") from None
        stores = home.value.stores
        session = import_bundle(raw, stores, home.value.gate, home.value.mint)
        if isinstance(session, Err):
            refused.append({"file": name, "code": session.error.code, "message": session.error.message})
        else:
            imported.append({"file": name, "session": session.value})
    if args.format == "json":
        answer({"imported": imported, "refused": refused, "data": os.fspath(root.value)})
    else:
        for each in imported:
            out(f"imported {printable(each['file'])} as {each['session']} into {shown_path(os.fspath(root.value))}")
        for each in refused:
            err(f"{PROGRAM}: {printable(each['file'])} was refused ({each['code']}): {printable(each['message'])}")
    return FINDINGS if refused else OK

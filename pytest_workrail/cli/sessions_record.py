"""`workrail-test sessions record`: sessions as scenarios with their goldens."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_workrail.cli.sessions import PROGRAM, answer, chosen_sessions, data_folder, nothing, shown_path
from pytest_workrail.cli.sessions_replay import versions_of
from pytest_workrail.sessions.recording import RecordedScenario, record
from pytest_workrail.sessions.redaction import Redactor, Rule, chosen_rules
from pytest_workrail.sessions.replay import recorded_runs
from pytest_workrail.sessions.versions import Version
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, out, printable
from workrail_lint.base.wording import counted
from workrail_lint.cli import FINDINGS, OK, UsageError


def run_record(args: argparse.Namespace) -> int:
    """Write scenarios and goldens, and say of each whether it passes."""
    rules = redaction_rules(args)
    if args.rules:
        _show_rules(rules, args.json)
        return OK
    if args.out is None:
        raise UsageError(f"say where the scenarios go: --out DIR (run {PROGRAM} record --help for details)")
    folder = data_folder(args)
    chosen = chosen_sessions(args, folder)
    if not chosen:
        return nothing(folder)
    versions = versions_of(args.workflow) if args.workflow else None
    made: list[RecordedScenario] = []
    failed: list[dict[str, Any]] = []
    for session in chosen:
        runs = recorded_runs(folder, session, args.profile)
        if isinstance(runs, Err):
            failed.append({"session": session, "reason": runs.error})
            continue
        for run in runs.value:
            workflow = _workflow(versions, run.story.workflow_id)
            if isinstance(workflow, Err):
                failed.append({"session": session, "reason": workflow.error})
                continue
            recorded = record(run, Path(args.out), workflow, Redactor(rules), force=args.force)
            if isinstance(recorded, Err):
                failed.append({"session": session, "reason": recorded.error})
            else:
                made.append(recorded.value)
    if args.json:
        answer({"recorded": [_json(each) for each in made], "failed": failed})
    else:
        _print(made, failed)
    return FINDINGS if failed or any(each.problem is not None for each in made) else OK


def _workflow(versions: dict[str, Version] | None, workflow_id: str) -> Path | Err[str] | None:
    if versions is None:
        return None
    version = versions.get(workflow_id)
    return Err(f"no workflow {workflow_id} was found where --workflow says") if version is None else version.path


def redaction_rules(args: argparse.Namespace) -> list[Rule]:
    """The rules that the options ask for."""
    rules = chosen_rules(args.redact, args.keep)
    if isinstance(rules, Err):
        raise UsageError(printable(rules.error))
    return rules.value


def _show_rules(rules: list[Rule], as_json: bool) -> None:
    shown = [{"name": rule.name, "summary": rule.summary, "pattern": rule.pattern.pattern} for rule in rules]
    if as_json:
        answer({"rules": shown})
        return
    for rule in shown:
        out(f"{rule['name']}: {printable(rule['summary'])}")


def _json(each: RecordedScenario) -> dict[str, Any]:
    return {
        "session": each.session,
        "scenario": each.path.as_posix(),
        "passes": each.problem is None,
        "problem": each.problem,
        "filledIn": list(each.filled),
        "redacted": each.redacted,
    }


def _print(made: list[RecordedScenario], failed: list[dict[str, Any]]) -> None:
    for each in made:
        verdict = "passes" if each.problem is None else f"does not pass: {printable(each.problem)}"
        out(f"{shown_path(str(each.path))}: {verdict}")
        for line in each.filled:
            out(f"  filled in: {printable(line)}")
        if each.redacted:
            counts = ", ".join(f"{name} {count}" for name, count in each.redacted.items())
            out(f"  redacted: {printable(counts)}")
    for failure in failed:
        err(f"{PROGRAM}: {failure['session']} was not recorded: {printable(failure['reason'])}")
    passing = sum(each.problem is None for each in made)
    out(f"{counted(len(made), 'scenario')} written, {passing} of them pass")

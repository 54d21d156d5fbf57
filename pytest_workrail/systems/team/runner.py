"""From a scenario to a run: set the repository up, let the Orchestrator play, and look at what is left behind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_workrail.scenarios.clock import EPOCH, SimulatedClock, parse_time
from pytest_workrail.scenarios.failures import Fault
from pytest_workrail.systems.team.blockers import Halt, TeamBlocker, about_state, report, unscripted
from pytest_workrail.systems.team.golden import Normalizer, artifacts
from pytest_workrail.systems.team.lock_evidence import RunEvidence, covered, lock_ids
from pytest_workrail.systems.team.orchestrator import orchestrate
from pytest_workrail.systems.team.result import TeamRun
from pytest_workrail.systems.team.run_state import Stage
from pytest_workrail.systems.team.store import HISTORY, STATUS, text_bytes
from workrail_lint.base.files import read_bytes
from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.jsonl_reader import read_jsonl
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Severity
from workrail_lint.project.run import order
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.rules import RULES
from workrail_lint.systems.team.scenario import Resume, Team, TeamScenario
from workrail_lint.systems.team.scenario_words import DEFAULT_SESSION, CheckResult
from workrail_lint.systems.team.session import leads_out, list_files, plan_tasks
from workrail_lint.systems.team.vocabulary import DecisionStatus, Mode, WorkflowState, is_session_name, moment

Files = dict[str, bytes]
_LAST_YEAR = 9000


def run(scenario: Mapping[str, Any] | TeamScenario, *, folder: Path | None = None, keep: Path | None = None) -> TeamRun:
    """Play a scenario, given as a whole or by its `team` block alone.

    `folder` is where the scenario's own paths start; `keep` is a folder for the repository of the run, which otherwise
    is gone when the run is over. Raises pydantic's ValidationError for what is no scenario.
    """
    if isinstance(scenario, TeamScenario):
        model = scenario
    else:
        model = TeamScenario.model_validate(scenario if "team" in scenario else {"team": dict(scenario)})
    if keep is not None:
        return _played(model, folder or Path(), keep)
    with tempfile.TemporaryDirectory(prefix="team-") as place:
        return _played(model, folder or Path(), Path(place))


def _played(model: TeamScenario, folder: Path, root: Path) -> TeamRun:
    team = model.team
    files = _session_files(team, folder)
    started_with = _status(files)
    session = team.session or started_with.get("session")
    name = session if is_session_name(session) else DEFAULT_SESSION
    mode = team.mode or _mode(team, files, started_with)
    stage = Stage(root, name, team, mode, SimulatedClock(_start(files)))
    halt = _write_start_files(stage, team, files) or orchestrate(stage)
    return _result(model, stage, mode, started_with, halt)


# ------------------------------------------------------------------------------------------------- the start


def _session_files(team: Team, folder: Path) -> Files:
    """The files that a resumed session stands on."""
    start = team.start
    if not isinstance(start, Resume):
        return {}
    if not isinstance(start.resume, str):
        return {path: text_bytes(content) for path, content in start.resume.items()}
    source = folder / start.resume
    return {
        file: read_bytes(os.fspath(source / file))
        for file in list_files(os.fspath(source))
        if not leads_out(os.fspath(source / file), os.fspath(source)) and (source / file).is_file()
    }


def _status(files: Files) -> dict[str, Any]:
    data = files.get(STATUS)
    value = None if data is None else read_json(data).value
    return value if type(value) is dict else {}


def _mode(team: Team, files: Files, status: dict[str, Any]) -> Mode:
    start = team.start
    if not isinstance(start, Resume):
        return Mode.FULL
    if start.as_ is not None:
        status = {**status, "current_state": start.as_.value}
    tasks = files.get("tasks.yaml")
    planned = None if tasks is None else plan_tasks(tasks)
    count = None if planned is None else len(planned)
    return machine.inferred_mode(status, has_architecture="architecture.md" in files, task_count=count)


def _start(files: Files) -> datetime:
    """When the clock starts: a resumed session goes on after everything that it has seen."""
    values: list[Any] = [_status(files)]
    if HISTORY in files:
        values += [line.value for line in read_jsonl(files[HISTORY]).lines]
    found = [parse_time(text) for text in _times(values)]
    return max([EPOCH, *(each for each in found if each.year < _LAST_YEAR)]).replace(microsecond=0)


def _times(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        item = stack.pop()
        if type(item) is str:
            if moment(item) is not None and item < f"{_LAST_YEAR}" and item[:4] > "0001":
                yield item
        elif type(item) is list or type(item) is dict:
            stack += item.values() if type(item) is dict else item


def _write_start_files(stage: Stage, team: Team, files: Files) -> Halt | None:
    """Write what is there at the start. What can't be there is a slip of the scenario."""
    start = team.start
    times = (start.mtimes or {}) if isinstance(start, Resume) else {}
    pointer = ""
    try:
        for path, text in (team.repository or {}).items():
            pointer = child("/team/repository", path)
            stage.store.seed(path, text_bytes(text))
        for file, data in files.items():
            pointer = child("/team/start/mtimes", file)
            at = parse_time(times[file]) if file in times else EPOCH
            pointer = child("/team/start/resume", file)
            stage.store.put(file, data, at.timestamp())
    except (ValueError, OverflowError, OSError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        return unscripted(f"a run can't start with this file: {reason}", pointer)
    return None


# --------------------------------------------------------------------------------------------------- the end


def _result(model: TeamScenario, stage: Stage, mode: Mode, started_with: dict[str, Any], halt: Halt | None) -> TeamRun:
    status = stage.store.status() or {}
    events = stage.trace.events
    trace = _trace(stage, mode, started_with)
    broken = [finding for finding in stage.linter.trace(trace) if finding.severity is Severity.ERROR]
    known = {(blocker.code, blocker.pointer.get("state")) for blocker in stage.blockers}
    for finding in broken:
        state = WorkflowState(events[int(finding.pointer.rpartition("/")[2])]["state"])
        if (TeamBlocker.PROTOCOL_VIOLATION, state.value) not in known:
            text = f"{finding.code} {finding.message}"
            stage.blockers.append(about_state(TeamBlocker.PROTOCOL_VIOLATION, state, text, _rule_text(finding.name)))
    findings = sorted([*stage.linter.folder(), *stage.findings, *broken], key=order)
    normalizer = Normalizer(stage.store.root, stage.store.session)
    return TeamRun(
        scenario=model.name or "",
        mode=mode,
        events=tuple(events),
        dispatches=tuple(_dispatches(stage)),
        status=status,
        tasks={str(task.get("id")): str(task.get("status")) for task in stage.store.tasks()},
        artifacts=artifacts(stage.store, normalizer),
        final_state=stage.state,
        blockers=report(stage.blockers),
        findings=tuple(findings),
        locks=_locks(model, stage, mode, started_with),
        problems=tuple(_problems(stage, halt)),
        trace=trace,
        normalizer=normalizer,
    )


def _rule_text(name: str) -> str:
    return RULES.by_name[name].summary


def _trace(stage: Stage, mode: Mode, started_with: dict[str, Any]) -> dict[str, Any]:
    strategy = machine.strategy_of(stage.store.status() or {})
    return {
        "pack": "team",
        "mode": mode.value,
        "session": stage.store.session,
        "strategy": None if strategy is None else strategy.value,
        "resumed": isinstance(stage.team.start, Resume),
        "pending": [
            str(entry.get("decision_id"))
            for entry in machine.decisions_of(started_with)
            if entry.get("status") == DecisionStatus.PENDING
        ],
        "required": stage.memory.required,
        "trace": stage.trace.events,
    }


def _dispatches(stage: Stage) -> Iterator[dict[str, Any]]:
    for event in stage.trace.events:
        if event["event"] == "dispatch":
            yield {
                "agent": event["agent"],
                "task": event["task"],
                "attempt": event["attempt"],
                "context_files": sorted(event["context"]),
                "parts": event["parts"],
            }


def _locks(model: TeamScenario, stage: Stage, mode: Mode, started_with: dict[str, Any]) -> dict[str, bool]:
    status = stage.store.status() or {}
    given = {
        ident: [answer for answer in answers if isinstance(answer, str)]
        for ident, answers in (stage.team.user or {}).items()
    }
    evidence = RunEvidence(
        stage.trace.events,
        machine.decisions_of(status),
        given,
        mode,
        isinstance(stage.team.start, Resume),
        started_with,
    )
    claimed = [lock for lock in model.enforces or () if lock in lock_ids()]
    return {lock: covered(lock, evidence) for lock in sorted(claimed)}


def _problems(stage: Stage, halt: Halt | None) -> Iterator[Fault]:
    if halt is not None and halt.problem:
        yield Fault(halt.problem, halt.pointer)
        return  # whatever was not used up comes from there
    for pointer, message in (*stage.agents.unused(), *stage.user.unused()):
        yield Fault(message, pointer)
    unused = stage.store.unused_faults
    for index, fault in enumerate(stage.team.faults or ()):
        if any((fault.file, fault.nth) == (each.file, each.nth) for each in unused):
            text = f"this fault was not used: there was no write {fault.nth} of {fault.file}"
            yield Fault(text, child("/team/faults", index))
    for check, results in (stage.team.checks or {}).items():
        fails = CheckResult.FAIL in (results if isinstance(results, tuple) else (results,))
        if fails and check not in stage.memory.check_runs:
            yield Fault(f"this result was not used: '{check}' was never run", child("/team/checks", check))

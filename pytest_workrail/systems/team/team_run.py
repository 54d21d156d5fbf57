"""From a scenario to a run: set up the repository, let the Orchestrator play, and keep what matters for a golden."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_workrail.golden.encoding import dumps
from pytest_workrail.scenarios.drivers import EPOCH, Fault, SimulatedClock, parse_time
from pytest_workrail.systems.kernel.run import Blocker, report, run_folder
from pytest_workrail.systems.kernel.scenario import ABSOLUTE, TIME, Normalizer, finding_entry
from pytest_workrail.systems.team.lock_evidence import EVIDENCE, RunEvidence
from pytest_workrail.systems.team.orchestrator import orchestrate
from pytest_workrail.systems.team.run_state import FOR_RULES, SessionState
from pytest_workrail.systems.team.session import (
    HISTORY,
    STATUS,
    Halt,
    TeamBlocker,
    about_state,
    content_bytes,
    unscripted,
)
from pytest_workrail.systems.team.simulated_agents import Answer
from workrail_lint.base.files import read_bytes
from workrail_lint.base.js import members_of
from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.jsonl_reader import read_jsonl
from workrail_lint.documents.markdown_reader import read_markdown
from workrail_lint.documents.pointer import child
from workrail_lint.documents.yaml_reader import read_yaml
from workrail_lint.findings import Finding, Severity
from workrail_lint.project.run import order
from workrail_lint.systems.team.model.build import status_model
from workrail_lint.systems.team.rules import RULES
from workrail_lint.systems.team.scenario import Resume, Team, TeamScenario
from workrail_lint.systems.team.session import inferred_mode, leads_out, list_files, plan_tasks
from workrail_lint.systems.team.vocabulary import (
    DEFAULT_SESSION,
    TIMESTAMP,
    CheckResult,
    Mode,
    WorkflowState,
    is_session_name,
    moment,
)

Files = dict[str, bytes]
_LAST_YEAR = 9000
_FINDING_ORDER = ("file", "pointer", "code")

PACK = "team"
_TIME = re.compile(rf"(?<![0-9]){TIMESTAMP[1:-1]}(?![0-9:])", re.ASCII)
_ABSOLUTE = re.compile(r"(?:/|[A-Za-z]:[\\/]|~/)\S.*", re.DOTALL)
# Pointers into documents begin like absolute paths and are none.
_POINTERS = ("pointer", "path")


class SessionNormalizer(Normalizer):
    """Replaces times, the session's name and the folder of the run."""

    def __init__(self, root: Path, session: str) -> None:
        roots = sorted({re.escape(str(root)), re.escape(str(root.resolve()))}, key=len, reverse=True)
        paths = [symbol for each in roots for symbol in ((re.compile(f"{each}/"), ""), (re.compile(each), "."))]
        super().__init__(*paths, (_TIME, TIME), (re.compile(re.escape(session)), "«SESSION»"))

    def member(self, text: str, name: str) -> str:
        text = self.text(text)
        return ABSOLUTE if name not in _POINTERS and _ABSOLUTE.fullmatch(text) else text


def _artifact(file: str, data: bytes, normalizer: SessionNormalizer) -> Any:
    text = data.decode("utf-8", "replace")
    if file.endswith((".json", ".yaml")):
        document: Any = read_json(data) if file.endswith(".json") else read_yaml(data)
        return normalizer.value(document.value) if document.readable else _digest(text, normalizer)
    if file.endswith(".jsonl"):
        return [normalizer.value(line.value) for line in read_jsonl(data).lines]
    if file.endswith(".md"):
        headings = [normalizer.text(heading.title) for heading in read_markdown(data).headings]
        return {**_digest(text, normalizer), "headings": headings}
    return _digest(text, normalizer)


def _digest(text: str, normalizer: SessionNormalizer) -> dict[str, str]:
    lines = [line.rstrip() for line in normalizer.text(text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")]
    return {"sha256": hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()}


def event_shown(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event without what only the rules read."""
    return {name: value for name, value in event.items() if name not in FOR_RULES}


@dataclass(frozen=True)
class TeamRun:
    """A session that was played."""

    scenario: str
    mode: Mode
    events: tuple[dict[str, Any], ...]
    dispatches: tuple[dict[str, Any], ...]
    status: dict[str, Any]  # status.json at the end; empty when there is none that can be read
    tasks: dict[str, str]
    final_state: WorkflowState
    blockers: tuple[Blocker, ...]
    findings: tuple[Finding, ...]
    locks: dict[str, bool]  # those the scenario claims
    problems: tuple[Fault, ...]  # what the scenario says and the run did not need, or the other way round
    files: dict[str, bytes] = field(repr=False)  # of the session at the end
    trace: dict[str, Any] = field(repr=False)  # the document that the rules about traces look at
    normalizer: SessionNormalizer = field(repr=False)

    @property
    def states(self) -> list[str]:
        """Return the states in the order they were entered."""
        entered = [event["state"] for event in self.events if event["event"] == "enter_state"]
        return entered or [self.final_state.value]

    @property
    def decisions(self) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self.status.get("user_decisions", [])
        return entries

    @property
    def retry_counts(self) -> dict[str, dict[str, int]]:
        counts: dict[str, dict[str, int]] = self.status.get("retry_counts", {})
        return counts

    @property
    def known_issues(self) -> list[str]:
        issues: list[str] = self.status.get("known_issues", [])
        return issues

    def named(self, *names: str) -> list[dict[str, Any]]:
        """Return the events of some kinds, in order."""
        return [event for event in self.events if event["event"] in names]

    @cached_property
    def artifacts(self) -> dict[str, Any]:
        """Return the normalised content of the session's files; of Markdown, its headings and a digest."""
        names = self.normalizer
        return {names.text(file): _artifact(file, data, names) for file, data in self.files.items()}

    @cached_property
    def golden(self) -> dict[str, Any]:
        """Return the run as goldens record it."""
        value = self.normalizer.value
        findings = [finding_entry(each) for each in self.findings]
        for entry in findings:
            del entry["message"]
        return {
            "pack": PACK,
            "scenario": self.scenario,
            "mode": self.mode.value,
            "trace": [value(event_shown(event)) for event in self.events],
            "states": self.states,
            "dispatches": [value(each) for each in self.dispatches],
            "decisions": value(self.decisions),
            "tasks": self.tasks,
            "retryCounts": value(self.retry_counts),
            "artifacts": self.artifacts,
            "finalState": self.final_state.value,
            "blockers": [value(blocker.to_json()) for blocker in self.blockers],
            "findings": value(sorted(findings, key=lambda each: [each[name] for name in _FINDING_ORDER])),
            "locks": self.locks,
        }

    @property
    def demonstrated(self) -> list[str]:
        """Return the locks that the scenario claims and the run demonstrates."""
        return [lock for lock, is_shown in self.locks.items() if is_shown]

    @property
    def golden_bytes(self) -> bytes:
        return dumps(self.golden, sort_keys=True)

    def event_lines(self) -> list[str]:
        """Return the events for people, a line each."""
        return [_event_line(self.normalizer.value(event_shown(event))) for event in self.events]


def _event_line(event: dict[str, Any]) -> str:
    rest = {name: value for name, value in event.items() if name not in ("n", "state", "event")}
    members = ", ".join(f"{name} {_plain(value)}" for name, value in rest.items())
    return f"{event['n']:>4} {event['state']:<16} {event['event']}{': ' if members else ''}{members}"


def _plain(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def run(
    scenario: Mapping[str, Any] | TeamScenario,
    *,
    folder: Path | None = None,
    keep: Path | None = None,
    otherwise: Callable[[str], Answer] | None = None,
) -> TeamRun:
    """Play a scenario, given as a whole or by its `team` object alone.

    `folder` is where the scenario's own paths start; `keep` is a folder for the repository of the run, which is removed
    by default. `otherwise` answers the questions that the scenario has no answer for. Raise pydantic's ValidationError
    if it is not a scenario.
    """
    if isinstance(scenario, TeamScenario):
        model = scenario
    else:
        model = TeamScenario.model_validate(scenario if "team" in scenario else {"team": dict(scenario)})
    if keep is not None:
        return _played(model, folder or Path(), keep, otherwise)
    with run_folder("team-") as root:
        return _played(model, folder or Path(), Path(root), otherwise)


def _played(model: TeamScenario, folder: Path, root: Path, otherwise: Callable[[str], Answer] | None) -> TeamRun:
    team = model.team
    files = _session_files(team, folder)
    started_with = _status(files)
    wanted = team.session or started_with.get("session")
    name = wanted if is_session_name(wanted) else DEFAULT_SESSION
    mode = team.mode or _mode(team, files, started_with)
    session = SessionState(root, name, team, mode, SimulatedClock(_start(files)), otherwise)
    halt = _write_start_files(session, team, files) or orchestrate(session)
    return _result(model, session, mode, started_with, halt)


# ------------------------------------------------------------------------------------------------- the start


def _session_files(team: Team, folder: Path) -> Files:
    """Return the files that a resumed session starts with."""
    start = team.start
    if not isinstance(start, Resume):
        return {}
    if not isinstance(start.resume, str):
        return {path: content_bytes(content) for path, content in start.resume.items()}
    source = folder / start.resume
    return {
        file: read_bytes(os.fspath(source / file))
        for file in list_files(os.fspath(source))
        if not leads_out(os.fspath(source / file), os.fspath(source)) and (source / file).is_file()
    }


def _status(files: Files) -> dict[str, Any]:
    data = files.get(STATUS)
    return {} if data is None else members_of(read_json(data).value)


def _mode(team: Team, files: Files, status: dict[str, Any]) -> Mode:
    start = team.start
    if not isinstance(start, Resume):
        return Mode.FULL
    if start.as_ is not None:
        status = {**status, "current_state": start.as_.value}
    tasks = files.get("tasks.yaml")
    planned = None if tasks is None else plan_tasks(tasks)
    count = None if planned is None else len(planned)
    return inferred_mode(status_model(status), has_architecture="architecture.md" in files, task_count=count)


def _start(files: Files) -> datetime:
    """Return when the clock starts: a resumed session continues after all of its timestamps."""
    values: list[Any] = [_status(files)]
    if HISTORY in files:
        values += [line.value for line in read_jsonl(files[HISTORY]).lines]
    times = [parse_time(text) for text in _times(values)]
    return max([EPOCH, *(each for each in times if each.year < _LAST_YEAR)]).replace(microsecond=0)


def _times(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        item = stack.pop()
        if type(item) is str:
            if moment(item) is not None and item < f"{_LAST_YEAR}" and item[:4] > "0001":
                yield item
        elif type(item) is list or type(item) is dict:
            stack += item.values() if type(item) is dict else item


def _write_start_files(session: SessionState, team: Team, files: Files) -> Halt | None:
    """Write what is there at the start. What can't be there is a slip of the scenario."""
    start = team.start
    times = (start.mtimes or {}) if isinstance(start, Resume) else {}
    pointer = ""
    try:
        for path, text in (team.repository or {}).items():
            pointer = child("/team/repository", path)
            session.store.seed(path, content_bytes(text))
        for file, data in files.items():
            pointer = child("/team/start/mtimes", file)
            at = parse_time(times[file]) if file in times else EPOCH
            pointer = child("/team/start/resume", file)
            session.store.put(file, data, at.timestamp())
    except (ValueError, OverflowError, OSError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        return unscripted(f"a run can't start with this file: {reason}", pointer)
    return None


# --------------------------------------------------------------------------------------------------- the end


def _result(
    model: TeamScenario, session: SessionState, mode: Mode, started_with: dict[str, Any], halt: Halt | None
) -> TeamRun:
    status = session.status
    events = session.log.events
    trace = _trace(session, mode, started_with)
    broken = [finding for finding in session.linter.trace(trace) if finding.severity is Severity.ERROR]
    known = {(blocker.code, blocker.pointer.get("state")) for blocker in session.blockers}
    for finding in broken:
        state = WorkflowState(events[int(finding.pointer.rpartition("/")[2])]["state"])
        if (TeamBlocker.PROTOCOL_VIOLATION, state.value) not in known:
            text = f"{finding.code} {finding.message}"
            session.blockers.append(about_state(TeamBlocker.PROTOCOL_VIOLATION, state, text, _rule_text(finding.name)))
    findings = sorted([*session.linter.folder(), *session.findings, *broken], key=order)
    return TeamRun(
        scenario=model.name or "",
        mode=mode,
        events=tuple(events),
        dispatches=tuple(_dispatches(session)),
        status=status,
        tasks={task.id: str(task.raw.get("status")) for task in session.store.tasks()},
        final_state=session.state,
        blockers=report(session.blockers, every_message=True),
        findings=tuple(findings),
        locks=_locks(model, session, mode, started_with),
        problems=tuple(_problems(session, halt)),
        files={file: session.store.read(file) or b"" for file in session.store.files()},
        trace=trace,
        normalizer=SessionNormalizer(session.store.root, session.store.session),
    )


def _rule_text(name: str) -> str:
    return RULES.by_name[name].summary


def _trace(session: SessionState, mode: Mode, started_with: dict[str, Any]) -> dict[str, Any]:
    strategy = session.status_model.strategy
    return {
        "pack": "team",
        "mode": mode.value,
        "session": session.store.session,
        "strategy": None if strategy is None else strategy.value,
        "resumed": isinstance(session.team.start, Resume),
        "pending": [
            entry.decision_id for entry in status_model(started_with).user_decisions if entry.status == "pending"
        ],
        "required": session.memory.required,
        "trace": session.log.events,
    }


def _dispatches(session: SessionState) -> Iterator[dict[str, Any]]:
    for event in session.log.events:
        if event["event"] == "dispatch":
            yield {
                "agent": event["agent"],
                "task": event["task"],
                "attempt": event["attempt"],
                "context_files": sorted(event["context"]),
                "parts": event["parts"],
            }


def _locks(model: TeamScenario, session: SessionState, mode: Mode, started_with: dict[str, Any]) -> dict[str, bool]:
    given = {
        ident: [answer for answer in answers if isinstance(answer, str)]
        for ident, answers in (session.team.user or {}).items()
    }
    evidence = RunEvidence(
        session.log.events,
        [entry.raw for entry in session.status_model.user_decisions],
        given,
        mode,
        isinstance(session.team.start, Resume),
        started_with,
    )
    claimed = [lock for lock in model.enforces or () if lock in EVIDENCE.checks]
    return {lock: EVIDENCE.checks[lock](evidence) for lock in sorted(claimed)}


def _problems(session: SessionState, halt: Halt | None) -> Iterator[Fault]:
    if halt is not None and halt.problem:
        yield Fault(halt.problem, halt.pointer)
        return  # whatever was not used up comes from there
    yield from (*session.agents.unused(), *session.user.unused())
    unused = session.store.unused_faults
    for index, fault in enumerate(session.team.faults or ()):
        if any((fault.file, fault.nth) == (each.file, each.nth) for each in unused):
            text = f"this fault was not used: there was no write {fault.nth} of {fault.file}"
            yield Fault(text, child("/team/faults", index))
    for check, results in (session.team.checks or {}).items():
        fails = CheckResult.FAIL in (results if isinstance(results, tuple) else (results,))
        if fails and check not in session.memory.check_runs:
            yield Fault(f"this result was not used: '{check}' was never run", child("/team/checks", check))

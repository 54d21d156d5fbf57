"""What a scenario expects of a run, held against the run."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from pytest_workrail.scenarios.failures import Fault
from pytest_workrail.systems.team.blockers import Blocker
from pytest_workrail.systems.team.golden import PACK
from pytest_workrail.systems.team.lock_evidence import lock_ids
from pytest_workrail.systems.team.result import TeamRun
from workrail_lint.base.suggest import nearest
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Severity
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.scenario import Expectations, ExpectedBlocker, TeamScenario
from workrail_lint.systems.team.vocabulary import DecisionStatus, WorkflowState


def unmet(scenario: TeamScenario, run: TeamRun) -> tuple[Fault, ...]:
    """Everything that is not as the scenario says."""
    expected = scenario.expect or Expectations.model_validate({})
    return (
        *_end(expected, run),
        *_lists(expected, run),
        *_decisions(expected, run),
        *_blockers(expected, run),
        *_findings(expected, run),
        *_locks(scenario, run),
    )


def _differs(pointer: str, what: str, wanted: Any, found: Any) -> Fault:
    return Fault(f"{what}: expected {_said(wanted)}, found {_said(found)}", pointer)


def _said(value: Any) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_said, value)) or "nothing"
    return str(value)


def _end(expected: Expectations, run: TeamRun) -> Iterator[Fault]:
    wanted = expected.final_state or WorkflowState.DONE
    if run.final_state is not wanted:
        why = "; ".join(blocker.message for blocker in run.blockers)
        found = f"{run.final_state.value} ({why})" if why else run.final_state
        yield _differs("/expect/finalState", "final state", wanted, found)


def _lists(expected: Expectations, run: TeamRun) -> Iterator[Fault]:
    if expected.states is not None and [state.value for state in expected.states] != run.states:
        yield _differs("/expect/states", "states", expected.states, run.states)
    sent = [f"{each['agent']}/{each['task']}" for each in run.dispatches if each["attempt"] == 1]
    if expected.dispatches is not None and list(expected.dispatches) != sent:
        yield _differs("/expect/dispatches", "dispatches", expected.dispatches, sent)
    if expected.tasks is not None:
        wanted = {ident: status.value for ident, status in expected.tasks.items()}
        if wanted != run.tasks:
            yield _differs("/expect/tasks", "tasks", wanted, run.tasks)
    if expected.retry_counts is not None and expected.retry_counts != run.retry_counts:
        yield _differs("/expect/retryCounts", "retry counts", expected.retry_counts, run.retry_counts)
    if expected.known_issues is not None and expected.known_issues != len(run.known_issues):
        yield _differs("/expect/knownIssues", "known issues", expected.known_issues, run.known_issues)


def _decisions(expected: Expectations, run: TeamRun) -> Iterator[Fault]:
    for ident, wanted in (expected.decisions or {}).items():
        pointer = child("/expect/decisions", ident)
        entry = machine.decision(run.status, ident)
        if entry is None:
            yield Fault(f"decision {ident} does not exist", pointer)
            continue
        if isinstance(wanted, DecisionStatus):
            pairs: list[tuple[str, str, Any]] = [("", "status", wanted.value)]
        else:
            pairs = [
                ("/status", "status", None if wanted.status is None else wanted.status.value),
                ("/answer", "answer", wanted.answer),
                ("/reason", "resolution_reason", wanted.reason),
            ]
        for place, member, value in pairs:
            if value is not None and entry.get(member) != value:
                yield _differs(pointer + place, f"{member} of {ident}", value, entry.get(member))


def _blockers(expected: Expectations, run: TeamRun) -> Iterator[Fault]:
    wanted = expected.blockers
    if wanted is None:
        return
    codes = [each.code if isinstance(each, ExpectedBlocker) else each for each in wanted]
    found = [blocker.code.value for blocker in run.blockers]
    if codes != found:
        yield _differs("/expect/blockers", "blockers", codes, found)
        return
    for index, (each, blocker) in enumerate(zip(wanted, run.blockers, strict=True)):
        if isinstance(each, ExpectedBlocker):
            yield from _blocker(child("/expect/blockers", index), each, blocker)


def _blocker(pointer: str, wanted: ExpectedBlocker, found: Blocker) -> Iterator[Fault]:
    if wanted.pointer is not None and wanted.pointer != found.pointer:
        yield _differs(f"{pointer}/pointer", "pointer of the blocker", wanted.pointer, found.pointer)
    if wanted.message is not None and wanted.message not in found.message:
        yield _differs(f"{pointer}/message", "message of the blocker", wanted.message, found.message)
    if wanted.fix is not None and wanted.fix not in found.suggested_fix:
        yield _differs(f"{pointer}/fix", "fix of the blocker", wanted.fix, found.suggested_fix)


def _findings(expected: Expectations, run: TeamRun) -> Iterator[Fault]:
    found = [finding.code for finding in run.findings]
    if expected.findings is not None:
        if list(expected.findings) != found:
            shown = [f"{each.code} in {each.path}: {each.message}" for each in run.findings]
            yield _differs("/expect/findings", "findings", expected.findings, shown)
        return
    for finding in run.findings:
        if finding.severity is Severity.ERROR:
            place = f"{finding.path}{finding.pointer and ' at '}{finding.pointer}"
            yield Fault(f"{finding.code} in {place}: {run.normalizer.text(finding.message)}", "/team")


def _locks(scenario: TeamScenario, run: TeamRun) -> Iterator[Fault]:
    for index, lock in enumerate(scenario.enforces or ()):
        pointer = child("/enforces", index)
        if run.locks.get(lock) is False:
            yield Fault(f"this run does not demonstrate {lock}", pointer)
        elif lock.startswith(f"{PACK}-") and lock not in lock_ids():
            meant = nearest(lock, lock_ids())
            yield Fault(f"unknown lock {lock}" + (f"; did you mean {meant}?" if meant else ""), pointer)

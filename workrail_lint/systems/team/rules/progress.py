"""TC711 to TC714: the progress of a session, by its state and by its tasks."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, Report, TeamRule
from workrail_lint.systems.team.unit import Unit
from workrail_lint.systems.team.vocabulary import FixLoop, TaskStatus, WorkflowState, is_member
from workrail_lint.systems.team.wording import shown

S = WorkflowState
_STATUS, _TASKS = "status.json", "tasks.yaml"


class DoneWithOpenTask(TeamRule):
    code = "TC711"
    name = "done-with-open-task"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The session is `DONE`, but a task is not completed."
    why = "Work is left over. If `known_issues` names the task, the finding is only a warning."

    def check_session(self, unit: Unit, report: Report) -> None:
        if unit.state != S.DONE:
            return
        for task in unit.tasks or ():
            if task["status"] != TaskStatus.COMPLETED:
                level = Severity.WARNING if task["id"] in unit.waived else None
                at = f"/tasks/{task['index']}/status"
                message = f"the session is DONE, but {task['id'] or 'a task'} is {shown(task['status'])}"
                report(at, message, path=unit.path(_TASKS), severity=level)

    def examples(self) -> Iterator[Example]:
        done = samples.status("DONE", samples.approved(), samples.strategy(), last_ci_result="green")
        yield Example(
            samples.tasks(samples.task("T-003", status="implemented")),
            samples.tasks(samples.task("T-003", status="completed")),
            path=samples.TASKS,
            files=samples.session({samples.TASKS: ..., samples.STATUS: done, samples.REPORT: samples.report()}),
        )


class DoneWithPending(TeamRule):
    code = "TC712"
    name = "done-with-pending"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The session is `DONE`, but a decision is still pending."
    why = "The session ended without waiting for the user's answer."

    def check_session(self, unit: Unit, report: Report) -> None:
        for entry in unit.decisions if unit.state == S.DONE else ():
            if entry["status"] == "pending":
                at = f"/user_decisions/{entry['index']}/status"
                message = f"the session is DONE, but {shown(entry['decision_id'])} is pending"
                report(at, message, path=unit.path(_STATUS))

    def examples(self) -> Iterator[Example]:
        gates = (samples.approved(), samples.strategy())
        completed = samples.tasks(samples.task(status="completed"))
        files = {samples.STATUS: ..., samples.TASKS: completed, samples.REPORT: samples.report()}
        yield Example(
            samples.status("DONE", *gates, samples.decision(answer=None), last_ci_result="green"),
            samples.status("DONE", *gates, samples.decision(), last_ci_result="green"),
            path=samples.STATUS,
            files=samples.session(files),
        )


class StateTaskInconsistent(TeamRule):
    code = "TC713"
    name = "state-task-inconsistent"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The status of a task does not fit the state of the session."
    why = "Integration waits for all tasks, and no task starts before the implementation does."

    def check_session(self, unit: Unit, report: Report) -> None:
        state, integrates = unit.state, unit.is_at_or_past(S.INTEGRATE)
        place = machine.rank(state, unit.session.returns_to)
        for task in unit.tasks or ():
            status, at = task["status"], f"/tasks/{task['index']}/status"
            if integrates and state != S.DONE:
                if status != TaskStatus.COMPLETED and task["id"] not in unit.waived:
                    message = f"the state is {state}, but {task['id'] or 'a task'} is {shown(status)} and not waived"
                    report(at, message, path=unit.path(_TASKS))
            elif place is not None and not unit.is_at_or_past(S.IMPLEMENT_LOOP) and status in machine.STARTED:
                report(at, f"the state is {state}, but {task['id'] or 'a task'} is {status}", path=unit.path(_TASKS))

    def examples(self) -> Iterator[Example]:
        releasing = samples.status("RELEASE", samples.approved(), samples.strategy(), last_ci_result="green")
        yield Example(
            samples.tasks(samples.task("T-002", status="in-progress")),
            samples.tasks(samples.task("T-002", status="completed")),
            path=samples.TASKS,
            files=samples.session({samples.TASKS: ..., samples.STATUS: releasing}),
        )


class FixStateWithoutCount(TeamRule):
    code = "TC714"
    name = "fix-state-without-count"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The session is in a repair state, but no retry count records the repair."
    why = "The count grows each time the loop is entered; without it the loop never ends."

    def check_session(self, unit: Unit, report: Report) -> None:
        if unit.status is None or not is_member(unit.state, FixLoop):
            return
        counts = [loops.get(unit.state, 0) for loops in unit.status["retry_counts"].values()]
        if not any(count >= 1 for count in counts):
            report(
                "/current_state",
                f"the state is {unit.state}, but no retry count for it is 1 or more",
                path=unit.path(_STATUS),
            )

    def examples(self) -> Iterator[Example]:
        gates = (samples.approved(), samples.strategy())
        yield Example(
            samples.status("FIX_TESTS", *gates, retry_counts={"T-001": {"FIX_TESTS": 0}}),
            samples.status("FIX_TESTS", *gates, retry_counts={"T-001": {"FIX_TESTS": 1}}),
            path=samples.STATUS,
            files=samples.session({samples.STATUS: ...}),
        )

"""A session folder as a whole, and how far its state and its tasks are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.base.closed_sets import is_member
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.model.documents import Task
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, Backlog, Dispatch, ExchangeDocument, Report, TeamRule
from workrail_lint.systems.team.session import Session
from workrail_lint.systems.team.unit import Unit
from workrail_lint.systems.team.vocabulary import (
    APPROVE_DESIGN_ID,
    META,
    REVIEW_STRATEGY_ID,
    AgentName,
    CorrectionStatus,
    FixLoop,
    Mode,
    TaskStatus,
    WorkflowState,
    is_task_ref,
)
from workrail_lint.systems.team.wording import shown

S = WorkflowState
_STATUS, _TASKS, _HISTORY = "status.json", "tasks.yaml", "approve-design-history.jsonl"


class SessionNameMismatch(TeamRule):
    code = "TC701"
    name = "session-name-mismatch"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The session folder and `session` in `status.json` have different names."
    why = "Paths are built from one name, and files are looked up under the other."
    example_path = samples.STATUS

    def check_session(self, unit: Unit, report: Report) -> None:
        status = unit.status
        if status is not None and status.has("session") and status.session != unit.name:
            report(
                "/session",
                f"the session is {shown(status.session)}, but its folder is {shown(unit.name)}",
                path=unit.path(_STATUS),
            )

    def examples(self) -> Iterator[Example]:
        yield self.example(
            samples.status("INTAKE", session="2026-03-02_add-login"),
            samples.status("INTAKE"),
            files={samples.SPEC: samples.spec(), samples.ACCEPTANCE: samples.acceptance()},
        )


class SessionArtifactMissing(TeamRule):
    code = "TC702"
    name = "session-artifact-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A session lacks a file that its state requires."
    why = "The agents of this state read the file first."
    example_path = samples.STATUS

    def check_session(self, unit: Unit, report: Report) -> None:
        if _STATUS not in unit.files:
            report("", f"{_STATUS} is missing from the session", path=unit.folder)
        for file in machine.required_artifacts(unit.state, unit.mode, unit.session.returns_to):
            if file not in unit.files and file != _STATUS:
                report("", f"{file} is missing; a session in state {unit.state} requires it", path=unit.folder)

    def examples(self) -> Iterator[Example]:
        done = samples.status("DONE", samples.approved(), samples.strategy(), last_ci_result="green")
        plan = samples.tasks(samples.task(status="completed"))
        yield self.example(
            done,
            samples.implementing(),
            files=samples.session({samples.STATUS: ..., samples.TASKS: plan}),
            options={"found_at": samples.FOLDER},
        )


class RecordWithoutOwner(TeamRule):
    code = "TC703"
    name = "record-without-owner"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "Repairs are counted for an unknown task, or there is a history without a design decision."
    why = "A record that belongs to nothing is a leftover of something that was removed."

    def check_session(self, unit: Unit, report: Report) -> None:
        self._retry_task_unknown(unit, report)
        if unit.status is not None and _HISTORY in unit.files and _design_answer(unit) is None:
            message = f"the history records design changes, but status.json has no {APPROVE_DESIGN_ID}"
            report("", message, path=unit.path(_HISTORY))

    def _retry_task_unknown(self, unit: Unit, report: Report) -> None:
        if unit.status is None or unit.tasks is None:
            return
        known = {task.id for task in unit.tasks}
        for name in unit.status.retry_counts:
            if is_task_ref(name) and name != META and name not in known:
                at = child("/retry_counts", name)
                report(at, f"task {name} is not in tasks.yaml", path=unit.path(_STATUS), on_name=True)

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.implementing(retry_counts={"T-009": {"FIX_TESTS": 1}}),
            samples.implementing(retry_counts={"T-001": {"FIX_TESTS": 1}}),
            path=samples.STATUS,
            files=samples.session({samples.STATUS: ...}),
        )
        yield Example(
            samples.history(),
            samples.history(),
            path=samples.HISTORY,
            files=samples.session({samples.STATUS: samples.status("DESIGN"), samples.TASKS: ...}),
            options={"good_path": ".agents-work/2026-03-02_other-work/approve-design-history.jsonl"},
        )


def _design_answer(unit: Unit) -> tuple[str, str | None] | None:
    """Return the place and the answer of the decision about the design."""
    return next(
        ((f"{at}/answer", each.answer) for at, each in unit.decisions if each.decision_id == APPROVE_DESIGN_ID), None
    )


def _approving(answer: str, correction: str | None = "queued") -> dict[str, Any]:
    tracking = {} if correction is None else {"gate_tracking": samples.correction(correction)}
    return samples.status("APPROVE_DESIGN", samples.approved(answer), **tracking)


class HistoryMissing(TeamRule):
    code = "TC704"
    name = "history-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A change request is not in the history."
    why = "The request must be recorded before the decision is overwritten; otherwise the next answer erases it."
    example_path = samples.STATUS

    def check_session(self, unit: Unit, report: Report) -> None:
        self._history_missing(unit, report)
        self._history_last_mismatch(unit, report)

    def _history_missing(self, unit: Unit, report: Report) -> None:
        if unit.status is None or _HISTORY in unit.files:
            return
        decision = _design_answer(unit)
        correction = unit.status.correction
        if decision is not None and machine.is_change_request(decision[1]):
            word = f" (correction {correction.value})" if correction else ""
            report(decision[0], f"a change was requested{word}, but {_HISTORY} does not exist", path=unit.path(_STATUS))
        elif correction not in (None, CorrectionStatus.NONE):
            at = "/gate_tracking/APPROVE_DESIGN/correction_status"
            word = correction.value if correction else ""
            report(at, f"a correction is {word}, but {_HISTORY} does not exist", path=unit.path(_STATUS))

    def _history_last_mismatch(self, unit: Unit, report: Report) -> None:
        decision, history = _design_answer(unit), unit.facts(_HISTORY)
        if decision is None or history is None:
            return
        at, answer = decision
        if machine.is_change_request(answer) and history["last"] != answer:
            message = f"the answer is {shown(answer)}, but the last line of the history has {shown(history['last'])}"
            report(at, message, path=unit.path(_STATUS))

    def examples(self) -> Iterator[Example]:
        yield self.example(
            _approving("changes-requested: b"),
            _approving("approved", None),
            files=samples.session({samples.STATUS: ..., samples.TASKS: ...}),
        )
        recorded = samples.history(samples.request("changes-requested: a"))
        yield self.example(
            _approving("changes-requested: b"),
            _approving("changes-requested: a"),
            files=samples.session({samples.STATUS: ..., samples.TASKS: ..., samples.HISTORY: recorded}),
        )


A = AgentName
_AFTER_DESIGN = (A.PLANNER, A.CODER, A.REVIEWER, A.QA, A.SECURITY, A.INTEGRATOR, A.DOCS)
_AFTER_STRATEGY = (A.REVIEWER, A.QA, A.SECURITY)


def _not_passed(agent: AgentName, ident: str, needed: str, session: Session) -> str:
    entry = None if session.status is None else session.status.decision(ident)
    reason = (
        "that decision does not exist"
        if entry is None
        else f"its status is {entry.raw.get('status')} and its answer is {shown(entry.raw.get('answer'))}"
    )
    return f"{agent.value} needs {needed} ({ident}), but {reason}"


class GateBypassed(TeamRule):
    code = "TC709"
    name = "gate-bypassed"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A full session passed a gate without a decision by the user, or an agent is dispatched past one."
    why = "The user decides at the two gates; a session that skips one builds or reviews what was never agreed on."

    def check_session(self, unit: Unit, report: Report) -> None:
        if unit.status is None or unit.mode is not Mode.FULL:
            return
        gates = (
            (S.PLAN, APPROVE_DESIGN_ID, "an approved design", unit.status.is_design_approved),
            (S.IMPLEMENT_LOOP, REVIEW_STRATEGY_ID, "a review strategy", unit.status.strategy is not None),
        )
        for milestone, ident, needed, passed in gates:
            if not passed and unit.is_at_or_past(milestone):
                report("/current_state", f"the state {unit.state} requires {needed} ({ident})", path=unit.path(_STATUS))

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        session = document.session
        if session is None or session.status is None or session.mode(document.options.mode) is not Mode.FULL:
            return
        agent = dispatch.agent
        if agent in _AFTER_DESIGN and agent is not None and not session.status.is_design_approved:
            report(dispatch.at("id"), _not_passed(agent, APPROVE_DESIGN_ID, "an approved design", session))
        if agent in _AFTER_STRATEGY and agent is not None and session.strategy is None:
            report(dispatch.at("id"), _not_passed(agent, REVIEW_STRATEGY_ID, "a review strategy", session))

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("IMPLEMENT_LOOP", samples.approved()),
            samples.implementing(),
            path=samples.STATUS,
            files=samples.session({samples.STATUS: ...}),
        )
        files = samples.context("spec.md", "acceptance.json", "architecture.md")
        asked = samples.status(
            "PLAN", samples.approved("changes-requested: x"), gate_tracking=samples.correction("queued")
        )
        beside = {samples.TASKS: ..., samples.HISTORY: samples.history(samples.request("changes-requested: x"))}
        yield Example(
            samples.agent_input(samples.given(META, files)),
            samples.agent_input(samples.given(META, files[:2])),
            path=samples.exchange("Planner", META),
            files=samples.session({**beside, samples.STATUS: asked}),
            options={"good_path": samples.exchange("Architect", META)},
        )


_STATUS, _TASKS = "status.json", "tasks.yaml"


class StateContradictsWork(TeamRule):
    code = "TC711"
    name = "state-contradicts-work"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The state of the session does not fit its tasks, decisions or repairs."
    why = (
        "A resumed session continues from the state alone: open work is lost, or started work is not reviewed as "
        "agreed."
    )
    example_path = samples.TASKS

    def check_session(self, unit: Unit, report: Report) -> None:
        self._done_with_open_task(unit, report)
        for at, decision in unit.decisions if unit.state == S.DONE else ():
            if decision.status == "pending":
                message = f"the session is DONE, but {shown(decision.decision_id)} is pending"
                report(f"{at}/status", message, path=unit.path(_STATUS))
        self._state_task_inconsistent(unit, report)
        self._fix_state_without_count(unit, report)

    def _done_with_open_task(self, unit: Unit, report: Report) -> None:
        if unit.state != S.DONE:
            return
        for task in unit.tasks or ():
            if task.status != TaskStatus.COMPLETED:
                level = Severity.WARNING if task.id in unit.waived else None
                at = f"{task.at}/status"
                message = f"the session is DONE, but {task.id or 'a task'} is {shown(task.status)}"
                report(at, message, path=unit.path(_TASKS), severity=level)

    def _state_task_inconsistent(self, unit: Unit, report: Report) -> None:
        state, integrates = unit.state, unit.is_at_or_past(S.INTEGRATE)
        place = machine.rank(state, unit.session.returns_to)
        for task in unit.tasks or ():
            status, at = task.status, f"{task.at}/status"
            if integrates and state != S.DONE:
                if status != TaskStatus.COMPLETED and task.id not in unit.waived:
                    message = f"the state is {state}, but {task.id or 'a task'} is {shown(status)} and not waived"
                    report(at, message, path=unit.path(_TASKS))
            elif place is not None and not unit.is_at_or_past(S.IMPLEMENT_LOOP) and status in machine.STARTED:
                report(at, f"the state is {state}, but {task.id or 'a task'} is {status}", path=unit.path(_TASKS))

    def _fix_state_without_count(self, unit: Unit, report: Report) -> None:
        if unit.status is None or not is_member(unit.state, FixLoop):
            return
        counts = [loops.raw.get(unit.state, 0) for loops in unit.status.retry_counts.values()]
        if not any(count >= 1 for count in counts):
            report(
                "/current_state",
                f"the state is {unit.state}, but no retry count for it is 1 or more",
                path=unit.path(_STATUS),
                severity=Severity.WARNING,
            )

    def check_task(self, task: Task, backlog: Backlog, report: Report) -> None:
        if backlog.state in ("PLAN", "REVIEW_STRATEGY") and task.stage not in ("", TaskStatus.NOT_STARTED):
            report(
                task.at("status"),
                f"{task.label} is {task.stage}, but the session is still in {backlog.state}",
                severity=Severity.WARNING,
            )

    def examples(self) -> Iterator[Example]:
        done = samples.status("DONE", samples.approved(), samples.strategy(), last_ci_result="green")
        yield self.example(
            samples.tasks(samples.task("T-003", status="implemented")),
            samples.tasks(samples.task("T-003", status="completed")),
            files=samples.session({samples.TASKS: ..., samples.STATUS: done, samples.REPORT: samples.report()}),
        )
        gates = (samples.approved(), samples.strategy())
        completed = samples.tasks(samples.task(status="completed"))
        files = {samples.STATUS: ..., samples.TASKS: completed, samples.REPORT: samples.report()}
        yield Example(
            samples.status("DONE", *gates, samples.decision(answer=None), last_ci_result="green"),
            samples.status("DONE", *gates, samples.decision(), last_ci_result="green"),
            path=samples.STATUS,
            files=samples.session(files),
        )
        releasing = samples.status("RELEASE", samples.approved(), samples.strategy(), last_ci_result="green")
        yield self.example(
            samples.tasks(samples.task("T-002", status="in-progress")),
            samples.tasks(samples.task("T-002", status="completed")),
            files=samples.session({samples.TASKS: ..., samples.STATUS: releasing}),
        )
        gates = (samples.approved(), samples.strategy())
        yield Example(
            samples.status("FIX_TESTS", *gates, retry_counts={"T-001": {"FIX_TESTS": 0}}),
            samples.status("FIX_TESTS", *gates, retry_counts={"T-001": {"FIX_TESTS": 1}}),
            path=samples.STATUS,
            files=samples.session({samples.STATUS: ...}),
        )
        yield self.example(
            samples.tasks(samples.task(status="in-progress")),
            samples.tasks(),
            files=samples.session({samples.TASKS: ..., samples.STATUS: samples.status("PLAN", samples.approved())}),
        )

"""TC701 to TC709, TC711 to TC715 and TC717: a session folder as a whole, and how far its state and its tasks are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.base.files import CACHE_FOLDER
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.documents import ARTIFACTS, KEEPERS, SIDE_FOLDERS, TeamKind, kind_by_name
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, Report, TeamRule
from workrail_lint.systems.team.unit import Unit
from workrail_lint.systems.team.vocabulary import (
    APPROVE_DESIGN_ID,
    META,
    REVIEW_STRATEGY_ID,
    CorrectionStatus,
    FixLoop,
    Mode,
    TaskStatus,
    WorkflowState,
    is_member,
    is_task_ref,
    session_parts,
)
from workrail_lint.systems.team.wording import shown

S = WorkflowState
_STATUS, _TASKS, _HISTORY = "status.json", "tasks.yaml", "approve-design-history.jsonl"
_MOST_STRAYS = 20


class SessionNameMismatch(TeamRule):
    code = "TC701"
    name = "session-name-mismatch"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The session folder and `session` in `status.json` have different names."
    why = "Paths are built from one name, and files are looked up under the other."

    def check_session(self, unit: Unit, report: Report) -> None:
        status = unit.status
        if status is not None and status.has("session") and status.session != unit.name:
            report(
                "/session",
                f"the session is {shown(status.session)}, but its folder is {shown(unit.name)}",
                path=unit.path(_STATUS),
            )

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("INTAKE", session="2026-03-02_add-login"),
            samples.status("INTAKE"),
            path=samples.STATUS,
            files={samples.SPEC: samples.spec(), samples.ACCEPTANCE: samples.acceptance()},
        )


class SessionArtifactMissing(TeamRule):
    code = "TC702"
    name = "session-artifact-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A session lacks a file that its state requires."
    why = "The agents of this state read the file first."

    def check_session(self, unit: Unit, report: Report) -> None:
        if _STATUS not in unit.files:
            report("", f"{_STATUS} is missing from the session", path=unit.folder)
        for file in machine.required_artifacts(unit.state, unit.mode, unit.session.returns_to):
            if file not in unit.files and file != _STATUS:
                report("", f"{file} is missing; a session in state {unit.state} requires it", path=unit.folder)

    def examples(self) -> Iterator[Example]:
        done = samples.status("DONE", samples.approved(), samples.strategy(), last_ci_result="green")
        plan = samples.tasks(samples.task(status="completed"))
        yield Example(
            done,
            samples.implementing(),
            path=samples.STATUS,
            files=samples.session({samples.STATUS: ..., samples.TASKS: plan}),
            options={"found_at": samples.FOLDER},
        )


class RetryTaskUnknown(TeamRule):
    code = "TC703"
    name = "retry-task-unknown"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "`retry_counts` has an entry for a task that is not in `tasks.yaml`."
    why = "The count applies to no task, and the task that it was meant for has none."

    def check_session(self, unit: Unit, report: Report) -> None:
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


def _design_answer(unit: Unit) -> tuple[str, str | None] | None:
    """The place and the answer of the decision about the design."""
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
    summary = "A design change was requested, but there is no history file."
    why = "The request must be recorded before the decision is overwritten; otherwise the next answer erases it."

    def check_session(self, unit: Unit, report: Report) -> None:
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

    def examples(self) -> Iterator[Example]:
        yield Example(
            _approving("changes-requested: b"),
            _approving("approved", None),
            path=samples.STATUS,
            files=samples.session({samples.STATUS: ..., samples.TASKS: ...}),
        )


class HistoryLastMismatch(TeamRule):
    code = "TC705"
    name = "history-last-mismatch"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The requested change in `status.json` is not the last one in the history."
    why = "One of the two was written without the other, so it is unclear which change is meant."

    def check_session(self, unit: Unit, report: Report) -> None:
        decision, history = _design_answer(unit), unit.facts(_HISTORY)
        if decision is None or history is None:
            return
        at, answer = decision
        if machine.is_change_request(answer) and history["last"] != answer:
            message = f"the answer is {shown(answer)}, but the last line of the history has {shown(history['last'])}"
            report(at, message, path=unit.path(_STATUS))

    def examples(self) -> Iterator[Example]:
        recorded = samples.history(samples.request("changes-requested: a"))
        yield Example(
            _approving("changes-requested: b"),
            _approving("changes-requested: a"),
            path=samples.STATUS,
            files=samples.session({samples.STATUS: ..., samples.TASKS: ..., samples.HISTORY: recorded}),
        )


class HistoryOrphan(TeamRule):
    code = "TC706"
    name = "history-orphan"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "There is a history of requested changes, but no decision about the design."
    why = "The decision was lost after the history was written."

    def check_session(self, unit: Unit, report: Report) -> None:
        if unit.status is not None and _HISTORY in unit.files and _design_answer(unit) is None:
            message = f"the history records design changes, but status.json has no {APPROVE_DESIGN_ID}"
            report("", message, path=unit.path(_HISTORY))

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.history(),
            samples.history(),
            path=samples.HISTORY,
            files=samples.session({samples.STATUS: samples.status("DESIGN"), samples.TASKS: ...}),
            options={"good_path": ".agents-work/2026-03-02_other-work/approve-design-history.jsonl"},
        )


class AcceptanceReferenceUnknown(TeamRule):
    code = "TC707"
    name = "acceptance-reference-unknown"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A task refers to a criterion that is not in `acceptance.json`."
    why = "The task is done when an undefined criterion is met, which can't be checked."

    def check_session(self, unit: Unit, report: Report) -> None:
        acceptance = unit.facts("acceptance.json")
        if acceptance is None:
            return
        known = {ident for _, ident in acceptance["ids"]}
        for task in unit.tasks or ():
            for pointer, ident in task.criteria:
                if ident not in known:
                    label = task.label
                    report(
                        pointer, f"{label} refers to {ident}, which is not in acceptance.json", path=unit.path(_TASKS)
                    )

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.tasks(samples.task(done_when=["Meets AC-099", "Meets AC-001"])),
            samples.tasks(samples.task(done_when=["Meets AC-001"])),
            path=samples.TASKS,
            files=samples.session({samples.TASKS: ...}),
        )


class AcceptanceUncovered(TeamRule):
    code = "TC708"
    name = "acceptance-uncovered"
    severity = Severity.INFO
    origin = DECIDED
    summary = "No task refers to a criterion of `acceptance.json`."
    why = "The criterion may be met by accident, or forgotten until the end."

    def check_session(self, unit: Unit, report: Report) -> None:
        acceptance = unit.facts("acceptance.json")
        if acceptance is None or unit.tasks is None:
            return
        named = {ident for task in unit.tasks for _, ident in task.criteria}
        for index, ident in acceptance["ids"]:
            if ident not in named:
                at = f"/acceptance_criteria/{index}/id"
                report(at, f"no task refers to {shown(ident)}", path=unit.path("acceptance.json"))

    def examples(self) -> Iterator[Example]:
        spec = samples.spec(acceptance="- AC-001: it works.\n- AC-002: it looks good.")
        yield Example(
            samples.acceptance(samples.criterion(), samples.criterion("AC-002")),
            samples.acceptance(),
            path=samples.ACCEPTANCE,
            files=samples.session({samples.ACCEPTANCE: ..., samples.SPEC: spec}),
        )


class GateBypassed(TeamRule):
    code = "TC709"
    name = "gate-bypassed"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A full session passed a gate without a decision by the user."
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

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("IMPLEMENT_LOOP", samples.approved()),
            samples.implementing(),
            path=samples.STATUS,
            files=samples.session({samples.STATUS: ...}),
        )


class ContextPathDangling(TeamRule):
    code = "TC715"
    name = "context-path-dangling"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A task lists a session artifact that does not exist."
    why = "The path is passed on to the agent of the task, which must stop when it can't read the file."

    def check_session(self, unit: Unit, report: Report) -> None:
        for task in unit.tasks or ():
            for pointer, path in task.context_files:
                parts = session_parts(path)
                if parts is not None and parts[0] == unit.name and parts[1] not in unit.files:
                    label = task.id or "a task"
                    report(pointer, f"{label} lists {shown(path)}, which does not exist", path=unit.path(_TASKS))

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.tasks(samples.task(context_files=samples.context("adr/ADR-009.md"))),
            samples.tasks(),
            path=samples.TASKS,
            files=samples.session({samples.TASKS: ...}),
        )


class StrayFile(TeamRule):
    code = "TC717"
    name = "stray-file"
    severity = Severity.INFO
    origin = DECIDED
    summary = "A session folder contains a file that the contract does not define."
    why = "No agent reads it, so its content is lost for the session."

    def check_session(self, unit: Unit, report: Report) -> None:
        strays = [file for file in sorted(unit.files) if not _is_known(file)]
        for file in strays[:_MOST_STRAYS]:
            report("", f"{shown(file)} is not a session file; no agent reads it", path=f"{unit.folder}/{file}")
        if len(strays) > _MOST_STRAYS:
            report("", f"{len(strays) - _MOST_STRAYS} more files are not session files", path=unit.folder)

    def examples(self) -> Iterator[Example]:
        yield Example(
            "Call the customer.\n",
            "Call the customer.\n",
            path=f"{samples.FOLDER}/notes.txt",
            files=samples.session(),
            options={"good_path": "notes.txt"},
        )


def _is_known(file: str) -> bool:
    """An artifact in its place, anything in a side folder, or a recorded exchange anywhere."""
    folder, _, name = file.rpartition("/")
    if name in KEEPERS or file.startswith(f"{CACHE_FOLDER}/") or file.partition("/")[0] in SIDE_FOLDERS:
        return True
    kind = kind_by_name(file)
    if kind is None:
        return False
    if name in ARTIFACTS:
        return not folder
    if kind in SIDE_FOLDERS.values():
        return folder in SIDE_FOLDERS
    return kind is not TeamKind.SESSION


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
            if task.status != TaskStatus.COMPLETED:
                level = Severity.WARNING if task.id in unit.waived else None
                at = f"{task.at}/status"
                message = f"the session is DONE, but {task.id or 'a task'} is {shown(task.status)}"
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
        for at, decision in unit.decisions if unit.state == S.DONE else ():
            if decision.status == "pending":
                message = f"the session is DONE, but {shown(decision.decision_id)} is pending"
                report(f"{at}/status", message, path=unit.path(_STATUS))

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
            status, at = task.status, f"{task.at}/status"
            if integrates and state != S.DONE:
                if status != TaskStatus.COMPLETED and task.id not in unit.waived:
                    message = f"the state is {state}, but {task.id or 'a task'} is {shown(status)} and not waived"
                    report(at, message, path=unit.path(_TASKS))
            elif place is not None and not unit.is_at_or_past(S.IMPLEMENT_LOOP) and status in machine.STARTED:
                report(at, f"the state is {state}, but {task.id or 'a task'} is {status}", path=unit.path(_TASKS))

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
        counts = [loops.raw.get(unit.state, 0) for loops in unit.status.retry_counts.values()]
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

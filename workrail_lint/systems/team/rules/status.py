"""`status.json` without its decisions, and what it tracks: repairs, flags, corrections of the design."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.base.closed_sets import is_member, words
from workrail_lint.base.wording import counted
from workrail_lint.documents.operations import Insert, Remove, Replace
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity, safe, unsafe
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.model.documents import Decision, SessionStatus
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, Document, Report, StatusDocument, TeamRule
from workrail_lint.systems.team.rules.shapes import ShapeRule
from workrail_lint.systems.team.state_machine import CORRECTORS, is_at_or_past
from workrail_lint.systems.team.vocabulary import (
    TASK_STATE_KEYS,
    BlockerSlug,
    WorkflowState,
    is_decision_id,
    is_session_name,
    is_text,
    moment,
)
from workrail_lint.systems.team.wording import listed, shown, suggestion, type_name

GATE = "/gate_tracking/APPROVE_DESIGN"


def timestamps(status: SessionStatus) -> Iterator[tuple[str, str]]:
    """Yield the places of status.json that hold a time, and the times."""
    if status.has("last_update"):
        yield status.at("last_update"), status.last_update
    flags, gate = status.runtime_flags, status.design_gate
    if flags is not None and flags.has("copilot_checked_at"):
        yield flags.at("copilot_checked_at"), flags.copilot_checked_at
    dispatch = gate.last_correction_dispatch if gate is not None else None
    if dispatch is not None and dispatch.at_ is not None:
        yield dispatch.at("at"), dispatch.at_
    for decision in status.user_decisions:
        if decision.has("asked_at"):
            yield decision.at("asked_at"), decision.asked_at
    for decision in status.user_decisions:
        if decision.resolved_at is not None:
            yield decision.at("resolved_at"), decision.resolved_at


_MEMBERS = (
    "decision_id",
    "question",
    "status",
    "answer",
    "asked_at",
    "resolved_at",
    "state_context",
    "resolution_reason",
)
_NULLABLE = ("answer", "resolved_at", "resolution_reason")
_ALWAYS = ("current_state", "session", "assumptions", "known_issues", "user_decisions", "last_update")
_LISTS = ("assumptions", "known_issues", "user_decisions")


class StatusInvalid(ShapeRule):
    code = "TC101"
    name = "status-invalid"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A field of `status.json` is missing, unknown, blank, or of another type or form."
    why = (
        "A resumed session relies on this file alone; it cannot continue from a state, a decision or a count that "
        "it can't read."
    )
    fix = "Add what is empty by default, correct a spelling (unsafe: treat a time without zone as UTC)."
    fix_safety = "safe or unsafe"
    kind = TeamKind.STATUS
    example_path = samples.STATUS

    def describe(self, violation: Violation, document: Document) -> Description | None:
        is_key = violation.pointer.startswith("/retry_counts/")
        # What must be there depends on the state, and a time or a name has more than a pattern; see below.
        is_elsewhere = violation.keyword == "required" and violation.shape != "RuntimeFlags"
        is_elsewhere = is_elsewhere or (violation.keyword == "pattern" and not is_key)
        return None if is_elsewhere else super().describe(violation, document)

    def check_status(self, document: StatusDocument, report: Report) -> None:
        self._status_field_missing(document, report)
        if document.model.has("session"):
            _check_session_name(document.model.session, report)
        for pointer, value in timestamps(document.model):
            time = moment(value)
            if time is None:
                report(pointer, f"{pointer} must be a date-time such as 2026-03-01T10:00:00Z, not {shown(value)}")
            elif not time.has_zone:
                fix = unsafe("treat it as UTC", Replace(pointer, f"{value}Z"))
                message = f"{pointer} is {shown(value)}, which has no time zone"
                report(pointer, message, fix=fix, severity=Severity.WARNING)
        blocker = document.model.blocker
        if blocker is not None and not is_member(blocker, BlockerSlug):
            message = f"unknown blocker {shown(blocker)}{suggestion(blocker, words(BlockerSlug))}"
            report("/blocker", message, severity=Severity.INFO)

    def _status_field_missing(self, document: StatusDocument, report: Report) -> None:
        status, state, back = document.model, document.model.current_state, document.model.returns_to
        where = f" in state {shown(state)}" if state is not None else ""
        needed = (*_ALWAYS, "last_ci_result") if is_at_or_past(state, WorkflowState.INTEGRATE, back) else _ALWAYS
        if "retry_counts" not in status and is_at_or_past(state, WorkflowState.DESIGN, back):
            text = f"'retry_counts' is missing{where}: a resumed session would count repairs from 0"
            report("", text, fix=safe("add no counts", Insert("", "retry_counts", None, {})))
        for name in needed:
            if name not in status:
                fix = safe("add an empty list", Insert("", name, None, [])) if name in _LISTS else None
                report("", f"'{name}' is missing{where}", fix=fix)

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        ident = decision.decision_id
        if decision.has("decision_id") and not is_decision_id(ident):
            message = f"{shown(ident)} is not a valid decision id; use UD-1, UD-APPROVE-DESIGN or UD-REVIEW-STRATEGY"
            report(decision.at("decision_id"), message)
        for name in _MEMBERS:
            if name not in decision:
                fix = safe("add it as null", Insert(decision.pointer, name, None, None)) if name in _NULLABLE else None
                report(decision.pointer, f"'{name}' is missing from {decision.label}", fix=fix)
        if decision.has("question") and not is_text(decision.question):
            report(decision.at("question"), f"the question of {decision.label} is blank")
        context = decision.state_context
        # A gate allows exactly one value, which another rule checks.
        if decision.has("state_context") and decision.gate is None and not is_member(context, WorkflowState):
            message = f"unknown state {shown(context)}{suggestion(context, words(WorkflowState))}"
            report(decision.at("state_context"), message)

    def examples(self) -> Iterator[Example]:
        yield self.example(samples.status(last_update=...), samples.status())
        empty: dict[str, Any] = {"known_issues": [], "retry_counts": {}}
        for name, value in empty.items():
            bare = samples.without({**samples.status(), name: ...})
            yield self.example(bare, samples.status(), {**bare, name: value})
        yield self.example(samples.status("IMPLEMENT"), samples.status("IMPLEMENT_LOOP"))
        good = samples.status("IMPLEMENT_LOOP")
        yield self.example(samples.status("implement-loop"), good, good)
        for bad in ("2026-02-30_add-login", "add-login"):
            yield self.example(samples.status(session=bad), samples.status())
        yield self.example(samples.status(session="2026-03-01_login"), samples.status())
        yield self.example(samples.status(assumptions="none"), samples.status())
        yield self.example(samples.status("DESIGN", samples.decision(answer=True)), samples.status())
        for bad in ("yesterday", "2026-02-30T10:00:00Z"):
            yield self.example(samples.status(last_update=bad), samples.status())
        good = samples.status(last_update="2026-03-01T10:00:00Z")
        yield self.example(samples.status(last_update="2026-03-01T10:00:00"), good, good)
        good = samples.status("IMPLEMENT_LOOP", retry_counts={"T-001": {"FIX_TESTS": 3, "FIX_BUILD": 1}, "meta": {}})
        wrong: tuple[Any, ...] = ({"T-001": {"FIX_TESTS": 4}}, {"T-001": {"FIX_LINT": 1}}, {"task1": {}})
        for counts in wrong:
            yield self.example(samples.status("IMPLEMENT_LOOP", retry_counts=counts), good)
        good = {"copilot_instructions_exists": True, "copilot_checked_at": "2026-03-01T09:00:00Z"}
        for flags in ({**good, "copilot_instructions_exists": "yes"}, {"copilot_instructions_exists": True}):
            yield self.example(samples.status(runtime_flags=flags), samples.status(runtime_flags=good))
        yield self.example(
            samples.status(gate_tracking={"REVIEW_STRATEGY": {}}), samples.status(gate_tracking={"APPROVE_DESIGN": {}})
        )
        yield self.example(
            samples.status("APPROVE_DESIGN", gate_tracking=samples.correction("done")),
            samples.status("APPROVE_DESIGN", gate_tracking=samples.correction("completed")),
        )
        good = samples.status("BLOCKED", blocker="agent_blocked")
        yield self.example(samples.status("BLOCKED", blocker="stuck"), good)
        yield self.example(
            samples.status("INTEGRATE", last_ci_result="passing"), samples.status("INTEGRATE", last_ci_result="green")
        )
        good = samples.status("DESIGN", samples.decision())
        yield self.example(samples.status("DESIGN", samples.decision("UD-DEPLOY")), good)
        for context in (..., "CODING"):
            yield self.example(samples.status("DESIGN", samples.decision(state_context=context)), good)
        lacking = samples.decision(resolution_reason=...)
        yield self.example(
            samples.status("DESIGN", lacking), good, samples.status("DESIGN", {**lacking, "resolution_reason": None})
        )
        yield self.example(
            samples.status("ASK_USER", samples.decision(answer=None, status="open")),
            samples.status("ASK_USER", samples.decision(answer=None)),
        )


def _check_session_name(name: str, report: Report) -> None:
    if not is_session_name(name):
        message = f"{shown(name)} is not a session name; use a date and 2 to 4 words, as in 2026-03-01_add-login"
        report("/session", message)
        return
    count = name[11:].count("-") + 1
    if not 2 <= count <= 4:
        message = f"{shown(name)} has {counted(count, 'word')} after the date; use 2 to 4"
        report("/session", message, severity=Severity.WARNING)


class StatusHoldsTaskState(TeamRule):
    code = "TC108"
    name = "status-holds-task-state"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`status.json` contains the status of tasks."
    why = "The state of tasks belongs in `tasks.yaml` alone; a second copy goes stale and misleads agents."
    fix = "Remove the field."
    fix_safety = "unsafe"
    example_path = samples.STATUS
    bad = samples.status("IMPLEMENT_LOOP", completed_tasks=["T-001"])
    good = samples.status("IMPLEMENT_LOOP")

    def check_status(self, document: StatusDocument, report: Report) -> None:
        for name in TASK_STATE_KEYS:
            if name in document.model:
                fix = unsafe("remove it", Remove(f"/{name}"))
                report(f"/{name}", f"'{name}' belongs in tasks.yaml", fix=fix, on_name=True)


class LastUpdateStale(TeamRule):
    code = "TC109"
    name = "last-update-stale"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "`last_update` is earlier than another time in the file."
    why = "A write did not update `last_update`, so tools that watch the file miss the change."
    example_path = samples.STATUS
    bad = samples.status("DESIGN", samples.decision(), last_update="2026-03-01T09:00:00Z")
    good = samples.status("DESIGN", samples.decision())

    def check_status(self, document: StatusDocument, report: Report) -> None:
        updated = moment(document.model.last_update)
        if updated is None:
            return
        times = [(time, value) for _, value in timestamps(document.model) if (time := moment(value)) is not None]
        latest, value = max(times, key=lambda pair: pair[0].instant)
        if updated.instant < latest.instant:
            report("/last_update", f"last_update {shown(document.model.last_update)} is earlier than {shown(value)}")


class BlockedWithoutReason(TeamRule):
    code = "TC118"
    name = "blocked-without-reason"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The session is `BLOCKED`, but neither `blocker` nor `known_issues` gives a reason."
    why = "Without a reason there is no starting point for unblocking the session."
    example_path = samples.STATUS
    bad = samples.status("BLOCKED")
    good = samples.status("BLOCKED", blocker="subagent_failure")

    def check_status(self, document: StatusDocument, report: Report) -> None:
        status = document.model
        if status.current_state == "BLOCKED" and not is_text(status.blocker) and not status.known_issues:
            report("/current_state", "the state is BLOCKED without a reason; give one in blocker or known_issues")


class ReleaseOnRed(TeamRule):
    code = "TC121"
    name = "release-on-red"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The session is in `RELEASE` or `DONE`, but the last build was red."
    why = "A red build must be repaired in `FIX_BUILD`; what is released now does not build."
    example_path = samples.STATUS

    def check_status(self, document: StatusDocument, report: Report) -> None:
        state = document.model.current_state
        if state in ("RELEASE", "DONE") and document.model.last_ci_result == "red":
            report("/last_ci_result", f"the state is {state}, but the last build was red")

    def examples(self) -> Iterator[Example]:
        yield self.example(samples.status("DONE", last_ci_result="red"), samples.status("DONE", last_ci_result="green"))


_DISPATCH_MEMBERS = ("agent", "task_id", "at")


class CorrectionDispatchRecord(TeamRule):
    code = "TC117"
    name = "correction-dispatch"
    severity = Severity.ERROR
    origin = FIXED
    summary = (
        "`last_correction_dispatch` is missing, incomplete, or names an agent or a task that makes no corrections."
    )
    why = (
        "Without the time of the dispatch a resumed session can't tell whether the artifact has changed since; "
        "corrections go to SpecAgent, Architect or Designer with the task `meta`."
    )
    describes = (
        ("Corrector", "type"),
        ("Corrector", "enum"),
        *(("CorrectionDispatch", keyword, "task_id") for keyword in ("type", "const")),
        ("CorrectionDispatch", "type", "at"),
    )
    example_path = samples.STATUS

    def describe(self, violation: Violation, document: Document) -> Description:
        value = violation.value
        if violation.shape == "Corrector":
            agents = listed((agent.value for agent in CORRECTORS), "or")
            return Description(f"{shown(value)} can't make corrections; use {agents}")
        if violation.member == "task_id":
            return Description(f"a correction must have the task meta, not {shown(value)}")
        return Description(f"'at' must be a date-time, not {type_name(value)}")

    def check_status(self, document: StatusDocument, report: Report) -> None:
        self._correction_dispatch_partial(document, report)
        self._correction_dispatch_missing(document, report)

    def _correction_dispatch_partial(self, document: StatusDocument, report: Report) -> None:
        gate = document.model.design_gate
        last = gate.last_correction_dispatch if gate is not None else None
        if last is None:
            return
        unset = [name for name in _DISPATCH_MEMBERS if last.raw.get(name) is None]
        if 0 < len(unset) < len(_DISPATCH_MEMBERS):
            at = last.at(unset[0]) if unset[0] in last else last.pointer
            message = f"{listed(map(shown, unset))} {'are' if len(unset) > 1 else 'is'} not set; set all three or none"
            report(at, message)

    def _correction_dispatch_missing(self, document: StatusDocument, report: Report) -> None:
        gate = document.model.design_gate
        if gate is None or gate.correction_status not in ("dispatched", "completed"):
            return
        last = gate.last_correction_dispatch
        is_unset = last is not None and all(last.raw.get(name) is None for name in _DISPATCH_MEMBERS)
        if is_unset or gate.raw.get("last_correction_dispatch") is None:
            message = f"the correction is {gate.correction_status}, but last_correction_dispatch is missing"
            report(gate.at("correction_status"), message)

    def examples(self) -> Iterator[Example]:
        bad = {"agent": "Coder", "task_id": "meta", "at": None}
        yield self.example(
            samples.status(
                "APPROVE_DESIGN", gate_tracking=samples.correction("dispatched", last_correction_dispatch=bad)
            ),
            samples.status("APPROVE_DESIGN", gate_tracking=samples.correction("dispatched")),
        )
        bad = samples.correction("dispatched", last_correction_dispatch=...)
        yield self.example(
            samples.status("APPROVE_DESIGN", gate_tracking=bad),
            samples.status("APPROVE_DESIGN", gate_tracking=samples.correction("dispatched")),
        )

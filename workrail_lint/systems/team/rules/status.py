"""TC101 to TC121: status.json without its decisions, and what it tracks: repairs, flags, corrections of the design."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.documents.operations import Insert, Remove, Replace
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity, safe, unsafe
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.team.model.documents import SessionStatus
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, Document, Report, StatusDocument, TeamRule
from workrail_lint.systems.team.state_machine import CORRECTORS, LIMITS, is_at_or_past
from workrail_lint.systems.team.vocabulary import (
    TASK_STATE_KEYS,
    BlockerSlug,
    CiStatus,
    CorrectionStatus,
    FixLoop,
    WorkflowState,
    is_member,
    is_session_name,
    is_text,
    moment,
    words,
)
from workrail_lint.systems.team.wording import field_problem, listed, shown, suggestion, type_name

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


_ALWAYS = ("current_state", "session", "assumptions", "known_issues", "user_decisions", "last_update")
_LISTS = ("assumptions", "known_issues", "user_decisions")


class StatusFieldMissing(TeamRule):
    code = "TC101"
    name = "status-field-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`status.json` lacks a field that its state requires."
    why = "A resumed session relies on this file alone; without its state, session or decisions it cannot continue."
    fix = "Add an empty list for `assumptions`, `known_issues` and `user_decisions`, and an empty `retry_counts`."
    fix_safety = "safe"

    def check_status(self, document: StatusDocument, report: Report) -> None:
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

    def examples(self) -> Iterator[Example]:
        yield Example(samples.status(last_update=...), samples.status(), path=samples.STATUS)
        fixed = samples.status(known_issues=...)
        yield Example(
            samples.status(known_issues=...), samples.status(), {**fixed, "known_issues": []}, path=samples.STATUS
        )
        uncounted = samples.status(retry_counts=...)
        yield Example(uncounted, samples.status(), {**uncounted, "retry_counts": {}}, path=samples.STATUS)


class StatusStateUnknown(TeamRule):
    code = "TC102"
    name = "status-state-unknown"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`current_state` is not a workflow state."
    why = "The state decides which agent is dispatched next; from an unknown state the session cannot continue."
    fix = "Correct the spelling, if only case, `-` or `_` differ."
    fix_safety = "safe"
    describes = (("WorkflowState", "enum", "current_state"),)

    def describe(self, violation: Violation, document: Document) -> Description:
        state = violation.value
        meant = state.upper().replace("-", "_")
        is_spelling = is_member(meant, WorkflowState)
        fix = safe(f"replace with {meant}", Replace("/current_state", meant)) if is_spelling else None
        return Description(f"unknown state {shown(state)}{suggestion(state, words(WorkflowState))}", fix)

    def examples(self) -> Iterator[Example]:
        yield Example(samples.status("IMPLEMENT"), samples.status("IMPLEMENT_LOOP"), path=samples.STATUS)
        good = samples.status("IMPLEMENT_LOOP")
        yield Example(samples.status("implement-loop"), good, good, path=samples.STATUS)


class SessionNameFormat(TeamRule):
    code = "TC103"
    name = "session-name-format"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The session name is not an existing date, `_`, and words in kebab case."
    why = "The name is also the session folder; every path in every document contains it."

    def check_status(self, document: StatusDocument, report: Report) -> None:
        name = document.model.session
        if document.model.has("session") and not is_session_name(name):
            report(
                "/session",
                f"{shown(name)} is not a session name; use a date and 2 to 4 words, as in 2026-03-01_add-login",
            )

    def examples(self) -> Iterator[Example]:
        for bad in ("2026-02-30_add-login", "add-login"):
            yield Example(samples.status(session=bad), samples.status(), path=samples.STATUS)


class SessionSlugLength(TeamRule):
    code = "TC104"
    name = "session-slug-length"
    severity = Severity.WARNING
    origin = FIXED
    summary = "The session name has fewer than 2 or more than 4 words."
    why = "One word says too little about the purpose of a session, and a sentence is too long for a name."

    def check_status(self, document: StatusDocument, report: Report) -> None:
        name = document.model.session
        if not is_session_name(name):
            return
        count = name[11:].count("-") + 1
        if not 2 <= count <= 4:
            report("/session", f"{shown(name)} has {count} word{'s' * (count != 1)} after the date; use 2 to 4")

    def examples(self) -> Iterator[Example]:
        yield Example(samples.status(session="2026-03-01_login"), samples.status(), path=samples.STATUS)


class StatusFieldType(TeamRule):
    code = "TC105"
    name = "status-field-type"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A field of `status.json` has the wrong JSON type."
    why = (
        "Agents append to lists and compare strings; a string in place of a list is overwritten or breaks the "
        "next write."
    )

    describes = (
        *((shape, "type") for shape in ("SessionStatus", "Decision", "RetryCounts")),
        ("WorkflowState", "type", "current_state"),
    )

    def describe(self, violation: Violation, document: Document) -> Description | None:
        if violation.expected == ("integer",):
            return None  # a retry count
        return Description(field_problem(violation))

    def examples(self) -> Iterator[Example]:
        yield Example(samples.status(assumptions="none"), samples.status(), path=samples.STATUS)
        yield Example(samples.status("DESIGN", samples.decision(answer=True)), samples.status(), path=samples.STATUS)


class TimestampFormat(TeamRule):
    code = "TC106"
    name = "timestamp-format"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A time is not an ISO 8601 date-time."
    why = "Times show whether a correction was made and whether a file is stale; free text can't be compared."

    def check_status(self, document: StatusDocument, report: Report) -> None:
        for pointer, value in timestamps(document.model):
            if moment(value) is None:
                report(pointer, f"{pointer} must be a date-time such as 2026-03-01T10:00:00Z, not {shown(value)}")

    def examples(self) -> Iterator[Example]:
        for bad in ("yesterday", "2026-02-30T10:00:00Z"):
            yield Example(samples.status(last_update=bad), samples.status(), path=samples.STATUS)


class TimestampNaive(TeamRule):
    code = "TC107"
    name = "timestamp-naive"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A time has no time zone."
    why = "Two agents in two time zones would order the same events differently."
    fix = "Add `Z`, which treats the time as UTC."
    fix_safety = "unsafe"

    def check_status(self, document: StatusDocument, report: Report) -> None:
        for pointer, value in timestamps(document.model):
            time = moment(value)
            if time is not None and not time.has_zone:
                fix = unsafe("treat it as UTC", Replace(pointer, f"{value}Z"))
                report(pointer, f"{pointer} is {shown(value)}, which has no time zone", fix=fix)

    def examples(self) -> Iterator[Example]:
        good = samples.status(last_update="2026-03-01T10:00:00Z")
        yield Example(samples.status(last_update="2026-03-01T10:00:00"), good, good, path=samples.STATUS)


class StatusHoldsTaskState(TeamRule):
    code = "TC108"
    name = "status-holds-task-state"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`status.json` contains the status of tasks."
    why = "The state of tasks belongs in `tasks.yaml` alone; a second copy goes stale and misleads agents."
    fix = "Remove the field."
    fix_safety = "unsafe"

    def check_status(self, document: StatusDocument, report: Report) -> None:
        for name in TASK_STATE_KEYS:
            if name in document.model:
                fix = unsafe("remove it", Remove(f"/{name}"))
                report(f"/{name}", f"'{name}' belongs in tasks.yaml", fix=fix, on_name=True)

    def examples(self) -> Iterator[Example]:
        good = samples.status("IMPLEMENT_LOOP")
        yield Example(samples.status("IMPLEMENT_LOOP", completed_tasks=["T-001"]), good, good, path=samples.STATUS)


class LastUpdateStale(TeamRule):
    code = "TC109"
    name = "last-update-stale"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "`last_update` is earlier than another time in the file."
    why = "A write did not update `last_update`, so tools that watch the file miss the change."

    def check_status(self, document: StatusDocument, report: Report) -> None:
        updated = moment(document.model.last_update)
        if updated is None:
            return
        times = [(time, value) for _, value in timestamps(document.model) if (time := moment(value)) is not None]
        latest, value = max(times, key=lambda pair: pair[0].key)
        if updated < latest:
            report("/last_update", f"last_update {shown(document.model.last_update)} is earlier than {shown(value)}")

    def examples(self) -> Iterator[Example]:
        bad = samples.status("DESIGN", samples.decision(), last_update="2026-03-01T09:00:00Z")
        yield Example(bad, samples.status("DESIGN", samples.decision()), path=samples.STATUS)


class BlockedWithoutReason(TeamRule):
    code = "TC118"
    name = "blocked-without-reason"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The session is `BLOCKED`, but neither `blocker` nor `known_issues` gives a reason."
    why = "Without a reason there is no starting point for unblocking the session."

    def check_status(self, document: StatusDocument, report: Report) -> None:
        status = document.model
        if status.current_state == "BLOCKED" and not is_text(status.blocker) and not status.known_issues:
            report("/current_state", "the state is BLOCKED without a reason; give one in blocker or known_issues")

    def examples(self) -> Iterator[Example]:
        good = samples.status("BLOCKED", blocker="subagent_failure")
        yield Example(samples.status("BLOCKED"), good, path=samples.STATUS)


class BlockerSlugUnknown(TeamRule):
    code = "TC119"
    name = "blocker-slug-unknown"
    severity = Severity.INFO
    origin = DECIDED
    summary = "`blocker` is not one of the known values."
    why = "Tools react to the known values; any other value needs a person to read it."

    def check_status(self, document: StatusDocument, report: Report) -> None:
        blocker = document.model.blocker
        if blocker is not None and not is_member(blocker, BlockerSlug):
            report("/blocker", f"unknown blocker {shown(blocker)}{suggestion(blocker, words(BlockerSlug))}")

    def examples(self) -> Iterator[Example]:
        good = samples.status("BLOCKED", blocker="agent_blocked")
        yield Example(samples.status("BLOCKED", blocker="stuck"), good, path=samples.STATUS)


class CiResultUnknown(TeamRule):
    code = "TC120"
    name = "ci-result-unknown"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`last_ci_result` is not `unknown`, `green` or `red`."
    why = "The release waits for `green`; a similar word does not count."
    describes = (("CiStatus", "enum", "last_ci_result"), ("CiStatus", "type", "last_ci_result"))

    def describe(self, violation: Violation, document: Document) -> Description:
        value = violation.value
        return Description(f"unknown build result {shown(value)}{suggestion(value, words(CiStatus))}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("INTEGRATE", last_ci_result="passing"),
            samples.status("INTEGRATE", last_ci_result="green"),
            path=samples.STATUS,
        )


class ReleaseOnRed(TeamRule):
    code = "TC121"
    name = "release-on-red"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The session is in `RELEASE` or `DONE`, but the last build was red."
    why = "A red build must be repaired in `FIX_BUILD`; what is released now does not build."

    def check_status(self, document: StatusDocument, report: Report) -> None:
        state = document.model.current_state
        if state in ("RELEASE", "DONE") and document.model.last_ci_result == "red":
            report("/last_ci_result", f"the state is {state}, but the last build was red")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("DONE", last_ci_result="red"),
            samples.status("DONE", last_ci_result="green"),
            path=samples.STATUS,
        )


_DISPATCH_MEMBERS = ("agent", "task_id", "at")


class RetryCountRange(TeamRule):
    code = "TC110"
    name = "retry-count-range"
    severity = Severity.ERROR
    origin = FIXED
    summary = f"A retry count is not an integer from 0 to {LIMITS.repairs}."
    why = "After the third repair the user must be asked; a larger number means that this did not happen."

    describes = tuple(("RetryCounts", keyword) for keyword in ("type", "minimum", "maximum"))

    def describe(self, violation: Violation, document: Document) -> Description | None:
        _, _, task, *loop = violation.pointer.split("/")
        if not loop:
            return None  # the counts of a task are no object
        message = f"the {loop[0]} count of {task} must be 0 to {LIMITS.repairs}, not {shown(violation.value)}"
        return Description(message)

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("IMPLEMENT_LOOP", retry_counts={"T-001": {"FIX_TESTS": 4}}),
            samples.status("IMPLEMENT_LOOP", retry_counts={"T-001": {"FIX_TESTS": 3}}),
            path=samples.STATUS,
        )


class RetryLoopUnknown(TeamRule):
    code = "TC111"
    name = "retry-loop-unknown"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A retry count belongs to an unknown repair loop."
    why = "The count of an unknown loop is never read, so the real loop has no limit."
    describes = (("RetryCounts", "additionalProperties"),)

    def describe(self, violation: Violation, document: Document) -> Description:
        loop = violation.member
        return Description(f"unknown repair loop {shown(loop)}{suggestion(loop, words(FixLoop))}", on_name=True)

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("IMPLEMENT_LOOP", retry_counts={"T-001": {"FIX_LINT": 1}}),
            samples.status("IMPLEMENT_LOOP", retry_counts={"T-001": {"FIX_BUILD": 1}}),
            path=samples.STATUS,
        )


class RetryKeyFormat(TeamRule):
    code = "TC112"
    name = "retry-key-format"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A key of `retry_counts` is neither a task id nor `meta`."
    why = "The count can't be found by the id of its task."

    describes = (("SessionStatus", "pattern"),)

    def describe(self, violation: Violation, document: Document) -> Description | None:
        if not violation.pointer.startswith("/retry_counts/"):
            return None
        return Description(f"{shown(violation.value)} is not a task id; use T-001 or meta", on_name=True)

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("IMPLEMENT_LOOP", retry_counts={"task1": {}}),
            samples.status("IMPLEMENT_LOOP", retry_counts={"T-001": {}, "meta": {}}),
            path=samples.STATUS,
        )


class RuntimeFlagsShape(TeamRule):
    code = "TC113"
    name = "runtime-flags-shape"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`runtime_flags` lacks one of its two fields, or one of them has the wrong type."
    why = "Every dispatch reads these flags first; a wrong flag makes agents skip the conventions of the project."
    describes = (("RuntimeFlags", "required"), ("RuntimeFlags", "type"))

    def describe(self, violation: Violation, document: Document) -> Description:
        name, value = violation.member, violation.value
        if violation.keyword == "required":
            return Description(f"'{name}' is missing from runtime_flags")
        if name == "runtime_flags":
            return Description(f"runtime_flags must be an object, not {type_name(value)}")
        expected = "true or false" if violation.expected == ("boolean",) else "a date-time"
        return Description(f"'{name}' must be {expected}, not {type_name(value)}")

    def examples(self) -> Iterator[Example]:
        good = {"copilot_instructions_exists": True, "copilot_checked_at": "2026-03-01T09:00:00Z"}
        for bad in ({**good, "copilot_instructions_exists": "yes"}, {"copilot_instructions_exists": True}):
            yield Example(samples.status(runtime_flags=bad), samples.status(runtime_flags=good), path=samples.STATUS)


class GateTrackingShape(TeamRule):
    code = "TC114"
    name = "gate-tracking-shape"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`gate_tracking` has an entry other than `APPROVE_DESIGN`, or has the wrong structure."
    why = "It prevents the same correction from being sent twice; in another structure it prevents nothing."
    describes = (
        ("GateTracking", "type"),
        ("GateTracking", "additionalProperties"),
        ("DesignGate", "type"),
        ("CorrectionDispatch", "type", "last_correction_dispatch"),
    )

    def describe(self, violation: Violation, document: Document) -> Description:
        name, value = violation.member, violation.value
        if violation.keyword == "additionalProperties":
            return Description(f"unknown entry {shown(name)}; gate_tracking may only have APPROVE_DESIGN", on_name=True)
        kind = "an object or null" if name == "last_correction_dispatch" else "an object"
        return Description(f"{name} must be {kind}, not {type_name(value)}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status(gate_tracking={"REVIEW_STRATEGY": {}}),
            samples.status(gate_tracking={"APPROVE_DESIGN": {}}),
            path=samples.STATUS,
        )


class CorrectionStatusUnknown(TeamRule):
    code = "TC115"
    name = "correction-status-unknown"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`correction_status` is not one of the four known values."
    why = "A resumed session relies on it alone to decide whether a correction must be sent or must not be sent again."
    describes = (("CorrectionStatus", "enum"), ("CorrectionStatus", "type"))

    def describe(self, violation: Violation, document: Document) -> Description | None:
        value = violation.value
        if value is None:
            return None
        return Description(f"unknown correction status {shown(value)}{suggestion(value, words(CorrectionStatus))}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("APPROVE_DESIGN", gate_tracking=samples.correction("done")),
            samples.status("APPROVE_DESIGN", gate_tracking=samples.correction("completed")),
            path=samples.STATUS,
        )


class CorrectionDispatchMissing(TeamRule):
    code = "TC116"
    name = "correction-dispatch-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A correction is dispatched or completed, but `last_correction_dispatch` is missing."
    why = "Without the time of the dispatch a resumed session can't tell whether the artifact has changed since."

    def check_status(self, document: StatusDocument, report: Report) -> None:
        gate = document.model.design_gate
        if gate is None or gate.correction_status not in ("dispatched", "completed"):
            return
        last = gate.last_correction_dispatch
        is_unset = last is not None and all(last.raw.get(name) is None for name in _DISPATCH_MEMBERS)
        if is_unset or gate.raw.get("last_correction_dispatch") is None:
            message = f"the correction is {gate.correction_status}, but last_correction_dispatch is missing"
            report(gate.at("correction_status"), message)

    def examples(self) -> Iterator[Example]:
        bad = samples.correction("dispatched", last_correction_dispatch=...)
        yield Example(
            samples.status("APPROVE_DESIGN", gate_tracking=bad),
            samples.status("APPROVE_DESIGN", gate_tracking=samples.correction("dispatched")),
            path=samples.STATUS,
        )


class CorrectionDispatchPartial(TeamRule):
    code = "TC117"
    name = "correction-dispatch-partial"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`last_correction_dispatch` is incomplete, or names an agent or a task that makes no corrections."
    why = (
        "Corrections go to SpecAgent, Architect or Designer with the task `meta`; an incomplete record proves nothing."
    )

    describes = (
        ("Corrector", "type"),
        ("Corrector", "enum"),
        *(("CorrectionDispatch", keyword, "task_id") for keyword in ("type", "const")),
        ("CorrectionDispatch", "type", "at"),
    )

    def describe(self, violation: Violation, document: Document) -> Description:
        value = violation.value
        if violation.shape == "Corrector":
            agents = listed((agent.value for agent in CORRECTORS), "or")
            return Description(f"{shown(value)} can't make corrections; use {agents}")
        if violation.member == "task_id":
            return Description(f"a correction must have the task meta, not {shown(value)}")
        return Description(f"'at' must be a date-time, not {type_name(value)}")

    def check_status(self, document: StatusDocument, report: Report) -> None:
        gate = document.model.design_gate
        last = gate.last_correction_dispatch if gate is not None else None
        if last is None:
            return
        unset = [name for name in _DISPATCH_MEMBERS if last.raw.get(name) is None]
        if 0 < len(unset) < len(_DISPATCH_MEMBERS):
            at = last.at(unset[0]) if unset[0] in last else last.pointer
            message = f"{listed(map(shown, unset))} {'are' if len(unset) > 1 else 'is'} not set; set all three or none"
            report(at, message)

    def examples(self) -> Iterator[Example]:
        bad = {"agent": "Coder", "task_id": "meta", "at": None}
        yield Example(
            samples.status(
                "APPROVE_DESIGN", gate_tracking=samples.correction("dispatched", last_correction_dispatch=bad)
            ),
            samples.status("APPROVE_DESIGN", gate_tracking=samples.correction("dispatched")),
            path=samples.STATUS,
        )

"""TC101 to TC109 and TC118 to TC121: status.json without its decisions."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.documents.operations import Insert, Remove, Replace
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity, safe, unsafe
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.team.pointer_patterns import places
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, Document, Report, TeamRule
from workrail_lint.systems.team.rules.status_facts import timestamps
from workrail_lint.systems.team.state_machine import is_at_or_past, return_state
from workrail_lint.systems.team.vocabulary import (
    TASK_STATE_KEYS,
    BlockerSlug,
    CiStatus,
    WorkflowState,
    is_member,
    is_session_name,
    is_text,
    moment,
    words,
)
from workrail_lint.systems.team.wording import shown, suggestion, type_name

_ALWAYS = ("current_state", "session", "assumptions", "known_issues", "user_decisions", "last_update")
_LISTS = ("assumptions", "known_issues", "user_decisions")


class StatusFieldMissing(TeamRule):
    code = "TC101"
    name = "status-field-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`status.json` lacks a field that its state requires; `retry_counts` is a warning."
    why = "A resumed session relies on this file alone; without its state, session or decisions it cannot continue."
    fix = "Add an empty list for `assumptions`, `known_issues` and `user_decisions`, and an empty `retry_counts`."
    fix_safety = "safe"

    def check_status(self, document: Document, report: Report) -> None:
        value = document.value
        state = value.get("current_state")
        integrates = is_at_or_past(state, WorkflowState.INTEGRATE, return_state(value))
        needed = (*_ALWAYS, "last_ci_result") if integrates else _ALWAYS
        if "retry_counts" not in value and is_at_or_past(state, WorkflowState.DESIGN, return_state(value)):
            text = f"'retry_counts' is missing in state {shown(state)}: a resumed session would count repairs from 0"
            report("", text, severity=Severity.WARNING, fix=safe("add no counts", Insert("", "retry_counts", None, {})))
        for name in needed:
            if name not in value:
                fix = safe("add an empty list", Insert("", name, None, [])) if name in _LISTS else None
                where = f" in state {shown(state)}" if name != "current_state" else ""
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

    def check_status(self, document: Document, report: Report) -> None:
        name = document.value.get("session")
        if type(name) is str and not is_session_name(name):
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

    def check_status(self, document: Document, report: Report) -> None:
        name = document.value.get("session")
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

    _EXPECTED = (
        ("/current_state", (str,), "a string"),
        ("/session", (str,), "a string"),
        ("/assumptions", (list,), "a list"),
        ("/assumptions/*", (str,), "a string"),
        ("/known_issues", (list,), "a list"),
        ("/known_issues/*", (str,), "a string"),
        ("/user_decisions", (list,), "a list"),
        ("/user_decisions/*", (dict,), "an object"),
        ("/retry_counts", (dict,), "an object"),
        ("/retry_counts/*", (dict,), "an object"),
        ("/last_update", (str,), "a string"),
        ("/blocker", (str,), "a string"),
        *(
            (f"/user_decisions/*/{member}", (str,), "a string")
            for member in ("decision_id", "question", "status", "asked_at", "state_context")
        ),
        *(
            (f"/user_decisions/*/{member}", (str, type(None)), "a string or null")
            for member in ("answer", "resolved_at", "resolution_reason")
        ),
    )

    def check_status(self, document: Document, report: Report) -> None:
        for pattern, types, expected in self._EXPECTED:
            for pointer, value in places(document.value, pattern):
                if type(value) not in types:
                    report(pointer, f"{pointer} must be {expected}, not {type_name(value)}")

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

    def check_status(self, document: Document, report: Report) -> None:
        for pointer, value in timestamps(document.value):
            if type(value) is str and moment(value) is None:
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

    def check_status(self, document: Document, report: Report) -> None:
        for pointer, value in timestamps(document.value):
            found = moment(value)
            if found is not None and not found.has_zone:
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

    def check_status(self, document: Document, report: Report) -> None:
        for name in TASK_STATE_KEYS:
            if name in document.value:
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

    def check_status(self, document: Document, report: Report) -> None:
        updated = moment(document.value.get("last_update"))
        if updated is None:
            return
        times = [(found, value) for _, value in timestamps(document.value) if (found := moment(value)) is not None]
        latest, value = max(times, key=lambda pair: pair[0].key)
        if updated < latest:
            report("/last_update", f"last_update {shown(document.value['last_update'])} is earlier than {shown(value)}")

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

    def check_status(self, document: Document, report: Report) -> None:
        value = document.value
        if (
            value.get("current_state") == "BLOCKED"
            and not is_text(value.get("blocker"))
            and not value.get("known_issues")
        ):
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

    def check_status(self, document: Document, report: Report) -> None:
        blocker = document.value.get("blocker")
        if type(blocker) is str and not is_member(blocker, BlockerSlug):
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

    def check_status(self, document: Document, report: Report) -> None:
        state = document.value.get("current_state")
        if state in ("RELEASE", "DONE") and document.value.get("last_ci_result") == "red":
            report("/last_ci_result", f"the state is {state}, but the last build was red")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("DONE", last_ci_result="red"),
            samples.status("DONE", last_ci_result="green"),
            path=samples.STATUS,
        )

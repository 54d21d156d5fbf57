"""The gates of a session and the history of approvals."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from workrail_lint.base.closed_sets import is_member, words
from workrail_lint.base.timestamps import Instant
from workrail_lint.documents.operations import Cut, Insert, Replace, Respell
from workrail_lint.findings import Fix, Safety, Severity, safe
from workrail_lint.rules.base import Example
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.model.documents import Decision, SessionStatus
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import (
    DECIDED,
    FIXED,
    Document,
    HistoryDocument,
    Report,
    StatusDocument,
    TeamRule,
)
from workrail_lint.systems.team.rules.shapes import ShapeRule
from workrail_lint.systems.team.rules.status import GATE
from workrail_lint.systems.team.session import read_artifact
from workrail_lint.systems.team.state_machine import (
    GATES,
    OPEN_CORRECTION,
    is_approval,
    is_change_request,
    normal_strategy,
)
from workrail_lint.systems.team.vocabulary import (
    APPROVE_DESIGN_ID,
    APPROVED,
    CHANGES_REQUESTED,
    NO_RESPONSE,
    REVIEW_STRATEGY_ID,
    CorrectionStatus,
    Strategy,
    is_text,
    is_timestamp,
    moment,
)
from workrail_lint.systems.team.wording import in_line, listed, shown, type_name


def _answer(decision: Decision, ident: str) -> str | None:
    """Return the non-blank answer of an answered gate decision."""
    is_answered = decision.decision_id == ident and decision.status == "answered"
    return decision.answer if is_answered and is_text(decision.answer) else None


class GateAnswerInvalid(TeamRule):
    code = "TC217"
    name = "gate-answer-invalid"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The answer to a gate is not one of the canonical answers."
    why = (
        "A gate opens only for `approved`, `changes-requested: \u2026`, `per-batch` or `single-final`; with "
        "another answer the session cannot continue."
    )
    fix = "Replace a known synonym with the canonical value."
    fix_safety = "safe"
    example_path = samples.STATUS

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        at, answer = decision.at("answer"), _answer(decision, APPROVE_DESIGN_ID)
        if answer is not None and not is_approval(answer) and not is_change_request(answer):
            report(at, f"{shown(answer)} must start with '{APPROVED}' or '{CHANGES_REQUESTED}'")
        elif answer is not None and is_approval(answer) and answer[len(APPROVED) : len(APPROVED) + 1].isalnum():
            message = f"{shown(answer)} is ambiguous: '{APPROVED}' runs into another word"
            report(at, message, severity=Severity.WARNING)
        elif answer is not None and is_change_request(answer) and not is_text(answer[len(CHANGES_REQUESTED) :]):
            report(at, f"{shown(answer)} does not say what to change", severity=Severity.WARNING)
        strategy = _answer(decision, REVIEW_STRATEGY_ID)
        if strategy is not None and not is_member(strategy, Strategy):
            meant = normal_strategy(strategy)
            fix = safe(f"replace with {meant.value}", Replace(at, meant.value)) if meant else None
            known = listed(words(Strategy), "or")
            report(at, f"{shown(strategy)} is not a canonical review strategy; use {known}", fix=fix)

    def examples(self) -> Iterator[Example]:
        yield self.example(
            samples.status("PLAN", samples.approved("ok for me")), samples.status("PLAN", samples.approved("approved"))
        )
        yield self.example(
            samples.status("PLAN", samples.approved("approvedish")),
            samples.status("PLAN", samples.approved("approved, with thanks")),
        )
        good = samples.status("IMPLEMENT_LOOP", samples.strategy("per-batch"))
        yield self.example(samples.status("IMPLEMENT_LOOP", samples.strategy("per batch")), good, good)
        yield self.example(samples.status("IMPLEMENT_LOOP", samples.strategy("whatever")), good)


class GateCancelledNotBlocked(TeamRule):
    code = "TC221"
    name = "gate-cancelled-not-blocked"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A gate decision is cancelled, but the session continued."
    why = "Nothing may follow a cancelled gate; the session must stop in `BLOCKED`."
    example_path = samples.STATUS

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        state = document.model.current_state
        is_cancelled = decision.gate is not None and decision.status == "cancelled"
        if is_cancelled and state not in (None, "BLOCKED"):
            report(
                decision.at("status"),
                f"{decision.decision_id} is cancelled, but the state is {shown(state)} instead of BLOCKED",
            )

    def examples(self) -> Iterator[Example]:
        closed = {"resolved_at": "2026-03-01T10:05:00Z", "resolution_reason": "no valid answer after 3 re-asks"}
        bad = samples.decision("UD-APPROVE-DESIGN", None, status="cancelled", **closed)
        good = samples.status("BLOCKED", bad, blocker="mandatory_user_decision_missing")
        yield self.example(samples.status("PLAN", bad), good)


class PendingOutsideUserState(TeamRule):
    code = "TC222"
    name = "pending-outside-user-state"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A decision is pending outside its user state, or a user state has no decision."
    why = "A state that asks can be left only after its answers are stored; here it was left without them."
    example_path = samples.STATUS

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        if decision.status != "pending" or not (decision.gate or decision.number is not None):
            return
        state = document.model.current_state
        asks = "ASK_USER" if decision.gate is None else decision.gate.value
        if state not in (None, asks):
            level = Severity.WARNING if state == "BLOCKED" else None
            message = f"{decision.decision_id} is pending, but the state is {shown(state)} instead of {asks}"
            report(decision.at("status"), message, severity=level)

    def check_status(self, document: StatusDocument, report: Report) -> None:
        state, entries = document.model.current_state, document.decisions
        gates = {gate.value: ident for ident, gate in GATES.items()}
        if state == "ASK_USER" and not any(decision.number is not None for decision in entries):
            report(
                "/current_state",
                "the state is ASK_USER, but there is no decision such as UD-1",
                severity=Severity.WARNING,
            )
        elif state in gates and not any(decision.decision_id == gates[state] for decision in entries):
            report(
                "/current_state",
                f"the state is {state}, but there is no decision {gates[state]}",
                severity=Severity.WARNING,
            )

    def examples(self) -> Iterator[Example]:
        pending = samples.decision(answer=None)
        yield self.example(samples.status("IMPLEMENT_LOOP", pending), samples.status("ASK_USER", pending))
        yield self.example(samples.status("ASK_USER"), samples.status("ASK_USER", samples.decision(answer=None)))


class SecurityAutoCancelled(TeamRule):
    code = "TC224"
    name = "security-auto-cancelled"
    severity = Severity.WARNING
    origin = FIXED
    summary = f"A security question was cancelled with the reason `{NO_RESPONSE}`."
    why = "Silence does not answer a security question; ask again until the user decides or defers it."
    example_path = samples.STATUS

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        silent = decision.status == "cancelled" and decision.resolution_reason == NO_RESPONSE
        if silent and "security" in decision.question.casefold():
            options = document.options
            is_known = options.is_simulated and decision.decision_id not in options.not_from_security
            level = Severity.ERROR if is_known else None
            report(
                decision.at("resolution_reason"),
                f"{decision.label} asks about security and can't be cancelled for lack of a response; ask again",
                severity=level,
            )

    def examples(self) -> Iterator[Example]:
        asked: dict[str, Any] = {"question": "Security: fix the open redirect now?", "state_context": "IMPLEMENT_LOOP"}
        closed: dict[str, Any] = {"answer": None, "status": "cancelled", "resolved_at": "2026-03-01T10:05:00Z"}
        yield self.example(
            samples.status("IMPLEMENT_LOOP", samples.decision(**closed, **asked, resolution_reason=NO_RESPONSE)),
            samples.status(
                "IMPLEMENT_LOOP", samples.decision(**closed, **asked, resolution_reason="deferred: next sprint")
            ),
        )


class GateUndecided(TeamRule):
    code = "TC226"
    name = "gate-undecided"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "A gate is approved while a correction is open, or its decision is skipped."
    why = "The gate looks passed, but the user's last word is missing."
    example_path = samples.STATUS

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        status = document.model.correction
        if is_approval(_answer(decision, APPROVE_DESIGN_ID)) and status in OPEN_CORRECTION:
            report(f"{GATE}/correction_status", f"the design is approved, but a correction is {status.value}")
        if decision.gate is not None and decision.status == "skipped":
            report(decision.at("status"), f"{decision.decision_id} is a gate decision and can't be skipped")

    def examples(self) -> Iterator[Example]:
        yield self.example(
            samples.status("PLAN", samples.approved(), gate_tracking=samples.correction("queued")),
            samples.status("PLAN", samples.approved(), gate_tracking=samples.correction("completed")),
        )
        bad = samples.decision(
            "UD-REVIEW-STRATEGY", None, status="skipped", resolved_at="2026-03-01T10:05:00Z", resolution_reason="short"
        )
        yield self.example(samples.status("IMPLEMENT_LOOP", bad), samples.status("IMPLEMENT_LOOP", samples.strategy()))


class ChangeRequestNotQueued(TeamRule):
    code = "TC227"
    name = "change-request-not-queued"
    severity = Severity.WARNING
    origin = FIXED
    summary = "A design change is requested, but no correction is queued."
    why = "A resumed session can't tell whether the correction was already sent."
    fix = "Queue the correction."
    fix_safety = "safe"
    example_path = samples.STATUS

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        requested = is_change_request(_answer(decision, APPROVE_DESIGN_ID))
        if requested and document.model.correction is CorrectionStatus.NONE:
            report(
                decision.at("answer"),
                "a change is requested, but correction_status is none; set it to queued",
                fix=_queue(document.model),
            )

    def examples(self) -> Iterator[Example]:
        asked = samples.approved("changes-requested: split the module")
        good = samples.status("APPROVE_DESIGN", asked, gate_tracking=samples.correction("queued"))
        yield self.example(samples.status("APPROVE_DESIGN", asked), good, good)
        partial: tuple[Any, ...] = ({}, {"APPROVE_DESIGN": {}}, {"APPROVE_DESIGN": {"correction_status": None}})
        for tracking in partial:
            yield self.example(samples.status("APPROVE_DESIGN", asked, gate_tracking=tracking), good, good)


def _queue(status: SessionStatus) -> Fix | None:
    """Set the correction status to queued, whatever part of the way to it exists."""
    title, queued = "queue the correction", CorrectionStatus.QUEUED.value
    if "gate_tracking" not in status:
        return safe(title, Insert("", "gate_tracking", None, {"APPROVE_DESIGN": {"correction_status": queued}}))
    tracking, gate = status.gate_tracking, status.design_gate
    if tracking is not None and "APPROVE_DESIGN" not in tracking:
        return safe(title, Insert("/gate_tracking", "APPROVE_DESIGN", None, {"correction_status": queued}))
    if gate is None:
        return None
    if "correction_status" not in gate:
        return safe(title, Insert(gate.pointer, "correction_status", None, queued))
    return safe(title, Replace(gate.at("correction_status"), queued))


_NO_TIME = "'at' in line {} must be a date-time with a time zone, not {}"
_NAME = "approve-design-history.jsonl"


class HistoryLineInvalid(ShapeRule):
    code = "TC602"
    name = "history-invalid"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A history line is not the object that a change request is recorded as."
    why = "The history is read line by line; a broken line can hide the request that it should record."
    fix = "Remove the blank line, or add the newline."
    fix_safety = "safe"
    kind = TeamKind.HISTORY
    example_path = samples.HISTORY

    def check_history(self, document: HistoryDocument, report: Report) -> None:
        for index, entry in document.entries.items():
            if entry.has("at") and not is_timestamp(entry.at_):
                report(entry.at("at"), _NO_TIME.format(index + 1, shown(entry.at_)))
        for line in document.reader.lines:
            if line.document is None:
                continue
            problems = [p for p in line.document.problems if p.name != "json-duplicate-key"]
            if problems:
                problem = in_line(problems[0].message, line.index)
                report(f"/{line.index}", f"line {line.index + 1} is not valid JSON: {problem}")
            elif type(line.value) is not dict:
                report(f"/{line.index}", f"line {line.index + 1} must be an object, not {type_name(line.value)}")
        self._history_blank_line(document, report)

    def _history_blank_line(self, document: HistoryDocument, report: Report) -> None:
        text = document.text
        for line in document.reader.lines:
            if line.is_blank:
                end = text.find("\n", line.end)
                fix = safe("remove the line", Cut(line.start, len(text) if end < 0 else end + 1))
                report(f"/{line.index}", f"line {line.index + 1} is blank", fix=fix, severity=Severity.WARNING)
        if not document.reader.ends_with_newline and not document.reader.lines[-1].is_blank:
            fix = Fix("add the newline", Safety.SAFE, (Respell(len(text), len(text), "\n"),))
            report(
                f"/{len(document.reader.lines) - 1}",
                "the last line does not end with a newline",
                fix=fix,
                severity=Severity.WARNING,
            )

    def examples(self) -> Iterator[Example]:
        yield self.example(samples.history(samples.request(at=...)), samples.history())
        yield self.example("changes: x\n", samples.history())
        yield self.example("[]\n", samples.history())
        bad = samples.history(samples.request(decision_id="UD-1"))
        yield self.example(bad, samples.history())
        yield self.example(samples.history(samples.request("approved")), samples.history())
        first = samples.history(samples.request(at="2026-03-01T09:00:00Z"))
        second = samples.history(samples.request("changes-requested: b"))
        yield self.example(f"{first}\n{second}", first + second, first + second)
        yield self.example(first.rstrip("\n"), first, first)


class HistoryOrder(TeamRule):
    code = "TC605"
    name = "history-order"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "Lines of the history are not in the order of their times, or are repeated."
    why = "Lines are only appended; an older line was inserted later, or the line before it was changed."
    example_path = samples.HISTORY

    def check_history(self, document: HistoryDocument, report: Report) -> None:
        last: tuple[int, Instant] | None = None
        for index, entry in document.entries.items():
            at = moment(entry.at_)
            if at is None:
                continue
            if last is not None and at.instant < last[1]:
                report(f"/{index}/at", f"line {index + 1} is older than line {last[0] + 1}")
            last = index, at.instant
        seen: dict[tuple[str, str], int] = {}
        for index, entry in document.entries.items():
            is_complete = entry.has("at") and entry.has("answer")
            if is_complete and (first := seen.setdefault((entry.at_, entry.answer), index)) != index:
                report(f"/{index}", f"line {index + 1} duplicates line {first + 1}", severity=Severity.WARNING)

    def examples(self) -> Iterator[Example]:
        early, late = samples.request(at="2026-03-01T09:00:00Z"), samples.request(at="2026-03-01T10:00:00Z")
        yield self.example(samples.history(late, early), samples.history(early, late))
        line = samples.history()
        yield self.example(line + line, line)


class HistoryRewritten(TeamRule):
    code = "TC606"
    name = "history-rewritten"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The history does not start with the content of its earlier version."
    why = "The file is append-only: recorded lines must stay as they are, byte for byte."
    example_path = samples.HISTORY

    def check_history(self, document: HistoryDocument, report: Report) -> None:
        earlier = _earlier(document)
        if earlier is None or document.text.startswith(earlier):
            return
        then, now = earlier.split("\n"), document.text.split("\n")
        same = next((i for i, (a, b) in enumerate(zip(then, now, strict=False)) if a != b), min(len(then), len(now)))
        at = f"/{same}" if same < len(document.reader.lines) else ""
        report(at, f"line {same + 1} differs from the earlier version; lines can only be appended")

    def examples(self) -> Iterator[Example]:
        first = samples.request("changes-requested: a", "2026-03-01T09:00:00Z")
        second = samples.request("changes-requested: b", "2026-03-01T10:00:00Z")
        yield self.example(
            samples.history(second),
            samples.history(first, second),
            files={f"earlier/{_NAME}": samples.history(first)},
            options={"team-history-baseline": f"earlier/{_NAME}"},
        )


def _earlier(document: Document) -> str | None:
    """Return the earlier version that the options name: a file, or a folder that holds it."""
    baseline = document.options.history_baseline
    if baseline is None:
        return None
    candidates = [baseline, os.path.join(baseline, _NAME)]
    if document.place is not None:
        candidates.append(os.path.join(baseline, document.place.name, _NAME))
    for path in candidates:
        data = read_artifact(path)
        if data is not None:
            return data.decode("utf-8", "replace")
    return None

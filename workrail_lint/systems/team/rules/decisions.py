"""TC201 to TC216: the record of a single user decision."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.documents.operations import Insert, Replace
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.team.model.documents import Decision
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, Document, Report, StatusDocument, TeamRule
from workrail_lint.systems.team.state_machine import NOT_RETURNABLE, USER_STATES
from workrail_lint.systems.team.vocabulary import (
    DecisionStatus,
    WorkflowState,
    is_decision_id,
    is_member,
    is_text,
    moment,
    words,
)
from workrail_lint.systems.team.wording import listed, shown, suggestion

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


class DecisionIdFormat(TeamRule):
    code = "TC201"
    name = "decision-id-format"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A decision id is neither `UD-` and a number nor the id of a gate."
    why = "Gates and resumed sessions look up decisions by id; an id of another form is never found."

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        ident = decision.decision_id
        if decision.has("decision_id") and not is_decision_id(ident):
            report(
                decision.at("decision_id"),
                f"{shown(ident)} is not a valid decision id; use UD-1, UD-APPROVE-DESIGN or UD-REVIEW-STRATEGY",
            )

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("DESIGN", samples.decision("UD-DEPLOY")),
            samples.status("DESIGN", samples.decision("UD-1")),
            path=samples.STATUS,
        )


class DecisionIdDuplicate(TeamRule):
    code = "TC202"
    name = "decision-id-duplicate"
    severity = Severity.ERROR
    origin = FIXED
    summary = "Two decisions have the same id."
    why = "A gate reads the first entry it finds, which may be an answer that was withdrawn."

    def check_status(self, document: StatusDocument, report: Report) -> None:
        seen: dict[str | int, Decision] = {}
        for decision in document.decisions:
            if not is_decision_id(decision.decision_id):
                continue
            key = decision.decision_id if decision.number is None else decision.number
            first = seen.setdefault(key, decision)
            if first is not decision:
                cure = "update in place" if decision.gate else "give this one the next number"
                message = (
                    f"{decision.decision_id} is at index {first.index} and again at index {decision.index}; {cure}"
                )
                report(decision.at("decision_id"), message)

    def examples(self) -> Iterator[Example]:
        again = samples.approved("changes-requested: smaller")
        yield Example(
            samples.status("PLAN", again, samples.approved()),
            samples.status("PLAN", samples.approved()),
            path=samples.STATUS,
        )


class DecisionIdOrder(TeamRule):
    code = "TC203"
    name = "decision-id-order"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "Numbered decisions are not in ascending order."
    why = "The list is read as the order in which the decisions were made."

    def check_status(self, document: StatusDocument, report: Report) -> None:
        previous: Decision | None = None
        for decision in document.decisions:
            if decision.number is None:
                continue
            if previous is not None and previous.number is not None and decision.number < previous.number:
                ids = f"{decision.decision_id} comes after {previous.decision_id}"
                report(decision.at("decision_id"), f"{ids}; list numbered decisions in ascending order")
            previous = decision

    def examples(self) -> Iterator[Example]:
        one, two = samples.decision("UD-1"), samples.decision("UD-2")
        yield Example(samples.status("DESIGN", two, one), samples.status("DESIGN", one, two), path=samples.STATUS)


class DecisionIdGap(TeamRule):
    code = "TC204"
    name = "decision-id-gap"
    severity = Severity.WARNING
    origin = FIXED
    summary = "Decision numbers skip a number or do not start at 1."
    why = "A missing number looks like a deleted decision."

    def check_status(self, document: StatusDocument, report: Report) -> None:
        entries = {decision.number: decision for decision in reversed(document.decisions)}
        before = 0
        for number in sorted(number for number in entries if number is not None):
            at = entries[number].at("decision_id")
            if number == 0:
                report(at, "decision numbers start at 1, not 0")
            elif number > before + 1:
                missing = f"UD-{before + 1}" + (f" to UD-{number - 1}" if number > before + 2 else "")
                report(
                    at,
                    f"{missing} {'are' if number > before + 2 else 'is'} missing before {entries[number].decision_id}",
                )
            before = number

    def examples(self) -> Iterator[Example]:
        one, two, three = (samples.decision(f"UD-{number}") for number in (1, 2, 3))
        yield Example(
            samples.status("DESIGN", one, three), samples.status("DESIGN", one, two, three), path=samples.STATUS
        )


class DecisionIdPadded(TeamRule):
    code = "TC205"
    name = "decision-id-padded"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A decision number has a leading zero."
    why = "`UD-01` and `UD-1` are different strings for the same number, so a search for one misses the other."

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        digits = decision.decision_id[3:]
        if decision.number is not None and len(digits) > 1 and digits[0] == "0":
            report(decision.at("decision_id"), f"{decision.decision_id} has a leading zero; write UD-{decision.number}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("DESIGN", samples.decision("UD-01")),
            samples.status("DESIGN", samples.decision("UD-1")),
            path=samples.STATUS,
        )


class DecisionFieldMissing(TeamRule):
    code = "TC206"
    name = "decision-field-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A decision lacks one of its eight fields."
    why = "The fields that are null show how far a decision is; a missing field shows nothing."
    fix = "Add null for `answer`, `resolved_at` and `resolution_reason`."
    fix_safety = "safe"

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        for name in _MEMBERS:
            if name not in decision:
                fix = safe("add it as null", Insert(decision.pointer, name, None, None)) if name in _NULLABLE else None
                report(decision.pointer, f"'{name}' is missing from {decision.label}", fix=fix)
        if decision.has("question") and not is_text(decision.question):
            report(decision.at("question"), f"the question of {decision.label} is blank")

    def examples(self) -> Iterator[Example]:
        good = samples.status("DESIGN", samples.decision())
        yield Example(samples.status("DESIGN", samples.decision(state_context=...)), good, path=samples.STATUS)
        lacking = samples.decision(resolution_reason=...)
        yield Example(
            samples.status("DESIGN", lacking),
            good,
            samples.status("DESIGN", {**lacking, "resolution_reason": None}),
            path=samples.STATUS,
        )


class DecisionStatusUnknown(TeamRule):
    code = "TC207"
    name = "decision-status-unknown"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The status of a decision is not one of the four known values."
    why = (
        "A state can be left only when all its decisions are resolved; an unknown status is neither open nor resolved."
    )

    describes = (("Decision", "enum", "status"),)

    def describe(self, violation: Violation, document: Document) -> Description:
        status = violation.value
        return Description(f"unknown decision status {shown(status)}{suggestion(status, words(DecisionStatus))}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("ASK_USER", samples.decision(answer=None, status="open")),
            samples.status("ASK_USER", samples.decision(answer=None)),
            path=samples.STATUS,
        )


class PendingNotBlank(TeamRule):
    code = "TC208"
    name = "pending-not-blank"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A pending decision already has an `answer`, `resolved_at` or `resolution_reason`."
    why = "It is unclear whether the user answered, so a resumed session asks again."

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        filled = [name for name in _NULLABLE if decision.raw.get(name) is not None]
        if decision.status == "pending" and filled:
            message = f"{decision.label} is pending, but {listed(filled)} {'are' if len(filled) > 1 else 'is'} set"
            report(decision.at(filled[0]), message)

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("ASK_USER", samples.decision(status="pending", resolved_at=None)),
            samples.status("ASK_USER", samples.decision(answer=None)),
            path=samples.STATUS,
        )


class AnsweredWithoutAnswer(TeamRule):
    code = "TC209"
    name = "answered-without-answer"
    severity = Severity.ERROR
    origin = FIXED
    summary = "An answered decision has no answer."
    why = "The session continues as if the user had answered."

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        is_empty = decision.has("answer") and not is_text(decision.answer)
        if decision.status == "answered" and is_empty:
            report(decision.at("answer"), f"{decision.label} is answered, but its answer is empty")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("DESIGN", samples.decision(answer=" ")),
            samples.status("DESIGN", samples.decision()),
            path=samples.STATUS,
        )


class TerminalWithoutTime(TeamRule):
    code = "TC210"
    name = "terminal-without-time"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A decision is answered, cancelled or skipped, but has no `resolved_at`."
    why = "The time proves that the answer was stored and shows the order of decisions."

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        status = decision.status
        is_null = decision.has("resolved_at") and decision.resolved_at is None
        if status in ("answered", "cancelled", "skipped") and is_null:
            report(decision.at("resolved_at"), f"{decision.label} is {status}, but resolved_at is null")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("DESIGN", samples.decision(resolved_at=None)),
            samples.status("DESIGN", samples.decision()),
            path=samples.STATUS,
        )


class ClosedWithoutReason(TeamRule):
    code = "TC211"
    name = "closed-without-reason"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A cancelled or skipped decision has no `resolution_reason`."
    why = "A question that was dropped without a reason looks like a forgotten one."

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        is_empty = decision.has("resolution_reason") and not is_text(decision.resolution_reason)
        if decision.status in ("cancelled", "skipped") and is_empty:
            report(
                decision.at("resolution_reason"),
                f"{decision.label} is {decision.status}, but resolution_reason is empty",
            )

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status(
                "DESIGN", samples.decision(answer=None, status="skipped", resolved_at="2026-03-01T10:05:00Z")
            ),
            samples.status(
                "DESIGN",
                samples.decision(
                    answer=None, status="skipped", resolved_at="2026-03-01T10:05:00Z", resolution_reason="out of scope"
                ),
            ),
            path=samples.STATUS,
        )


class ResolvedBeforeAsked(TeamRule):
    code = "TC212"
    name = "resolved-before-asked"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "A decision was resolved before it was asked."
    why = "One of the two times is wrong, and so is the order of everything that refers to them."

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        asked, resolved = moment(decision.asked_at), moment(decision.resolved_at)
        if asked is not None and resolved is not None and resolved < asked:
            times = shown(decision.resolved_at), shown(decision.asked_at)
            report(decision.at("resolved_at"), f"resolved_at {times[0]} is before asked_at {times[1]}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("DESIGN", samples.decision(resolved_at="2026-03-01T09:00:00Z")),
            samples.status("DESIGN", samples.decision()),
            path=samples.STATUS,
        )


class StateContextUnknown(TeamRule):
    code = "TC213"
    name = "state-context-unknown"
    severity = Severity.ERROR
    origin = FIXED
    summary = "`state_context` is not a workflow state."
    why = "It is the only record of the state to return to after the question."

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        context = decision.state_context
        # A gate allows exactly one value, which another rule checks.
        if decision.has("state_context") and decision.gate is None and not is_member(context, WorkflowState):
            report(
                decision.at("state_context"),
                f"unknown state {shown(context)}{suggestion(context, words(WorkflowState))}",
            )

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("DESIGN", samples.decision(state_context="CODING")),
            samples.status("DESIGN", samples.decision()),
            path=samples.STATUS,
        )


class StateContextNotReturnable(TeamRule):
    code = "TC214"
    name = "state-context-not-returnable"
    severity = Severity.ERROR
    origin = FIXED
    summary = f"The `state_context` of a numbered decision is {listed([f'`{s.value}`' for s in NOT_RETURNABLE], 'or')}."
    why = "After the answer the session returns to that state, and cannot continue from there."

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        context = decision.state_context
        if decision.number is not None and context in NOT_RETURNABLE:
            report(
                decision.at("state_context"),
                f"{decision.decision_id} can't return to {context}; set the state before ASK_USER",
            )

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("DESIGN", samples.decision(state_context="ASK_USER")),
            samples.status("DESIGN", samples.decision()),
            path=samples.STATUS,
        )


class StateContextGateMismatch(TeamRule):
    code = "TC215"
    name = "state-context-gate-mismatch"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The `state_context` of a gate decision is not that gate."
    why = "A resumed session re-enters the gate by this name."
    fix = "Replace it with the name of the gate."
    fix_safety = "safe"

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        context = decision.state_context
        if decision.gate is not None and decision.has("state_context") and context != decision.gate.value:
            gate = decision.gate.value
            fix = safe(f"replace with {gate}", Replace(decision.at("state_context"), gate))
            report(
                decision.at("state_context"),
                f"state_context of {decision.decision_id} must be {gate}, not {shown(context)}",
                fix=fix,
            )

    def examples(self) -> Iterator[Example]:
        bad = samples.decision("UD-REVIEW-STRATEGY", "per-batch", state_context="PLAN")
        good = samples.status("IMPLEMENT_LOOP", samples.strategy())
        yield Example(samples.status("IMPLEMENT_LOOP", bad), good, good, path=samples.STATUS)


class StateContextIsGate(TeamRule):
    code = "TC216"
    name = "state-context-is-gate"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The `state_context` of a numbered decision is a gate."
    why = (
        "A gate asks one question under a fixed id; any other question asked there sends the session back into "
        "the gate."
    )

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        context = decision.state_context
        if decision.number is not None and context in USER_STATES[1:]:
            report(
                decision.at("state_context"),
                f"{decision.decision_id} was asked in {context}; a gate asks only its own question",
            )

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("PLAN", samples.decision(state_context="APPROVE_DESIGN")),
            samples.status("PLAN", samples.decision(state_context="DESIGN")),
            path=samples.STATUS,
        )

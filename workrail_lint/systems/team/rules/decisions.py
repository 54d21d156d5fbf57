"""The record of a single user decision."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.documents.operations import Replace
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Example
from workrail_lint.systems.team.model.documents import Decision
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import (
    DECIDED,
    FIXED,
    Report,
    StatusDocument,
    TeamRule,
)
from workrail_lint.systems.team.state_machine import (
    NOT_RETURNABLE,
    USER_STATES,
)
from workrail_lint.systems.team.vocabulary import (
    is_decision_id,
    is_text,
    moment,
)
from workrail_lint.systems.team.wording import listed, shown

_NULLABLE = ("answer", "resolved_at", "resolution_reason")


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


class DecisionNumbers(TeamRule):
    code = "TC204"
    name = "decision-numbers"
    severity = Severity.WARNING
    origin = FIXED
    summary = "Decision numbers skip a number, do not start at 1, are not in ascending order, or have a leading zero."
    why = (
        "A missing number looks like a deleted decision, and the list is read as the order in which the decisions "
        "were made."
    )

    def check_status(self, document: StatusDocument, report: Report) -> None:
        self._decision_id_gap(document, report)
        self._decision_id_order(document, report)

    def _decision_id_gap(self, document: StatusDocument, report: Report) -> None:
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

    def _decision_id_order(self, document: StatusDocument, report: Report) -> None:
        previous: Decision | None = None
        for decision in document.decisions:
            if decision.number is None:
                continue
            if previous is not None and previous.number is not None and decision.number < previous.number:
                ids = f"{decision.decision_id} comes after {previous.decision_id}"
                report(decision.at("decision_id"), f"{ids}; list numbered decisions in ascending order")
            previous = decision

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        digits = decision.decision_id[3:]
        if decision.number is not None and len(digits) > 1 and digits[0] == "0":
            report(decision.at("decision_id"), f"{decision.decision_id} has a leading zero; write UD-{decision.number}")

    def examples(self) -> Iterator[Example]:
        one, two, three = (samples.decision(f"UD-{number}") for number in (1, 2, 3))
        yield Example(
            samples.status("DESIGN", one, three), samples.status("DESIGN", one, two, three), path=samples.STATUS
        )
        one, two = samples.decision("UD-1"), samples.decision("UD-2")
        yield Example(samples.status("DESIGN", two, one), samples.status("DESIGN", one, two), path=samples.STATUS)
        yield Example(
            samples.status("DESIGN", samples.decision("UD-01")),
            samples.status("DESIGN", samples.decision("UD-1")),
            path=samples.STATUS,
        )


class DecisionMembersContradictStatus(TeamRule):
    code = "TC209"
    name = "decision-members-contradict-status"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A pending decision has an answer, time or reason, or a resolved one lacks what its status requires."
    why = (
        "It is unclear whether the user answered: a resumed session asks again, or continues as if there were an "
        "answer."
    )

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        self._answered_without_answer(decision, document, report)
        self._pending_not_blank(decision, document, report)
        self._terminal_without_time(decision, document, report)
        self._closed_without_reason(decision, document, report)

    def _answered_without_answer(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        is_empty = decision.has("answer") and not is_text(decision.answer)
        if decision.status == "answered" and is_empty:
            report(decision.at("answer"), f"{decision.label} is answered, but its answer is empty")

    def _pending_not_blank(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        filled = [name for name in _NULLABLE if decision.raw.get(name) is not None]
        if decision.status == "pending" and filled:
            message = f"{decision.label} is pending, but {listed(filled)} {'are' if len(filled) > 1 else 'is'} set"
            report(decision.at(filled[0]), message)

    def _terminal_without_time(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        status = decision.status
        is_null = decision.has("resolved_at") and decision.resolved_at is None
        if status in ("answered", "cancelled", "skipped") and is_null:
            report(decision.at("resolved_at"), f"{decision.label} is {status}, but resolved_at is null")

    def _closed_without_reason(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        is_empty = decision.has("resolution_reason") and not is_text(decision.resolution_reason)
        if decision.status in ("cancelled", "skipped") and is_empty:
            report(
                decision.at("resolution_reason"),
                f"{decision.label} is {decision.status}, but resolution_reason is empty",
            )

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("DESIGN", samples.decision(answer=" ")),
            samples.status("DESIGN", samples.decision()),
            path=samples.STATUS,
        )
        yield Example(
            samples.status("ASK_USER", samples.decision(status="pending", resolved_at=None)),
            samples.status("ASK_USER", samples.decision(answer=None)),
            path=samples.STATUS,
        )
        yield Example(
            samples.status("DESIGN", samples.decision(resolved_at=None)),
            samples.status("DESIGN", samples.decision()),
            path=samples.STATUS,
        )
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


class StateContextWrong(TeamRule):
    code = "TC214"
    name = "state-context-wrong"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A decision returns to a state that it can't return to, or pending decisions return to different states."
    why = "`state_context` is the only record of where the session continues after the question."
    fix = "Replace it with the name of the gate."
    fix_safety = "safe"

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        self._state_context_not_returnable(decision, document, report)
        self._state_context_gate_mismatch(decision, document, report)
        self._state_context_is_gate(decision, document, report)

    def _state_context_not_returnable(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        context = decision.state_context
        if decision.number is not None and context in NOT_RETURNABLE:
            report(
                decision.at("state_context"),
                f"{decision.decision_id} can't return to {context}; set the state before ASK_USER",
            )

    def _state_context_gate_mismatch(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        context = decision.state_context
        if decision.gate is not None and decision.has("state_context") and context != decision.gate.value:
            gate = decision.gate.value
            fix = safe(f"replace with {gate}", Replace(decision.at("state_context"), gate))
            report(
                decision.at("state_context"),
                f"state_context of {decision.decision_id} must be {gate}, not {shown(context)}",
                fix=fix,
            )

    def _state_context_is_gate(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        context = decision.state_context
        if decision.number is not None and context in USER_STATES[1:]:
            report(
                decision.at("state_context"),
                f"{decision.decision_id} was asked in {context}; a gate asks only its own question",
                severity=Severity.WARNING,
            )

    def check_status(self, document: StatusDocument, report: Report) -> None:
        pending = [d for d in document.decisions if d.number is not None and d.status == "pending"]
        for decision in pending[1:]:
            first, other = pending[0].state_context, decision.state_context
            if decision.has("state_context") and first != other:
                ids = pending[0].decision_id, decision.decision_id
                message = f"{ids[0]} returns to {shown(first)}, but {ids[1]} returns to {shown(other)}"
                report(decision.at("state_context"), message, severity=Severity.WARNING)

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.status("DESIGN", samples.decision(state_context="ASK_USER")),
            samples.status("DESIGN", samples.decision()),
            path=samples.STATUS,
        )
        bad = samples.decision("UD-REVIEW-STRATEGY", "per-batch", state_context="PLAN")
        good = samples.status("IMPLEMENT_LOOP", samples.strategy())
        yield Example(samples.status("IMPLEMENT_LOOP", bad), good, good, path=samples.STATUS)
        yield Example(
            samples.status("PLAN", samples.decision(state_context="APPROVE_DESIGN")),
            samples.status("PLAN", samples.decision(state_context="DESIGN")),
            path=samples.STATUS,
        )
        one = samples.decision("UD-1", None)
        yield Example(
            samples.status("ASK_USER", one, samples.decision("UD-2", None, state_context="PLAN")),
            samples.status("ASK_USER", one, samples.decision("UD-2", None)),
            path=samples.STATUS,
        )

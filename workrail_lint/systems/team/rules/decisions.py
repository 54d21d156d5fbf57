"""The record of a single user decision."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.documents.operations import Replace
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Example
from workrail_lint.systems.team.model.documents import Decision
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, Report, StatusDocument, TeamRule
from workrail_lint.systems.team.state_machine import NOT_RETURNABLE, USER_STATES
from workrail_lint.systems.team.vocabulary import is_decision_id, is_text, moment
from workrail_lint.systems.team.wording import listed, shown

_NULLABLE = ("answer", "resolved_at", "resolution_reason")


class DecisionIdDuplicate(TeamRule):
    code = "TC202"
    name = "decision-id-duplicate"
    severity = Severity.ERROR
    origin = FIXED
    summary = "Two decisions have the same id."
    why = "A gate reads the first entry it finds, which may be an answer that was withdrawn."
    example_path = samples.STATUS

    def check_status(self, document: StatusDocument, report: Report) -> None:
        seen: dict[str | int, Decision] = {}
        for decision in document.decisions:
            if not is_decision_id(decision.decision_id):
                continue
            key = decision.decision_id if decision.number is None else decision.number
            first = seen.setdefault(key, decision)
            if first is not decision:
                cure = "update in place" if decision.gate else "give this one the next number"
                both = f"index {first.index} and again at index {decision.index}"
                report(decision.at("decision_id"), f"{decision.decision_id} is at {both}; {cure}")

    def examples(self) -> Iterator[Example]:
        again = samples.approved("changes-requested: smaller")
        yield self.example(
            samples.status("PLAN", again, samples.approved()), samples.status("PLAN", samples.approved())
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
    example_path = samples.STATUS

    def check_status(self, document: StatusDocument, report: Report) -> None:
        self._decision_id_gap(document, report)
        previous: Decision | None = None
        for decision in document.decisions:
            if decision.number is None:
                continue
            if previous is not None and previous.number is not None and decision.number < previous.number:
                ids = f"{decision.decision_id} comes after {previous.decision_id}"
                report(decision.at("decision_id"), f"{ids}; list numbered decisions in ascending order")
            previous = decision

    def _decision_id_gap(self, document: StatusDocument, report: Report) -> None:
        entries = {decision.number: decision for decision in reversed(document.decisions)}
        before = 0
        for number in sorted(number for number in entries if number is not None):
            at = entries[number].at("decision_id")
            if number == 0:
                report(at, "decision numbers start at 1, not 0")
            elif number > before + 1:
                several = number > before + 2
                missing = f"UD-{before + 1} to UD-{number - 1} are" if several else f"UD-{before + 1} is"
                report(at, f"{missing} missing before {entries[number].decision_id}")
            before = number

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        digits = decision.decision_id[3:]
        if decision.number is not None and len(digits) > 1 and digits[0] == "0":
            report(decision.at("decision_id"), f"{decision.decision_id} has a leading zero; write UD-{decision.number}")

    def examples(self) -> Iterator[Example]:
        one, two, three = (samples.decision(f"UD-{number}") for number in (1, 2, 3))
        yield self.example(samples.status("DESIGN", one, three), samples.status("DESIGN", one, two, three))
        yield self.example(samples.status("DESIGN", two, one), samples.status("DESIGN", one, two))
        yield self.example(samples.status("DESIGN", samples.decision("UD-01")), samples.status("DESIGN", one))


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
    example_path = samples.STATUS

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        status, label = decision.status, decision.label
        if status == "answered" and decision.has("answer") and not is_text(decision.answer):
            report(decision.at("answer"), f"{label} is answered, but its answer is empty")
        filled = [name for name in _NULLABLE if decision.raw.get(name) is not None]
        if status == "pending" and filled:
            message = f"{label} is pending, but {listed(filled)} {'are' if len(filled) > 1 else 'is'} set"
            report(decision.at(filled[0]), message)
        is_null = decision.has("resolved_at") and decision.resolved_at is None
        if status in ("answered", "cancelled", "skipped") and is_null:
            report(decision.at("resolved_at"), f"{label} is {status}, but resolved_at is null")
        is_empty = decision.has("resolution_reason") and not is_text(decision.resolution_reason)
        if status in ("cancelled", "skipped") and is_empty:
            report(decision.at("resolution_reason"), f"{label} is {status}, but resolution_reason is empty")

    def examples(self) -> Iterator[Example]:
        good = samples.status("DESIGN", samples.decision())
        yield self.example(samples.status("DESIGN", samples.decision(answer=" ")), good)
        yield self.example(
            samples.status("ASK_USER", samples.decision(status="pending", resolved_at=None)),
            samples.status("ASK_USER", samples.decision(answer=None)),
        )
        yield self.example(samples.status("DESIGN", samples.decision(resolved_at=None)), good)
        skipped = samples.decision(answer=None, status="skipped", resolved_at="2026-03-01T10:05:00Z")
        yield self.example(
            samples.status("DESIGN", skipped),
            samples.status("DESIGN", {**skipped, "resolution_reason": "out of scope"}),
        )


class ResolvedBeforeAsked(TeamRule):
    code = "TC212"
    name = "resolved-before-asked"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "A decision was resolved before it was asked."
    why = "One of the two times is wrong, and so is the order of everything that refers to them."
    example_path = samples.STATUS
    bad = samples.status("DESIGN", samples.decision(resolved_at="2026-03-01T09:00:00Z"))
    good = samples.status("DESIGN", samples.decision())

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        asked, resolved = moment(decision.asked_at), moment(decision.resolved_at)
        if asked is not None and resolved is not None and resolved.instant < asked.instant:
            times = shown(decision.resolved_at), shown(decision.asked_at)
            report(decision.at("resolved_at"), f"resolved_at {times[0]} is before asked_at {times[1]}")


class StateContextWrong(TeamRule):
    code = "TC214"
    name = "state-context-wrong"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A decision returns to a state that it can't return to, or pending decisions return to different states."
    why = "`state_context` is the only record of where the session continues after the question."
    fix = "Replace it with the name of the gate."
    fix_safety = "safe"
    example_path = samples.STATUS

    def check_decision(self, decision: Decision, document: StatusDocument, report: Report) -> None:
        context, at, ident = decision.state_context, decision.at("state_context"), decision.decision_id
        if decision.number is not None and context in NOT_RETURNABLE:
            report(at, f"{ident} can't return to {context}; set the state before ASK_USER")
        if decision.gate is not None and decision.has("state_context") and context != decision.gate.value:
            gate = decision.gate.value
            fix = safe(f"replace with {gate}", Replace(at, gate))
            report(at, f"state_context of {ident} must be {gate}, not {shown(context)}", fix=fix)
        if decision.number is not None and context in USER_STATES[1:]:
            message = f"{ident} was asked in {context}; a gate asks only its own question"
            report(at, message, severity=Severity.WARNING)

    def check_status(self, document: StatusDocument, report: Report) -> None:
        pending = [d for d in document.decisions if d.number is not None and d.status == "pending"]
        for decision in pending[1:]:
            first, other = pending[0].state_context, decision.state_context
            if decision.has("state_context") and first != other:
                ids = pending[0].decision_id, decision.decision_id
                message = f"{ids[0]} returns to {shown(first)}, but {ids[1]} returns to {shown(other)}"
                report(decision.at("state_context"), message, severity=Severity.WARNING)

    def examples(self) -> Iterator[Example]:
        yield self.example(
            samples.status("DESIGN", samples.decision(state_context="ASK_USER")),
            samples.status("DESIGN", samples.decision()),
        )
        bad = samples.decision("UD-REVIEW-STRATEGY", "per-batch", state_context="PLAN")
        good = samples.status("IMPLEMENT_LOOP", samples.strategy())
        yield self.example(samples.status("IMPLEMENT_LOOP", bad), good, good)
        yield self.example(
            samples.status("PLAN", samples.decision(state_context="APPROVE_DESIGN")),
            samples.status("PLAN", samples.decision(state_context="DESIGN")),
        )
        one = samples.decision("UD-1", None)
        yield self.example(
            samples.status("ASK_USER", one, samples.decision("UD-2", None, state_context="PLAN")),
            samples.status("ASK_USER", one, samples.decision("UD-2", None)),
        )

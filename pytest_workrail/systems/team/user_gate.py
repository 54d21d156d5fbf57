"""Asking the user, the same way in all three states: store, read back, ask, store the answer, read back, leave."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_workrail.scenarios.drivers import file_bytes
from pytest_workrail.systems.team.questions import Effect, Kind, Question, Topic, effect, known_issue, topic_of
from pytest_workrail.systems.team.run_state import SessionState, Status, persistence_failed
from pytest_workrail.systems.team.session import HISTORY, STATUS, Halt, TeamBlocker, about_decision, blocked
from pytest_workrail.systems.team.simulated_agents import Answer
from workrail_lint.base.js import items_of
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.model.build import status_model
from workrail_lint.systems.team.model.documents import Decision
from workrail_lint.systems.team.scenario import Moot, Refusal
from workrail_lint.systems.team.state_machine import GATES, LIMITS
from workrail_lint.systems.team.vocabulary import (
    APPROVE_DESIGN_ID,
    NO_RESPONSE,
    REVIEW_STRATEGY_ID,
    BlockerSlug,
    CorrectionStatus,
    DecisionStatus,
    WorkflowState,
    is_text,
)

S = WorkflowState
D = DecisionStatus
_ACCEPTED = {
    APPROVE_DESIGN_ID: "approved, or changes-requested: with what to change",
    REVIEW_STRATEGY_ID: "per-batch or single-final",
}
_GIVEN_UP = f"no valid answer after {LIMITS.reasks} re-asks"


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """How a question ended."""

    ident: str
    topic: Topic
    status: DecisionStatus
    answer: str | None
    reason: str | None

    @property
    def effect(self) -> Effect:
        return effect(self.topic, self.status, self.answer)


class Commit(NamedTuple):
    """A change of decisions that has to be on disk before anything else happens."""

    change: Callable[[Status], None]
    labels: list[str]  # what the event says was set
    request: dict[str, Any] | None = None  # a line for the history, written first
    captured: str = ""  # what the user said, in case a person has to store it


# ------------------------------------------------------------------------------------------------- persistence


def commit(session: SessionState, wanted: Commit) -> Ok[None] | Err[Halt]:
    """Write, read back, and write the same data again if that failed; the user is never asked for it again."""
    store, log = session.store, session.log
    before = store.read(STATUS) or b""
    status = copy.deepcopy(store.status() or {})
    wanted.change(status)
    status["last_update"] = session.clock.timestamp
    data = file_bytes(status)
    kept = store.read(HISTORY) or b""
    line = b"" if wanted.request is None else json.dumps(wanted.request).encode() + b"\n"
    for _ in range(LIMITS.rewrites + 1):
        if line and store.read(HISTORY) != kept + line:
            refused = isinstance(store.append(HISTORY, kept, line), Err)
            log.emit("write_error" if refused else "write", file=HISTORY, lines=1)
            if refused:
                continue
        if isinstance(store.write(STATUS, data), Err):
            log.emit("write_error", file=STATUS, set=wanted.labels)
            continue
        log.emit("write", file=STATUS, set=wanted.labels)
        is_stored = _read_back(session, data, kept + line if line else None)
        log.emit("verify", ok=is_stored)
        if is_stored:
            return Ok(None)
    # What could not be stored is not there; half of it must not be either.
    store.put(STATUS, before)
    if line and kept:
        store.put(HISTORY, kept)
    elif line:
        store.remove(HISTORY)
    hint = f" and store the answer that was given: {wanted.captured}" if wanted.captured else ""
    return Err(persistence_failed(STATUS, session.state, f"Restore {STATUS}, enter {session.state.value} again{hint}"))


def _read_back(session: SessionState, data: bytes, history: bytes | None) -> bool:
    return session.store.read(STATUS) == data and (history is None or session.store.read(HISTORY) == history)


def _entry(ident: str, question: str, context: WorkflowState, now: str) -> dict[str, Any]:
    return {
        "decision_id": ident,
        "question": question,
        "status": D.PENDING.value,
        "answer": None,
        "asked_at": now,
        "resolved_at": None,
        "state_context": context.value,
        "resolution_reason": None,
    }


def _put_entry(status: Status, entry: dict[str, Any]) -> None:
    """Put the only entry of a decision in its place, however often it is asked."""
    entries = items_of(status.setdefault("user_decisions", []))
    known = status_model(status).decision(entry["decision_id"])
    if known is None:
        entries.append(entry)
    else:
        entries[known.index] = entry


def _close(status: Status, outcome: QuestionOutcome, now: str) -> str:
    """Store how a question ended. Return its text."""
    decision = status_model(status).decision(outcome.ident)
    if decision is None:
        return ""
    end = {"status": outcome.status.value, "answer": outcome.answer, "resolved_at": now}
    status["user_decisions"][decision.index] = {**decision.raw, **end, "resolution_reason": outcome.reason}
    return decision.question


# ------------------------------------------------------------------------------------------------------- gates


def parse_answer(ident: str, text: str) -> str | None:
    """Return an answer to a gate as it is stored; None for one that means nothing."""
    if ident == REVIEW_STRATEGY_ID:
        strategy = machine.normal_strategy(text)
        return None if strategy is None else strategy.value
    answer = machine.normal_approval(text)
    return answer if machine.is_approval(answer) or machine.is_change_request(answer) else None


def ask_gate(session: SessionState, ident: str, question: str) -> Ok[str] | Err[Halt]:
    """Return the stored answer of a gate. Without one the decision is cancelled and the session blocked."""
    stored = session.status_model.decision(ident)
    if stored is None or stored.status != "pending":
        entry = _entry(ident, question, GATES[ident], session.clock.timestamp)
        written = commit(session, Commit(lambda status: _put_entry(status, entry), [f"{ident}=pending"]))
        if isinstance(written, Err):
            return written
    # The count lives here and nowhere else: who comes back to the gate has all tries again.
    for _ in range(LIMITS.reasks + 1):
        replied = _asked(session, [ident])
        if isinstance(replied, Err):
            return replied
        reply = replied.value[ident]
        if isinstance(reply, Refusal):
            return _give_up(session, ident, reply.cancel, f"was cancelled: {reply.cancel}")
        answer = parse_answer(ident, reply) if isinstance(reply, str) else None
        if answer is not None:
            return _accept(session, ident, answer)
    return _give_up(session, ident, _GIVEN_UP, f"has {_GIVEN_UP}")


def _asked(session: SessionState, idents: list[str]) -> Ok[dict[str, Answer]] | Err[Halt]:
    """Show questions and take what the user says to them."""
    halt = session.out_of_steps()
    if halt is not None:
        return Err(halt)
    session.log.emit("ask", decisions=idents)
    replies: dict[str, Answer] = {}
    for ident in idents:
        answer = session.user.answer(ident)
        if isinstance(answer, Err):
            return answer
        replies[ident] = answer.value
    answered = [ident for ident, reply in replies.items() if reply is not None]
    refused = [ident for ident, reply in replies.items() if isinstance(reply, Refusal)]
    session.log.emit("user_reply", decisions=answered, **({"cancel": refused} if refused else {}))
    return Ok(replies)


def _accept(session: SessionState, ident: str, answer: str) -> Ok[str] | Err[Halt]:
    outcome = QuestionOutcome(ident, Topic(Kind.INFO), D.ANSWERED, answer, None)
    request = None
    if ident == APPROVE_DESIGN_ID and machine.is_change_request(answer):
        now = session.clock.timestamp
        request = {"at": now, "decision_id": ident, "answer": answer, "state_context": GATES[ident].value}
    stored = _store(session, [outcome], answer, request)
    return stored if isinstance(stored, Err) else Ok(answer)


def _give_up(session: SessionState, ident: str, reason: str, why: str) -> Err[Halt]:
    stored = _store(session, [QuestionOutcome(ident, Topic(Kind.INFO), D.CANCELLED, None, reason)], reason)
    if isinstance(stored, Err):
        return stored
    text, fix = f"{GATES[ident].value} {why}", f"Resume and answer {_ACCEPTED[ident]}"
    missing = about_decision(TeamBlocker.GATE_DECISION_MISSING, ident, text, fix)
    return Err(blocked(BlockerSlug.MANDATORY_USER_DECISION_MISSING, missing))


def set_correction(status: Status, to: CorrectionStatus, dispatch: dict[str, str] | None = None) -> None:
    gate = status.setdefault("gate_tracking", {}).setdefault(S.APPROVE_DESIGN.value, {})
    gate["correction_status"] = to.value
    if dispatch is not None:
        gate["last_correction_dispatch"] = dispatch


# ------------------------------------------------------------------------------------------ ad-hoc questions


def ask(session: SessionState, questions: list[Question]) -> Ok[list[QuestionOutcome]] | Err[Halt]:
    """Interrupt the state for questions. The caller leaves ASK_USER again."""
    context = session.state
    now = session.clock.timestamp
    first = 1 + max((entry.number or 0 for entry in session.status_model.user_decisions), default=0)
    asked = {f"UD-{first + index}": question for index, question in enumerate(questions)}
    session.enter(S.ASK_USER)

    def change(status: Status) -> None:
        for ident, question in asked.items():
            _put_entry(status, _entry(ident, question.text, context, now))

    written = commit(session, Commit(change, [f"{ident}=pending" for ident in asked]))
    if isinstance(written, Err):
        return written
    return settle_questions(session, {ident: question.topic for ident, question in asked.items()})


def ask_pending(session: SessionState, entries: list[Decision]) -> Ok[list[QuestionOutcome]] | Err[Halt]:
    """Ask what an earlier run stored and never got an answer to."""
    session.arrive(S.ASK_USER)
    return settle_questions(session, {entry.decision_id: topic_of(entry.question) for entry in entries})


def settle_questions(session: SessionState, open_topics: dict[str, Topic]) -> Ok[list[QuestionOutcome]] | Err[Halt]:
    """Ask until every question is settled or may not be asked again, then store all of it at once."""
    settled: dict[str, QuestionOutcome] = {}
    for _ in range(LIMITS.reasks + 1):
        waiting = [ident for ident in open_topics if ident not in settled]
        if not waiting:
            break
        replied = _asked(session, waiting)
        if isinstance(replied, Err):
            return replied
        for ident, reply in replied.value.items():
            outcome = _outcome(ident, open_topics[ident], reply)
            if outcome is not None:
                settled[ident] = outcome
    outcomes = [settled[ident] for ident in open_topics if ident in settled]
    if outcomes:
        captured = "; ".join(f"{each.ident}: {each.answer or each.reason}" for each in outcomes)
        stored = _store(session, outcomes, captured)
        if isinstance(stored, Err):
            return stored
    unsettled = [ident for ident in open_topics if ident not in settled]
    if unsettled:
        reasons = [
            about_decision(
                TeamBlocker.DECISION_UNRESOLVED,
                ident,
                f"{ident} has {_GIVEN_UP}, but a security question needs one",
                f"Resume and ask {ident} again",
            )
            for ident in unsettled
        ]
        return Err(blocked(BlockerSlug.MANDATORY_USER_DECISION_MISSING, *reasons))
    return Ok(outcomes)


def _outcome(ident: str, topic: Topic, reply: Answer) -> QuestionOutcome | None:
    """Return how a question ends with this reply; None if it has to be asked again."""
    match reply:
        case Refusal(cancel=reason):
            named = f"deferred: {reason}" if topic.kind is Kind.SECURITY else reason
            return QuestionOutcome(ident, topic, D.CANCELLED, None, named)
        case Moot(skip=reason):
            return QuestionOutcome(ident, topic, D.SKIPPED, None, reason)
        case str() if is_text(reply):
            return QuestionOutcome(ident, topic, D.ANSWERED, reply, None)
        case _ if topic.is_from_security:
            return None
        case _:
            return QuestionOutcome(ident, topic, D.CANCELLED, None, NO_RESPONSE)


def _store(
    session: SessionState, outcomes: list[QuestionOutcome], captured: str, request: dict[str, Any] | None = None
) -> Ok[None] | Err[Halt]:
    """Store how questions ended, all at once, and emit their decisions. A change request also queues a correction."""
    now = session.clock.timestamp

    def change(status: Status) -> None:
        for outcome in outcomes:
            question = _close(status, outcome, now)
            issue = known_issue(outcome.topic, outcome.effect, question, outcome.answer, outcome.reason)
            if issue is not None:
                items_of(status.setdefault("known_issues", [])).append(issue)
        if request is not None:
            set_correction(status, CorrectionStatus.QUEUED)

    labels = [f"{outcome.ident}={outcome.status.value}" for outcome in outcomes]
    labels += [] if request is None else ["correction=queued"]
    written = commit(session, Commit(change, labels, request, captured))
    if isinstance(written, Err):
        return written
    # An answer that lets one finding pass does not lift the gate while another has something repaired.
    kept = {(each.topic.waives, each.topic.task) for each in outcomes if each.effect is not Effect.WAIVE}
    for outcome in outcomes:
        agent, task = outcome.topic.waives, outcome.topic.task
        more = {}
        if agent is not None and (agent, task) not in kept:
            more = {"waives": [agent.value], "task": task}
            session.memory.waived.add((agent, task))
        session.log.emit("decision", id=outcome.ident, status=outcome.status.value, **more)
    return Ok(None)

"""How a run changes state, asks, stores and retries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.base.closed_sets import is_member
from workrail_lint.base.wording import counted
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.team.model.events import (
    AgentDispatched,
    AgentReplied,
    DecisionClosed,
    FileWritten,
    RetryCounted,
    StateEntered,
    TraceEvent,
    UserAsked,
    UserReplied,
    WriteFailed,
    WriteVerified,
)
from workrail_lint.systems.team.rules.base import FIXED, Report, TeamRule
from workrail_lint.systems.team.state_machine import ANSWER_TARGETS, GATES, LIMITS, USER_STATES, may_follow
from workrail_lint.systems.team.trace import Trace
from workrail_lint.systems.team.vocabulary import APPROVE_DESIGN_ID, AgentName, FixLoop, WorkflowState
from workrail_lint.systems.team.wording import listed, shown

S = WorkflowState
_GATE_OF = {gate: ident for ident, gate in GATES.items()}
TRACE = "team/example.trace.json"


def trace(*events: dict[str, Any], mode: str = "full", **members: Any) -> dict[str, Any]:
    """Return a trace document for an example."""
    numbered = [{"n": number, **event} for number, event in enumerate(events, 1)]
    return {"pack": "team", "mode": mode, **members, "trace": numbered}


def enter(state: str) -> dict[str, Any]:
    return {"event": "enter_state", "state": state}


def at(state: str, event: str, **members: Any) -> dict[str, Any]:
    return {"event": event, "state": state, **members}


def _asking(state: str, ident: str) -> list[dict[str, Any]]:
    """Return a question asked the right way: stored, read back, asked, answered."""
    return [
        at(state, "write", file="status.json", set=[f"{ident}=pending"]),
        at(state, "verify", ok=True),
        at(state, "ask", decisions=[ident]),
        at(state, "user_reply", decisions=[ident]),
    ]


def _answering(state: str, ident: str, status: str = "answered") -> list[dict[str, Any]]:
    return [
        at(state, "write", file="status.json", set=[f"{ident}={status}"]),
        at(state, "verify", ok=True),
        at(state, "decision", id=ident, status=status),
    ]


_GATE, _DESIGN = "APPROVE_DESIGN", APPROVE_DESIGN_ID


class IllegalTransition(TeamRule):
    code = "TC801"
    name = "illegal-transition"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A run entered a state that can't follow the previous one."
    why = "The work of the skipped state was not done."
    example_path = TRACE
    bad = trace(enter("INTAKE"), enter("DESIGN"), enter("PLAN"))
    good = trace(enter("INTAKE"), enter("DESIGN"), enter("APPROVE_DESIGN"), enter("PLAN"))

    def check_trace(self, trace: Trace, report: Report) -> None:
        previous: StateEntered | None = None
        last: WorkflowState | None = None
        before_question: WorkflowState | None = None
        happened = "enter_state"
        for event in trace.events:
            if not isinstance(event, StateEntered):
                happened = _described(event)
                continue
            state = None if event.state is None else S(event.state)
            if previous is not None and last is not None and state is not None:
                allowed = may_follow(last, state, trace.mode_at(previous))
                if last is S.ASK_USER and before_question is not None:
                    # The session returns to where it came from, or repairs what the user decided to repair.
                    allowed = state in (before_question, S.BLOCKED, *ANSWER_TARGETS)
                if not allowed:
                    report(event.pointer, f"{state.value} can't follow {last.value} after the event {shown(happened)}")
            if state is S.ASK_USER:
                before_question = last
            previous, last = event, state
            happened = "enter_state"


def _described(event: TraceEvent) -> str:
    """Return an event as messages name it, and what it is about."""
    about = (getattr(event, member, None) for member in ("agent", "task", "id", "status", "to"))
    return " ".join(filter(None, (event.event, *about)))


class DecisionNotStored(TeamRule):
    code = "TC802"
    name = "decision-not-stored"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A question was asked before it was stored, or a state was left before its answers were read back."
    why = "If the session stops now, it does not know that it asked, nor what."
    example_path = TRACE

    def check_trace(self, trace: Trace, report: Report) -> None:
        self._ask_before_persist(trace, report)
        self._leave_before_verify(trace, report)

    def _ask_before_persist(self, trace: Trace, report: Report) -> None:
        stored = set(trace.model.pending)
        staged: dict[str, bool] = {}  # decision to whether it is being written as pending
        for event in trace.events:
            match event:
                case FileWritten(file="status.json"):
                    staged |= {ident: status == "pending" for ident, status in event.changes.items()}
                case WriteVerified():
                    if event.ok:
                        stored |= {ident for ident, pending in staged.items() if pending}
                        stored -= {ident for ident, pending in staged.items() if not pending}
                    staged = {}
                case UserAsked():
                    missing = [ident for ident in event.decisions if ident not in stored]
                    if missing:
                        was = "was" if len(missing) == 1 else "were"
                        message = f"{listed(missing)} {was} asked before the pending entry was stored and read back"
                        report(event.pointer, message)

    def _leave_before_verify(self, trace: Trace, report: Report) -> None:
        current: str | None = None
        unverified: dict[str, None] = {}
        has_failed = False
        for event in trace.events:
            match event:
                case StateEntered():
                    # What can't be stored ends in BLOCKED, and that is right; what was never read back may not.
                    is_excused = event.state == current or (event.state == S.BLOCKED and has_failed)
                    if current in USER_STATES and unverified and not is_excused:
                        report(event.pointer, f"{current} was left before {listed(unverified)} had been read back")
                    unverified = {}
                    has_failed = False
                    current = event.state
                case FileWritten(file="status.json"):
                    unverified.update(dict.fromkeys(event.decisions))
                case WriteVerified(ok=True):
                    unverified = {}
                case WriteVerified() | WriteFailed():
                    has_failed = True

    def examples(self) -> Iterator[Example]:
        asked = _asking(_GATE, _DESIGN)
        yield self.example(trace(enter(_GATE), asked[2], asked[0], asked[1]), trace(enter(_GATE), *asked))
        asked, answered = _asking(_GATE, _DESIGN), _answering(_GATE, _DESIGN)
        yield self.example(
            trace(enter(_GATE), *asked, answered[0], enter("PLAN")),
            trace(enter(_GATE), *asked, *answered, enter("PLAN")),
        )


class BudgetExceeded(TeamRule):
    code = "TC804"
    name = "budget-exceeded"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A gate was asked, a file written, an agent dispatched or a task repaired more often than allowed."
    why = "Without the limits a session would try forever; beyond them the user must decide."
    example_path = TRACE

    def check_trace(self, trace: Trace, report: Report) -> None:
        self._reask_budget(trace, report)
        self._write_retry_budget(trace, report)
        self._dispatch_retry_budget(trace, report)
        self._repair_budget(trace, report)

    def _reask_budget(self, trace: Trace, report: Report) -> None:
        asks = dict.fromkeys(GATES, 0)
        refused: set[str] = set()
        for event in trace.events:
            match event:
                case StateEntered(state=state) if state in _GATE_OF:
                    asks[_GATE_OF[S(state)]] = 0
                case UserAsked():
                    for ident in set(event.decisions) & asks.keys():
                        asks[ident] += 1
                        if asks[ident] > LIMITS.reasks + 1:
                            count = f"was asked {asks[ident]} times; at most {LIMITS.reasks} re-asks are allowed"
                            report(event.pointer, f"{GATES[ident].value} {count}")
                case UserReplied() if event.cancel:
                    refused |= set(event.decisions)
                case DecisionClosed(id=ident) if ident in asks:
                    given_up = event.status == "cancelled" and ident not in refused
                    if given_up and asks[ident] <= LIMITS.reasks:
                        asked = counted(asks[ident], "ask")
                        message = f"was given up after {asked}, although the user did not cancel it"
                        report(event.pointer, f"{GATES[ident].value} {message}")
                    asks[ident] = 0

    def _write_retry_budget(self, trace: Trace, report: Report) -> None:
        failures: dict[str, int] = {}  # file to how often in a row it could not be written or read back
        last = ""
        for event in trace.events:
            match event:
                case FileWritten(file=file) | WriteFailed(file=file):
                    rewrites = failures.get(file, 0)
                    if rewrites > LIMITS.rewrites:
                        message = f"rewritten {rewrites} times; at most {LIMITS.rewrites} rewrites are allowed"
                        report(event.pointer, f"{file} was {message}")
                    if isinstance(event, WriteFailed):
                        failures[file] = rewrites + 1
                    last = file
                case WriteVerified():
                    failures[last] = 0 if event.ok else failures.get(last, 0) + 1
                case StateEntered():
                    failures = {}
                case UserAsked() if count := failures.get("status.json", 0):
                    failed = f"{counted(count, 'write')} of status.json failed"
                    report(event.pointer, f"the user was asked {listed(event.decisions)} again because {failed}")

    def _dispatch_retry_budget(self, trace: Trace, report: Report) -> None:
        inputs: dict[tuple[str, str], str | None] = {}
        for event in trace.of_type(AgentDispatched):
            key = event.agent, event.task
            attempt = event.attempt or 0
            if attempt > LIMITS.dispatch_retries + 1:
                report(
                    event.pointer,
                    f"{key[0]} for {key[1]} is at attempt {attempt}; at most {LIMITS.dispatch_retries + 1} are allowed",
                )
            given = event.input
            if attempt > 1 and given is not None and inputs.get(key, given) != given:
                report(event.pointer, f"{key[0]} for {key[1]} was retried with a different input in attempt {attempt}")
            inputs[key] = given

    def _repair_budget(self, trace: Trace, report: Report) -> None:
        entries: dict[tuple[str, str], int] = {}
        loop = ""  # that was entered, and whose task is not known yet
        for event in trace.events:
            match event:
                case StateEntered(state=state):
                    entries = {} if state == S.ASK_USER else entries
                    loop = state if state is not None and is_member(state, FixLoop) else ""
                case RetryCounted() | AgentDispatched() if loop:
                    key, loop = (event.task, loop), ""
                    entries[key] = entries.get(key, 0) + 1
                    count = (event.count if isinstance(event, RetryCounted) else None) or 0
                    if max(entries[key], count) > LIMITS.repairs:
                        times = f"more than {LIMITS.repairs} times without asking the user"
                        report(event.pointer, f"{key[1]} was entered for {key[0]} {times}")

    def examples(self) -> Iterator[Example]:
        asked = _asking(_GATE, _DESIGN)
        again = asked[2:]
        cancelled = [*_answering(_GATE, _DESIGN, "cancelled"), enter("BLOCKED")]
        good = trace(enter(_GATE), *asked, *again * 3, *cancelled)
        yield self.example(trace(enter(_GATE), *asked, *again * 4, *cancelled), good)
        yield self.example(trace(enter(_GATE), *asked, *again, *cancelled), good)
        asked, answered = _asking(_GATE, _DESIGN), _answering(_GATE, _DESIGN)
        lost = [answered[0], at(_GATE, "verify", ok=False)]
        good = trace(enter(_GATE), *asked, *lost, *answered, enter("PLAN"))
        yield self.example(trace(enter(_GATE), *asked, *lost, asked[2], *answered), good)
        yield self.example(trace(enter(_GATE), *asked, *lost * 4, *answered), good)

        def attempts(count: int) -> list[dict[str, Any]]:
            work = {"agent": "Coder", "task": "T-001"}
            tried = [
                (at(loop, "dispatch", **work, attempt=n), at(loop, "dispatch_error", **work, attempt=n))
                for n in range(1, count + 1)
            ]
            return [event for pair in tried for event in pair]

        loop = "IMPLEMENT_LOOP"
        yield self.example(trace(enter(loop), *attempts(4)), trace(enter(loop), *attempts(3), enter("BLOCKED")))

        def rounds(count: int) -> list[dict[str, Any]]:
            return [
                event
                for number in range(1, count + 1)
                for event in (
                    enter("FIX_TESTS"),
                    at("FIX_TESTS", "retry_count", task="T-001", loop="FIX_TESTS", count=number),
                    enter("IMPLEMENT_LOOP"),
                )
            ]

        yield self.example(
            trace(enter("IMPLEMENT_LOOP"), *rounds(4)), trace(enter("IMPLEMENT_LOOP"), *rounds(3), enter("ASK_USER"))
        )


class DecisionTriggerIgnored(TeamRule):
    code = "TC817"
    name = "decision-trigger-ignored"
    severity = Severity.ERROR
    origin = FIXED
    summary = "Security needed a decision, but the next state was not `ASK_USER`."
    why = "The finding was neither fixed nor accepted by the user."
    example_path = TRACE

    def check_trace(self, trace: Trace, report: Report) -> None:
        waiting: AgentReplied | None = None
        for event in trace.events:
            match event:
                case AgentReplied(agent=AgentName.SECURITY, status="NEEDS_DECISION"):
                    waiting = event
                case StateEntered() if waiting is not None:
                    if event.state != S.ASK_USER:
                        task = trace.task_of(waiting) or "its task"
                        problem = f"the next state is {event.state or 'unknown'}, not ASK_USER"
                        report(waiting.pointer, f"Security needs a decision about {task}, but {problem}")
                    waiting = None

    def examples(self) -> Iterator[Example]:
        loop = "IMPLEMENT_LOOP"
        asked = [
            enter(loop),
            at(loop, "dispatch", agent="Security", task="T-001", attempt=1),
            at(loop, "reply", agent="Security", status="NEEDS_DECISION"),
        ]
        yield self.example(trace(*asked, enter("FIX_SECURITY")), trace(*asked, enter("ASK_USER")))

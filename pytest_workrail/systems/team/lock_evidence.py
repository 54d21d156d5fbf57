"""The locks of the team contract: what a trace must show to demonstrate each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from pytest_workrail.systems.kernel.run import Event
from pytest_workrail.systems.kernel.scenario import LockEvidence
from workrail_lint.base.closed_sets import is_member
from workrail_lint.systems.team.model.build import status_model
from workrail_lint.systems.team.state_machine import CORE_AGENTS, GATES, LEAN_FORBIDDEN, LIMITS
from workrail_lint.systems.team.vocabulary import (
    META,
    NO_RESPONSE,
    REVIEW_STRATEGY_ID,
    AgentName,
    CorrectionStatus,
    FixLoop,
    Mode,
    Strategy,
)

A = AgentName
_GATE_AGENTS = (A.REVIEWER.value, A.QA.value, A.SECURITY.value)


class RunEvidence(NamedTuple):
    """A run as the locks look at it."""

    events: list[Event]
    decisions: list[dict[str, Any]]  # the final entries
    given: dict[str, list[str]]  # what the user said, by decision
    mode: Mode  # at the start
    is_resumed: bool
    started_with: dict[str, Any]  # status.json at the start; empty for a new session

    def named(self, *names: str) -> list[Event]:
        return [event for event in self.events if event["event"] in names]

    @property
    def states(self) -> list[str]:
        return [event["state"] for event in self.named("enter_state")]


EVIDENCE: LockEvidence[RunEvidence] = LockEvidence()


def _follows(events: list[Event], *tests: Callable[[Event], bool]) -> bool:
    """Return whether events that pass the tests happen in this order, with others between them or not."""
    at = 0
    for event in events:
        if at < len(tests) and tests[at](event):
            at += 1
    return at == len(tests)


def _sets(event: Event, status: str) -> bool:
    return event["event"] == "write" and any(label.endswith(f"={status}") for label in event.get("set", ()))


def _is(name: str, **members: Any) -> Callable[[Event], bool]:
    return lambda event: event["event"] == name and all(event.get(key) == value for key, value in members.items())


def _visits(evidence: RunEvidence) -> Iterator[list[Event]]:
    """Yield the events between one entry of a state and the next."""
    visit: list[Event] = []
    for event in evidence.events:
        if event["event"] == "enter_state" and visit:
            yield visit
            visit = []
        visit.append(event)
    if visit:
        yield visit


@EVIDENCE.of("team-pending-before-ask")
def _pending_before_ask(w: RunEvidence) -> bool:
    return _follows(w.events, lambda e: _sets(e, "pending"), _is("verify", ok=True), _is("ask"))


@EVIDENCE.of("team-verify-before-leave")
def _verify_before_leave(w: RunEvidence) -> bool:
    def closed(visit: list[Event]) -> bool:
        stored = [i for i, e in enumerate(visit) if e["event"] == "decision"]
        return bool(stored) and visit[stored[0] - 1]["event"] in ("verify", "decision")

    visits = list(_visits(w))
    return any(closed(visit) and after[0]["event"] == "enter_state" for visit, after in pairwise(visits))


@EVIDENCE.of("team-rewrite-without-reask")
def _rewrite_without_reask(w: RunEvidence) -> bool:
    failed = False
    for event in w.events:
        if (event["event"] == "write_error" and "by" not in event) or _is("verify", ok=False)(event):
            failed = True
        elif event["event"] == "ask":
            failed = False
        elif event["event"] == "write" and failed:
            return True
    return False


def _gate_asks(visit: list[Event]) -> list[int]:
    """Return how often a gate asked for each decision of a visit; a change request is a decision too."""
    asks = [0]
    for event in visit:
        if event["event"] == "ask" and set(event["decisions"]) & GATES.keys():
            asks[-1] += 1
        elif event["event"] == "decision":
            asks.append(0)
    return [count for count in asks if count] or [0]


@EVIDENCE.of("team-gate-reask-three")
def _gate_reask_three(w: RunEvidence) -> bool:
    return any(
        _gate_asks(visit)[-1] == LIMITS.reasks + 1 and after[0]["state"] == "BLOCKED"
        for visit, after in pairwise(_visits(w))
    )


@EVIDENCE.of("team-gate-counter-in-memory")
def _gate_counter_in_memory(w: RunEvidence) -> bool:
    begun = w.started_with.get("current_state")
    first = next((v for v in _visits(w) if v[0]["event"] == "enter_state"), [])
    is_gate = any(gate.value == begun for gate in GATES.values())
    return w.is_resumed and is_gate and _gate_asks(first)[0] == LIMITS.reasks + 1


@EVIDENCE.of("team-well-known-in-place")
def _well_known_in_place(w: RunEvidence) -> bool:
    for ident in GATES:
        answers = [e for e in w.named("decision") if e["id"] == ident]
        entries = [entry for entry in w.decisions if entry.get("decision_id") == ident]
        if len(answers) > 1 and len(entries) == 1:
            return True
    return False


@EVIDENCE.of("team-history-before-overwrite")
def _history_before_overwrite(w: RunEvidence) -> bool:
    writes = w.named("write")
    return any(
        first["file"] == "approve-design-history.jsonl" and "correction=queued" in second.get("set", ())
        for first, second in pairwise(writes)
    )


@EVIDENCE.of("team-correction-once")
def _correction_once(w: RunEvidence) -> bool:
    if not w.is_resumed or status_model(w.started_with).correction is not CorrectionStatus.DISPATCHED:
        return False
    seen = next((e for e in w.events if e["event"] in ("dispatch", "correction", "ask", "blocker")), None)
    return seen is not None and seen["event"] != "dispatch"


@EVIDENCE.of("team-correction-default-none")
def _correction_default_none(w: RunEvidence) -> bool:
    absent = w.is_resumed and not w.started_with.get("gate_tracking")
    return absent and _follows(w.events, _is("correction", to="queued"), _is("correction", to="dispatched"))


@EVIDENCE.of("team-strategy-canonical")
def _strategy_canonical(w: RunEvidence) -> bool:
    given = w.given.get(REVIEW_STRATEGY_ID, [])
    entry = next((e for e in w.decisions if e.get("decision_id") == REVIEW_STRATEGY_ID), {})
    stored = entry.get("answer")
    return is_member(stored, Strategy) and any(not is_member(text, Strategy) for text in given[-1:])


@EVIDENCE.of("team-strategy-reread")
def _strategy_reread(w: RunEvidence) -> bool:
    seen = False
    for before, event in pairwise(w.events):
        if event["event"] == "dispatch" and event["agent"] in _GATE_AGENTS:
            if before["event"] != "read_status":
                return False
            seen = True
    return seen


@EVIDENCE.of("team-security-no-autocancel")
def _security_no_autocancel(w: RunEvidence) -> bool:
    asks = [tuple(e["decisions"]) for e in w.named("ask")]
    again = {ident for first, second in pairwise(asks) for ident in set(first) & set(second) if ident not in GATES}
    silent = {e.get("decision_id") for e in w.decisions if e.get("resolution_reason") == NO_RESPONSE}
    return bool(again - silent)


@EVIDENCE.of("team-partial-reply")
def _partial_reply(w: RunEvidence) -> bool:
    for visit in _visits(w):
        closed = {e["id"]: e["status"] for e in visit if e["event"] == "decision"}
        silent = {e.get("decision_id") for e in w.decisions if e.get("resolution_reason") == NO_RESPONSE}
        if any(ident in silent and status == "cancelled" for ident, status in closed.items()):
            return True
    return False


@EVIDENCE.of("team-return-by-context")
def _return_by_context(w: RunEvidence) -> bool:
    for visit, after in pairwise(_visits(w)):
        closed = [e["id"] for e in visit if e["event"] == "decision"]
        contexts = {e.get("state_context") for e in w.decisions if e.get("decision_id") in closed}
        if visit[0]["state"] == "ASK_USER" and contexts == {after[0]["state"]}:
            return True
    return False


@EVIDENCE.of("team-repair-budget")
def _repair_budget(w: RunEvidence) -> bool:
    counts: dict[tuple[str, str], int] = {}
    for event in w.named("retry_count", "enter_state"):
        if event["event"] == "retry_count":
            counts[event["task"], event["loop"]] = event["count"]
        elif event["state"] == "ASK_USER" and LIMITS.repairs in counts.values():
            loops = [state for state in w.states if is_member(state, FixLoop)]
            return len(loops) >= LIMITS.repairs
    return False


@EVIDENCE.of("team-dispatch-retry-two")
def _dispatch_retry_two(w: RunEvidence) -> bool:
    tries = w.named("dispatch", "dispatch_error", "reply", "enter_state")
    return any(
        e["event"] == "dispatch_error"
        and e["attempt"] == LIMITS.dispatch_retries
        and _is("dispatch", attempt=LIMITS.dispatch_retries + 1)(after)
        for e, after in pairwise(tries)
    )


@EVIDENCE.of("team-no-role-takeover")
def _no_role_takeover(w: RunEvidence) -> bool:
    spent = any(e["attempt"] == LIMITS.dispatch_retries + 1 for e in w.named("dispatch_error"))
    own = [e for e in w.named("write") if "by" not in e and e["state"] != "INTAKE_LEAN"]
    return spent and not any(e["file"].startswith("repo:") for e in own)


@EVIDENCE.of("team-coder-not-completed")
def _coder_not_completed(w: RunEvidence) -> bool:
    completed = [e for e in w.named("task_status") if e["status"] == "completed"]
    by_coder = [e for e in w.named("task_status") if e.get("by") == A.CODER]
    return bool(completed and by_coder) and all("by" not in e for e in completed)


@EVIDENCE.of("team-final-review")
def _final_review(w: RunEvidence) -> bool:
    meta = [e for e in w.named("dispatch") if e["agent"] == A.REVIEWER and e["task"] == META and e["attempt"] == 1]
    is_through = "INTEGRATE" in w.states
    repairs = [state for state in w.states if state in ("FIX_REVIEW", "FIX_TESTS", "FIX_SECURITY")]
    return is_through and w.mode is Mode.FULL and len(meta) == 1 and not repairs


@EVIDENCE.of("team-core-agents")
def _core_agents(w: RunEvidence) -> bool:
    seen = {e["agent"] for e in w.named("dispatch")}
    return "DONE" in w.states and all(agent.value in seen for agent in CORE_AGENTS)


@EVIDENCE.of("team-lean-path")
def _lean_path(w: RunEvidence) -> bool:
    seen = {e["agent"] for e in w.named("dispatch")}
    skipped = not any(agent.value in seen for agent in LEAN_FORBIDDEN)
    return w.mode is Mode.LEAN and "DONE" in w.states and skipped and A.REVIEWER.value in seen


@EVIDENCE.of("team-lean-exit")
def _lean_exit(w: RunEvidence) -> bool:
    return w.mode is Mode.LEAN and ("IMPLEMENT_LOOP", "INTAKE") in pairwise(w.states)


@EVIDENCE.of("team-json-only")
def _json_only(w: RunEvidence) -> bool:
    return any(e.get("reason") == "invalid" for e in w.named("dispatch_error"))

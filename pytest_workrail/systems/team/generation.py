"""Scenarios that show what a team session can do: its states, gates, repair loops, questions and blockers.

The contract has one state machine, so its goals are the same for every project.

| goal | happens when |
|---|---|
| `step:A->B` | a session goes from one state to another, as a row of the machine says |
| `gate:ID:…` | a gate is answered so; `unusable` for an answer it can't use, `refused`, `unanswered` |
| `repair:LOOP:once`, `:exhausted` | one repair helps, or as many as there may be do not |
| `question:KIND:…` | an answer to a question has this effect |
| `dispatch:retried`, `blocker:CODE` | an agent is sent off again; a session stops for this reason |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from itertools import pairwise
from typing import Any

from pydantic import ValidationError

from pytest_workrail.scenarios.variations import Content, generated
from pytest_workrail.systems.kernel.generation import DriverSubject, merged
from pytest_workrail.systems.team.questions import Effect, Kind, effect, topic_of
from pytest_workrail.systems.team.scenario import unmet
from pytest_workrail.systems.team.session import TeamBlocker
from pytest_workrail.systems.team.team_run import TeamRun, run
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.team.state_machine import LIMITS, LOOP_OF, TRANSITIONS
from workrail_lint.systems.team.vocabulary import (
    APPROVE_DESIGN_ID,
    REVIEW_STRATEGY_ID,
    DecisionStatus,
    FixLoop,
    Strategy,
)
from workrail_lint.systems.team.vocabulary import WorkflowState as S

_TASK = "T-001"
_CHECK = "cmd: make test"
_CHANGES = "changes-requested"
_GIVEN_UP: list[Json] = ["what is this?"] * (LIMITS.reasks + 1)
# What the user says to a question that no variation is about.
_ANSWERS = {APPROVE_DESIGN_ID: "approved", REVIEW_STRATEGY_ID: Strategy.PER_BATCH.value}
_OTHERWISE = "accept with known issues"
_WORDS: dict[tuple[Kind, Effect], str] = {
    (Kind.EXHAUSTED, Effect.RESTART): "different approach: use the library",
    (Kind.EXHAUSTED, Effect.WAIVE): "accept with known issues",
    (Kind.EXHAUSTED, Effect.DROP): "simplify the scope",
    (Kind.SECURITY, Effect.REPAIR): "fix now",
    (Kind.SECURITY, Effect.WAIVE): "fix later",
    (Kind.NOTES, Effect.REPAIR): "fix",
    (Kind.NOTES, Effect.CONTINUE): "continue",
    (Kind.INFO, Effect.CONTINUE): "the one we have",
}
_BLOCKERS = (
    TeamBlocker.AGENT_BLOCKED,
    TeamBlocker.AGENT_FAILED,
    TeamBlocker.SUBAGENT_FAILED,
    TeamBlocker.ARTIFACT_MISSING,
    TeamBlocker.GATE_DECISION_MISSING,
    TeamBlocker.DECISION_UNRESOLVED,
    TeamBlocker.PERSISTENCE_FAILED,
    TeamBlocker.TESTS_NOT_RUNNABLE,
    TeamBlocker.HIGH_RISK_FINDING,
    TeamBlocker.CI_RED,
)


def prepare(path: str, folder: str) -> Ok[dict[str, Any]] | Err[str]:
    """Return the one subject of the contract, which depends on no file."""
    return Ok({"name": "team", "sources": {}})


def is_about(document: Mapping[str, Any], folder: str, path: str) -> bool:
    """Return True: every team scenario is about the one contract."""
    return True


def perform(piece: dict[str, Any]) -> dict[str, Json]:
    """Return everything that is generated for a team session."""
    return generated(TeamSubject(), piece)


class TeamSubject(DriverSubject[TeamRun]):
    """A team session, on the full and on the lean path."""

    ident = "team"
    member = "team"

    def __init__(self) -> None:
        self.goals = tuple(dict.fromkeys(_goals()))

    def beginnings(self) -> Iterable[Content]:
        yield {"mode": "full"}
        yield {"mode": "lean"}

    def variations(self, content: Content, goal: str) -> Iterator[Content]:
        # A second fault in one session would hide the first more often than not, so each starts from a plain one.
        if set(content) - {"user"} <= {"mode"}:
            for change in _ways(goal):
                yield merged(content, change)

    def run(self, content: Content) -> TeamRun:
        """Play a session; answers that it asks for besides those it has become part of its scenario."""

        def otherwise(ident: str) -> str:
            answer = _ANSWERS.get(ident, _OTHERWISE)
            content.setdefault("user", {}).setdefault(ident, []).append(answer)
            return answer

        return run({self.member: deepcopy(content)}, otherwise=otherwise)

    def shown_goals(self, content: Content, run: TeamRun) -> Iterator[str]:
        return _seen(run)

    def expectations(self, run: TeamRun) -> dict[str, Json]:
        return {
            "finalState": run.final_state.value,
            "states": list[Json](run.states),
            "blockers": [blocker.code.value for blocker in run.blockers],
            "findings": [finding.code for finding in run.findings],
        }

    def goals_of(self, document: Mapping[str, Any]) -> frozenset[str] | None:
        try:
            played = run(document)
        except ValidationError:
            return None
        return None if played.problems or unmet(document, played) else frozenset(_seen(played))


def _goals() -> Iterator[str]:
    for row in TRANSITIONS:
        if row.state is not row.target:
            yield f"step:{row.state.value}->{row.target.value}"
    for case in ("approved", _CHANGES, "unusable", "refused", "unanswered"):
        yield f"gate:{APPROVE_DESIGN_ID}:{case}"
    for case in (*(strategy.value for strategy in Strategy), "unusable", "refused", "unanswered"):
        yield f"gate:{REVIEW_STRATEGY_ID}:{case}"
    for loop in FixLoop:
        yield from (f"repair:{loop.value}:{case}" for case in ("once", "exhausted"))
    yield from (f"question:{kind.value}:{outcome.value}" for kind, outcome in _WORDS)
    yield "dispatch:retried"
    yield from (f"blocker:{code.value}" for code in _BLOCKERS)


# ---------------------------------------------------------------------------------------------------------- variations


def _ways(goal: str) -> Iterator[Content]:
    """Yield changes that may make a goal happen."""
    kind, _, rest = goal.partition(":")
    name, _, case = rest.rpartition(":")
    match kind:
        case "gate":
            yield {"user": {name: _gate_answers(name, case)}}
        case "repair":
            yield _repair(FixLoop(name), LIMITS.repairs + 1 if case == "exhausted" else 1)
        case "question":
            wanted = (Kind(name), Effect(case))
            yield from (merged(asked, {"user": {"UD-1": [_WORDS[wanted]]}}) for asked in _questions(wanted[0]))
        case "dispatch":
            yield {"replies": {f"Coder/{_TASK}#1": {"fault": "error"}}}
        case "blocker":
            yield from _stops(TeamBlocker(rest))
        case _:
            yield from _steps(*(S(state) for state in rest.split("->")))


def _gate_answers(ident: str, case: str) -> list[Json]:
    answers: dict[str, list[Json]] = {
        _CHANGES: [f"{_CHANGES}: add a limit", _ANSWERS[ident]],
        "unusable": ["what is this?", _ANSWERS[ident]],
        "refused": [{"cancel": "the budget is gone"}],
        "unanswered": _GIVEN_UP,
    }
    return answers.get(case, [case])


def _repair(loop: FixLoop, times: int) -> Content:
    """Return a change that makes so many repairs fail."""
    if loop is FixLoop.FIX_BUILD:
        return {"checks": {_CHECK: [*["fail"] * times, "pass"]}}
    agent = next(each for each, own in LOOP_OF.items() if own is loop)
    replies = {f"{agent.value}/{_TASK}#{number + 1}": _output(status="BLOCKED") for number in range(times)}
    return {"flags": {"sensitive": [_TASK]}, "replies": replies}


def _questions(kind: Kind) -> Iterator[Content]:
    """Yield changes that make the team ask a question of a kind."""
    match kind:
        case Kind.EXHAUSTED:
            yield from (_repair(loop, LIMITS.repairs + 1) for loop in FixLoop)
        case Kind.SECURITY:
            yield {"flags": {"sensitive": [_TASK]}, "replies": {f"Security/{_TASK}": _output(status="NEEDS_DECISION")}}
        case Kind.NOTES:
            comment: dict[str, Json] = {
                "severity": "nit",
                "category": "Quality",
                "file": f"src/{_TASK.lower()}.txt",
                "line": "1",
            }
            comment |= {"message": "A better name.", "suggested_fix": "Rename it."}
            noted = _output(summary="Verdict: PASS WITH NOTES.", artifacts={"review_comments": [comment]})
            yield {"replies": {f"Reviewer/{_TASK}#1": noted}}
        case Kind.INFO:
            yield {"flags": {"research": True}, "replies": {"Researcher/meta": _output(status="NEEDS_INFO")}}


def _steps(state: S, target: S) -> Iterator[Content]:
    for loop in FixLoop:
        if loop.value in (state.value, target.value):
            yield _repair(loop, 1)
    if state is S.RELEASE:  # the build was green when it was integrated, and is red when it is released
        yield {"checks": {_CHECK: ["pass", "fail", "pass"]}}
        yield {"checks": {_CHECK: ["pass", *["fail"] * (LIMITS.repairs + 1), "pass"]}}
        yield {"checks": {_CHECK: [*["pass", "fail"] * (LIMITS.repairs + 1), "pass"]}}
    if target is S.ASK_USER:
        for kind in Kind:
            yield from _questions(kind)
        asks = {"SpecAgent/meta": _output(next={"recommended_agent": "Researcher"})}
        yield {"replies": {**asks, "Researcher/meta": _output(status="NEEDS_INFO")}}
    if target is S.INTAKE:
        yield {"replies": {f"Coder/{_TASK}": _output(status="BLOCKED", next={"recommended_agent": "SpecAgent"})}}


def _stops(code: TeamBlocker) -> Iterator[Content]:
    """Yield changes that stop a session for a reason."""
    match code:
        case TeamBlocker.AGENT_BLOCKED:
            yield {"replies": {"Planner/meta": _output(status="BLOCKED")}}
        case TeamBlocker.AGENT_FAILED:
            yield {"replies": {"Docs/meta": _output(status="FAIL")}}
        case TeamBlocker.SUBAGENT_FAILED:
            yield _always("Architect", {"fault": "error"})
        case TeamBlocker.ARTIFACT_MISSING:
            yield _always("SpecAgent", {"files": {"acceptance.json": None}})
        case TeamBlocker.GATE_DECISION_MISSING:
            yield {"user": {APPROVE_DESIGN_ID: [{"cancel": "the budget is gone"}]}}
        case TeamBlocker.DECISION_UNRESOLVED:
            silent: Content = {"user": {"UD-1": [None] * (LIMITS.reasks + 1)}}
            yield from (merged(asked, silent) for asked in _questions(Kind.SECURITY))
        case TeamBlocker.PERSISTENCE_FAILED:
            lost = [
                {"op": "write", "file": "status.json", "nth": number + 2, "kind": "lost"}
                for number in range(LIMITS.rewrites + 1)
            ]
            yield {"faults": lost}
        case TeamBlocker.TESTS_NOT_RUNNABLE:
            yield {"request": {"tools_available": ["read_file", "write_file"]}}
        case TeamBlocker.HIGH_RISK_FINDING:
            yield {"flags": {"sensitive": [_TASK]}, "replies": {f"Security/{_TASK}": _output(status="FAIL")}}
        case _:
            yield {"checks": {_CHECK: "fail"}, "user": {"UD-1": [_OTHERWISE]}}


def _always(agent: str, reply: dict[str, Json]) -> Content:
    return {"replies": {f"{agent}/meta#{number + 1}": reply for number in range(LIMITS.dispatch_retries + 1)}}


def _output(**members: Json) -> dict[str, Json]:
    return {"output": members}


# ------------------------------------------------------------------------------------------------------ what was shown


def _seen(done: TeamRun) -> Iterator[str]:
    states = done.states
    yield from (f"step:{one}->{two}" for one, two in pairwise(states))
    yield from _gates_seen(done)
    for loop in FixLoop:
        if loop.value in states:
            yield f"repair:{loop.value}:once"
    for entry in done.decisions:
        topic = topic_of(entry.get("question"))
        status = DecisionStatus(entry["status"])
        if str(entry.get("decision_id")) not in _ANSWERS and status is not DecisionStatus.PENDING:
            yield f"question:{topic.kind.value}:{effect(topic, status, entry.get('answer')).value}"
            if topic.kind is Kind.EXHAUSTED and topic.loop is not None:
                yield f"repair:{topic.loop.value}:exhausted"
    if any(each["attempt"] > 1 for each in done.dispatches):
        yield "dispatch:retried"
    yield from (f"blocker:{blocker.code.value}" for blocker in done.blockers)


def _gates_seen(done: TeamRun) -> Iterator[str]:
    for entry in done.decisions:
        ident, answer = str(entry.get("decision_id")), entry.get("answer")
        if ident not in _ANSWERS:
            continue
        asked = sum(ident in event["decisions"] for event in done.named("ask"))
        corrected = any(
            event["event"] == "dispatch" for event in done.events if event["state"] == S.APPROVE_DESIGN.value
        )
        if ident == APPROVE_DESIGN_ID and corrected:
            yield f"gate:{ident}:{_CHANGES}"
        elif asked > 1:
            yield f"gate:{ident}:unusable"
        if isinstance(answer, str):
            yield f"gate:{ident}:{answer}"
        elif entry.get("status") == DecisionStatus.CANCELLED.value:
            yield f"gate:{ident}:{'unanswered' if asked > LIMITS.reasks else 'refused'}"

"""TC560 to TC564: the dispatch plan that the Orchestrator gives its driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import FIXED, Document, ExchangeDocument, Report, TeamRule
from workrail_lint.systems.team.state_machine import LIMITS, TERMINAL_STATES, USER_STATES, agents_of, is_correction
from workrail_lint.systems.team.vocabulary import (
    AgentName,
    WorkflowState,
    is_member,
    is_text,
    items_of,
    members_of,
    words,
)
from workrail_lint.systems.team.wording import field_problem, listed, shown, suggestion, type_name


def _state(document: ExchangeDocument) -> WorkflowState | None:
    state = document.value.get("state")
    return WorkflowState(state) if is_member(state, WorkflowState) else None


def _dispatched(document: ExchangeDocument) -> list[tuple[int, Any, Any]]:
    """Place, agent and task id of what is dispatched."""
    return [
        (index, item.get("agent"), members_of(item.get("task")).get("id"))
        for index, item in enumerate(items_of(document.value.get("dispatch")))
        if type(item) is dict
    ]


class PlanFieldMissing(TeamRule):
    code = "TC560"
    name = "plan-field-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A dispatch plan lacks a required field, or the field is blank or has the wrong type."
    why = "The driver follows the plan; an incomplete plan does not say whether to wait, start or stop."
    describes = (
        *(("DispatchPlan", keyword) for keyword in ("required", "type", "pattern")),
        *(("WorkflowState", keyword, "state") for keyword in ("type", "enum")),
        *(("WorkflowState", keyword, "next_state_hint") for keyword in ("type", "enum")),
        *(("DispatchItem", keyword) for keyword in ("required", "type")),
        ("Specialist", "type"),
        ("Specialist", "enum"),
        ("GivenTask", "type", "task"),
    )

    def describe(self, violation: Violation, document: Document) -> Description | None:
        name, value = violation.member, violation.value
        if document.kind is not TeamKind.PLAN or (name == "blockers" and violation.expected == ("string",)):
            return None
        if violation.shape == "DispatchItem" and violation.keyword == "type":
            index = violation.pointer.rpartition("/")[2]
            return Description(f"dispatch {index} must be an object, not {type_name(value)}")
        is_state = name == "next_state_hint" or (name == "state" and is_text(value))
        if is_state and violation.keyword != "required":
            return Description(f"unknown state {shown(value)}{suggestion(value, words(WorkflowState))}")
        if violation.shape == "Specialist" and is_text(value):
            return None  # an agent that the state does not allow
        return Description(field_problem(violation))

    def check_dispatch_plan(self, document: ExchangeDocument, report: Report) -> None:
        for index, blocker in enumerate(items_of(document.value.get("blockers"))):
            detail = members_of(blocker).get("detail", "")
            if not is_text(blocker) and not (is_text(members_of(blocker).get("blocker")) and type(detail) is str):
                report(
                    f"/blockers/{index}", f"blocker {index} must be a string, or an object with 'blocker' and 'detail'"
                )

    def examples(self) -> Iterator[Example]:
        good = samples.dispatch_plan("PLAN", "Planner")
        yield Example(samples.dispatch_plan("PLAN", "Planner", why=...), good, path=samples.PLAN)


class PlanDispatchCount(TeamRule):
    code = "TC561"
    name = "plan-dispatch-count"
    severity = Severity.ERROR
    origin = FIXED
    summary = (
        f"A plan dispatches more than {LIMITS.parallel_dispatches} agents at once (exactly "
        f"{LIMITS.parallel_dispatches}: reported as info)."
    )
    why = "Agents take turns on the same files; agents that run at the same time overwrite each other's work."

    def check_dispatch_plan(self, document: ExchangeDocument, report: Report) -> None:
        count = len(items_of(document.value.get("dispatch")))
        if count > LIMITS.parallel_dispatches:
            report("/dispatch", f"the plan dispatches {count} agents; at most {LIMITS.parallel_dispatches} are allowed")
        elif count == LIMITS.parallel_dispatches:
            report("/dispatch", f"the plan dispatches {count} agents at once; one is usual", severity=Severity.INFO)

    def examples(self) -> Iterator[Example]:
        good = samples.dispatch_plan("IMPLEMENT_LOOP", "Coder")
        yield Example(samples.dispatch_plan("IMPLEMENT_LOOP", "Coder", "QA", "Security"), good, path=samples.PLAN)
        yield Example(samples.dispatch_plan("IMPLEMENT_LOOP", "QA", "Security"), good, path=samples.PLAN)


class PlanDispatchInUserState(TeamRule):
    code = "TC562"
    name = "plan-dispatch-in-user-state"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A plan dispatches an agent in a state that waits for the user."
    why = "The user's answer decides what the agent should do; corrections in `APPROVE_DESIGN` are the exception."

    def check_dispatch_plan(self, document: ExchangeDocument, report: Report) -> None:
        state = _state(document)
        if state not in USER_STATES or state is None:
            return
        for index, agent, task in _dispatched(document):
            if state is WorkflowState.APPROVE_DESIGN and is_correction(agent, task):
                continue
            report(
                f"/dispatch/{index}/agent", f"{shown(agent)} is dispatched in {state.value}, which waits for the user"
            )

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.dispatch_plan("REVIEW_STRATEGY", "QA"), samples.dispatch_plan("REVIEW_STRATEGY"), path=samples.PLAN
        )
        yield Example(
            samples.dispatch_plan("APPROVE_DESIGN", "Coder"),
            samples.dispatch_plan("APPROVE_DESIGN", "Architect"),
            path=samples.PLAN,
        )


class PlanAgentInvalid(TeamRule):
    code = "TC563"
    name = "plan-agent-invalid"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A plan dispatches an agent that its state does not allow."
    why = "Each state allows certain agents; an agent that runs too early works on artifacts that do not exist yet."

    def check_dispatch_plan(self, document: ExchangeDocument, report: Report) -> None:
        state = _state(document)
        where = "" if state is None else f" in {state.value}"
        for index, agent, _ in _dispatched(document):
            at = f"/dispatch/{index}/agent"
            if agent == AgentName.ORCHESTRATOR:
                report(at, f"the Orchestrator can't dispatch itself{where}")
            elif type(agent) is str and not is_member(agent, AgentName):
                report(at, f"unknown agent {shown(agent)} is dispatched{where}{suggestion(agent, words(AgentName))}")
            elif state is not None and state not in (*USER_STATES, *TERMINAL_STATES) and is_member(agent, AgentName):
                allowed = [allowed.value for allowed in agents_of(state, document.mode)]
                if agent not in allowed:
                    names = listed(allowed, "or") or "no agent"
                    report(at, f"{agent} can't be dispatched in {state.value}, which allows {names}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.dispatch_plan("PLAN", "Coder"), samples.dispatch_plan("PLAN", "Planner"), path=samples.PLAN
        )


class PlanTerminal(TeamRule):
    code = "TC564"
    name = "plan-terminal"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A plan for `DONE` or `BLOCKED` dispatches an agent, or a plan for `BLOCKED` names no blocker."
    why = "A session that has ended starts nothing, and a blocked session must name its blocker."

    def check_dispatch_plan(self, document: ExchangeDocument, report: Report) -> None:
        state = _state(document)
        if state not in TERMINAL_STATES or state is None:
            return
        if items_of(document.value.get("dispatch")):
            report("/dispatch", f"no agent can be dispatched in {state.value}")
        if state is WorkflowState.BLOCKED and document.value.get("blockers") == []:
            report("/blockers", "the state is BLOCKED, but blockers is empty")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.dispatch_plan("BLOCKED"),
            samples.dispatch_plan("BLOCKED", blockers=[{"blocker": "subagent_failure", "detail": "Coder timed out"}]),
            path=samples.PLAN,
        )

"""TC560 to TC564: the dispatch plan that the Orchestrator gives its driver."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.documents.nodes import numbered
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import FIXED, Document, PlanDocument, Report, TeamRule
from workrail_lint.systems.team.state_machine import LIMITS, TERMINAL_STATES, USER_STATES, agents_of, is_correction
from workrail_lint.systems.team.vocabulary import (
    AgentName,
    WorkflowState,
    is_text,
    words,
)
from workrail_lint.systems.team.wording import field_problem, listed, shown, suggestion, type_name


def _state(document: PlanDocument) -> WorkflowState | None:
    state = document.model.state
    return None if state is None else WorkflowState(state)


_NO_BLOCKER = "blocker {} must be a string, or an object with 'blocker' and 'detail'"


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
        ("Blocker",),
    )

    def describe(self, violation: Violation, document: Document) -> Description | None:
        name, value = violation.member, violation.value
        if document.kind is not TeamKind.PLAN:
            return None
        _, *tokens = violation.pointer.split("/")
        if tokens[:1] == ["blockers"] and len(tokens) > 1:
            return Description(_NO_BLOCKER.format(tokens[1]), pointer=f"/blockers/{tokens[1]}")
        if violation.shape == "DispatchItem" and violation.keyword == "type":
            index = violation.pointer.rpartition("/")[2]
            return Description(f"dispatch {index} must be an object, not {type_name(value)}")
        is_state = name == "next_state_hint" or (name == "state" and is_text(value))
        if is_state and violation.keyword != "required":
            return Description(f"unknown state {shown(value)}{suggestion(value, words(WorkflowState))}")
        if violation.shape == "Specialist" and is_text(value):
            return None  # an agent that the state does not allow
        return Description(field_problem(violation))

    def check_dispatch_plan(self, document: PlanDocument, report: Report) -> None:
        for index, blocker in numbered(document.model.blockers):
            if isinstance(blocker, str) and not is_text(blocker):
                report(f"/blockers/{index}", _NO_BLOCKER.format(index))

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

    def check_dispatch_plan(self, document: PlanDocument, report: Report) -> None:
        count = len(document.value["dispatch"]) if document.model.has("dispatch") else 0
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

    def check_dispatch_plan(self, document: PlanDocument, report: Report) -> None:
        state = _state(document)
        if state not in USER_STATES or state is None:
            return
        for item in document.model.dispatch:
            if state is WorkflowState.APPROVE_DESIGN and is_correction(item.agent, item.task.id):
                continue
            who = "an agent" if item.agent is None else shown(item.agent)
            report(item.at("agent"), f"{who} is dispatched in {state.value}, which waits for the user")

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

    describes = (("Specialist", "enum"),)

    def describe(self, violation: Violation, document: PlanDocument) -> Description | None:
        agent, state = violation.value, _state(document)
        where = "" if state is None else f" in {state.value}"
        if agent == AgentName.ORCHESTRATOR:
            return Description(f"the Orchestrator can't dispatch itself{where}")
        return Description(f"unknown agent {shown(agent)} is dispatched{where}{suggestion(agent, words(AgentName))}")

    def check_dispatch_plan(self, document: PlanDocument, report: Report) -> None:
        state = _state(document)
        if state is None or state in (*USER_STATES, *TERMINAL_STATES):
            return
        allowed = [agent.value for agent in agents_of(state, document.mode)]
        for item in document.model.dispatch:
            if item.agent is not None and item.agent not in allowed:
                names = listed(allowed, "or") or "no agent"
                report(item.at("agent"), f"{item.agent} can't be dispatched in {state.value}, which allows {names}")

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

    def check_dispatch_plan(self, document: PlanDocument, report: Report) -> None:
        state = _state(document)
        if state not in TERMINAL_STATES or state is None:
            return
        if document.model.dispatch:
            report("/dispatch", f"no agent can be dispatched in {state.value}")
        if state is WorkflowState.BLOCKED and document.model.has("blockers") and not document.value["blockers"]:
            report("/blockers", "the state is BLOCKED, but blockers is empty")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.dispatch_plan("BLOCKED"),
            samples.dispatch_plan("BLOCKED", blockers=[{"blocker": "subagent_failure", "detail": "Coder timed out"}]),
            path=samples.PLAN,
        )

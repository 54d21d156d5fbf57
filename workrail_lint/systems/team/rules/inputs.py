"""The input of an agent, and dispatch plans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.documents.nodes import Node, numbered
from workrail_lint.documents.operations import Insert, Remove
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import (
    FIXED,
    Dispatch,
    Document,
    ExchangeDocument,
    InputDocument,
    PlanDocument,
    Report,
    TeamRule,
)
from workrail_lint.systems.team.rules.shapes import ShapeRule, shape_problem
from workrail_lint.systems.team.state_machine import LIMITS, TERMINAL_STATES, USER_STATES, agents_of, is_correction
from workrail_lint.systems.team.vocabulary import KNOWN_TOOLS, SESSIONS_FOLDER, AgentName, WorkflowState, is_text
from workrail_lint.systems.team.wording import listed, shown, suggestion, type_name

A = AgentName
# What the Orchestrator is given in the place of a task: the request of the user.
_REQUEST: dict[str, tuple[type, str]] = {"user_goal": (str, "a string"), "constraints": (list, "a list")}


def report_blanks(node: Node, names: tuple[str, ...], report: Report) -> None:
    """Report blank strings in lists, which the schema allows."""
    for name in names:
        for index, item in numbered(getattr(node, name)):
            if not is_text(item):
                at = node.at(name, index)
                report(at, f"{at} is blank")


def is_of_input(violation: Violation, document: Document) -> bool:
    """Return whether a violation is in an input, or in the part of a plan that becomes one."""
    if document.kind is not TeamKind.PLAN:
        return document.kind is TeamKind.INPUT
    tokens = violation.pointer.split("/")
    return tokens[1:2] == ["dispatch"] and "task" in tokens[3:4] and len(tokens) + (violation.keyword == "required") > 4


class InputInvalid(ShapeRule):
    code = "TC501"
    name = "input-invalid"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A field of an input is missing, unknown, blank, misplaced, or of another type or form."
    why = "The agent sees only its input; what is missing from it does not exist for the agent."
    fix = "Move `lean` to the top level of the input."
    fix_safety = "safe"
    kind = TeamKind.INPUT
    example_path = samples.exchange("Coder")

    def describe(self, violation: Violation, document: Document) -> Description | None:
        return shape_problem(violation, document) if is_of_input(violation, document) else None

    def check_input(self, document: InputDocument, report: Report) -> None:
        self._lean_flag_place(document, report)
        for index, tool in numbered(document.model.tools_available):
            if is_text(tool) and tool not in KNOWN_TOOLS:
                message = f"unknown tool {shown(tool)}; known tools are {listed(KNOWN_TOOLS)}"
                report(f"/tools_available/{index}", message, severity=Severity.WARNING)
        if document.agent is A.ORCHESTRATOR:
            _report_request(document.value, report)
        elif document.agent is A.RESEARCHER and "research_question" not in document.model:
            report("", "/research_question is missing", severity=Severity.WARNING)
        report_blanks(document.model, ("tools_available", "artifact_list"), report)

    def _lean_flag_place(self, document: InputDocument, report: Report) -> None:
        value, task = document.model, document.model.task
        if "lean" in task:
            moved = [] if "lean" in value else [Insert("", "lean", None, task.raw["lean"])]
            fix = safe("move it to the top level", Remove("/task/lean"), *moved)
            message = "/task/lean belongs at the top level of the input"
            report("/task/lean", message, fix=fix, on_name=True, severity=Severity.WARNING)
        elif value.lean is True and document.agent not in (None, A.SPEC_AGENT):
            who = document.agent.value if document.agent else ""
            report("/lean", f"/lean is for SpecAgent, not for {who}", on_name=True, severity=Severity.WARNING)

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        report_blanks(dispatch.task, ("non_goals", "constraints", "context_files"), report)
        flags = dispatch.task.risk_flags
        if "none" in flags and len(flags) > 1:
            at = dispatch.at("risk_flags")
            report(at, f"{at} contains {listed(map(shown, flags))}; 'none' can't be combined with other flags")

    def examples(self) -> Iterator[Example]:
        yield self.example(samples.agent_input(repo_state=...), samples.agent_input())
        yield self.example(samples.agent_input(project_type="desktop"), samples.agent_input())
        yield self.example(samples.agent_input(samples.given("1")), samples.agent_input())
        good = samples.agent_input(samples.given("meta", []), lean=True)
        bad = samples.agent_input(samples.given("meta", [], lean=True))
        yield Example(bad, good, good, path=samples.exchange("SpecAgent", "meta"))
        yield self.example(samples.agent_input(lean=True), samples.agent_input())
        yield self.example(samples.agent_input(tools_available=["browser"]), samples.agent_input())


def _report_request(value: dict[str, Any], report: Report) -> None:
    """Report fields of a user's request that are missing, blank or of the wrong type."""
    for name, (kind, expected) in _REQUEST.items():
        if name not in value:
            report("", f"/{name} is missing")
        elif type(value[name]) is not kind:
            report(f"/{name}", f"/{name} must be {expected}, not {type_name(value[name])}")
        elif kind is str and not is_text(value[name]):
            report(f"/{name}", f"/{name} is blank")


_REVIEWED = [{"path": "src/login.js", "change_type": "modified"}]


class ChangedFilesList(TeamRule):
    code = "TC504"
    name = "changed-files-list"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A Reviewer does not receive the list of changed files, or another agent does."
    why = "A review covers what it is shown; with an empty list the Reviewer must discover the changes itself."
    fix = "Remove the list."
    fix_safety = "safe"
    example_path = samples.exchange("Reviewer")

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        at, agent = dispatch.at("session_changed_files"), dispatch.agent
        if agent is A.REVIEWER:
            if "session_changed_files" not in dispatch.task:
                report(dispatch.at(), "session_changed_files is missing; the Reviewer needs it")
            elif dispatch.task.raw["session_changed_files"] == []:
                message = "session_changed_files of the Reviewer is empty: reviewer must discover changes itself"
                report(at, message, severity=Severity.WARNING)
        elif agent is not None and dispatch.task.session_changed_files:
            message = f"session_changed_files is for the Reviewer, not for {agent.value}"
            report(at, message, fix=safe("remove it", Remove(at)), on_name=True, severity=Severity.WARNING)

    def examples(self) -> Iterator[Example]:
        good = samples.agent_input(samples.given(session_changed_files=_REVIEWED))
        yield self.example(samples.agent_input(), good)
        yield self.example(samples.agent_input(samples.given(session_changed_files=[])), good)
        files = samples.context("spec.md", "acceptance.json", "architecture.md")
        good = samples.agent_input(samples.given("meta", files))
        changed = [{"path": "a.py", "change_type": "added"}]
        yield Example(
            samples.agent_input(samples.given("meta", files, session_changed_files=changed)),
            good,
            good,
            path=samples.exchange("Planner", "meta"),
        )


class ChangedFileEntry(TeamRule):
    code = "TC506"
    name = "changed-file-entry"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A changed file has no `old_path` though renamed, has one though not renamed, or belongs to the session."
    why = "The review can't distinguish moved content from new content, or reviews the notes of the session."
    fix = "Remove `old_path`."
    fix_safety = "safe"
    example_path = samples.exchange("Reviewer")

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        for change in dispatch.task.session_changed_files:
            if change.change_type == "renamed" and not is_text(change.old_path):
                report(change.pointer, f"{shown(change.path)} is renamed, but has no old_path")
            if "old_path" in change and change.change_type != "renamed":
                at = change.at("old_path")
                message = f"{shown(change.path)} is {shown(change.change_type)}, but has an old_path"
                report(at, message, fix=safe("remove it", Remove(at)), on_name=True, severity=Severity.WARNING)
            if change.path.removeprefix("./").startswith(f"{SESSIONS_FOLDER}/"):
                message = f"{shown(change.path)} is a session file, not a product file; remove it from the list"
                report(change.at("path"), message, severity=Severity.WARNING)

    def examples(self) -> Iterator[Example]:
        def changed(path: str, kind: str, **members: str) -> dict[str, Any]:
            change = {"path": path, **members, "change_type": kind}
            return samples.agent_input(samples.given(session_changed_files=[change]))

        yield self.example(changed("b.py", "renamed"), changed("b.py", "renamed", old_path="a.py"))
        good = changed("a.py", "modified")
        yield self.example(changed("a.py", "modified", old_path="b.py"), good, good)
        yield self.example(changed(f"{samples.FOLDER}/spec.md", "added"), changed("src/login.js", "modified"))


def _state(document: PlanDocument) -> WorkflowState | None:
    state = document.model.state
    return None if state is None else WorkflowState(state)


_NO_BLOCKER = "blocker {} must be a string, or an object with 'blocker' and 'detail'"


class DispatchPlanInvalid(ShapeRule):
    code = "TC560"
    name = "dispatch-plan-invalid"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A dispatch plan has an invalid field, or dispatches what its state does not allow."
    why = (
        "The driver follows the plan: an agent that runs too early, beside others or instead of the user works on "
        "the wrong thing."
    )
    kind = TeamKind.PLAN
    example_path = samples.PLAN

    def describe(self, violation: Violation, document: Document) -> Description | None:
        if violation.pointer.startswith("/blockers/"):
            index = violation.pointer.split("/")[2]
            return Description(_NO_BLOCKER.format(index), pointer=f"/blockers/{index}")
        if violation.shape == "Specialist" and violation.keyword == "enum" and isinstance(document, PlanDocument):
            agent, state = violation.value, _state(document)
            where = "" if state is None else f" in {state.value}"
            if agent == AgentName.ORCHESTRATOR:
                return Description(f"the Orchestrator can't dispatch itself{where}")
            return Description(
                f"unknown agent {shown(agent)} is dispatched{where}{suggestion(agent, violation.expected)}"
            )
        return None if is_of_input(violation, document) else super().describe(violation, document)

    def check_dispatch_plan(self, document: PlanDocument, report: Report) -> None:
        for index, blocker in numbered(document.model.blockers):
            if isinstance(blocker, str) and not is_text(blocker):
                report(f"/blockers/{index}", _NO_BLOCKER.format(index))
        count = len(document.value["dispatch"]) if document.model.has("dispatch") else 0
        if count > LIMITS.parallel_dispatches:
            report("/dispatch", f"the plan dispatches {count} agents; at most {LIMITS.parallel_dispatches} are allowed")
        elif count == LIMITS.parallel_dispatches:
            report("/dispatch", f"the plan dispatches {count} agents at once; one is usual", severity=Severity.INFO)
        self._plan_dispatch_in_user_state(document, report)
        self._plan_agent_invalid(document, report)
        self._plan_terminal(document, report)

    def _plan_dispatch_in_user_state(self, document: PlanDocument, report: Report) -> None:
        state = _state(document)
        if state not in USER_STATES or state is None:
            return
        for item in document.model.dispatch:
            if state is WorkflowState.APPROVE_DESIGN and is_correction(item.agent, item.task.id):
                continue
            who = "an agent" if item.agent is None else shown(item.agent)
            report(item.at("agent"), f"{who} is dispatched in {state.value}, which waits for the user")

    def _plan_agent_invalid(self, document: PlanDocument, report: Report) -> None:
        state = _state(document)
        if state is None or state in (*USER_STATES, *TERMINAL_STATES):
            return
        allowed = [agent.value for agent in agents_of(state, document.mode)]
        for item in document.model.dispatch:
            if item.agent is not None and item.agent not in allowed:
                names = listed(allowed, "or") or "no agent"
                report(item.at("agent"), f"{item.agent} can't be dispatched in {state.value}, which allows {names}")

    def _plan_terminal(self, document: PlanDocument, report: Report) -> None:
        state = _state(document)
        if state not in TERMINAL_STATES or state is None:
            return
        if document.model.dispatch:
            report("/dispatch", f"no agent can be dispatched in {state.value}")
        if state is WorkflowState.BLOCKED and document.model.has("blockers") and not document.value["blockers"]:
            report("/blockers", "the state is BLOCKED, but blockers is empty")

    def examples(self) -> Iterator[Example]:
        good = samples.dispatch_plan("PLAN", "Planner")
        yield self.example(samples.dispatch_plan("PLAN", "Planner", why=...), good)
        good = samples.dispatch_plan("IMPLEMENT_LOOP", "Coder")
        yield self.example(samples.dispatch_plan("IMPLEMENT_LOOP", "Coder", "QA", "Security"), good)
        yield self.example(samples.dispatch_plan("IMPLEMENT_LOOP", "QA", "Security"), good)
        yield self.example(samples.dispatch_plan("REVIEW_STRATEGY", "QA"), samples.dispatch_plan("REVIEW_STRATEGY"))
        yield self.example(
            samples.dispatch_plan("APPROVE_DESIGN", "Coder"), samples.dispatch_plan("APPROVE_DESIGN", "Architect")
        )
        yield self.example(samples.dispatch_plan("PLAN", "Coder"), samples.dispatch_plan("PLAN", "Planner"))
        yield self.example(
            samples.dispatch_plan("BLOCKED"),
            samples.dispatch_plan("BLOCKED", blockers=[{"blocker": "subagent_failure", "detail": "Coder timed out"}]),
        )

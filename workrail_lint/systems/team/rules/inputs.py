"""TC501 to TC507, TC513 to TC515, TC517, TC518 and TC560 to TC564: the input of an agent, and dispatch plans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.documents.nodes import Node, numbered
from workrail_lint.documents.operations import Insert, Remove, Replace
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity, safe, unsafe
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import (
    DECIDED,
    FIXED,
    Dispatch,
    Document,
    ExchangeDocument,
    InputDocument,
    PlanDocument,
    Report,
    TeamRule,
)
from workrail_lint.systems.team.state_machine import (
    FINAL_REVIEW_GOAL,
    LIMITS,
    TERMINAL_STATES,
    USER_STATES,
    agents_of,
    is_correction,
)
from workrail_lint.systems.team.vocabulary import (
    KNOWN_TOOLS,
    META,
    SESSIONS_FOLDER,
    AgentName,
    RiskFlag,
    Strategy,
    WorkflowState,
    is_bare_command,
    is_check,
    is_text,
    words,
)
from workrail_lint.systems.team.wording import (
    field_problem,
    listed,
    no_check,
    set_and_suggestion,
    shown,
    suggestion,
    type_name,
)

A = AgentName
_FIELD = ("required", "type", "pattern")  # the keywords of a field that is missing, wrong or blank
_CHANGE = ("path", "change_type", "old_path")
_CHANGES = ("AddedFile", "ModifiedFile", "DeletedFile", "RenamedFile")
# What the Orchestrator is given in the place of a task: the request of the user.
_REQUEST: dict[str, tuple[type, str]] = {"user_goal": (str, "a string"), "constraints": (list, "a list")}


def report_blanks(node: Node, names: tuple[str, ...], report: Report) -> None:
    """Report blank strings in lists, which the schema allows."""
    for name in names:
        for index, item in numbered(getattr(node, name)):
            if not is_text(item):
                at = node.at(name, index)
                report(at, f"{at} is blank")


class InputFieldMissing(TeamRule):
    code = "TC501"
    name = "input-field-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "An input lacks a required field, or the field is blank or has the wrong type."
    why = "The agent sees only its input; what is missing from it does not exist for the agent."
    describes = (
        *((shape, keyword) for shape in ("AgentInput", "RepoState", "GivenTask") for keyword in ("required", "type")),
        *(("GivenTask", "pattern", name) for name in ("id", "title", "goal")),
        ("RepoState", "pattern"),
        ("AgentInput", "pattern"),
        ("ProjectType", "type"),
        ("CiStatus", "type", "ci_status"),
        ("DispatchItem", "required", "project_type"),
        *((shape, keyword) for shape in _CHANGES for keyword in (*_FIELD, "additionalProperties")),
    )

    def describe(self, violation: Violation, document: Document) -> Description | None:
        name, value, at = violation.member, violation.value, violation.pointer
        if violation.keyword == "additionalProperties":
            message = f"unknown field {shown(name)}; use {listed(_CHANGE, 'or')}"
            return Description(message, on_name=True) if name != "old_path" else None
        if violation.keyword == "type" and name == "last_failed_step":
            return Description(f"{at} must be a string or null, not {type_name(value)}")
        if violation.keyword == "type" and name == "session_changed_files" and violation.expected == ("object",):
            return Description(f"{at} must be an object with path and change_type, not {type_name(value)}")
        is_other = name == "old_path" or (violation.keyword == "pattern" and is_text(value))
        return None if is_other else Description(field_problem(violation))

    def check_input(self, document: InputDocument, report: Report) -> None:
        if document.agent is A.ORCHESTRATOR:
            _report_request(document.value, report)
        elif document.agent is A.RESEARCHER and "research_question" not in document.model:
            report("", "/research_question is missing", severity=Severity.WARNING)
        report_blanks(document.model, ("tools_available", "artifact_list"), report)

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        report_blanks(dispatch.task, ("non_goals", "constraints", "context_files"), report)

    def examples(self) -> Iterator[Example]:
        yield Example(samples.agent_input(repo_state=...), samples.agent_input(), path=samples.exchange("Coder"))


def _report_request(value: dict[str, Any], report: Report) -> None:
    """Report fields of a user's request that are missing, blank or of the wrong type."""
    for name, (kind, expected) in _REQUEST.items():
        if name not in value:
            report("", f"/{name} is missing")
        elif type(value[name]) is not kind:
            report(f"/{name}", f"/{name} must be {expected}, not {type_name(value[name])}")
        elif kind is str and not is_text(value[name]):
            report(f"/{name}", f"/{name} is blank")


class InputEnum(TeamRule):
    code = "TC502"
    name = "input-enum"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A value in an input is not one of the allowed values."
    why = "Agents choose their checklists by these values; an unknown value selects none."
    describes = (
        ("ProjectType", "enum"),
        ("CiStatus", "enum", "ci_status"),
        ("GivenTask", "enum", "change_type"),
        ("RiskFlag", "enum"),
        ("RiskFlag", "type"),
    )

    def describe(self, violation: Violation, document: Document) -> Description | None:
        word, at = violation.value, violation.pointer
        if document.kind is TeamKind.TASKS:
            return None
        known = words(RiskFlag) if violation.shape == "RiskFlag" else violation.expected
        return Description(f"unknown value {shown(word)} at {at}{set_and_suggestion(word, known)}")

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        flags = dispatch.task.risk_flags
        if "none" in flags and len(flags) > 1:
            at = dispatch.at("risk_flags")
            report(at, f"{at} contains {listed(map(shown, flags))}; 'none' can't be combined with other flags")

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.agent_input(project_type="desktop"), samples.agent_input(), path=samples.exchange("Coder")
        )


class InputTaskId(TeamRule):
    code = "TC503"
    name = "input-task-id"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The task id of an input is neither a task id such as `T-001` nor `meta`."
    why = "The agent sets the status of the task by this id, and its work is counted under it."
    describes = (("GivenTask", "pattern", "id"),)

    def describe(self, violation: Violation, document: Document) -> Description | None:
        ident = violation.value
        if not is_text(ident):
            return None
        return Description(f"{shown(ident)} is not a task id; use an id such as T-001, or meta")

    def examples(self) -> Iterator[Example]:
        yield Example(samples.agent_input(samples.given("1")), samples.agent_input(), path=samples.exchange("Coder"))


_REVIEWED = [{"path": "src/login.js", "change_type": "modified"}]


class ChangedFilesMissing(TeamRule):
    code = "TC504"
    name = "changed-files-missing"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A Reviewer does not receive the list of changed files."
    why = "A review covers what it is shown; with an empty list the Reviewer must discover the changes itself."

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        if dispatch.agent is not A.REVIEWER:
            return
        if "session_changed_files" not in dispatch.task:
            report(dispatch.at(), "session_changed_files is missing; the Reviewer needs it")
        elif dispatch.task.raw["session_changed_files"] == []:
            message = "session_changed_files of the Reviewer is empty: reviewer must discover changes itself"
            report(dispatch.at("session_changed_files"), message, severity=Severity.WARNING)

    def examples(self) -> Iterator[Example]:
        good = samples.agent_input(samples.given(session_changed_files=_REVIEWED))
        yield Example(samples.agent_input(), good, path=samples.exchange("Reviewer"))
        yield Example(
            samples.agent_input(samples.given(session_changed_files=[])), good, path=samples.exchange("Reviewer")
        )


class ChangedFilesUnexpected(TeamRule):
    code = "TC505"
    name = "changed-files-unexpected"
    severity = Severity.WARNING
    origin = FIXED
    summary = "An agent other than the Reviewer receives changed files."
    why = "Only a review reads the list; it makes other agents look at the wrong files."
    fix = "Remove the list."
    fix_safety = "safe"

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        if dispatch.agent not in (None, A.REVIEWER) and dispatch.task.session_changed_files:
            at = dispatch.at("session_changed_files")
            who = dispatch.agent.value if dispatch.agent else ""
            report(
                at,
                f"session_changed_files is for the Reviewer, not for {who}",
                fix=safe("remove it", Remove(at)),
                on_name=True,
            )

    def examples(self) -> Iterator[Example]:
        files = samples.context("spec.md", "acceptance.json", "architecture.md")
        good = samples.agent_input(samples.given("meta", files))
        changed = [{"path": "a.py", "change_type": "added"}]
        yield Example(
            samples.agent_input(samples.given("meta", files, session_changed_files=changed)),
            good,
            good,
            path=samples.exchange("Planner", "meta"),
        )


class RenameWithoutOldPath(TeamRule):
    code = "TC506"
    name = "rename-without-old-path"
    severity = Severity.ERROR
    origin = FIXED
    summary = "A renamed file has no `old_path`."
    why = "The review can't distinguish moved content from new content."

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        for change in dispatch.task.session_changed_files:
            if change.change_type == "renamed" and not is_text(change.old_path):
                report(change.pointer, f"{shown(change.path)} is renamed, but has no old_path")

    def examples(self) -> Iterator[Example]:
        bad = [{"path": "b.py", "change_type": "renamed"}]
        good = [{"path": "b.py", "change_type": "renamed", "old_path": "a.py"}]
        yield Example(
            samples.agent_input(samples.given(session_changed_files=bad)),
            samples.agent_input(samples.given(session_changed_files=good)),
            path=samples.exchange("Reviewer"),
        )


class OldPathWithoutRename(TeamRule):
    code = "TC507"
    name = "old-path-without-rename"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A file that was not renamed has an `old_path`."
    why = "Either the change type or the path is wrong, and the review can't know which."
    fix = "Remove `old_path`."
    fix_safety = "safe"

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        for change in dispatch.task.session_changed_files:
            if "old_path" in change and change.change_type != "renamed":
                at = change.at("old_path")
                message = f"{shown(change.path)} is {shown(change.change_type)}, but has an old_path"
                report(at, message, fix=safe("remove it", Remove(at)), on_name=True)

    def examples(self) -> Iterator[Example]:
        bad = [{"path": "a.py", "old_path": "b.py", "change_type": "modified"}]
        good = samples.agent_input(samples.given(session_changed_files=[{"path": "a.py", "change_type": "modified"}]))
        yield Example(
            samples.agent_input(samples.given(session_changed_files=bad)), good, good, path=samples.exchange("Reviewer")
        )


class InputCheckPrefix(TeamRule):
    code = "TC513"
    name = "input-check-prefix"
    severity = Severity.ERROR
    origin = FIXED
    summary = "An acceptance check of an input starts with neither `cmd: ` nor `manual: `."
    why = "The prefix says whether a shell or a person runs the check; without it the check never runs."
    fix = "Add the prefix `cmd: `."
    fix_safety = "unsafe"
    describes = (("GivenTask", "pattern", "acceptance_checks"), ("GivenTask", "type", "acceptance_checks"))

    def describe(self, violation: Violation, document: Document) -> Description | None:
        entry, at = violation.value, violation.pointer
        if violation.expected == ("array",) or is_check(entry):
            return None
        fix = unsafe("add the prefix cmd:", Replace(at, f"cmd: {entry}")) if is_bare_command(entry) else None
        return Description(no_check(entry), fix)

    def examples(self) -> Iterator[Example]:
        good = samples.agent_input()
        bad = samples.agent_input(samples.given(acceptance_checks=["npm test"]))
        yield Example(bad, good, good, path=samples.exchange("Coder"))


class LeanFlagPlace(TeamRule):
    code = "TC514"
    name = "lean-flag-place"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "`lean` is set inside the task, or for an agent other than SpecAgent."
    why = "SpecAgent reads `lean` at the top level of its input, and no other agent reads it."
    fix = "Move it to the top level of the input."
    fix_safety = "safe"

    def check_input(self, document: InputDocument, report: Report) -> None:
        value, task = document.model, document.model.task
        if "lean" in task:
            moved = [] if "lean" in value else [Insert("", "lean", None, task.raw["lean"])]
            fix = safe("move it to the top level", Remove("/task/lean"), *moved)
            report("/task/lean", "/task/lean belongs at the top level of the input", fix=fix, on_name=True)
        elif value.lean is True and document.agent not in (None, A.SPEC_AGENT):
            who = document.agent.value if document.agent else ""
            report("/lean", f"/lean is for SpecAgent, not for {who}", on_name=True)

    def examples(self) -> Iterator[Example]:
        good = samples.agent_input(samples.given("meta", []), lean=True)
        bad = samples.agent_input(samples.given("meta", [], lean=True))
        yield Example(bad, good, good, path=samples.exchange("SpecAgent", "meta"))
        yield Example(samples.agent_input(lean=True), samples.agent_input(), path=samples.exchange("Coder"))


class ChangedPathInSession(TeamRule):
    code = "TC515"
    name = "changed-path-in-session"
    severity = Severity.WARNING
    origin = FIXED
    summary = "A changed file is a session artifact."
    why = "A review is about the product; session artifacts are checked by other rules."

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        for change in dispatch.task.session_changed_files:
            path = change.path
            if path.removeprefix("./").startswith(f"{SESSIONS_FOLDER}/"):
                report(
                    change.at("path"), f"{shown(path)} is a session file, not a product file; remove it from the list"
                )

    def examples(self) -> Iterator[Example]:
        bad = [{"path": f"{samples.FOLDER}/spec.md", "change_type": "added"}]
        yield Example(
            samples.agent_input(samples.given(session_changed_files=bad)),
            samples.agent_input(samples.given(session_changed_files=_REVIEWED)),
            path=samples.exchange("Reviewer"),
        )


class ToolUnknown(TeamRule):
    code = "TC517"
    name = "tool-unknown"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A tool is not one of the five tools of the contract."
    why = "An agent can use such a tool only if it happens to know the name."

    def check_input(self, document: InputDocument, report: Report) -> None:
        for index, tool in numbered(document.model.tools_available):
            if is_text(tool) and tool not in KNOWN_TOOLS:
                message = f"unknown tool {shown(tool)}; known tools are {listed(KNOWN_TOOLS)}"
                report(f"/tools_available/{index}", message)

    def examples(self) -> Iterator[Example]:
        yield Example(
            samples.agent_input(tools_available=["browser"]), samples.agent_input(), path=samples.exchange("Coder")
        )


class FinalReviewGoal(TeamRule):
    code = "TC518"
    name = "final-review-goal"
    severity = Severity.WARNING
    origin = FIXED
    summary = "The final review of a session does not have the goal that marks it."
    why = "The goal makes the Reviewer look across all tasks; with another goal it reviews one more task."

    def check_dispatch(self, dispatch: Dispatch, document: ExchangeDocument, report: Report) -> None:
        goal = dispatch.task.goal
        if dispatch.agent is not A.REVIEWER or dispatch.task.id != META or not is_text(goal):
            return
        if document.session is None:
            wanted = list(FINAL_REVIEW_GOAL.values())
        else:
            wanted = [FINAL_REVIEW_GOAL[document.strategy or Strategy.PER_BATCH]]
        if goal not in wanted:
            right = listed(map(shown, wanted), "or")
            report(dispatch.at("goal"), f"the goal is {shown(goal)}; the goal of a final review must be {right}")

    def examples(self) -> Iterator[Example]:
        review: dict[str, Any] = {"session_changed_files": _REVIEWED}
        yield Example(
            samples.agent_input(samples.given("meta", goal="look again", **review)),
            samples.agent_input(samples.given("meta", goal=FINAL_REVIEW_GOAL[Strategy.PER_BATCH], **review)),
            path=samples.exchange("Reviewer", "meta"),
        )


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

"""Dispatching an agent: make its input, send it, check the reply, and send it again if that failed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from pytest_workrail.scenarios.drivers import file_bytes
from pytest_workrail.systems.kernel.run import Blocker
from pytest_workrail.systems.team.run_state import SessionState, Status
from pytest_workrail.systems.team.session import (
    REPO,
    STATUS,
    TASKS,
    Halt,
    TeamBlocker,
    about_agent,
    about_artifact,
    about_state,
    about_task,
    blocked,
    is_unusable,
    without_advice,
)
from pytest_workrail.systems.team.simulated_agents import AgentOutput, Call, File, Reaction
from workrail_lint.base.closed_sets import is_member
from workrail_lint.base.js import members_of
from workrail_lint.base.result import Err, Ok
from workrail_lint.findings import Finding
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.model.build import status_model
from workrail_lint.systems.team.model.documents import Task
from workrail_lint.systems.team.roles import ROLES, WRITTEN_KEYS, may_write
from workrail_lint.systems.team.rules import RULES
from workrail_lint.systems.team.state_machine import LIMITS, LOOP_OF
from workrail_lint.systems.team.vocabulary import (
    APPROVE_DESIGN_ID,
    CHANGES_REQUESTED,
    META,
    SESSIONS_FOLDER,
    AgentName,
    BlockerSlug,
    ChangeType,
    CiStatus,
    FindingSeverity,
    Mode,
    OutputStatus,
    RiskFlag,
    TaskStatus,
    WorkflowState,
    is_check,
    session_parts,
)

Check = Callable[[AgentOutput], list[Blocker]]
_PLAN_RULES = "TC56"
_MOST_PROBLEMS = 3
_CREATE = "Create the file or drop it from the context files"
_RISKY = (FindingSeverity.HIGH.value, FindingSeverity.CRITICAL.value)

A = AgentName
S = WorkflowState
CONVENTIONS = ".github/copilot-instructions.md"
CONTRACT = ".github/agents/CONTRACT.md"
# These set the status of a task while they work, so their first steps name the plan.
_SETS_STATUS = (A.SPEC_AGENT, A.PLANNER, A.CODER)


def agent_input(session: SessionState, agent: AgentName, task: str) -> dict[str, Any]:
    """Return the complete input of a dispatch."""
    status = session.status
    repo = session.request.repo_state
    ci = status.get("last_ci_result", repo.ci_status.value if repo and repo.ci_status else CiStatus.UNKNOWN.value)
    document: dict[str, Any] = {
        "task": _task(session, agent, task),
        "project_type": session.project_type.value,
        "repo_state": {
            "branch": (repo.branch if repo else None) or "main",
            "ci_status": ci if is_member(ci, CiStatus) else CiStatus.UNKNOWN.value,
            "last_failed_step": session.memory.last_failed,
        },
        "tools_available": session.tools,
    }
    if agent is A.RESEARCHER:
        document["research_question"] = research_question(session)
    if agent is A.SPEC_AGENT and session.state is S.INTAKE_LEAN:
        document["lean"] = True
    return document


def research_question(session: SessionState) -> str:
    return f"Research what this needs: {session.goal}"


def _task(session: SessionState, agent: AgentName, task: str) -> dict[str, Any]:
    planned = session.task(task)
    document: dict[str, Any] = {
        "id": task,
        "title": session.goal if planned.title is None else planned.title,
        "goal": planned.goal if planned.has("goal") else _goal(session, agent),
        "non_goals": list(planned.non_goals),
        "constraints": list(session.request.constraints or ()),
        "context_files": context_files(session, agent, planned),
        "acceptance_checks": list(filter(is_check, planned.acceptance_checks)),
        "risk_flags": list(planned.risk_flags) or [RiskFlag.NONE.value],
    }
    if agent is A.REVIEWER:
        document["session_changed_files"] = changed_files(session, task)
    return document


def _goal(session: SessionState, agent: AgentName) -> str:
    if agent is A.REVIEWER:
        return machine.FINAL_REVIEW_GOAL[session.strategy]
    if session.state is S.APPROVE_DESIGN:
        decision = session.status_model.decision(APPROVE_DESIGN_ID)
        answer = None if decision is None else decision.answer
        return f"Change the design: {(answer or '').removeprefix(CHANGES_REQUESTED).strip()}"
    return session.goal


def context_files(session: SessionState, agent: AgentName, planned: Task) -> list[str]:
    """Return what the role always reads, what it reads if it exists, and what the task names."""
    role = ROLES[agent]
    files = list(role.context)
    for name in role.context_if_there:
        files += session.store.below(name) if name.endswith("/") else [name] if session.store.exists(name) else []
    prefix = f"{SESSIONS_FOLDER}/{session.store.session}/"
    paths = [prefix + file for file in files]
    if agent is A.CODER:
        paths += planned.context_files
    return list(dict.fromkeys(paths))


def changed_files(session: SessionState, task: str) -> list[dict[str, str]]:
    """Return what was changed for a task, or in the whole session."""
    memory = session.memory.changed
    if task != META:
        paths = memory.get(task, []) or planned_files(session, [session.task(task)])
    else:
        paths = [path for files in memory.values() for path in files] or planned_files(session, session.store.tasks())
    return [{"path": path, "change_type": _change(session, path).value} for path in dict.fromkeys(paths)]


def planned_files(session: SessionState, tasks: list[Task]) -> list[str]:
    """Return the files that the plan expects and that exist; after a break nothing else is known."""
    started = [task for task in tasks if task.written_status not in (TaskStatus.NOT_STARTED.value, "")]
    expected = [path for task in started for path in task.files_expected]
    return [path for path in expected if _is_there(session, path)]


def _is_there(session: SessionState, path: str) -> bool:
    return session.store.refusal(f"{REPO}{path}") is None and session.store.exists(f"{REPO}{path}")


def _change(session: SessionState, path: str) -> ChangeType:
    if not _is_there(session, path):
        return ChangeType.DELETED
    return ChangeType.MODIFIED if path in (session.team.repository or {}) else ChangeType.ADDED


def note_changes(session: SessionState, task: str, output: AgentOutput) -> None:
    """Keep in mind which files of the repository an agent says it changed."""
    known = session.memory.changed.setdefault(task, [])
    known += [path for path in output.strings(*WRITTEN_KEYS) if session_parts(path) is None and path not in known]


def dispatch_plan(session: SessionState, agent: AgentName, given: dict[str, Any]) -> dict[str, Any]:
    """Return the plan with which the Orchestrator dispatches an agent."""
    item = {"agent": agent.value, "task": given["task"], "project_type": given["project_type"]}
    why = f"{agent.value} is next in {session.state.value}."
    return {"state": session.state.value, "dispatch": [item], "why": why, "blockers": []}


def message(session: SessionState, agent: AgentName, given: bytes, *, conventions: bool) -> list[tuple[str, str]]:
    """Return the parts of the message in order, each with its name."""
    role = machine.role_file(agent)
    ledger = ["set the status of your task in tasks.yaml"] if agent in _SETS_STATUS else []
    steps = [
        *([f"read {CONVENTIONS}"] if conventions else []),
        "read all context files",
        f"read {role}",
        "do the work",
        *ledger,
        "reply with one JSON object and nothing else",
    ]
    parts = {
        "role": f"You are {agent.value}; your role is described in {role}.",
        "contract": f"You are bound by the contract in {CONTRACT}.",
        "conventions": f"Read {CONVENTIONS}; it ranks below the contract, your role and the workflow.",
        "session": f"The session folder is {SESSIONS_FOLDER}/{session.store.session}/.",
        "input": f"Your input: {given.decode('utf-8', 'replace')}",
        "first-steps": "First steps: " + "; ".join(steps) + ".",
    }
    return [(part.name, parts[part.name]) for part in machine.MESSAGE_PARTS if not part.optional or conventions]


# ----------------------------------------------------------------------------------------------------------- dispatches


def nothing(_: AgentOutput) -> list[Blocker]:
    """Return no blockers: the check of a dispatch that no guard follows."""
    return []


def dispatch(session: SessionState, agent: AgentName, task: str, check: Check = nothing) -> Ok[AgentOutput] | Err[Halt]:
    """Return the output of an agent, which is dispatched at most three times.

    The output is OK, a verdict of Reviewer, QA or Security, or a question; everything else halts the run. `check`
    returns the blockers against an OK.
    """
    halt = session.out_of_steps()
    if halt is not None:
        return Err(halt)
    sent = _Dispatch(session, agent, task)
    failures: list[Blocker] = []
    for attempt in range(1, LIMITS.dispatch_retries + 2):
        tried = sent.attempt(attempt, check)
        if isinstance(tried, Err):
            return tried
        if isinstance(tried.value, list):
            failures = tried.value
            continue
        return _check_reply(session, agent, task, tried.value)
    reasons = f": {'; '.join(sent.problems[:_MOST_PROBLEMS])}" if sent.problems else ""
    text = f"{agent.value} with {task} failed {LIMITS.dispatch_retries + 1} times{reasons}"
    fix = f"Dispatch {agent.value} with {task} again"
    failed = about_agent(TeamBlocker.SUBAGENT_FAILED, agent, task, text, fix)
    return Err(blocked(BlockerSlug.SUBAGENT_FAILURE, failed, *failures))


class _Dispatch:
    """One dispatch; its input is made once, so that what is sent again is the same."""

    def __init__(self, session: SessionState, agent: AgentName, task: str) -> None:
        self.session = session
        self.agent = agent
        self.task = task
        self.problems: list[str] = []  # what made the last reply invalid
        self._input: bytes | None = None

    def attempt(self, number: int, check: Check) -> Ok[AgentOutput | list[Blocker]] | Err[Halt]:
        """Return the output, or the blockers against it; Err if another attempt is pointless."""
        session, agent, task = self.session, self.agent, self.task
        before = session.store.status()
        if before is not None:
            before = read_status(session)
        conventions = _has_conventions(session, before)
        refused = self._prepare()
        if refused is not None:
            return Err(refused)
        given = self._input or b""
        session.log.emit(
            "dispatch",
            agent=agent.value,
            task=task,
            attempt=number,
            input=hashlib.sha256(given).hexdigest(),
            parts=[name for name, _ in message(session, agent, given, conventions=conventions)],
            conventions=conventions,
            context=json.loads(given)["task"]["context_files"],
        )
        reaction = session.agents.react(self._call())
        if isinstance(reaction, Err):
            return reaction
        return self._accept_reaction(reaction.value, number, before, check)

    def _prepare(self) -> Halt | None:
        """Make the input, unless it is made; a context file that is not there stops the dispatch."""
        if self._input is not None:
            return None
        session = self.session
        session.memory.exchanges += 1
        given = agent_input(session, self.agent, self.task)
        self._input = file_bytes(given)
        number = session.memory.exchanges
        findings = session.linter.input(number, self.agent, self.task, self._input)
        planned = session.linter.plan(number, file_bytes(dispatch_plan(session, self.agent, given)))
        # What is wrong with the task itself the input has said already.
        session.findings += without_advice(
            [*findings, *(each for each in planned if each.code.startswith(_PLAN_RULES))]
        )
        absent = [
            about_artifact(TeamBlocker.CONTEXT_FILE_MISSING, _context(given, each), each.message, _CREATE)
            for each in findings
            if each.code == "TC511"
        ]
        return blocked(BlockerSlug.ARTIFACT_INVALID, *absent) if absent else None

    def _call(self) -> Call:
        session = self.session
        return Call(
            self.agent,
            self.task,
            session.state,
            session.mode,
            session.goal,
            research_question(session),
            session.clock.timestamp,
            self._obstacle(),
        )

    def _obstacle(self) -> str:
        """Return why a conscientious agent must stop before it starts; empty if it can work."""
        session, role = self.session, ROLES[self.agent]
        for file in role.context:
            for each in session.linter.errors(file):
                return f"{file} can't be used: {each.message}"
        if tests_cannot_run(session, self.agent, self.task):
            return "The tests can't be run: there is no run_cmd."
        return ""

    def _accept_reaction(
        self, reaction: Reaction, number: int, before: Status | None, check: Check
    ) -> Ok[AgentOutput | list[Blocker]] | Err[Halt]:
        session, agent, task = self.session, self.agent, self.task
        violations = _AgentWrites(session, agent, before).write(reaction.files)
        self.problems = []

        def failed(reason: str, *blockers: Blocker) -> Ok[AgentOutput | list[Blocker]]:
            problems = {"problems": self.problems} if self.problems else {}
            session.log.emit("dispatch_error", agent=agent.value, task=task, attempt=number, reason=reason, **problems)
            return Ok(list(blockers))

        if reaction.fault is not None:
            return Err(_violation(session, violations)) if violations else failed(reaction.fault.value)
        findings = session.linter.output(session.memory.exchanges, agent, task, reaction.text)
        session.findings += without_advice(findings)
        self.problems = [f"{finding.code} {finding.message}" for finding in findings if is_unusable(finding)]
        if self.problems:
            return Err(_violation(session, violations)) if violations else failed("invalid")
        output = AgentOutput.read(reaction.text)
        session.findings += self._beyond_reach(reaction.files, output)
        session.log.emit("reply", agent=agent.value, status=output.status.value)
        if violations:
            return Err(_violation(session, violations))
        if output.status is OutputStatus.OK:
            against = check(output)
            if against:
                return failed("guard", *against)
            note_changes(session, task, output)
        return Ok(output)

    def _beyond_reach(self, files: tuple[File, ...], output: AgentOutput) -> list[Finding]:
        """Return findings about writes outside the role that the output does not name, so no rule saw them."""
        session, agent = self.session, self.agent
        named = set(output.strings(*output.artifacts))
        rule = RULES.by_name["write-outside-role"]
        return [
            Finding(
                rule.code,
                rule.name,
                rule.severity,
                f"{agent.value} may write {ROLES[agent].reach.value}, but not '{path}'",
                "/artifacts",
                path=f"{session.memory.exchanges:04d}-{agent.value}-{self.task}.output.json",
            )
            for path in (session.store.repo_path(file.path) for file in files)
            if path not in named and not may_write(agent, path, session.store.session, is_exact=True)
        ]


def _context(given: dict[str, Any], finding: Finding) -> str:
    """Return the file that a finding about a context list means."""
    index = finding.pointer.rpartition("/")[2]
    path = str(given["task"]["context_files"][int(index)])
    parts = session_parts(path)
    return path if parts is None else parts[1]


def read_status(session: SessionState) -> Status | None:
    """Read status.json and say so; what it must hold before a dispatch and lacks is found out and stored."""
    session.log.emit("read_status")
    status = session.store.status()
    if status is not None and "runtime_flags" not in status:
        exists = session.store.exists(f"{REPO}{CONVENTIONS}")
        flags = {"copilot_instructions_exists": exists, "copilot_checked_at": session.clock.timestamp}
        session.save(lambda stored: stored.update(runtime_flags=flags))
        status = session.store.status()
    return status


def _has_conventions(session: SessionState, status: Status | None) -> bool:
    if status is None:
        return session.store.exists(f"{REPO}{CONVENTIONS}")
    return members_of(status.get("runtime_flags")).get("copilot_instructions_exists") is True


class _Violation(NamedTuple):
    """Something that breaks the contract for good, and the rule that says so, if one does."""

    text: str
    rule: str = ""
    demand: str = ""  # what the contract says


class _AgentWrites:
    """The writes of an agent, checked against its permissions."""

    def __init__(self, session: SessionState, agent: AgentName, before: Status | None) -> None:
        self.session = session
        self.agent = agent
        self.before = before

    def write(self, files: tuple[File, ...]) -> list[_Violation]:
        """Write the files and give everything that breaks the contract for good."""
        return [breach for file in files if (breach := self._one(file)) is not None]

    def _one(self, file: File) -> _Violation | None:
        session, agent = self.session, self.agent.value
        reason = session.store.refusal(file.path)
        if reason is None:
            tasks = {task.id: task.written_status for task in session.store.tasks()}
            try:
                session.store.put(file.path, file.data)
            except OSError:
                reason = "can't be written"
        if reason is not None:
            session.log.emit("write_error", file=file.path, by=agent)
            text = f"{agent} tried to write {file.path}, which {reason}"
            is_session = session_parts(session.store.repo_path(file.path)) is not None
            return (
                _Violation(text, "role-boundary", "Older sessions are read-only.") if is_session else _Violation(text)
            )
        path = session.store.repo_path(file.path)
        if not may_write(self.agent, path, session.store.session, is_exact=True):
            session.log.emit("write", file=file.path, by=agent)
        if file.path == TASKS:
            return self._moved(tasks)
        return self._decided() if file.path == STATUS else None

    def _moved(self, before: dict[str, str]) -> _Violation | None:
        broken = None
        for task in self.session.store.tasks():
            status = task.written_status
            if status and before.get(task.id, status) != status:
                self.session.log.emit("task_status", task=task.id, status=status, by=self.agent.value)
                if task.status == "completed":
                    text = f"{self.agent.value} set {task.id} to completed"
                    broken = _Violation(text, "completed-without-gates", "Only the Orchestrator completes a task.")
        return broken

    def _decided(self) -> _Violation | None:
        """Return the violation of an agent that changed decisions of the user; it may only add to status.json."""
        session = self.session
        after = session.store.status()
        known = self.before or {}
        if after is None:
            if self.before is None:
                return None  # it is not a status; the guard reports that
            session.store.save_status(known)
            return _Violation(f"{self.agent.value} left a status.json that can't be read")
        old, new = (
            {str(entry.raw.get("decision_id")): entry.raw for entry in status_model(each).user_decisions}
            for each in (known, after)
        )
        changed = [ident for ident in (*new, *(old.keys() - new.keys())) if new.get(ident) != old.get(ident)]
        if not changed:
            return None
        labels = [f"{ident}={new[ident].get('status') if ident in new else 'gone'}" for ident in sorted(changed)]
        session.log.emit("write", file=STATUS, set=labels, by=self.agent.value)
        after["user_decisions"] = known.get("user_decisions", [])
        session.store.save_status(after)
        text = f"{self.agent.value} changed {', '.join(sorted(changed))} in status.json"
        return _Violation(text, "role-boundary", "Only the Orchestrator writes decisions of the user.")


def _violation(session: SessionState, broken: list[_Violation]) -> Halt:
    reasons = []
    for text, name, demand in broken:
        rule = RULES.by_name.get(name)
        message = text if rule is None else f"{rule.code} {text}"
        fix = f"Make the agent follow its role, then resume in {session.state.value}"
        fix = f"{demand} {fix}" if demand else fix
        reasons.append(about_state(TeamBlocker.PROTOCOL_VIOLATION, session.state, message, fix))
    return blocked(BlockerSlug.AGENT_FAILED, *reasons)


def _check_reply(
    session: SessionState, agent: AgentName, task: str, output: AgentOutput
) -> Ok[AgentOutput] | Err[Halt]:
    """Return the output of a valid reply, or a reason to stop."""
    if output.status is OutputStatus.FAIL:
        risk = next((each for each in output.objects("findings") if each.get("severity") in _RISKY), None)
        if risk is not None:
            fix = str(risk.get("recommended_fix") or "Repair it and resume")
            text = f"{agent.value}: {risk.get('description') or 'a high-risk finding'}"
            return Err(blocked(BlockerSlug.AGENT_FAILED, about_task(TeamBlocker.HIGH_RISK_FINDING, task, text, fix)))
        text = f"{agent.value} failed with {task}"
        failed = about_agent(TeamBlocker.AGENT_FAILED, agent, task, text, output.reason or "See the reply")
        return Err(blocked(BlockerSlug.AGENT_FAILED, failed))
    if output.status is not OutputStatus.BLOCKED:
        return Ok(output)
    if tests_cannot_run(session, agent, task):
        text = f"{task} needs tests, but run_cmd is not available"
        fix = "Provide run_cmd, or waive the tests"
        return Err(blocked(BlockerSlug.AGENT_BLOCKED, about_task(TeamBlocker.TESTS_NOT_RUNNABLE, task, text, fix)))
    if agent in LOOP_OF or leaves_lean(session, agent, output):
        return Ok(output)
    text = f"{agent.value} is blocked with {task}"
    stopped = about_agent(TeamBlocker.AGENT_BLOCKED, agent, task, text, output.reason or "See the reply")
    return Err(blocked(BlockerSlug.AGENT_BLOCKED, stopped))


def leaves_lean(session: SessionState, agent: AgentName, output: AgentOutput) -> bool:
    """Return whether the Coder of a lean run reports that the work is larger than that."""
    is_here = session.mode is Mode.LEAN and session.state is WorkflowState.IMPLEMENT_LOOP
    is_blocked = agent is A.CODER and output.status is OutputStatus.BLOCKED
    return is_here and is_blocked and output.next_agent is A.SPEC_AGENT


def tests_cannot_run(session: SessionState, agent: AgentName, task: str) -> bool:
    return agent is A.QA and "run_cmd" not in session.tools and bool(session.task(task).commands)

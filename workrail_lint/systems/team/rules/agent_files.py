"""The instruction files of agents, held against the roles of the contract."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.base.closed_sets import is_member, words
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.team.agent_files import SESSION, AgentFile, Quote, role_of
from workrail_lint.systems.team.documents import SIDE_FOLDERS, is_artifact_name
from workrail_lint.systems.team.roles import ROLES, may_write
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.base import FIXED, Report, TeamRule
from workrail_lint.systems.team.vocabulary import AgentName, OutputStatus, session_parts
from workrail_lint.systems.team.wording import listed, shown, suggestion

_FILE_NAMES = tuple(agent.file_name for agent in AgentName)
_COMMON = (OutputStatus.OK, OutputStatus.BLOCKED, OutputStatus.FAIL)


class AgentFileContradictsRole(TeamRule):
    code = "TC901"
    name = "agent-file"
    severity = Severity.ERROR
    origin = FIXED
    summary = "The instructions of an agent contradict its role: name, status, next agent, artifacts or sample output."
    why = "A mistake here becomes a wrong output in every session."

    def check_agent_file(self, file: AgentFile, report: Report) -> None:
        self._agent_file_name(file, report)
        self._agent_file_next(file, report)
        self._agent_file_artifact(file, report)
        special = None if file.role is None else ROLES[file.role].status
        for quote in file.statuses():
            if not is_member(quote.text, OutputStatus):
                near = suggestion(quote.text, words(OutputStatus))
                report("", f"unknown output status {shown(quote.text)}{near}", at=quote.at)
            elif file.role is not None and OutputStatus(quote.text) not in (*_COMMON, special):
                owner = next(agent for agent, role in ROLES.items() if role.status == quote.text)
                report("", f"{file.role.value} can't report {quote.text}; only {owner.value} can", at=quote.at)
        for sample in file.samples:
            if sample.is_broken:
                problem = next(iter(sample.document.problems), None)
                at = (sample.start, sample.start + 1) if problem is None else (problem.start, problem.end)
                what = "it can't be read" if problem is None else problem.message
                report("", f"this sample output is not valid JSON: {what}", at=at)

    def _agent_file_name(self, file: AgentFile, report: Report) -> None:
        if file.name is None:
            name = (file.role or AgentName.CODER).file_name
            problem = None if file.matter is None else next(iter(file.matter.problems), None)
            if problem is not None:
                report("", f"the front matter can't be read: {problem.message}", at=(problem.start, problem.end))
            else:
                report("", f"the file has no front matter with a 'name'; add one such as 'name: {name}'")
            return
        for quote in (file.name, *file.subagents):
            if quote.text not in _FILE_NAMES:
                meant = role_of(quote.text)
                near = f"; did you mean '{meant.file_name}'?" if meant else suggestion(quote.text, _FILE_NAMES)
                report("", f"unknown agent {shown(quote.text)}{near}", at=quote.at)
        if file.file_role is not None and file.file_role is not file.role:
            text = f"the file is named after {file.file_role.value}, but its name is {shown(file.name.text)}"
            report("", text, at=file.name.at)

    def _agent_file_next(self, file: AgentFile, report: Report) -> None:
        for quote in (*file.next_agents(), *file.dispatched()):
            if not is_member(quote.text, AgentName):
                meant = role_of(quote.text)
                near = f"; did you mean '{meant.value}'?" if meant else suggestion(quote.text, words(AgentName))
                report("", f"unknown agent {shown(quote.text)}{near}", at=quote.at)
        usual = words_of(file.role)
        for quote in file.next_agents() if usual else ():
            if is_member(quote.text, AgentName) and quote.text not in usual:
                assert file.role is not None
                text = (
                    f"{file.role.value} recommends {quote.text}; the contract has it followed by {listed(usual, 'or')}"
                )
                report("", text, at=quote.at, severity=Severity.WARNING)

    def _agent_file_artifact(self, file: AgentFile, report: Report) -> None:
        if file.role is None:
            return
        for quote in file.written():
            inside = session_parts(quote.text)
            if not may_write(file.role, quote.text, SESSION):
                reach = ROLES[file.role].reach.value
                report("", f"{file.role.value} can't write {_shown(quote)}; it may write {reach}", at=quote.at)
            elif inside is not None and inside[1] not in SIDE_FOLDERS and not is_artifact_name(inside[1]):
                text = f"{_shown(quote)} is not an artifact of the contract, so no other agent reads it"
                report("", text, at=quote.at, severity=Severity.WARNING)

    def examples(self) -> Iterator[Example]:
        good = samples.agent_file("spec-agent", _output("Architect", "spec.md"))
        path = samples.agent_path("spec-agent")
        yield Example(samples.agent_file("SpecAgent", _output("Architect", "spec.md")), good, path=path)
        yield Example(samples.agent_file("docs", _output("Orchestrator", "report.md")), good, path=path)
        path = samples.agent_path("architect")
        good = samples.agent_file("architect", _output("Planner", "architecture.md"))
        yield Example(samples.agent_file("architect", _output("planner", "architecture.md")), good, path=path)
        yield Example(samples.agent_file("architect", _output("Planner|Docs", "architecture.md")), good, path=path)
        path = samples.agent_path("planner")
        good = samples.agent_file("planner", _output("Coder", "tasks.yaml"))
        bad = _output("Coder", "tasks.yaml")
        bad["artifacts"]["files_changed"] = ["src/app.js"]
        yield Example(samples.agent_file("planner", bad), good, path=path)
        yield Example(samples.agent_file("planner", _output("Coder", "backlog.yaml")), good, path=path)
        path = samples.agent_path("architect")
        good = samples.agent_file("architect", _output("Planner", "architecture.md"))
        for status in ("OK|NEEDS_INFO", "OK|DONE"):
            bad = _output("Planner", "architecture.md", status)
            yield Example(samples.agent_file("architect", bad), good, path=path)
        good = samples.agent_file("architect", _output("Planner", "architecture.md"))
        yield Example(good.replace('"notes": []', '"notes": [],'), good, path=samples.agent_path("architect"))


def _output(agent: str, file: str, status: str = "OK|BLOCKED|FAIL", **members: Any) -> dict[str, Any]:
    """Return what an agent of the session would show as its output."""
    following = {"recommended_agent": agent, "recommended_task_id": "meta", "reason": "The next step."}
    artifacts = {"files_to_create_or_update": [f".agents-work/<session>/{file}"], "files_changed": [], "notes": []}
    return samples.agent_output(status, artifacts, next=following, **members)


def words_of(role: AgentName | None) -> tuple[str, ...]:
    """Return the agents that usually follow a role."""
    return () if role is None else tuple(agent.value for agent in ROLES[role].usual_next)


def _shown(quote: Quote) -> str:
    return shown(quote.text.replace(SESSION, "<session>"))

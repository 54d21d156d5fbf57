"""Problems of a team scenario that its schema can't express: unknown names, missing files, settings without effect."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from workrail_lint.base.closed_sets import is_member, words
from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.nodes import Build
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding
from workrail_lint.systems.base import RunSettings, scenario_finding
from workrail_lint.systems.team.model.scenario import Expectations, Moot, Reply, Resume, Team, TeamScenario
from workrail_lint.systems.team.state_machine import CORRECTORS, FULL_PATH, GATES, LEAN_PATH, NOT_RETURNABLE
from workrail_lint.systems.team.vocabulary import (
    AgentName,
    is_check,
    is_decision_id,
    is_session_name,
    is_task_id,
    is_task_ref,
    is_timestamp,
    machine_reason,
)
from workrail_lint.systems.team.wording import listed, shown, suggestion

_REPLY = Pattern(r"([^/#]*)/([^/#]*)(?:#([1-9][0-9]{0,5}))?")


def findings(value: dict[str, Any], folder: str, settings: RunSettings | None = None) -> Iterator[Finding]:
    """Yield everything that makes a scenario fail, or pass without testing what it describes.

    `folder` is its folder.
    """
    scenario: TeamScenario = Build().root(TeamScenario, value)
    team, expect = scenario.team, scenario.expect
    yield from _session(team)
    if isinstance(team.start, Resume):
        yield from _start(team.start, team, folder)
    yield from _replies(team.replies)
    yield from _user(team)
    yield from _rest(team)
    if expect is not None:
        yield from _expectations(expect)
    if scenario.golden is False and not (expect and expect.raw):
        text = "this scenario only checks that the run ends; add a golden or expectations"
        yield scenario_finding("scenario-checks-little", "/golden", text)


def _unknown(pointer: str, message: str) -> Finding:
    return scenario_finding("scenario-step-unknown", pointer, message)


def _ignored(pointer: str, message: str) -> Finding:
    return scenario_finding("scenario-member-ignored", pointer, message)


def _session(team: Team) -> Iterator[Finding]:
    if team.session is not None and not is_session_name(team.session):
        yield _unknown(team.at("session"), f"{shown(team.session)} is not a session name: the date does not exist")


def _start(start: Resume, team: Team, folder: str) -> Iterator[Finding]:
    source = start.resume
    if isinstance(source, str):
        where = os.path.join(folder, source)
        if not os.path.isdir(where):
            yield scenario_finding(
                "scenario-workflow-missing", start.at("resume"), f"the folder {shown(source)} does not exist"
            )
            return
        there = set(os.listdir(where))
    else:
        there = {path.partition("/")[0] for path in source}
        yield from _paths(start.at("resume"), source)
    if "status.json" not in there:
        text = "a resumed session needs a status.json, and this one has none"
        yield scenario_finding("scenario-workflow-missing", start.at("resume"), text)
    target = start.as_
    path, others = {"full": (FULL_PATH, LEAN_PATH), "lean": (LEAN_PATH, FULL_PATH)}.get(team.mode or "", ((), ()))
    if target in others and target not in path:
        yield _ignored(start.at("as"), f"{target} is not a state of a {team.mode} session")
    if target in NOT_RETURNABLE and target != "ASK_USER":
        yield _ignored(start.at("as"), f"a session can't continue in {target}")
    for file, moment in start.mtimes.items():
        if not is_timestamp(moment):
            yield _unknown(start.at("mtimes", file), f"{shown(moment)} is not a date-time with a time zone")
        if file.partition("/")[0] not in there:
            yield _unknown(start.at("mtimes", file), f"the session has no file {shown(file)}")


def _paths(pointer: str, files: Mapping[str, Any]) -> Iterator[Finding]:
    for path in files:
        reason = machine_reason(path)
        if reason is not None:
            yield _unknown(child(pointer, path), f"{shown(path)} {reason}")
        above = next((file for file in files if path.startswith(f"{file}/")), None)
        if above is not None:
            yield _unknown(child(pointer, path), f"{shown(path)} can't exist, because {shown(above)} is a file")


def _replies(replies: Mapping[str, Reply]) -> Iterator[Finding]:
    for key, reply in replies.items():
        pointer = reply.pointer
        match = _REPLY.fullmatch(key)
        if match is None:
            yield _unknown(pointer, f"{shown(key)} is not a dispatch; write Agent/task or Agent/task#n")
            continue
        agent, task = match[1], match[2]
        if not is_member(agent, AgentName) or agent == AgentName.ORCHESTRATOR.value:
            others = [word for word in words(AgentName) if word != AgentName.ORCHESTRATOR.value]
            yield _unknown(pointer, f"{shown(agent)} is never dispatched{suggestion(agent, others)}")
        if not is_task_ref(task):
            yield _unknown(pointer, f"{shown(task)} is not a task id; use an id such as T-001, or meta for all tasks")
        if match[3] == "1" and f"{agent}/{task}" in replies:
            unused = replies[f"{agent}/{task}"]
            yield _ignored(unused.pointer, f"this reply is never used, because {shown(key)} names the same dispatch")
        if "text" in reply and "output" in reply:
            yield _ignored(reply.at("output"), "'output' is ignored, because 'text' is the whole reply")
        for member in ("output", "text"):
            if member in reply and reply.fault in ("error", "timeout"):
                yield _ignored(
                    reply.at(member),
                    f"{shown(member)} is ignored, because the fault {shown(reply.fault)} returns no reply",
                )


def _user(team: Team) -> Iterator[Finding]:
    for ident, answers in team.user.items():
        pointer = team.at("user", ident)
        if not is_decision_id(ident):
            yield _unknown(pointer, f"{shown(ident)} is not a decision id; use UD-1, or {listed(GATES, 'or')}")
        for answer in answers:
            if ident in GATES and isinstance(answer, Moot):
                yield _ignored(answer.pointer, "a gate can't be skipped; answer or cancel it")


def _rest(team: Team) -> Iterator[Finding]:
    for index, entry in enumerate(team.corrections):
        for agent in [entry] if isinstance(entry, str) else entry:
            if AgentName(agent) not in CORRECTORS:
                names = listed((each.value for each in CORRECTORS), "or")
                yield _unknown(team.at("corrections", index), f"{shown(agent)} can't correct a design; use {names}")
    for check in team.checks:
        if not is_check(check) or not check.startswith("cmd: "):
            yield _ignored(team.at("checks", check), "only commands are run; start the check with 'cmd: '")
    faults = [(fault.file, fault.nth) for fault in team.faults]
    for index, fault in enumerate(faults):
        if fault in faults[:index]:
            text = f"write {fault[1]} of {fault[0]} already has a fault; a write can fail only once"
            yield _ignored(team.faults[index].pointer, text)
    for index, task in enumerate(team.flags.sensitive if team.flags is not None else ()):
        if not is_task_id(task):
            yield _unknown(team.at("flags", "sensitive", index), f"{shown(task)} is not a task id")
    yield from _paths(team.at("repository"), team.repository)
    if not isinstance(team.start, Resume) and team.mode == "lean" and team.corrections:
        yield _ignored(team.at("corrections"), "corrections have no effect: a lean session has no design")


def _expectations(expected: Expectations) -> Iterator[Finding]:
    for ident in expected.decisions:
        if not is_decision_id(ident):
            yield _unknown(expected.at("decisions", ident), f"{shown(ident)} is not a decision id")
    for index, key in enumerate(expected.dispatches):
        agent, _, task = key.partition("/")
        if not is_member(agent, AgentName) or not is_task_ref(task):
            yield _unknown(expected.at("dispatches", index), f"{shown(key)} is not a dispatch; write Agent/task")
    for ident in expected.tasks:
        if not is_task_id(ident):
            yield _unknown(expected.at("tasks", ident), f"{shown(ident)} is not a task id; use the form T-001")

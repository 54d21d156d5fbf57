"""Problems of a team scenario that its schema can't express: unknown names, missing files, settings without effect."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding
from workrail_lint.systems.base import RunSettings, scenario_finding
from workrail_lint.systems.team.state_machine import CORRECTORS, FULL_PATH, GATES, LEAN_PATH, NOT_RETURNABLE
from workrail_lint.systems.team.vocabulary import (
    AgentName,
    is_check,
    is_decision_id,
    is_member,
    is_session_name,
    is_task_id,
    is_task_ref,
    is_timestamp,
    machine_reason,
    words,
)
from workrail_lint.systems.team.wording import listed, shown, suggestion

_REPLY = Pattern(r"([^/#]*)/([^/#]*)(?:#([1-9][0-9]{0,5}))?")
_TEAM = "/team"


def findings(value: dict[str, Any], folder: str, settings: RunSettings | None = None) -> Iterator[Finding]:
    """Everything that makes a scenario fail, or pass without testing what it describes; `folder` is its folder."""
    team = value["team"]
    yield from _session(team)
    yield from _start(team, folder)
    yield from _replies(team.get("replies", {}))
    yield from _user(team.get("user", {}))
    yield from _rest(team)
    yield from _expectations(value.get("expect", {}))
    if value.get("golden") is False and not value.get("expect"):
        text = "this scenario only checks that the run ends; add a golden or expectations"
        yield scenario_finding("scenario-checks-little", "/golden", text)


def _unknown(pointer: str, message: str) -> Finding:
    return scenario_finding("scenario-step-unknown", pointer, message)


def _ignored(pointer: str, message: str) -> Finding:
    return scenario_finding("scenario-member-ignored", pointer, message)


def _session(team: dict[str, Any]) -> Iterator[Finding]:
    session = team.get("session")
    if session is not None and not is_session_name(session):
        yield _unknown(f"{_TEAM}/session", f"{shown(session)} is not a session name: the date does not exist")


def _start(team: dict[str, Any], folder: str) -> Iterator[Finding]:
    start = team.get("start", "new")
    if start == "new":
        return
    pointer = f"{_TEAM}/start"
    source = start["resume"]
    if isinstance(source, str):
        where = os.path.join(folder, source)
        if not os.path.isdir(where):
            yield scenario_finding(
                "scenario-workflow-missing", f"{pointer}/resume", f"the folder {shown(source)} does not exist"
            )
            return
        there = set(os.listdir(where))
    else:
        there = {path.partition("/")[0] for path in source}
        yield from _paths(f"{pointer}/resume", source)
    if "status.json" not in there:
        text = "a resumed session needs a status.json, and this one has none"
        yield scenario_finding("scenario-workflow-missing", f"{pointer}/resume", text)
    target = start.get("as")
    path = {"full": FULL_PATH, "lean": LEAN_PATH}.get(team.get("mode", ""), ())
    others = {"full": LEAN_PATH, "lean": FULL_PATH}.get(team.get("mode", ""), ())
    if target in others and target not in path:
        yield _ignored(f"{pointer}/as", f"{target} is not a state of a {team['mode']} session")
    if target in NOT_RETURNABLE and target != "ASK_USER":
        yield _ignored(f"{pointer}/as", f"a session can't continue in {target}")
    for file, moment in start.get("mtimes", {}).items():
        if not is_timestamp(moment):
            yield _unknown(child(f"{pointer}/mtimes", file), f"{shown(moment)} is not a date-time with a time zone")
        if file.partition("/")[0] not in there:
            yield _unknown(child(f"{pointer}/mtimes", file), f"the session has no file {shown(file)}")


def _paths(pointer: str, files: dict[str, Any]) -> Iterator[Finding]:
    for path in files:
        reason = machine_reason(path)
        if reason is not None:
            yield _unknown(child(pointer, path), f"{shown(path)} {reason}")
        above = next((file for file in files if path.startswith(f"{file}/")), None)
        if above is not None:
            yield _unknown(child(pointer, path), f"{shown(path)} can't exist, because {shown(above)} is a file")


def _replies(replies: dict[str, Any]) -> Iterator[Finding]:
    for key, reply in replies.items():
        pointer = child(f"{_TEAM}/replies", key)
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
            yield _ignored(
                child(f"{_TEAM}/replies", f"{agent}/{task}"),
                f"this reply is never used, because {shown(key)} names the same dispatch",
            )
        if "text" in reply and "output" in reply:
            yield _ignored(f"{pointer}/output", "'output' is ignored, because 'text' is the whole reply")
        fault = reply.get("fault")
        for member in ("output", "text"):
            if member in reply and fault in ("error", "timeout"):
                yield _ignored(
                    f"{pointer}/{member}",
                    f"{shown(member)} is ignored, because the fault {shown(fault)} returns no reply",
                )


def _user(user: dict[str, Any]) -> Iterator[Finding]:
    for ident, answers in user.items():
        pointer = child(f"{_TEAM}/user", ident)
        if not is_decision_id(ident):
            yield _unknown(pointer, f"{shown(ident)} is not a decision id; use UD-1, or {listed(GATES, 'or')}")
        for index, answer in enumerate(answers):
            if ident in GATES and isinstance(answer, dict) and "skip" in answer:
                yield _ignored(child(pointer, index), "a gate can't be skipped; answer or cancel it")


def _rest(team: dict[str, Any]) -> Iterator[Finding]:
    for index, entry in enumerate(team.get("corrections", ())):
        for agent in [entry] if isinstance(entry, str) else entry:
            if agent not in words(AgentName) or AgentName(agent) not in CORRECTORS:
                names = listed((each.value for each in CORRECTORS), "or")
                yield _unknown(
                    child(f"{_TEAM}/corrections", index), f"{shown(agent)} can't correct a design; use {names}"
                )
    for check in team.get("checks", {}):
        if not is_check(check) or not check.startswith("cmd: "):
            yield _ignored(child(f"{_TEAM}/checks", check), "only commands are run; start the check with 'cmd: '")
    faults = [(fault["file"], fault["nth"]) for fault in team.get("faults", ())]
    for index, fault in enumerate(faults):
        if fault in faults[:index]:
            text = f"write {fault[1]} of {fault[0]} already has a fault; a write can fail only once"
            yield _ignored(child(f"{_TEAM}/faults", index), text)
    for index, task in enumerate(team.get("flags", {}).get("sensitive", ())):
        if not is_task_id(task):
            yield _unknown(child(f"{_TEAM}/flags/sensitive", index), f"{shown(task)} is not a task id")
    yield from _paths(f"{_TEAM}/repository", team.get("repository", {}))
    if team.get("start", "new") == "new" and team.get("mode") == "lean" and team.get("corrections"):
        yield _ignored(f"{_TEAM}/corrections", "corrections have no effect: a lean session has no design")


def _expectations(expected: dict[str, Any]) -> Iterator[Finding]:
    for ident in expected.get("decisions", {}):
        if not is_decision_id(ident):
            yield _unknown(child("/expect/decisions", ident), f"{shown(ident)} is not a decision id")
    for index, key in enumerate(expected.get("dispatches", ())):
        agent, _, task = key.partition("/")
        if not is_member(agent, AgentName) or not is_task_ref(task):
            yield _unknown(child("/expect/dispatches", index), f"{shown(key)} is not a dispatch; write Agent/task")
    for ident in expected.get("tasks", {}):
        if not is_task_id(ident):
            yield _unknown(child("/expect/tasks", ident), f"{shown(ident)} is not a task id; use the form T-001")

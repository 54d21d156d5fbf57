"""Stories as scenario files: the calls that break a promise, written down, and played again as a test."""

from __future__ import annotations

import json
from typing import Any

from pytest_workrail.explore.hostile_promises import PROMISES, BrokenPromise, Promises
from pytest_workrail.explore.hostile_run import Settling, Story
from pytest_workrail.explore.hostile_world import CallRecord, World
from pytest_workrail.run.bench import WORKSPACE
from workrail_lint.base.js import Json

_ENDING = ".scenario.json"
_TOOLS = {"checkpoint_workflow", "resume_session"}


def scenario_name(workflow_id: str, violation: dict[str, Any]) -> str:
    """The file name of a violation."""
    stem = "".join(char if char.isalnum() else "-" for char in workflow_id)
    return f"{stem}.breaks-{violation['promise']}-{violation['profile']}{_ENDING}"


def scenario_bytes(workflow: str, ir: dict[str, Any], story: Story, promise: str, how: str) -> bytes:
    """The scenario of a story: it fails as long as the promise is broken, and passes when it is kept."""
    value: dict[str, Any] = {
        "description": f"{PROMISES[promise][0].upper()}{PROMISES[promise][1:]}; a run broke it: {how}.",
        "workflow": workflow,
        "profile": story.profile,
        "mode": story.mode,
        "agent": {"kind": "auto", "turns": story_turns(ir, story)},
        "expect": {"promise": promise},
        "golden": False,
    }
    if not value["agent"]["turns"]:
        del value["agent"]
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def story_turns(ir: dict[str, Any], story: Story) -> list[dict[str, Json]]:
    """Every call of a story, in order, as turns of a scenario; those of settling only where they are part of it."""
    promises = Promises()
    journal: list[dict[str, Any]] = []
    try:
        world = World(ir, story.profile, story.mode, "explore", promises)
    except BrokenPromise:
        return []
    journal = world.journal
    try:
        for turn in story.turns:
            world.play(turn)
        if story.stays:
            Settling(world, promises, stays=True).run()
    except BrokenPromise:
        pass
    first = _any_step(ir)
    return [_turn(entry, first) for entry in journal]


def _any_step(ir: dict[str, Any]) -> str:
    step = ir["steps"][0]
    return str(step["body"][0]["id"] if step["type"] == "loop" else step["id"])


def _turn(entry: dict[str, Any], first: str) -> dict[str, Json]:
    turn: dict[str, Json] = {"step": entry["step"] or first}
    if entry["who"]:
        turn["agent"] = entry["who"] + 1
    if entry["tool"] == "restart":
        return {**turn, "call": "restart"}
    request: dict[str, Json] = {
        name: "$workspace" if name == "workspacePath" else value for name, value in entry["request"].items()
    }
    if entry["crash"] is not None:
        return {**turn, "crash": entry["crash"], "request": request}
    return {**turn, "call": entry["tool"] if entry["tool"] in _TOOLS else "raw", "request": request}


def broken_promise(ir: dict[str, Any], value: dict[str, Any], profile: Any) -> str | None:
    """Play a scenario that expects a promise: why it is broken, or None if it is kept."""
    promises = Promises()
    promise = value["expect"]["promise"]
    try:
        world = World(ir, profile, value.get("mode", "guided"), "explore", promises)
        if not world.can_start:
            return "the workflow can't be started"
        for turn in value.get("agent", {}).get("turns", ()):
            _play(world, turn)
        Settling(world, promises, stays=False).run()
    except BrokenPromise as broken:
        other = "" if broken.promise == promise else f", a promise other than the expected {promise}"
        return f"{broken.promise} is broken: {broken.how}{other}"
    return None


def _play(world: World, turn: dict[str, Any]) -> None:
    who = turn.get("agent", 1) - 1
    call = turn.get("call")
    if call == "restart":
        world.bench.restart()
        return
    if "does" in turn:
        world.play(("adv", who, turn["does"]))
        return
    request = {name: _value(world, name, each) for name, each in turn.get("request", {}).items()}
    tool = call if call in _TOOLS else "continue_workflow"
    world.homes.fuse.point = turn.get("crash")
    record: CallRecord = world.call(who, str(tool), request)
    agent = world.agents[who]
    if record.is_advance:
        agent.advances.append(request)
    if tool == "continue_workflow":
        world.follow(agent, record)


def _value(world: World, name: str, value: Json) -> Json:
    if value == "$workspace":
        return WORKSPACE
    return world.token_of(value) if name.endswith("Token") else value

"""Findings about a workflow scenario beyond its shape: contradictions, and steps that do not exist."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from workrail_lint.base.result import Err, Ok
from workrail_lint.base.suggest import nearest_id
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding
from workrail_lint.systems.base import RunSettings, scenario_finding
from workrail_lint.systems.workrail.compile import compile_workflow, is_kept_ir, read_kept_ir
from workrail_lint.systems.workrail.scenario_words import AFTER_END, CallName, PersonDetail, ProfileChoice
from workrail_lint.systems.workrail.settings import workflow_settings

# The calls that are tools of the protocol and take whatever is sent to them.
_TOOLS = frozenset(call.value for call in CallName if call.value.endswith(("_workflow", "_workflows", "_session")))
ONBOARDING_ID = "wr-system-onboarding"
# Names of findings about something that is not there, or can't be opened.
UNREADABLE = ("file-not-readable", "routines-not-readable")


class Sources(NamedTuple):
    """The project defaults for workflows that name none: paths or loaded data, None for nothing."""

    catalog: object = None
    routines: object = None
    bindings: object = None


def findings(value: dict[str, Any], folder: str, settings: RunSettings) -> Iterator[Finding]:
    """Yield everything that is wrong with a scenario whose shape is right; files are looked for from its folder."""
    given = workflow_settings(settings)
    yield from own_findings(value)
    # The project's routines are part of its catalog by now.
    compiled = compile_scenario(value, folder, Sources(given.catalog, None, given.bindings))
    if isinstance(compiled, Err):
        yield _compile_finding(value, folder, compiled.error)
    else:
        yield from workflow_findings(value, compiled.value)


def compile_scenario(value: dict[str, Any], folder: str, sources: Sources) -> Ok[dict[str, Any]] | Err[list[Finding]]:
    """Return the IR of a scenario's workflow, compiled with what the scenario names and, for the rest, what the project
    gives.

    A recorded run may name an IR instead: that of its session, whose source was not kept.
    """
    if is_kept_ir(value["workflow"]):
        return read_kept_ir(os.path.join(folder, value["workflow"]))

    def named(member: str, otherwise: object) -> object:
        return Path(folder, value[member]) if member in value else otherwise

    compiled = compile_workflow(
        Path(folder, value["workflow"]),
        catalog=named("catalog", sources.catalog),
        routines=named("routines", sources.routines),
        bindings=value.get("bindings", sources.bindings),
    )
    return compiled if isinstance(compiled, Err) else Ok(compiled.value.ir)


def member_for(path: str, value: dict[str, Any], folder: str) -> str:
    """Return the member of a scenario that a file comes from: what is wrong with the file is said there."""
    wrong = os.path.normpath(path)
    for member in ("catalog", "routines"):
        named = os.path.normpath(os.path.join(folder, value[member])) if member in value else None
        if named is not None and (wrong == named or wrong.startswith(named + os.sep)):
            return member
    return "workflow"


def _compile_finding(value: dict[str, Any], folder: str, errors: list[Finding]) -> Finding:
    unread = next((error for error in errors if error.name in UNREADABLE), None)
    first, more = unread or errors[0], len(errors) - 1
    member = member_for(first.path, value, folder)
    what = f"the {member} {value[member]}"
    if unread is not None:
        reason = unread.message.removeprefix(unread.path).strip()
        return scenario_finding("scenario-workflow-missing", f"/{member}", f"{what} {reason}")
    rest = "" if more == 0 else f" (and {more} more)"
    verdict = "does not compile" if member == "workflow" else "can't be used"
    return scenario_finding("scenario-workflow-invalid", f"/{member}", f"{what} {verdict}: {first.message}{rest}")


def own_findings(value: dict[str, Any]) -> Iterator[Finding]:
    """Yield what contradicts itself inside the file."""
    for index, declared in enumerate(value.get("declares", ())):
        pointer = child("/declares", index)
        if declared.get("reason") != "user_only_dependency":
            continue
        is_choice = declared["detail"] == PersonDetail.CHOICE.value
        if is_choice and "choice" not in declared:
            yield scenario_finding(
                "scenario-choice-mismatch", pointer, "needs_user_choice must name the choice; add `choice`"
            )
        elif not is_choice and "choice" in declared:
            text = f"only needs_user_choice takes `choice`, not {declared['detail']}; remove it"
            yield scenario_finding("scenario-choice-mismatch", child(pointer, "choice"), text)
    yield from _profile_findings(value)
    if value.get("declares") and ProfileChoice.REFERENCE.value in scenario_profiles(value):
        text = "only the profile locked reads `declares`; set `profile` to `locked`"
        yield scenario_finding("scenario-declares-unheard", "/declares", text)
    yield from _shadowed_turns(value)
    yield from _ignored_members(value)
    if value.get("golden") is False and not value.get("expect"):
        text = "without a golden and without expectations, only the end of the run is checked"
        yield scenario_finding("scenario-checks-little", "/golden", text)


def scenario_profiles(value: dict[str, Any]) -> list[str]:
    """Return the profiles that a scenario is run under, each once."""
    named = value.get("profiles") or [value.get("profile", ProfileChoice.REFERENCE.value)]
    return list(dict.fromkeys(named))


def _profile_findings(value: dict[str, Any]) -> Iterator[Finding]:
    if "profile" in value and "profiles" in value:
        text = "a scenario takes only one of profile and profiles; remove `profile`"
        yield scenario_finding("scenario-member-ignored", "/profile", text)
    agent = value.get("agent", {})
    if agent.get("kind") == "scripted" and not agent.get("turns") and "error" not in value.get("expect", {}):
        text = "a scripted agent without turns can only show a run that does not start; add turns or `expect.error`"
        yield scenario_finding("scenario-member-ignored", "/agent/turns", text)


def _shadowed_turns(value: dict[str, Any]) -> Iterator[Finding]:
    """Yield turns that are never used, because one before them serves every visit."""
    repeating: set[tuple[str, int | None]] = set()
    for index, turn in enumerate(_turns(value)):
        key = (turn["step"], turn.get("visit"))
        if key in repeating:
            text = f"a turn for step {turn['step']} before this one repeats, so this one is never used"
            yield scenario_finding("scenario-turn-shadowed", child("/agent/turns", index), text)
        if turn.get("repeats"):
            repeating.add(key)


def _ignored_members(value: dict[str, Any]) -> Iterator[Finding]:
    """Yield members of a turn that its kind of turn does not look at."""
    for index, turn in enumerate(_turns(value)):
        pointer = child("/agent/turns", index)
        for member in [name for name in ("prefers", "provides", "rebinds") if name in turn][1:]:
            text = f"a turn takes only one of prefers, provides and rebinds; move {member} to another turn"
            yield scenario_finding("scenario-member-ignored", child(pointer, member), text)
        call = turn.get("call")
        if not value.get("expect", {}).get("promise"):
            for hostile in [name for name in ("agent", "crash") if name in turn]:
                text = f"`{hostile}` needs `expect.promise`: only such runs have two agents and engines that die"
                yield scenario_finding("scenario-member-ignored", child(pointer, hostile), text)
            if call == CallName.RAW.value:
                text = "`raw` needs `expect.promise`; call the tool itself to send something else"
                yield scenario_finding("scenario-member-ignored", child(pointer, "call"), text)
        if "to" in turn and call != CallName.REWIND.value:
            text = f"{call} goes nowhere, so it has no use for `to`"
            yield scenario_finding("scenario-member-ignored", child(pointer, "to"), text)
        if "node" in turn and (call != CallName.REWIND.value or "to" in turn):
            text = "a rewind takes `to` or `node`, not both" if "to" in turn else f"{call} has no use for `node`"
            yield scenario_finding("scenario-member-ignored", child(pointer, "node"), text)
        if "request" in turn and call is not None and call not in _TOOLS and call != CallName.RAW.value:
            text = f"{call} sends what it always sends; call the tool itself to send something else"
            yield scenario_finding("scenario-member-ignored", child(pointer, "request"), text)


def _turns(value: dict[str, Any]) -> list[dict[str, Any]]:
    agent = value.get("agent", {})
    turns: list[dict[str, Any]] = agent.get("turns", [])
    return turns


def workflow_findings(value: dict[str, Any], ir: dict[str, Any]) -> Iterator[Finding]:
    """Yield what a scenario says about steps that the workflow does not have."""
    steps = [step["id"] for top in ir["steps"] for step in (top.get("body", ()) if top["type"] == "loop" else (top,))]
    if value.get("onboarding"):
        steps.insert(0, ONBOARDING_ID)
    loops = {step["id"] for step in ir["steps"] if step["type"] == "loop"}
    for pointer, name, may_be_loop in _named_steps(value):
        if name in steps or (may_be_loop and name in loops):
            continue
        if name in loops:
            text = f"{name} is a loop; name the steps of its body"
        else:
            meant = nearest_id(name, steps)
            hint = f". Did you mean {meant}?" if meant else f"; its steps are {', '.join(steps)}"
            text = f"the workflow has no step {name}{hint}"
        yield scenario_finding("scenario-step-unknown", pointer, text)


def _named_steps(value: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield every place that names a step, in document order of the members, and whether a loop will do there."""
    yield from ((pointer, name, False) for pointer, name in _steps_of_runs(value))
    for index, each in enumerate(value.get("expect", {}).get("skipped", ())):
        pointer = child("/expect/skipped", index)
        yield (f"{pointer}/step", each["step"], True) if isinstance(each, dict) else (pointer, each, True)


def _steps_of_runs(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the places that name a step an agent is at."""
    agent = value.get("agent", {})
    for index, turn in enumerate(_turns(value)):
        pointer = child("/agent/turns", index)
        if turn["step"] != AFTER_END or turn.get("call") != CallName.REWIND.value:
            yield f"{pointer}/step", turn["step"]
        if "to" in turn:
            yield f"{pointer}/to", turn["to"]
        if "step" in turn.get("provides", {}):
            yield f"{pointer}/provides/step", turn["provides"]["step"]
        if "pending" in turn.get("expect", {}):
            yield f"{pointer}/expect/pending", turn["expect"]["pending"]
    for index, step in enumerate(agent.get("steps", ())):
        yield child("/agent/steps", index), step
    for index, fault in enumerate(agent.get("faults", ())):
        if "step" in fault:
            yield f"{child('/agent/faults', index)}/step", fault["step"]
    for index, declared in enumerate(value.get("declares", ())):
        yield f"{child('/declares', index)}/step", declared["step"]
    expected = value.get("expect", {})
    for index, step in enumerate(expected.get("steps", ())):
        yield child("/expect/steps", index), step
    for member in ("blockers", "gaps"):
        for index, each in enumerate(expected.get(member, ())):
            if isinstance(each, dict) and "step" in each:
                yield f"{child(f'/expect/{member}', index)}/step", each["step"]
    for step in expected.get("outputs", ()):
        yield child("/expect/outputs", step), step

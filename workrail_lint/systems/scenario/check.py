"""What is wrong with a scenario file: its text, its shape, and what it says about a workflow that says otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.documents.pointer import child
from workrail_lint.documents.structure import Validator, compile_schema
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.systems.scenario.vocabulary import CallName, PersonDetail, ProfileChoice
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.schema_findings import schema_findings

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow


# The calls that are tools of the protocol and take whatever is sent to them.
_TOOLS = frozenset(call.value for call in CallName if call.value.endswith(("_workflow", "_workflows", "_session")))


class ReadScenario(NamedTuple):
    """A scenario file that was read. What it holds can be used when nothing was found."""

    document: JsonDocument
    findings: list[Finding]

    @property
    def value(self) -> dict[str, Any]:
        value = self.document.value
        return value if isinstance(value, dict) else {}


class Sources(NamedTuple):
    """What a project gives to workflows that name nothing of their own: paths or loaded data, None for nothing."""

    catalog: object = None
    routines: object = None
    bindings: object = None


# Names of findings about something that is not there, or can't be opened.
UNREADABLE = ("file-not-readable", "routines-not-readable")
# The contracts besides WorkRail's: the member by which a scenario is known as one of theirs.
_PACKS = {"team": "workrail_lint.systems.team.scenario_check", "block": "workrail_lint.systems.blocks.scenario_check"}


def pack_of(value: dict[str, Any]) -> str | None:
    """The contract that a scenario is about, if it is not a workflow."""
    return next((pack for pack in _PACKS if pack in value), None)


@cache
def _validator(pack: str | None) -> Validator:
    return compile_schema(load_schema("scenario" if pack is None else f"{pack}-scenario"))


def read_scenario(data: bytes | str) -> ReadScenario:
    """Read a scenario and check its shape, and nothing that needs another file."""
    document = read_json(data)
    found = [_read_finding(document, problem) for problem in document.problems if problem.blocking]
    if document.readable and not isinstance(document.value, dict):
        found.append(scenario_finding("json-root-not-object", "", "the document must be a JSON object"))
    elif document.readable:
        value: Any = document.value
        found += schema_findings(_validator(pack_of(value)).violations(value), value)
    return ReadScenario(document, found)


def _read_finding(document: JsonDocument, problem: Any) -> Finding:
    found = scenario_finding(problem.name, problem.pointer, problem.message)
    found.phase = Phase.READ
    found.span = document.source.span(problem.start, problem.end)
    return found


def check_scenario(path: str, data: bytes | str, sources: Sources) -> ReadScenario:
    """Read a scenario and hold it against the workflow it names."""
    read = read_scenario(data)
    if read.findings:
        return read
    pack = pack_of(read.value)
    if pack is not None:
        return ReadScenario(read.document, list(_pack_findings(pack, read.value, os.path.dirname(path))))
    found = list(own_findings(read.value))
    compiled = compile_scenario(read.value, os.path.dirname(path), sources)
    if isinstance(compiled, Err):
        found.append(_compile_finding(read.value, os.path.dirname(path), compiled.error))
    else:
        found += workflow_findings(read.value, compiled.value.ir)
    return ReadScenario(read.document, found)


def _pack_findings(pack: str, value: dict[str, Any], folder: str) -> Iterator[Finding]:
    from importlib import import_module

    found: Iterator[Finding] = import_module(_PACKS[pack]).findings(value, folder)
    return found


def compile_scenario(value: dict[str, Any], folder: str, sources: Sources) -> Ok[CompiledWorkflow] | Err[list[Finding]]:
    """The workflow of a scenario, compiled with what the scenario names and, for the rest, what the project gives."""
    from pathlib import Path

    from workrail_lint.systems.workrail.compile import compile_workflow

    def named(member: str, otherwise: object) -> object:
        return Path(folder, value[member]) if member in value else otherwise

    return compile_workflow(
        Path(folder, value["workflow"]),
        catalog=named("catalog", sources.catalog),
        routines=named("routines", sources.routines),
        bindings=value.get("bindings", sources.bindings),
    )


def member_for(path: str, value: dict[str, Any], folder: str) -> str:
    """The member of a scenario that a file comes from: what is wrong with the file is said there."""
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
    """What contradicts itself inside the file."""
    for index, declared in enumerate(value.get("declares", ())):
        pointer = child("/declares", index)
        if declared.get("reason") != "user_only_dependency":
            continue
        is_choice = declared["detail"] == PersonDetail.CHOICE.value
        if is_choice and "choice" not in declared:
            yield scenario_finding(
                "scenario-choice-mismatch", pointer, "needs_user_choice has to say which choice it is about"
            )
        elif not is_choice and "choice" in declared:
            text = f"{declared['detail']} is no choice, so it can't name one"
            yield scenario_finding("scenario-choice-mismatch", child(pointer, "choice"), text)
    if value.get("declares") and value.get("profile", "reference") != ProfileChoice.LOCKED.value:
        text = 'only profile locked looks at what a scenario declares; add "profile": "locked"'
        yield scenario_finding("scenario-declares-unheard", "/declares", text)
    yield from _shadowed_turns(value)
    yield from _ignored_members(value)
    if value.get("golden") is False and not value.get("expect"):
        text = "without a golden and without expectations, only the end of the run is checked"
        yield scenario_finding("scenario-checks-little", "/golden", text)


def _shadowed_turns(value: dict[str, Any]) -> Iterator[Finding]:
    """Turns that never get their turn, because one before them serves every visit."""
    repeating: set[tuple[str, int | None]] = set()
    for index, turn in enumerate(_turns(value)):
        key = (turn["step"], turn.get("visit"))
        if key in repeating:
            text = f"a turn for step {turn['step']} before this one repeats, so this one is never used"
            yield scenario_finding("scenario-turn-shadowed", child("/agent/turns", index), text)
        if turn.get("repeats"):
            repeating.add(key)


def _ignored_members(value: dict[str, Any]) -> Iterator[Finding]:
    """Members of a turn that its kind of turn does not look at."""
    for index, turn in enumerate(_turns(value)):
        pointer = child("/agent/turns", index)
        for member in [name for name in ("prefers", "provides", "rebinds") if name in turn][1:]:
            text = f"a person does one thing in a turn; give {member} a turn of its own"
            yield scenario_finding("scenario-member-ignored", child(pointer, member), text)
        call = turn.get("call")
        if "to" in turn and call != CallName.REWIND.value:
            text = f"{call} goes nowhere, so it has no use for `to`"
            yield scenario_finding("scenario-member-ignored", child(pointer, "to"), text)
        if "request" in turn and call not in _TOOLS:
            text = f"{call} sends what it always sends; call the tool itself to send something else"
            yield scenario_finding("scenario-member-ignored", child(pointer, "request"), text)


def _turns(value: dict[str, Any]) -> list[dict[str, Any]]:
    agent = value.get("agent", {})
    turns: list[dict[str, Any]] = agent.get("turns", [])
    return turns


def workflow_findings(value: dict[str, Any], ir: dict[str, Any]) -> Iterator[Finding]:
    """What a scenario says about steps that the workflow does not have."""
    from workrail_lint.base.suggest import nearest_id

    steps = [step["id"] for top in ir["steps"] for step in (top.get("body", ()) if top["type"] == "loop" else (top,))]
    loops = {step["id"] for step in ir["steps"] if step["type"] == "loop"}
    for pointer, name in _named_steps(value):
        if name in steps:
            continue
        if name in loops:
            text = f"{name} is a loop; name the steps of its body"
        else:
            meant = nearest_id(name, steps)
            hint = f". Did you mean {meant}?" if meant else f"; its steps are {', '.join(steps)}"
            text = f"the workflow has no step {name}{hint}"
        yield scenario_finding("scenario-step-unknown", pointer, text)


def _named_steps(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every place that names a step, in document order of the members."""
    agent = value.get("agent", {})
    for index, turn in enumerate(_turns(value)):
        pointer = child("/agent/turns", index)
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


def scenario_finding(name: str, pointer: str, message: str) -> Finding:
    """A finding by its name; one that is no rule about scenarios is an error of the reader."""
    from workrail_lint.systems.scenario.rules import by_name

    rule = by_name().get(name)
    if rule is not None:
        return Finding(rule.code, name, rule.severity, message, pointer)
    return Finding(name, name, Severity.ERROR, message, pointer)

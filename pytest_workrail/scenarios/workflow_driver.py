"""Scenarios about a workflow: played, and held against what they expect."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Unpack, assert_never

from msgspec import Struct
from msgspec.structs import replace

from pytest_workrail.agents import misbehaving
from pytest_workrail.agents.agent import (
    Action,
    Agent,
    Attempt,
    Call,
    Checkpoint,
    Exchange,
    Prefer,
    Provide,
    Rebind,
    Rehydrate,
    Resend,
    Restart,
    Rewind,
    Stop,
    Submit,
    agents_by_kind,
)
from pytest_workrail.agents.scripted import Behave, Expectation, Scripted, Turn
from pytest_workrail.engine.core.profiles import ProfileName, profile_of
from pytest_workrail.engine.model.reasons import (
    ContextBudgetExceeded,
    EvaluationFailed,
    InvariantViolation,
    MissingContextKey,
    StorageCorruption,
    user_dependency,
)
from pytest_workrail.engine.model.words import Autonomy
from pytest_workrail.golden.document import golden_bytes
from pytest_workrail.golden.files import SCENARIO_ENDING
from pytest_workrail.golden.profiles import Comparison, both_profiles
from pytest_workrail.run.bench import GOAL, MAX_TURNS, WORKSPACE, Declared, HostReason, Setup, preferences
from pytest_workrail.run.driver import drive
from pytest_workrail.run.project import project_profile, project_sources
from pytest_workrail.run.result import Run, transcript_lines
from pytest_workrail.run.start import Options, Script, Source, agent_of, setup_of
from pytest_workrail.scenarios.drivers import (
    Fault,
    PlayedScenario,
    ScenarioDocument,
    ScenarioFailure,
    differs,
    errors,
    first_difference,
    member_faults,
    open_scenario,
    status_faults,
)
from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding
from workrail_lint.systems.base import resolved
from workrail_lint.systems.workrail.scenario_check import (
    UNREADABLE,
    compile_scenario,
    member_for,
    own_findings,
    scenario_profiles,
    workflow_findings,
)
from workrail_lint.systems.workrail.scenario_words import Behaviour, CallName, FaultKind
from workrail_lint.systems.workrail.scenario_words import HostReason as HostTrouble

_LONGEST = 300
# The members of expected objects: first the one that a name alone stands for, then the others in the order of faults.
_OF_BLOCKERS = ("code", "step", "message")
_OF_GAPS = ("detail", "step", "severity", "summary")
_OF_SKIPPED = ("step", "because", "variables")

_TURNS = "/agent/turns"
_DEFAULT_AGENT = {"kind": "auto"}
_PROMISE_PLAYER = "pytest_workrail.explore.hostile_search:broken_promise"
_TROUBLES: dict[HostTrouble, HostReason] = {
    HostTrouble.CONTEXT_BUDGET_EXCEEDED: ContextBudgetExceeded(),
    HostTrouble.INVARIANT_VIOLATION: InvariantViolation(),
    HostTrouble.STORAGE_CORRUPTION_DETECTED: StorageCorruption(),
    HostTrouble.EVALUATION_ERROR: EvaluationFailed(),
}


def unmet(scenario: Mapping[str, Any], run: Run) -> tuple[Fault, ...]:
    """Everything about a run that is not as a scenario, whose shape was checked, expects it; in a fixed order."""
    expected: Mapping[str, Any] = scenario.get("expect", {})
    faults = list(status_faults(run.status, expected.get("status"), "complete", "/expect/status"))
    if "steps" in expected:
        faults += _sequence(expected["steps"], run.steps, "/expect/steps", "step")
    if "blockers" in expected:
        faults += _list(expected["blockers"], _blockers(run), "/expect/blockers", "blocker", _OF_BLOCKERS)
    if "gaps" in expected:
        faults += _list(expected["gaps"], _final(run, "gaps"), "/expect/gaps", "gap", _OF_GAPS)
    if "engineDefects" in expected:
        struck = [mark.id for mark in run.engine_defects]
        faults += _sequence(expected["engineDefects"], struck, "/expect/engineDefects", "engine defect")
    if "skipped" in expected:
        faults += _list(expected["skipped"], _skipped(run), "/expect/skipped", "skipped step", _OF_SKIPPED)
    if "outputs" in expected:
        faults += _outputs(expected["outputs"], run)
    if "context" in expected:
        faults += _context(expected["context"], run)
    if "error" in expected:
        faults += _error(expected["error"], run)
    return tuple(faults)


def _final(run: Run, member: str) -> list[dict[str, Any]]:
    members: Any = run.transcript.final[member]
    return list(members)


def _blockers(run: Run) -> list[dict[str, Any]]:
    """Return every blocker the agent met, with the step it stopped."""
    blockers: list[dict[str, Any]] = []
    for exchange in run.transcript.exchanges:
        if exchange.response.get("kind") == "blocked" and exchange.request.get("intent") == "advance":
            blockers += [{**blocker, "step": exchange.step} for blocker in exchange.blockers]
    return blockers


def _sequence(wanted: Sequence[str], actual: Sequence[str], pointer: str, noun: str) -> Iterator[Fault]:
    at = first_difference(wanted, actual)
    if at is None:
        return
    expected = wanted[at] if at < len(wanted) else "none"
    value = actual[at] if at < len(actual) else "none"
    place = child(pointer, at) if at < len(wanted) else pointer
    yield differs(f"{noun} {at + 1}", expected, value, place, f"; all {noun}s: {_listed(actual)}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _list(
    wanted: Sequence[Any], actual: Sequence[Mapping[str, Any]], pointer: str, noun: str, members: Sequence[str]
) -> Iterator[Fault]:
    """Objects in order: a name alone is the value of the first member, and of an object only the given ones count."""
    key = members[0]
    names = [each if isinstance(each, str) else each[key] for each in wanted]
    faults = list(_sequence(names, [str(each[key]) for each in actual], pointer, noun))
    if faults:
        yield from faults
        return
    for index, (one, other) in enumerate(zip(wanted, actual, strict=True)):
        if not isinstance(one, str):
            given = ((name, one[name]) for name in members if name in one)
            yield from member_faults(given, other, child(pointer, index), _excerpt)


def _skipped(run: Run) -> list[dict[str, Any]]:
    """Steps that were passed over, each with the variables to blame."""
    return [
        {"step": each.step_id, "because": each.because, "variables": [one.variable for one in each.unmet]}
        for each in run.transcript.skipped
    ]


def _outputs(expected: Mapping[str, Any], run: Run) -> Iterator[Fault]:
    for step, wanted in expected.items():
        pointer = child("/expect/outputs", step)
        actual = run.outputs.get(step)
        if actual is None:
            yield Fault(f"step {step} has no stored output", pointer)
            continue
        for member in ("notes", "artifacts"):
            if member not in wanted:
                continue
            want: Json = wanted[member]
            have = actual.get(member, [] if member == "artifacts" else None)
            if not js.deep_equal(want, have):
                yield differs(f"{member} of step {step}", _excerpt(want), _excerpt(have), child(pointer, member))


def _context(expected: Mapping[str, Json], run: Run) -> Iterator[Fault]:
    for name, value in expected.items():
        actual = run.context.get(name)
        if not js.deep_equal(value, actual):
            text = "no value" if name not in run.context else _excerpt(actual)
            yield differs(f"variable {name}", _excerpt(value), text, child("/expect/context", name))


def _error(code: str, run: Run) -> Iterator[Fault]:
    last = run.transcript.exchanges[-1]
    if not last.is_error:
        yield Fault(f"error: expected {code}, but the run did not end with an error", "/expect/error")
    elif last.response["code"] != code:
        yield differs("error", code, str(last.response["code"]), "/expect/error")


def turn_expectation(expected: Mapping[str, Any]) -> Expectation:
    """Return what one turn must lead to, as a function for the agent that plays it."""

    def mismatch(exchange: Exchange) -> str | None:
        kind = exchange.answer
        if expected.get("answer", kind) != kind:
            return f"answer: expected {expected['answer']}, found {kind}"
        if "code" in expected and exchange.response.get("code") != expected["code"]:
            had = exchange.response["code"] if exchange.is_error else "no error"
            return f"error: expected {expected['code']}, found {had}"
        wanted = tuple(expected["blockers"]) if "blockers" in expected else None
        if wanted is not None and wanted != exchange.codes:
            return f"blockers: expected {_listed(wanted)}, found {_listed(exchange.codes)}"
        if "pending" in expected and expected["pending"] != exchange.step:
            return f"pending step: expected {expected['pending']}, found {exchange.step or 'none'}"
        return None

    return mismatch


def _excerpt(value: Any) -> str:
    text = canonical_bytes(value).decode("utf-8", "replace")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


class Loaded(Struct, frozen=True):
    """A scenario that holds together, and the IR of its workflow. The shape of the scenario was checked."""

    scenario: dict[str, Any]
    ir: dict[str, Any]


class Played(NamedTuple):
    """A run, and the turn of the scenario that was played last, if any was."""

    run: Run
    turn: str


def play(scenario: ScenarioDocument) -> Ok[PlayedScenario] | Err[ScenarioFailure]:
    """Play a scenario and hold it against what it expects."""
    loading = load(scenario)
    if isinstance(loading, Err):
        return loading
    profiles = scenario_profiles(scenario.value)
    first, *others = [_played(scenario, loading.value, profile) for profile in profiles]
    if not others:
        return Ok(first)
    labelled = [each._replace(label=profile) for each, profile in zip((first, *others), profiles, strict=True)]
    return Ok(labelled[0]._replace(further=tuple(labelled[1:])))


def _played(scenario: ScenarioDocument, loaded: Loaded, profile: str) -> PlayedScenario:
    """Return the run under one profile, held against what the scenario expects."""
    if "promise" in loaded.scenario.get("expect", {}):
        # Searches are above scenarios, and only such a scenario needs one.
        broken = resolved(_PROMISE_PLAYER)(loaded.ir, scenario.value, profile)
        kept: tuple[Fault, ...] = () if broken is None else (Fault(broken, "/expect/promise"),)
        return PlayedScenario(scenario, kept, (), None, scenario.locks)
    run, turn = run_scenario(loaded, profile)
    if run.ending.kind in ("misplayed", "endless"):
        turn = run.ending.place or turn
        faults: tuple[Fault, ...] = (Fault(run.ending.why, run.ending.place or "/agent"),)
    else:
        faults = unmet(loaded.scenario, run)
    transcript = run.transcript
    if faults:
        return PlayedScenario(scenario, faults, transcript_lines(run), None, (), turn, transcript)
    golden = golden_bytes(transcript, scenario.locks) if scenario.wants_golden else None
    return PlayedScenario(scenario, (), (), golden, scenario.locks, turn, transcript)


def load(scenario: ScenarioDocument) -> Ok[Loaded] | Err[ScenarioFailure]:
    """Compile the workflow of a scenario, and see whether the two fit together."""
    value, folder = scenario.value, scenario.path.parent

    def failed(*faults: Fault) -> Err[ScenarioFailure]:
        return Err(ScenarioFailure(scenario.file, scenario.document, faults))

    findings = errors(own_findings(value))
    if findings:
        return scenario.invalid(findings)
    sources = project_sources(scenario.folder)
    if isinstance(sources, Err):
        return failed(Fault(sources.error, ""))
    compiled = compile_scenario(value, scenario.folder, sources.value)
    if isinstance(compiled, Err):
        return failed(*(_compile_fault(error, value, folder) for error in compiled.error))
    ir = compiled.value
    unknown = list(workflow_findings(value, ir))
    if unknown:
        return scenario.invalid(unknown)
    if not ("profile" in value or "profiles" in value):
        value = {**value, "profile": project_profile(scenario.folder)}
    return Ok(Loaded(value, ir))


def _compile_fault(finding: Finding, value: dict[str, Any], folder: Path) -> Fault:
    """Return what is wrong with the workflow or what it is compiled with, said where the scenario names it."""
    member = member_for(finding.path, value, os.fspath(folder))
    if finding.name in UNREADABLE:
        reason = finding.message.removeprefix(finding.path).strip()
        return Fault(f"the {member} {os.path.relpath(finding.path, folder)} {reason}", f"/{member}")
    at = "" if finding.span is None else f":{finding.span.start.line}:{finding.span.start.column}"
    where = f"{os.path.relpath(finding.path, folder)}{at}" if finding.path else "it"
    verdict = "does not compile" if member == "workflow" else "can't be used"
    return Fault(f"the {member} {verdict}: {where}: {finding.message} ({finding.pointer or '/'})", f"/{member}")


def _does_another_step(expected: Sequence[str], attempts: Sequence[Attempt]) -> bool:
    done = [attempt.step_id for attempt in attempts if attempt.outcome == "advanced"]
    return done != list(expected[: len(done)])


def run_scenario(loaded: Loaded, profile: str | None = None, *, ends_at_unmet: bool = False) -> Played:
    """Run the workflow of a scenario to its end, under its first profile unless another one is named.

    With `ends_at_unmet` a run is over once it has done a step that the scenario does not expect there.
    """
    agent, script = _agents(loaded)
    setup = _setup(loaded)
    if profile is not None:
        setup = replace(setup, profile=profile_of(profile).name)  # type: ignore[arg-type]  # from a closed set
    steps = loaded.scenario.get("expect", {}).get("steps")
    run = drive(setup, agent, partial(_does_another_step, steps) if ends_at_unmet and steps is not None else None)
    return Played(run, "" if script is None else script.last_place)


def compare(
    workflow: Source, agent: Agent | Script | None = None, mode: Autonomy = "guided", **options: Unpack[Options]
) -> Comparison:
    """Run a workflow under both profiles with the same agent and see where they part.

    A scenario file can stand for the workflow, and then for everything else too. A script that fits one profile may
    not fit the other, so what does not fit is a difference here and no error.
    """
    __tracebackhide__ = True
    if isinstance(workflow, str | os.PathLike) and os.fspath(workflow).endswith(SCENARIO_ENDING):
        return compare_scenario(Path(workflow))
    return both_profiles(setup_of(workflow, mode, "reference", options), agent_of(agent))


def compare_scenario(path: Path) -> Comparison:
    """Run the workflow of a scenario under both profiles, whichever it names itself."""
    opened = open_scenario(path, path.as_posix())
    if isinstance(opened, Ok) and "workflow" not in opened.value.value:
        raise ValueError(f"{path.as_posix()} is not a scenario of a workflow; only those have two profiles to compare")
    loaded = opened if isinstance(opened, Err) else load(opened.value)
    if isinstance(loaded, Err):
        raise loaded.error
    return both_profiles(*setup_and_agent(loaded.value))


def setup_and_agent(loaded: Loaded) -> tuple[Setup, Agent]:
    """Return what the run of a scenario starts with, and who plays it."""
    return _setup(loaded), _agents(loaded)[0]


def _setup(loaded: Loaded) -> Setup:
    scenario = loaded.scenario
    return Setup(
        loaded.ir,
        _first_profile(scenario),
        preferences(scenario.get("mode", "guided"), scenario.get("risk")),
        scenario.get("goal", GOAL),
        dict(scenario.get("context", {})),
        tuple(Declared(each["step"], _reason(each)) for each in scenario.get("declares", ())),
        scenario.get("seed", 0),
        scenario.get("maxTurns", MAX_TURNS),
        scenario.get("onboarding", False),
    )


def _first_profile(scenario: dict[str, Any]) -> ProfileName:
    named: ProfileName = scenario["profiles"][0] if "profiles" in scenario else scenario.get("profile", "reference")
    return named


def _agents(loaded: Loaded) -> tuple[Agent, Scripted | None]:
    """Return who plays the run, and the part of it that plays turns, if any are written down."""
    scenario = loaded.scenario
    plan, seed = scenario.get("agent", _DEFAULT_AGENT), scenario.get("seed", 0)
    agent = agents_by_kind()[plan["kind"]].from_plan(plan, seed)
    script = None
    if plan.get("turns"):
        turns = _turns(plan["turns"], str(loaded.ir["workflowId"]))
        agent = script = Scripted(turns, None if isinstance(agent, Scripted) else agent)
    if plan.get("faults"):
        faults = [
            misbehaving.Fault(FaultKind(each["fault"]), each.get("step"), each.get("visit"), each.get("rate", 1.0))
            for each in plan["faults"]
        ]
        agent = misbehaving.Lossy(agent, faults, seed)
    return agent, script


def _turns(turns: Sequence[dict[str, Any]], workflow_id: str) -> list[Turn]:
    return [
        Turn(
            turn["step"],
            _action_of(turn, workflow_id),
            turn.get("visit"),
            turn.get("repeats", False),
            child(_TURNS, index),
            turn_expectation(turn["expect"]) if "expect" in turn else None,
        )
        for index, turn in enumerate(turns)
    ]


def _action_of(turn: dict[str, Any], workflow_id: str) -> Action | Behave:
    """Return what a turn does, by the member that only this kind of turn has."""
    match turn:
        case {"does": behaviour}:
            return Behave(Behaviour(behaviour), turn.get("context"))
        case {"call": call}:
            return _call(CallName(call), turn, workflow_id)
        case {"crash": _}:
            raise AssertionError(f"no turn of a run: {turn!r}")
        case {"prefers": preferred}:
            return Prefer(preferences(preferred["mode"], preferred.get("risk")))
        case {"provides": provided}:
            return Provide(provided.get("step", turn["step"]), provided["detail"])
        case {"rebinds": bindings}:
            return Rebind(dict(bindings))
        case _:
            return Submit(turn.get("notes"), tuple(turn.get("artifacts", ())), turn.get("context"))


def _call(call: CallName, turn: dict[str, Any], workflow_id: str) -> Action:
    match call:
        case CallName.REHYDRATE:
            return Rehydrate()
        case CallName.REWIND:
            return Rewind(turn.get("to"), turn.get("node"))
        case CallName.LEAVE:
            return Stop("The scenario leaves the run as it is.")
        case CallName.CHECKPOINT:
            return Checkpoint()
        case CallName.RESEND:
            return Resend()
        case CallName.RESTART:
            return Restart()
        case CallName.RAW:
            return _tool(call, turn, {})
        case CallName.CONTINUE_WORKFLOW:
            return _tool(call, turn, {"continueToken": "$continue"})
        case CallName.CHECKPOINT_WORKFLOW:
            return _tool(call, turn, {"checkpointToken": "$checkpoint"})
        case CallName.RESUME_SESSION | CallName.LIST_WORKFLOWS:
            return _tool(call, turn, {"workspacePath": WORKSPACE})
        case CallName.INSPECT_WORKFLOW:
            return _tool(call, turn, {"workflowId": workflow_id, "workspacePath": WORKSPACE})
        case _:
            assert_never(call)


def _tool(call: CallName, turn: dict[str, Any], usual: dict[str, Json]) -> Call:
    members = {**usual, **turn.get("request", {})}
    return Call(call.value, {name: value for name, value in members.items() if value is not None})


def _reason(declared: dict[str, Any]) -> HostReason:
    match declared["reason"]:
        case "user_only_dependency":
            choice = (declared["choice"],) if "choice" in declared else ()
            return user_dependency(declared["detail"], declared["step"], *choice)
        case "missing_context_key":
            return MissingContextKey(declared["key"])
        case trouble:
            return _TROUBLES[HostTrouble(trouble)]

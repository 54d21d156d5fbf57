"""The driver of workflow scenarios: compiles the workflow, lets the described agent run it, and compares the run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

from pytest_workrail.agents.actions import (
    Action,
    Call,
    Checkpoint,
    Prefer,
    Provide,
    Rebind,
    Rehydrate,
    Resend,
    Restart,
    Rewind,
    Stop,
    Submit,
)
from pytest_workrail.agents.agent import Agent
from pytest_workrail.agents.auto import Auto
from pytest_workrail.agents.scripted import Behave, Scripted, Turn
from pytest_workrail.engine.core.profiles import ProfileName, profile_of
from pytest_workrail.engine.core.reasons import (
    ContextBudgetExceeded,
    EvaluationFailed,
    InvariantViolation,
    MissingContextKey,
    StorageCorruption,
    UserOnlyDependency,
)
from pytest_workrail.golden.document import golden_bytes
from pytest_workrail.records import Record, replace
from pytest_workrail.run.bench import GOAL, MAX_TURNS, WORKSPACE, Declared, HostReason, Setup, preferences
from pytest_workrail.run.driver import drive
from pytest_workrail.run.project_sources import project_sources
from pytest_workrail.run.result import Run
from pytest_workrail.scenarios.drivers import PlayedScenario
from pytest_workrail.scenarios.failures import Fault, ScenarioFailure, transcript_lines
from pytest_workrail.scenarios.loading import ScenarioDocument, errors
from pytest_workrail.scenarios.workflow_expectations import turn_expectation, unmet
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
from workrail_lint.systems.workrail.scenario_words import AgentKind, Behaviour, CallName, FaultKind
from workrail_lint.systems.workrail.scenario_words import HostReason as HostTrouble

if TYPE_CHECKING:
    from pytest_workrail.golden.profiles import Comparison

_TURNS = "/agent/turns"
_PROMISE_PLAYER = "pytest_workrail.explore.hostile_scenario:broken_promise"


class Loaded(Record):
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
    """The run under one profile, held against what the scenario expects."""
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
    golden = golden_bytes(transcript) if scenario.wants_golden else None
    return PlayedScenario(scenario, (), (), golden, scenario.locks, turn, transcript)


def load(scenario: ScenarioDocument) -> Ok[Loaded] | Err[ScenarioFailure]:
    """Compile the workflow of a scenario, and see whether the two fit together."""
    value, folder = scenario.value, scenario.path.parent

    def failed(*faults: Fault) -> Err[ScenarioFailure]:
        return Err(ScenarioFailure(scenario.file, scenario.document, faults))

    found = errors(own_findings(value))
    if found:
        return scenario.invalid(found)
    sources = project_sources(scenario.folder)
    if isinstance(sources, Err):
        return failed(Fault(sources.error, ""))
    compiled = compile_scenario(value, scenario.folder, sources.value)
    if isinstance(compiled, Err):
        return failed(*(_compile_fault(error, value, folder) for error in compiled.error))
    ir = compiled.value
    unknown = list(workflow_findings(value, ir))
    return scenario.invalid(unknown) if unknown else Ok(Loaded(value, ir))


def _compile_fault(finding: Finding, value: dict[str, Any], folder: Path) -> Fault:
    """What is wrong with the workflow or what it is compiled with, said where the scenario names it."""
    member = member_for(finding.path, value, os.fspath(folder))
    if finding.name in UNREADABLE:
        reason = finding.message.removeprefix(finding.path).strip()
        return Fault(f"the {member} {os.path.relpath(finding.path, folder)} {reason}", f"/{member}")
    at = "" if finding.span is None else f":{finding.span.start.line}:{finding.span.start.column}"
    where = f"{os.path.relpath(finding.path, folder)}{at}" if finding.path else "it"
    verdict = "does not compile" if member == "workflow" else "can't be used"
    return Fault(f"the {member} {verdict}: {where}: {finding.message} ({finding.pointer or '/'})", f"/{member}")


def run_scenario(loaded: Loaded, profile: str | None = None) -> Played:
    """Run the workflow of a scenario to its end, under its first profile unless another one is named."""
    script = _script(loaded.scenario, str(loaded.ir["workflowId"]))
    setup = _setup(loaded)
    if profile is not None:
        setup = replace(setup, profile=profile_of(profile).name)  # type: ignore[arg-type]  # from a closed set
    run = drive(setup, _agent(loaded.scenario, script))
    return Played(run, "" if script is None else script.last_place)


def run_both(loaded: Loaded) -> Comparison:
    """Run the workflow of a scenario under both profiles, whichever it names itself."""
    from pytest_workrail.golden.profiles import both_profiles

    return both_profiles(*setup_and_agent(loaded))


def setup_and_agent(loaded: Loaded) -> tuple[Setup, Agent]:
    """What the run of a scenario starts with, and who plays it."""
    script = _script(loaded.scenario, str(loaded.ir["workflowId"]))
    return _setup(loaded), _agent(loaded.scenario, script)


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


def _script(scenario: dict[str, Any], workflow_id: str) -> Scripted | None:
    """The turns that are written down, if any are, and who acts where none is."""
    match scenario.get("agent"):
        case {"kind": "scripted", "turns": turns}:
            return Scripted(_turns(turns, workflow_id))
        case {"kind": "auto", "turns": turns} if turns:
            return Scripted(_turns(turns, workflow_id), Auto())
        case _:
            return None


def _agent(scenario: dict[str, Any], script: Scripted | None) -> Agent:
    plan, seed = scenario.get("agent"), scenario.get("seed", 0)
    if plan is None:
        return Auto()
    kind = AgentKind(plan["kind"])
    match kind:
        case AgentKind.AUTO | AgentKind.SCRIPTED:
            agent: Agent = script or Auto()
        case AgentKind.STUBBORN:
            from pytest_workrail.agents.misbehaving import Stubborn

            agent = Stubborn(Behaviour(plan["does"]), plan.get("steps"))
        case AgentKind.ERRATIC:
            from pytest_workrail.agents.misbehaving import Erratic

            agent = Erratic(seed, plan.get("patience", 2))
        case _:
            assert_never(kind)
    if not plan.get("faults"):
        return agent
    from pytest_workrail.agents import lossy

    faults = [
        lossy.Fault(FaultKind(each["fault"]), each.get("step"), each.get("visit"), each.get("rate", 1.0))
        for each in plan["faults"]
    ]
    return lossy.Lossy(agent, faults, seed)


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
    """What a turn does, by the member that only this kind of turn has."""
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
            return UserOnlyDependency(declared["detail"], declared["step"], *choice)
        case "missing_context_key":
            return MissingContextKey(declared["key"])
        case trouble:
            return _TROUBLES[HostTrouble(trouble)]


_TROUBLES: dict[HostTrouble, HostReason] = {
    HostTrouble.CONTEXT_BUDGET_EXCEEDED: ContextBudgetExceeded(),
    HostTrouble.INVARIANT_VIOLATION: InvariantViolation(),
    HostTrouble.STORAGE_CORRUPTION_DETECTED: StorageCorruption(),
    HostTrouble.EVALUATION_ERROR: EvaluationFailed(),
}

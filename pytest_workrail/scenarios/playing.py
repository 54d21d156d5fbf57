"""From a scenario to a run: who plays, with what, and what has to come of each turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from pytest_workrail.agents.actions import (
    Action,
    Call,
    Checkpoint,
    Look,
    Prefer,
    Provide,
    Resend,
    Restart,
    Rewind,
    Submit,
)
from pytest_workrail.agents.auto import Auto
from pytest_workrail.agents.contrary import Erratic, Stubborn
from pytest_workrail.agents.lossy import Fault, Lossy
from pytest_workrail.agents.moment import Agent
from pytest_workrail.agents.scripted import Behave, Expectation, Scripted, Turn
from pytest_workrail.api import preferences
from pytest_workrail.engine.reasons import (
    ContextBudgetExceeded,
    EvaluationFailed,
    InvariantViolation,
    MissingContextKey,
    StorageCorruption,
    UserOnlyDependency,
)
from pytest_workrail.run.bench import GOAL, MAX_TURNS, WORKSPACE, Declared, HostReason, Setup
from pytest_workrail.run.driver import drive
from pytest_workrail.run.result import Run
from pytest_workrail.scenarios.expectations import turn_expectation
from pytest_workrail.scenarios.loading import Loaded
from workrail_lint.documents.pointer import child
from workrail_lint.js import Json
from workrail_lint.scenario import model
from workrail_lint.scenario.vocabulary import CallName
from workrail_lint.scenario.vocabulary import HostReason as HostTrouble

_TURNS = "/agent/turns"


def play(loaded: Loaded) -> Run:
    """Play a scenario to its end."""
    scenario = loaded.scenario
    setup = Setup(
        loaded.ir,
        scenario.profile.value if scenario.profile is not None else "reference",
        preferences(
            scenario.mode.value if scenario.mode is not None else "guided",
            None if scenario.risk is None else scenario.risk.value,
        ),
        scenario.goal or GOAL,
        dict(scenario.context or {}),
        tuple(Declared(each.step, _reason(each)) for each in scenario.declares or ()),
        scenario.seed or 0,
        scenario.max_turns or MAX_TURNS,
    )
    return drive(setup, _agent(scenario, str(loaded.ir["workflowId"])))


def _agent(scenario: model.Scenario, workflow_id: str) -> Agent:
    plan, seed = scenario.agent, scenario.seed or 0
    match plan:
        case None:
            return Auto()
        case model.AutoAgent():
            agent: Agent = Scripted(_turns(plan.turns or (), workflow_id), Auto()) if plan.turns else Auto()
        case model.ScriptedAgent():
            agent = Scripted(_turns(plan.turns, workflow_id))
        case model.StubbornAgent():
            agent = Stubborn(plan.does, plan.steps)
        case model.ErraticAgent():
            agent = Erratic(seed, plan.patience or 2)
        case _:
            assert_never(plan)
    faults = [
        Fault(each.fault, each.step, each.visit, 1.0 if each.rate is None else each.rate) for each in plan.faults or ()
    ]
    return Lossy(agent, faults, seed) if faults else agent


def _turns(turns: Sequence[Any], workflow_id: str) -> list[Turn]:
    return [
        Turn(
            turn.step,
            _does(turn, workflow_id),
            turn.visit,
            bool(turn.repeats),
            child(_TURNS, index),
            _expects(turn),
        )
        for index, turn in enumerate(turns)
    ]


def _expects(turn: Any) -> Expectation | None:
    return None if turn.expect is None else turn_expectation(turn.expect)


def _does(turn: Any, workflow_id: str) -> Action | Behave:
    match turn:
        case model.HandIn():
            return Submit(turn.notes, tuple(turn.artifacts or ()), turn.context)
        case model.Behaves():
            return Behave(turn.does, turn.context)
        case model.PersonActs():
            if turn.prefers is not None:
                risk = None if turn.prefers.risk is None else turn.prefers.risk.value
                return Prefer(preferences(turn.prefers.mode.value, risk))
            return Provide(turn.provides.step or turn.step, turn.provides.detail.value)
        case model.Calls():
            return _call(turn, workflow_id)
        case _:
            raise AssertionError(f"no turn of a scenario: {turn!r}")


def _call(turn: model.Calls, workflow_id: str) -> Action:
    match turn.call:
        case CallName.REHYDRATE:
            return Look()
        case CallName.REWIND:
            return Rewind(turn.to)
        case CallName.CHECKPOINT:
            return Checkpoint()
        case CallName.RESEND:
            return Resend()
        case CallName.RESTART:
            return Restart()
        case CallName.CONTINUE_WORKFLOW:
            return _tool(turn, {"continueToken": "$continue"})
        case CallName.CHECKPOINT_WORKFLOW:
            return _tool(turn, {"checkpointToken": "$checkpoint"})
        case CallName.RESUME_SESSION | CallName.LIST_WORKFLOWS:
            return _tool(turn, {"workspacePath": WORKSPACE})
        case CallName.INSPECT_WORKFLOW:
            return _tool(turn, {"workflowId": workflow_id, "workspacePath": WORKSPACE})
        case _:
            assert_never(turn.call)


def _tool(turn: model.Calls, usual: dict[str, Json]) -> Call:
    members = {**usual, **(turn.request or {})}
    return Call(turn.call.value, {name: value for name, value in members.items() if value is not None})


def _reason(declared: Any) -> HostReason:
    match declared:
        case model.PersonNeeded():
            choice = None if declared.choice is None else declared.choice.value
            return UserOnlyDependency(declared.detail.value, declared.step, choice)
        case model.KeyNeeded():
            return MissingContextKey(declared.key)
        case _:
            return _TROUBLES[declared.reason]


_TROUBLES: dict[HostTrouble, HostReason] = {
    HostTrouble.CONTEXT_BUDGET_EXCEEDED: ContextBudgetExceeded(),
    HostTrouble.INVARIANT_VIOLATION: InvariantViolation(),
    HostTrouble.STORAGE_CORRUPTION_DETECTED: StorageCorruption(),
    HostTrouble.EVALUATION_ERROR: EvaluationFailed(),
}

"""The simulated Orchestrator: enters a state, does what is to be done there, and goes where that leads."""

from __future__ import annotations

from collections.abc import Callable

from pytest_workrail.systems.team.blockers import Halt
from pytest_workrail.systems.team.design_states import (
    Step,
    approve_design,
    design,
    intake,
    intake_lean,
    plan,
    review_strategy,
)
from pytest_workrail.systems.team.implement_states import implement
from pytest_workrail.systems.team.release_states import fix_build, integrate, release
from pytest_workrail.systems.team.resume import resume
from pytest_workrail.systems.team.run_state import Stage
from workrail_lint.base.result import Err
from workrail_lint.systems.team.scenario import Resume
from workrail_lint.systems.team.state_machine import TERMINAL_STATES
from workrail_lint.systems.team.vocabulary import Mode, WorkflowState

S = WorkflowState
# The states that a run goes through; the others interrupt one of these.
_HANDLERS: dict[WorkflowState, Callable[[Stage], Step]] = {
    S.INTAKE: intake,
    S.INTAKE_LEAN: intake_lean,
    S.DESIGN: design,
    S.APPROVE_DESIGN: approve_design,
    S.PLAN: plan,
    S.REVIEW_STRATEGY: review_strategy,
    S.IMPLEMENT_LOOP: implement,
    S.INTEGRATE: integrate,
    S.FIX_BUILD: fix_build,
    S.RELEASE: release,
}


def orchestrate(stage: Stage) -> Halt | None:
    """Play a session to its end. What is given back is why it stopped short, if it did."""
    start = stage.team.start
    if isinstance(start, Resume):
        step = resume(stage, start)
        if not isinstance(step, Err) and step.value is S.DONE and stage.state is S.DONE:
            stage.trace.emit("end")
            return None
    else:
        step = _handled(stage, S.INTAKE_LEAN if stage.mode is Mode.LEAN else S.INTAKE)
    while not isinstance(step, Err) and step.value not in TERMINAL_STATES:
        step = _handled(stage, step.value)
    if isinstance(step, Err):
        return _halted(stage, step.error)
    stage.enter(step.value)
    stage.trace.emit("end")
    return None


def _handled(stage: Stage, state: WorkflowState) -> Step:
    stage.arrive(state)
    return _HANDLERS[state](stage)


def _halted(stage: Stage, halt: Halt) -> Halt:
    """Blocked for a reason that is stored; or broken off, which leaves the session as it stands."""
    if halt.slug is not None:
        stage.blockers += halt.blockers
        stage.enter(S.BLOCKED, halt.slug)
        for blocker in halt.blockers:
            stage.trace.emit("blocker", code=blocker.code.value)
        stage.trace.emit("end")
    return halt

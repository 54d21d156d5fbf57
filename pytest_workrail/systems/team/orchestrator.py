"""The simulated Orchestrator: runs a session state by state, and resumes one from what is on disk."""

from __future__ import annotations

from collections.abc import Callable

from pytest_workrail.scenarios.drivers import parse_time
from pytest_workrail.systems.team.dispatch import dispatch
from pytest_workrail.systems.team.questions import Kind
from pytest_workrail.systems.team.run_state import SessionState, Status
from pytest_workrail.systems.team.session import (
    STATUS,
    Halt,
    TeamBlocker,
    about_artifact,
    about_decision,
    blocked,
    missing,
    unscripted,
)
from pytest_workrail.systems.team.simulated_agents import AgentOutput
from pytest_workrail.systems.team.states import (
    GateOutcome,
    Step,
    after_build_question,
    approve_design,
    correct,
    design,
    fix_build,
    follow_answers,
    implement,
    intake,
    intake_lean,
    integrate,
    move_correction,
    plan,
    release,
    review_strategy,
)
from pytest_workrail.systems.team.user_gate import ask_pending
from workrail_lint.base.closed_sets import is_member
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.model.build import status_model
from workrail_lint.systems.team.model.documents import Decision, SessionStatus
from workrail_lint.systems.team.scenario import Resume
from workrail_lint.systems.team.state_machine import CORRECTION_EVIDENCE, GATES, TERMINAL_STATES
from workrail_lint.systems.team.vocabulary import (
    APPROVE_DESIGN_ID,
    META,
    AgentName,
    BlockerSlug,
    CorrectionStatus,
    FixLoop,
    Mode,
    WorkflowState,
    moment,
)

S = WorkflowState
C = CorrectionStatus
# The states that a run goes through; the others interrupt one of these.
_HANDLERS: dict[WorkflowState, Callable[[SessionState], Step]] = {
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


def orchestrate(session: SessionState) -> Halt | None:
    """Play a session to its end. What is given back is why it stopped short, if it did."""
    start = session.team.start
    if isinstance(start, Resume):
        step = resume(session, start)
        if not isinstance(step, Err) and step.value is S.DONE and session.state is S.DONE:
            session.log.emit("end")
            return None
    else:
        step = _handled(session, S.INTAKE_LEAN if session.mode is Mode.LEAN else S.INTAKE)
    while not isinstance(step, Err) and step.value not in TERMINAL_STATES:
        step = _handled(session, step.value)
    if isinstance(step, Err):
        return _halted(session, step.error)
    session.enter(step.value)
    session.log.emit("end")
    return None


def _handled(session: SessionState, state: WorkflowState) -> Step:
    session.arrive(state)
    return _HANDLERS[state](session)


def _halted(session: SessionState, halt: Halt) -> Halt:
    """Block the session for a reason that is stored, or leave it as it is if the scenario ends."""
    if halt.slug is not None:
        session.blockers += halt.blockers
        session.enter(S.BLOCKED, halt.slug)
        for blocker in halt.blockers:
            session.log.emit("blocker", code=blocker.code.value)
        session.log.emit("end")
    return halt


# ------------------------------------------------------------------------------------------------------------- resuming


def resume(session: SessionState, start: Resume) -> Step:
    """Enter the state of a session and do what is left to do there. Returns the next state."""
    status = session.store.status()
    state = _state_of(status)
    session.log.state = S.BLOCKED if state is None else state
    session.log.emit("read_status")
    if status is None or state is None:
        text = "status.json can't be read, so the state of the session is unknown"
        fix = "Restore status.json, then resume"
        lost = about_artifact(TeamBlocker.PERSISTENCE_FAILED, STATUS, text, fix)
        return Err(blocked(BlockerSlug.PERSISTENCE_ERROR, lost))
    if state is S.DONE:
        return Ok(S.DONE)
    misshapen = session.linter.misshapen_status()
    if misshapen:
        return Err(blocked(BlockerSlug.ARTIFACT_INVALID, *misshapen))
    model = status_model(status)
    target = _target(model, state, start)
    if isinstance(target, Err):
        return target
    return _continue(session, model, target.value)


def _state_of(status: Status | None) -> WorkflowState | None:
    state = None if status is None else status.get("current_state")
    return WorkflowState(state) if is_member(state, WorkflowState) else None


def _target(status: SessionStatus, state: WorkflowState, start: Resume) -> Step:
    """Return the state to continue in; for a blocked session the scenario names it, except at a gate."""
    if state is not S.BLOCKED:
        return Ok(state)
    for ident, gate in GATES.items():
        entry = status.decision(ident)
        if entry is not None and entry.status == "cancelled":
            return Ok(gate)
    if start.as_ is None:
        return Err(unscripted("the session is BLOCKED; set `as` to the state to continue in", "/team/start"))
    return Ok(start.as_)


def _continue(session: SessionState, status: SessionStatus, state: WorkflowState) -> Step:
    absent = machine.required_artifacts(state, session.mode, status.returns_to)
    lacking = [missing(file, session.mode) for file in absent if not session.store.exists(file)]
    if lacking:
        return Err(blocked(BlockerSlug.ARTIFACT_INVALID, *lacking))
    if state in GATES.values():
        return _at(session, state)
    pending = [entry for entry in status.user_decisions if entry.number is not None and entry.status == "pending"]
    back: str | None = state.value
    if state is S.ASK_USER:
        back = status.returns_to
        if back is None or WorkflowState(back) in machine.NOT_RETURNABLE:
            return Err(_unknown_return_state(pending[0].decision_id if pending else "UD-1"))
        session.enter(state)
    return _pending(session, pending, WorkflowState(back)) if pending else _at(session, WorkflowState(back))


def _at(session: SessionState, state: WorkflowState) -> Step:
    """Do what is left to do in a state that is neither a question nor an end."""
    status = session.status_model
    if state is S.APPROVE_DESIGN:
        session.arrive(state)
        return _approval(session, status)
    if state is S.REVIEW_STRATEGY and status.strategy is not None:
        session.arrive(state)
        session.log.emit("verify", ok=True)
        return Ok(S.IMPLEMENT_LOOP)
    if is_member(state.value, FixLoop):
        session.arrive(state)
        return _repair(session, FixLoop(state.value))
    return Ok(state)


def _unknown_return_state(ident: str) -> Halt:
    text = f"{ident} does not say which state to return to"
    unknown = about_decision(
        TeamBlocker.DECISION_UNRESOLVED, ident, text, f"Set state_context of {ident}, then ask again"
    )
    return blocked(BlockerSlug.MANDATORY_USER_DECISION_MISSING, unknown)


def _pending(session: SessionState, entries: list[Decision], state: WorkflowState) -> Step:
    """Ask what is open, and only that; then go on in a state, or where the answers lead."""
    asked = ask_pending(session, entries)
    if isinstance(asked, Err):
        return asked
    builds = [
        each for each in asked.value if each.topic.kind is Kind.EXHAUSTED and each.topic.loop is FixLoop.FIX_BUILD
    ]
    if builds:
        return Ok(after_build_question(session, builds, state))
    followed = follow_answers(session, asked.value, state, AgentOutput(), GateOutcome.PASSED)
    if isinstance(followed, Err):
        return followed
    return Ok(session.state) if followed.value is GateOutcome.REPAIRED else _at(session, state)


def _repair(session: SessionState, loop: FixLoop) -> Step:
    """Continue a repair that was interrupted: its round is counted already, so only the work is done again."""
    if loop is FixLoop.FIX_BUILD:
        return fix_build(session, is_counted=True)
    tasks = session.store.tasks()
    begun = [task.id for task in tasks if task.status == "in-progress"]
    waiting = [task for task in tasks if task.status == "implemented"]
    if not begun and waiting and session.repairs(loop, META) == 0:
        return Ok(S.IMPLEMENT_LOOP)  # the repair is done; what is left is the review
    worked = dispatch(session, AgentName.CODER, begun[0] if begun else META)
    return worked if isinstance(worked, Err) else Ok(S.IMPLEMENT_LOOP)


# ------------------------------------------------------------------------------------------------- the design


def _approval(session: SessionState, status: SessionStatus) -> Step:
    """Do what is left to do at the gate about the design."""
    if status.is_design_approved and status.correction not in machine.OPEN_CORRECTION:
        session.log.emit("verify", ok=True)
        return Ok(S.PLAN)
    if machine.is_change_request(status.answer(APPROVE_DESIGN_ID)):
        done = _correction(session, status)
        if isinstance(done, Err):
            return done
    return approve_design(session)


def _correction(session: SessionState, status: SessionStatus) -> Ok[None] | Err[Halt]:
    match status.correction:
        case C.COMPLETED:
            return Ok(None)
        case C.DISPATCHED:
            return _verified(session, status)
        case C.QUEUED:
            return correct(session)
        case _:
            move_correction(session, C.QUEUED)
            return correct(session)


def _verified(session: SessionState, status: SessionStatus) -> Ok[None] | Err[Halt]:
    """Look for the result of a correction that was dispatched; it is never dispatched again."""
    sent = status.design_gate.last_correction_dispatch if status.design_gate is not None else None
    agent, at = (None, None) if sent is None else (sent.agent, sent.at_)
    owned = () if agent is None else CORRECTION_EVIDENCE[AgentName(agent)]
    if any(_is_evidence(session, file, at) for file in _files(session, owned)):
        move_correction(session, C.COMPLETED)
        return Ok(None)
    file = owned[0] if owned else STATUS
    text = f"a correction was dispatched to {agent or 'no agent'}, but {file} does not show that it was made"
    fix = "Set correction_status to queued to redo it, or to completed to continue"
    return Err(
        blocked(BlockerSlug.CORRECTION_UNVERIFIED, about_artifact(TeamBlocker.CORRECTION_UNVERIFIED, file, text, fix))
    )


def _files(session: SessionState, owned: tuple[str, ...]) -> list[str]:
    return [
        file
        for name in owned
        for file in (session.store.below(name) if name.endswith("/") else [name] if session.store.exists(name) else [])
    ]


def _is_evidence(session: SessionState, file: str, at: object) -> bool:
    if moment(at) is None or session.linter.errors(file):
        return False
    return session.store.age(file) > parse_time(str(at)).timestamp()

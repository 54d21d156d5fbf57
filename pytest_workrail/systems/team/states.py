"""The Orchestrator's work in each state, from the request to the release."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, TypeAlias

from pytest_workrail.scenarios.drivers import file_bytes
from pytest_workrail.systems.kernel.run import Blocker
from pytest_workrail.systems.team import minimal_outputs as minimal
from pytest_workrail.systems.team.dispatch import dispatch, leaves_lean
from pytest_workrail.systems.team.questions import Effect, Question, exhausted, info, notes, security
from pytest_workrail.systems.team.run_state import SessionState
from pytest_workrail.systems.team.session import (
    TASKS,
    Halt,
    TeamBlocker,
    about_state,
    about_task,
    blocked,
    missing,
)
from pytest_workrail.systems.team.simulated_agents import AgentOutput
from pytest_workrail.systems.team.user_gate import QuestionOutcome, ask, ask_gate, set_correction
from workrail_lint.base.js import items_of, members_of, strings_of
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.model.documents import Task
from workrail_lint.systems.team.roles import review_verdict
from workrail_lint.systems.team.state_machine import LIMITS, LOOP_OF
from workrail_lint.systems.team.vocabulary import (
    APPROVE_DESIGN_ID,
    META,
    REVIEW_STRATEGY_ID,
    AgentName,
    BlockerSlug,
    CheckResult,
    CiStatus,
    CorrectionStatus,
    FindingSeverity,
    FixLoop,
    Mode,
    OutputStatus,
    RiskFlag,
    Strategy,
    TaskStatus,
    WorkflowState,
    is_task_id,
    is_text,
    task_ids_in,
)

A = AgentName
S = WorkflowState
T = TaskStatus
_BUILD = FixLoop.FIX_BUILD
Step: TypeAlias = Ok[WorkflowState] | Err[Halt]


def intake(session: SessionState) -> Step:
    replied = dispatch(session, A.SPEC_AGENT, META, lambda _: session.linter.guard("G-INTAKE"))
    if isinstance(replied, Err):
        return replied
    if replied.value.next_agent is A.RESEARCHER:
        researched = research(session)
        if isinstance(researched, Err):
            return researched
    return Ok(S.DESIGN)


def intake_lean(session: SessionState) -> Step:
    replied = dispatch(session, A.SPEC_AGENT, META, lambda _: session.linter.guard("G-LEAN"))
    if isinstance(replied, Err):
        if replied.error.slug is not BlockerSlug.SUBAGENT_FAILURE:
            return replied
        return _bootstrap(session)
    return Ok(S.IMPLEMENT_LOOP)


def _bootstrap(session: SessionState) -> Step:
    """Write four minimal artifacts, the only work that the Orchestrator may take over from an agent."""
    status = minimal.status(session.store.session, session.state, session.clock.timestamp)
    files = {
        "spec.md": minimal.spec(session.goal).encode(),
        "acceptance.json": minimal.acceptance(),
        TASKS: minimal.lean_tasks(session.goal).encode(),
        "status.json": file_bytes(status),
    }
    for file, data in files.items():
        written = session.write_file(file, data)
        if isinstance(written, Err):
            return written
    return Ok(S.IMPLEMENT_LOOP)


def design(session: SessionState) -> Step:
    if session.flags.research and not session.memory.researched:
        researched = research(session)
        if isinstance(researched, Err):
            return researched
    drawn = dispatch(session, A.ARCHITECT, META, lambda _: session.linter.guard("G-DESIGN"))
    if isinstance(drawn, Err):
        return drawn
    if session.flags.ui:
        designed = dispatch(session, A.DESIGNER, META, lambda output: _design_spec(session, output))
        if isinstance(designed, Err):
            return designed
    return Ok(S.APPROVE_DESIGN)


def research(session: SessionState) -> Ok[None] | Err[Halt]:
    """Send the Researcher off until it has what it needs; what it lacks only the user knows."""
    state = session.state

    def report(_: AgentOutput) -> list[Blocker]:
        return [] if session.store.below("research/") else [missing("research/")]

    while True:
        replied = dispatch(session, A.RESEARCHER, META, report)
        if isinstance(replied, Err):
            return replied
        output = replied.value
        if output.status is OutputStatus.OK:
            session.memory.researched = True
            return Ok(None)
        wanted = [note for note in output.strings("notes") if is_text(note)]
        answered = ask(session, [info(note) for note in wanted or [output.summary]])
        if isinstance(answered, Err):
            return answered
        session.enter(state)


def _design_spec(session: SessionState, output: AgentOutput) -> list[Blocker]:
    inline = output.artifacts.get("design_spec_inline")
    return [] if is_text(inline) or session.store.below("design-specs/") else [missing("design-specs/")]


# ------------------------------------------------------------------------------------------------------- gates


def approve_design(session: SessionState) -> Step:
    while True:
        answered = ask_gate(
            session, APPROVE_DESIGN_ID, "Do you approve the design (approved, or changes-requested: …)?"
        )
        if isinstance(answered, Err):
            return answered
        if machine.is_approval(answered.value):
            return Ok(S.PLAN)
        corrected = correct(session)
        if isinstance(corrected, Err):
            return corrected


def correct(session: SessionState) -> Ok[None] | Err[Halt]:
    """Have a queued change made, by one agent or several."""
    for agent in _correctors(session):
        replied = _send_correction(session, agent)
        if isinstance(replied, Err):
            return replied
    move_correction(session, CorrectionStatus.COMPLETED)
    return Ok(None)


def _send_correction(session: SessionState, agent: AgentName) -> Ok[AgentOutput] | Err[Halt]:
    """Send a correction out, once: that it was sent is on disk before it is."""
    sent = {"agent": agent.value, "task_id": META, "at": session.clock.timestamp}
    session.save(lambda status: set_correction(status, CorrectionStatus.DISPATCHED, sent))
    session.log.emit("correction", to=CorrectionStatus.DISPATCHED.value, agent=agent.value)
    return dispatch(session, agent, META, lambda output: _against_correction(session, agent, output))


def move_correction(session: SessionState, to: CorrectionStatus) -> None:
    session.save(lambda status: set_correction(status, to))
    session.log.emit("correction", to=to.value)


def _correctors(session: SessionState) -> list[AgentName]:
    """Return who makes this change: the agents that the scenario names for it, or the Architect."""
    number = session.memory.change_requests
    session.memory.change_requests += 1
    named: Any = (session.team.corrections or ())[number : number + 1]
    if not named:
        return [A.ARCHITECT]
    return [named[0]] if isinstance(named[0], AgentName) else list(named[0])


def _against_correction(session: SessionState, agent: AgentName, output: AgentOutput) -> list[Blocker]:
    """Return the blockers against the artifacts of an agent that corrected the design."""
    if agent is A.SPEC_AGENT:
        return session.linter.guard("G-INTAKE")
    if agent is A.ARCHITECT:
        return session.linter.guard("G-DESIGN")
    return _design_spec(session, output)


def plan(session: SessionState) -> Step:
    replied = dispatch(session, A.PLANNER, META, lambda _: session.linter.guard("G-PLAN"))
    return replied if isinstance(replied, Err) else Ok(S.REVIEW_STRATEGY)


def review_strategy(session: SessionState) -> Step:
    answered = ask_gate(session, REVIEW_STRATEGY_ID, strategy_question(session))
    return answered if isinstance(answered, Err) else Ok(S.IMPLEMENT_LOOP)


def strategy_question(session: SessionState) -> str:
    """Return the question with the number of tasks, their ids, both strategies and the recommended one."""
    tasks = session.store.tasks()
    scope = ", ".join(task.id for task in tasks)
    chained = sum(1 for task in tasks if task.depends_on)
    advised = advised_strategy(tasks).value
    return (
        f"{len(tasks)} tasks ({scope}; {chained} with dependencies) are planned. Review after every task (per-batch) "
        f"or once at the end (single-final)? Advised: {advised}."
    )


def advised_strategy(tasks: Sequence[Task]) -> Strategy:
    """Return the strategy that the question recommends."""
    risky = any(set(task.risk_flags) - {RiskFlag.NONE.value} for task in tasks)
    chained = any(len(task.depends_on) > 1 for task in tasks)
    return Strategy.PER_BATCH if len(tasks) >= 5 or risky or chained else Strategy.SINGLE_FINAL


def leave_lean(session: SessionState) -> WorkflowState:
    """Start a lean run that turned out to be larger again on the full path, without its plan."""
    session.mode = Mode.FULL
    session.store.remove(TASKS)
    session.save(lambda status: status.update(retry_counts={}))
    session.memory.changed.clear()
    session.memory.required.clear()
    return S.INTAKE


# --------------------------------------------------------------------------------------------------------- implementing


class GateOutcome(Enum):
    """The outcome of a gate of a task."""

    PASSED = "passed"
    REPAIRED = "repaired"  # something was changed, so the gate is still to be passed
    AGAIN = "again"  # nothing was changed, and it is still to be passed
    DROPPED = "dropped"  # the task was given up


def implement(session: SessionState) -> Step:
    """Implement all tasks, from whatever status they have."""
    while (task := _next_task(session)) is not None:
        built = _build(session, task)
        if isinstance(built, Err):
            return built
        if built.value is S.INTAKE:
            return built
    _drop_unreachable(session)
    if session.mode is Mode.LEAN:
        return Ok(S.INTEGRATE)
    single = session.strategy is Strategy.SINGLE_FINAL
    passed = _combined_pass(session) if single else _final_review(session)
    if isinstance(passed, Err):
        return passed
    if single:
        for task in session.store.tasks():
            if task.status == "implemented":
                _promote(session, task)
    return Ok(S.INTEGRATE)


def _next_task(session: SessionState) -> Task | None:
    """Return the first task of the plan that is not done and whose dependencies are."""
    tasks = session.store.tasks()
    done = [status.value for status in machine.done_statuses(session.strategy)]
    finished = {task.id for task in tasks if task.status in done}
    return next(
        (
            task
            for task in tasks
            if is_task_id(task.id)
            and task.id not in finished
            and not _is_given_up(session, task)
            and all(needed in finished for needed in task.depends_on)
        ),
        None,
    )


def _is_given_up(session: SessionState, task: Task) -> bool:
    issues = strings_of(session.status.get("known_issues"))
    return task.status == "blocked" and any(task.id in task_ids_in(issue) for issue in issues)


def _drop_unreachable(session: SessionState) -> None:
    """Drop every task that depends on one that was dropped, and record it as a known issue."""
    done = (T.IMPLEMENTED.value, T.COMPLETED.value)
    for task in session.store.tasks():
        if task.status not in done and not _is_given_up(session, task) and is_task_id(task.id):
            session.add_issue(f"{task.id} left out: it depends on {', '.join(task.depends_on)}")
            session.move_task(task.id, T.BLOCKED)


def _build(session: SessionState, task: Task) -> Step:
    """Implement one task and, unless all are reviewed at the end, review and promote it."""
    if task.status != "implemented":
        coded = dispatch(session, A.CODER, task.id)
        if isinstance(coded, Err):
            return coded
        if leaves_lean(session, A.CODER, coded.value):
            return Ok(leave_lean(session))
        _ensure_implemented(session, task.id)
    if session.strategy is Strategy.SINGLE_FINAL:
        return Ok(session.state)
    agents = [A.REVIEWER, *_required_gates(session, task)]
    for agent in agents:
        passed = _pass(session, agent, task.id)
        if isinstance(passed, Err):
            return passed
        if passed.value is GateOutcome.DROPPED:
            return Ok(session.state)
    _promote(session, task)
    return Ok(session.state)


def _ensure_implemented(session: SessionState, ident: str) -> None:
    """Mark a task as implemented if the Coder replied OK and did not update the plan."""
    for status in (T.IN_PROGRESS, T.IMPLEMENTED):
        now = session.task(ident).written_status
        if now != T.IMPLEMENTED and now != status:
            session.move_task(ident, status)


def _required_gates(session: SessionState, task: Task) -> list[AgentName]:
    sensitive = session.flags.sensitive or ()
    needed = [
        *([A.QA] if task.needs_qa else []),
        *([A.SECURITY] if task.needs_security(sensitive) else []),
    ]
    session.memory.required[task.id] = [agent.value for agent in needed]
    return needed


def _promote(session: SessionState, task: Task) -> None:
    session.memory.required.setdefault(task.id, [])
    session.move_task(task.id, T.COMPLETED)


def _final_review(session: SessionState) -> Ok[None] | Err[Halt]:
    """Send those who did not have to review any task over all of them, and have one review of the whole."""
    tasks = _kept(session)
    sensitive = session.flags.sensitive or ()
    agents = []
    if not session.log.dispatched(A.QA) and not any(task.needs_qa for task in tasks):
        agents.append(A.QA)
    if not session.log.dispatched(A.SECURITY) and not any(task.needs_security(sensitive) for task in tasks):
        agents.append(A.SECURITY)
    for agent in (*agents, A.REVIEWER):
        passed = _pass(session, agent, META)
        if isinstance(passed, Err):
            return passed
    return Ok(None)


def _kept(session: SessionState) -> list[Task]:
    """Return the tasks that were not given up."""
    return [task for task in session.store.tasks() if task.status != "blocked"]


def _combined_pass(session: SessionState) -> Ok[None] | Err[Halt]:
    """Let all three review everything once; after a repair they start again."""
    agents = (A.REVIEWER, A.QA, A.SECURITY)
    at = 0
    while at < len(agents):
        judged = _gate(session, agents[at], META)
        if isinstance(judged, Err):
            return judged
        match judged.value:
            case GateOutcome.REPAIRED:
                at = 0
            case GateOutcome.AGAIN:
                pass
            case _:
                at += 1
    return Ok(None)


def _pass(session: SessionState, agent: AgentName, task: str) -> Ok[GateOutcome] | Err[Halt]:
    """Send an agent off until its gate is passed or the task is given up."""
    while True:
        judged = _gate(session, agent, task)
        if isinstance(judged, Err) or judged.value in (GateOutcome.PASSED, GateOutcome.DROPPED):
            return judged


def _gate(session: SessionState, agent: AgentName, task: str) -> Ok[GateOutcome] | Err[Halt]:
    """Let Reviewer, QA or Security review a task once, and do what follows from it."""
    if (agent, task) in session.memory.waived:
        return Ok(GateOutcome.PASSED)
    replied = dispatch(session, agent, task)
    if isinstance(replied, Err):
        return replied
    output = replied.value
    match output.status:
        case OutputStatus.BLOCKED:
            return _refused(session, agent, task, output)
        case OutputStatus.NEEDS_DECISION:
            return _follow(session, _decisions(task, output), output, otherwise=GateOutcome.AGAIN)
        case _:
            has_notes = agent is A.REVIEWER and review_verdict(output.summary) == "PASS WITH NOTES"
            if has_notes and session.flags.ask_on_notes is not False:
                return _follow(session, [notes(task, _comments(output))], output, otherwise=GateOutcome.PASSED)
            return Ok(GateOutcome.PASSED)


def _refused(session: SessionState, agent: AgentName, task: str, output: AgentOutput) -> Ok[GateOutcome] | Err[Halt]:
    loop = LOOP_OF[agent]
    if session.repairs(loop, task) < LIMITS.repairs:
        return repair(session, loop, task, output)
    return _follow(session, [exhausted(loop, task, output.reason)], output, otherwise=GateOutcome.AGAIN)


def _follow(
    session: SessionState, questions: list[Question], output: AgentOutput, otherwise: GateOutcome
) -> Ok[GateOutcome] | Err[Halt]:
    """Ask, and do what the answers say. The one that asks for work wins over those that let it pass."""
    state = session.state
    asked = ask(session, questions)
    if isinstance(asked, Err):
        return asked
    return follow_answers(session, asked.value, state, output, otherwise)


def follow_answers(
    session: SessionState,
    outcomes: list[QuestionOutcome],
    state: WorkflowState,
    output: AgentOutput,
    otherwise: GateOutcome,
) -> Ok[GateOutcome] | Err[Halt]:
    """Do what the answers lead to; ASK_USER is left for a loop, or for the state it came from."""
    for outcome in outcomes:
        loop = outcome.topic.loop
        if loop is None or outcome.effect not in (Effect.REPAIR, Effect.RESTART):
            continue
        is_spent = session.repairs(loop, outcome.topic.task) >= LIMITS.repairs
        if outcome.effect is Effect.RESTART or is_spent:
            session.count_repair(loop, outcome.topic.task, 0)
        return repair(session, loop, outcome.topic.task, output)
    dropped = [outcome.topic.task for outcome in outcomes if outcome.effect is Effect.DROP]
    waived = bool(outcomes) and all(outcome.effect is Effect.WAIVE for outcome in outcomes)
    session.enter(state)
    for task in dropped:
        session.move_task(task, T.BLOCKED)
    return Ok(GateOutcome.DROPPED if dropped else GateOutcome.PASSED if waived else otherwise)


def repair(session: SessionState, loop: FixLoop, task: str, output: AgentOutput) -> Ok[GateOutcome] | Err[Halt]:
    """Run one round of a loop: count it, dispatch the recommended agent, and return."""
    session.enter(WorkflowState(loop.value))
    session.count_repair(loop, task, session.repairs(loop, task) + 1)
    worked = dispatch(session, repairer(session, output), task)
    if isinstance(worked, Err):
        return worked
    session.enter(S.IMPLEMENT_LOOP)
    return Ok(GateOutcome.REPAIRED)


def repairer(session: SessionState, output: AgentOutput) -> AgentName:
    """Return who repairs: the recommended agent if this state has it, or else the first agent of the state."""
    allowed = machine.agents_of(session.state, session.mode)
    return output.next_agent if output.next_agent in allowed else allowed[0]


def _decisions(task: str, output: AgentOutput) -> list[Question]:
    medium = [each for each in output.objects("findings") if each.get("severity") == FindingSeverity.MEDIUM]
    return [security(task, str(each.get("description") or "A medium finding.")) for each in medium]


def _comments(output: AgentOutput) -> str:
    comments = items_of(output.artifacts.get("review_comments"))
    texts = [item if type(item) is str else str(members_of(item).get("message")) for item in comments]
    return " ".join(texts) or "None are written down."


# ----------------------------------------------------------------------------------------------- building and releasing


def integrate(session: SessionState) -> Step:
    if session.mode is Mode.FULL:
        replied = dispatch(session, A.INTEGRATOR, META)
        if isinstance(replied, Err):
            return replied
    failed = run_checks(session)
    if isinstance(failed, Err):
        return failed
    if failed.value:
        return _failed_build(session, failed.value)
    if session.mode is Mode.FULL:
        return Ok(S.RELEASE)
    issues = strings_of(session.status.get("known_issues"))
    written = session.write_file("report.md", minimal.report(issues).encode("utf-8", "surrogatepass"))
    return written if isinstance(written, Err) else Ok(S.DONE)


def run_checks(session: SessionState) -> Ok[list[str]] | Err[Halt]:
    """Run the commands of all kept tasks, each once, and store what the build says. Gives those that failed."""
    tasks = _kept(session)
    commands = list(dict.fromkeys(check for task in tasks for check in task.commands))
    if commands and "run_cmd" not in session.tools:
        task = tasks[0].id
        text = f"{commands[0]} must pass, but run_cmd is not available"
        cannot = about_task(TeamBlocker.TESTS_NOT_RUNNABLE, task, text, "Provide run_cmd, or waive the checks")
        return Err(blocked(BlockerSlug.AGENT_BLOCKED, cannot))
    failed: list[str] = []
    for check in commands:
        is_ok = session.check_result(check) is CheckResult.PASS
        session.log.emit("check_run", check=check, ok=is_ok)
        failed += [] if is_ok else [check]
    build = CiStatus.RED if failed else CiStatus.GREEN if commands else CiStatus.UNKNOWN
    session.save(lambda status: status.update(last_ci_result=build.value))
    session.memory.last_failed = failed[0] if failed else None
    return Ok(failed)


def _failed_build(session: SessionState, failed: list[str]) -> Step:
    """Repair a red build, ask about it, or stop. Nothing is released on red, whatever the user accepts."""
    state = session.state
    if session.memory.build_waived:
        text = f"the build is red in {state.value}, and the user chose not to repair it"
        red = about_state(TeamBlocker.CI_RED, state, text, f"Make this pass: {failed[0]}")
        return Err(blocked(BlockerSlug.ARTIFACT_INVALID, red))
    if session.repairs(_BUILD, META) < LIMITS.repairs:
        return Ok(S.FIX_BUILD)
    asked = ask(session, [exhausted(_BUILD, META, f"{failed[0]} fails.")])
    return asked if isinstance(asked, Err) else Ok(after_build_question(session, asked.value, state))


def after_build_question(session: SessionState, outcomes: list[QuestionOutcome], state: WorkflowState) -> WorkflowState:
    """Return where an answer about a red build leads; one that names no way accepts it."""
    if any(outcome.effect is Effect.RESTART for outcome in outcomes):
        session.count_repair(_BUILD, META, 0)
        return S.FIX_BUILD
    session.memory.build_waived = True
    return state


def fix_build(session: SessionState, *, is_counted: bool = False) -> Step:
    """Run one round of repairs; one that was counted before a break is not counted again."""
    if not is_counted:
        session.count_repair(_BUILD, META, session.repairs(_BUILD, META) + 1)
    replied = dispatch(session, repairer(session, AgentOutput()), META)
    if isinstance(replied, Err):
        return replied
    if session.mode is Mode.FULL and repairer(session, replied.value) is A.CODER:
        # The Integrator found that the code is to blame.
        coded = dispatch(session, A.CODER, META)
        if isinstance(coded, Err):
            return coded
    return Ok(S.INTEGRATE)


def release(session: SessionState) -> Step:
    # That every criterion is met or waived follows from the tasks: they are completed, or known issues name them.
    documented = dispatch(session, A.DOCS, META, lambda _: session.linter.guard("G-RELEASE"))
    if isinstance(documented, Err):
        return documented
    integrated = dispatch(session, A.INTEGRATOR, META)
    if isinstance(integrated, Err):
        return integrated
    failed = run_checks(session)
    if isinstance(failed, Err):
        return failed
    return _failed_build(session, failed.value) if failed.value else Ok(S.DONE)

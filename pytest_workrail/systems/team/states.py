"""What the Orchestrator does in each state, from the request to the release."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeAlias

from pytest_workrail.systems.kernel.run import Blocker, json_bytes
from pytest_workrail.systems.team import minimal_outputs as minimal
from pytest_workrail.systems.team.blockers import Halt, TeamBlocker, about_state, about_task, blocked, missing
from pytest_workrail.systems.team.dispatch import dispatch, leaves_lean
from pytest_workrail.systems.team.questions import Effect, Question, exhausted, info, notes, security
from pytest_workrail.systems.team.run_state import Stage
from pytest_workrail.systems.team.session import TASKS, Task
from pytest_workrail.systems.team.simulated_agents import AgentOutput
from pytest_workrail.systems.team.user_gate import QuestionOutcome, ask, ask_gate, set_correction
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.roles import review_verdict
from workrail_lint.systems.team.scenario_words import CheckResult
from workrail_lint.systems.team.state_machine import LIMITS, LOOP_OF
from workrail_lint.systems.team.vocabulary import (
    APPROVE_DESIGN_ID,
    META,
    REVIEW_STRATEGY_ID,
    AgentName,
    BlockerSlug,
    CiStatus,
    CorrectionStatus,
    FindingSeverity,
    FixLoop,
    Mode,
    OutputStatus,
    Strategy,
    TaskStatus,
    WorkflowState,
    is_task_id,
    is_text,
    items_of,
    members_of,
    strings_of,
    task_ids_in,
)

A = AgentName
S = WorkflowState
T = TaskStatus
_BUILD = FixLoop.FIX_BUILD
Step: TypeAlias = Ok[WorkflowState] | Err[Halt]


def intake(stage: Stage) -> Step:
    replied = dispatch(stage, A.SPEC_AGENT, META, lambda _: stage.linter.guard("G-INTAKE"))
    if isinstance(replied, Err):
        return replied
    if replied.value.next_agent is A.RESEARCHER:
        researched = research(stage)
        if isinstance(researched, Err):
            return researched
    return Ok(S.DESIGN)


def intake_lean(stage: Stage) -> Step:
    replied = dispatch(stage, A.SPEC_AGENT, META, lambda _: stage.linter.guard("G-LEAN"))
    if isinstance(replied, Err):
        if replied.error.slug is not BlockerSlug.SUBAGENT_FAILURE:
            return replied
        return _bootstrap(stage)
    return Ok(S.IMPLEMENT_LOOP)


def _bootstrap(stage: Stage) -> Step:
    """Write four minimal artifacts, the only work that the Orchestrator may take over from an agent."""
    status = minimal.status(stage.store.session, stage.state, stage.clock.timestamp)
    files = {
        "spec.md": minimal.spec(stage.goal).encode(),
        "acceptance.json": minimal.acceptance(),
        TASKS: minimal.lean_tasks(stage.goal).encode(),
        "status.json": json_bytes(status),
    }
    for file, data in files.items():
        written = stage.write_file(file, data)
        if isinstance(written, Err):
            return written
    return Ok(S.IMPLEMENT_LOOP)


def design(stage: Stage) -> Step:
    if stage.flags.research and not stage.memory.researched:
        researched = research(stage)
        if isinstance(researched, Err):
            return researched
    drawn = dispatch(stage, A.ARCHITECT, META, lambda _: stage.linter.guard("G-DESIGN"))
    if isinstance(drawn, Err):
        return drawn
    if stage.flags.ui:
        designed = dispatch(stage, A.DESIGNER, META, lambda output: _design_spec(stage, output))
        if isinstance(designed, Err):
            return designed
    return Ok(S.APPROVE_DESIGN)


def research(stage: Stage) -> Ok[None] | Err[Halt]:
    """Send the Researcher off until it has what it needs; what it lacks only the user knows."""
    state = stage.state

    def report(_: AgentOutput) -> list[Blocker]:
        return [] if stage.store.below("research/") else [missing("research/")]

    while True:
        replied = dispatch(stage, A.RESEARCHER, META, report)
        if isinstance(replied, Err):
            return replied
        output = replied.value
        if output.status is OutputStatus.OK:
            stage.memory.researched = True
            return Ok(None)
        wanted = [note for note in output.strings("notes") if is_text(note)]
        answered = ask(stage, [info(note) for note in wanted or [output.summary]])
        if isinstance(answered, Err):
            return answered
        stage.enter(state)


def _design_spec(stage: Stage, output: AgentOutput) -> list[Blocker]:
    inline = output.artifacts.get("design_spec_inline")
    return [] if is_text(inline) or stage.store.below("design-specs/") else [missing("design-specs/")]


# ------------------------------------------------------------------------------------------------------- gates


def approve_design(stage: Stage) -> Step:
    while True:
        answered = ask_gate(stage, APPROVE_DESIGN_ID, "Do you approve the design (approved, or changes-requested: …)?")
        if isinstance(answered, Err):
            return answered
        if machine.is_approval(answered.value):
            return Ok(S.PLAN)
        corrected = correct(stage)
        if isinstance(corrected, Err):
            return corrected


def correct(stage: Stage) -> Ok[None] | Err[Halt]:
    """Have a queued change made, by one agent or several."""
    for agent in _correctors(stage):
        replied = _send_correction(stage, agent)
        if isinstance(replied, Err):
            return replied
    move_correction(stage, CorrectionStatus.COMPLETED)
    return Ok(None)


def _send_correction(stage: Stage, agent: AgentName) -> Ok[AgentOutput] | Err[Halt]:
    """Send a correction out, once: that it was sent is on disk before it is."""
    sent = {"agent": agent.value, "task_id": META, "at": stage.clock.timestamp}
    stage.save(lambda status: set_correction(status, CorrectionStatus.DISPATCHED, sent))
    stage.log.emit("correction", to=CorrectionStatus.DISPATCHED.value, agent=agent.value)
    return dispatch(stage, agent, META, lambda output: _against_correction(stage, agent, output))


def move_correction(stage: Stage, to: CorrectionStatus) -> None:
    stage.save(lambda status: set_correction(status, to))
    stage.log.emit("correction", to=to.value)


def _correctors(stage: Stage) -> list[AgentName]:
    """Return who makes this change: the agents that the scenario names for it, or the Architect."""
    number = stage.memory.change_requests
    stage.memory.change_requests += 1
    named: Any = (stage.team.corrections or ())[number : number + 1]
    if not named:
        return [A.ARCHITECT]
    return [named[0]] if isinstance(named[0], AgentName) else list(named[0])


def _against_correction(stage: Stage, agent: AgentName, output: AgentOutput) -> list[Blocker]:
    """Return the blockers against the artifacts of an agent that corrected the design."""
    if agent is A.SPEC_AGENT:
        return stage.linter.guard("G-INTAKE")
    if agent is A.ARCHITECT:
        return stage.linter.guard("G-DESIGN")
    return _design_spec(stage, output)


def plan(stage: Stage) -> Step:
    replied = dispatch(stage, A.PLANNER, META, lambda _: stage.linter.guard("G-PLAN"))
    return replied if isinstance(replied, Err) else Ok(S.REVIEW_STRATEGY)


def review_strategy(stage: Stage) -> Step:
    answered = ask_gate(stage, REVIEW_STRATEGY_ID, strategy_question(stage))
    return answered if isinstance(answered, Err) else Ok(S.IMPLEMENT_LOOP)


def strategy_question(stage: Stage) -> str:
    """Return the question with the number of tasks, their ids, both strategies and the recommended one."""
    tasks = stage.store.tasks()
    scope = ", ".join(task.id for task in tasks)
    chained = sum(1 for task in tasks if items_of(task.value.get("depends_on")))
    advised = machine.advised_strategy([task.value for task in tasks]).value
    return (
        f"{len(tasks)} tasks ({scope}; {chained} with dependencies) are planned. Review after every task (per-batch) "
        f"or once at the end (single-final)? Advised: {advised}."
    )


def leave_lean(stage: Stage) -> WorkflowState:
    """Start a lean run that turned out to be larger again on the full path, without its plan."""
    stage.mode = Mode.FULL
    stage.store.remove(TASKS)
    stage.save(lambda status: status.update(retry_counts={}))
    stage.memory.changed.clear()
    stage.memory.required.clear()
    return S.INTAKE


# --------------------------------------------------------------------------------------------------------- implementing


class GateOutcome(Enum):
    """What became of a gate of a task."""

    PASSED = "passed"
    REPAIRED = "repaired"  # something was changed, so the gate is still to be passed
    AGAIN = "again"  # nothing was changed, and it is still to be passed
    DROPPED = "dropped"  # the task was given up


def implement(stage: Stage) -> Step:
    """Implement all tasks, from whatever status they have."""
    while (task := _next_task(stage)) is not None:
        built = _build(stage, task)
        if isinstance(built, Err):
            return built
        if built.value is S.INTAKE:
            return built
    _drop_unreachable(stage)
    if stage.mode is Mode.LEAN:
        return Ok(S.INTEGRATE)
    single = stage.strategy is Strategy.SINGLE_FINAL
    passed = _combined_pass(stage) if single else _final_review(stage)
    if isinstance(passed, Err):
        return passed
    if single:
        for task in stage.store.tasks():
            if task.status == T.IMPLEMENTED:
                _promote(stage, task)
    return Ok(S.INTEGRATE)


def _next_task(stage: Stage) -> Task | None:
    """Return the first task of the plan that is not done and whose dependencies are."""
    tasks = stage.store.tasks()
    done = [status.value for status in machine.done_statuses(stage.strategy)]
    finished = {task.id for task in tasks if task.status in done}
    return next(
        (
            task
            for task in tasks
            if is_task_id(task.id)
            and task.id not in finished
            and not _is_given_up(stage, task)
            and all(needed in finished for needed in task.strings("depends_on"))
        ),
        None,
    )


def _is_given_up(stage: Stage, task: Task) -> bool:
    issues = strings_of(stage.status.get("known_issues"))
    return task.status == T.BLOCKED and any(task.id in task_ids_in(issue) for issue in issues)


def _drop_unreachable(stage: Stage) -> None:
    """Drop every task that depends on one that was dropped, and record it as a known issue."""
    done = (T.IMPLEMENTED.value, T.COMPLETED.value)
    for task in stage.store.tasks():
        if task.status not in done and not _is_given_up(stage, task) and is_task_id(task.id):
            stage.add_issue(f"{task.id} left out: it depends on {', '.join(task.strings('depends_on'))}")
            stage.move_task(task.id, T.BLOCKED)


def _build(stage: Stage, task: Task) -> Step:
    """Implement one task and, unless all are reviewed at the end, review and promote it."""
    if task.status != T.IMPLEMENTED:
        coded = dispatch(stage, A.CODER, task.id)
        if isinstance(coded, Err):
            return coded
        if leaves_lean(stage, A.CODER, coded.value):
            return Ok(leave_lean(stage))
        _ensure_implemented(stage, task.id)
    if stage.strategy is Strategy.SINGLE_FINAL:
        return Ok(stage.state)
    agents = [A.REVIEWER, *_required_gates(stage, task)]
    for agent in agents:
        passed = _pass(stage, agent, task.id)
        if isinstance(passed, Err):
            return passed
        if passed.value is GateOutcome.DROPPED:
            return Ok(stage.state)
    _promote(stage, task)
    return Ok(stage.state)


def _ensure_implemented(stage: Stage, ident: str) -> None:
    """Mark a task as implemented if the Coder replied OK and did not update the plan."""
    for status in (T.IN_PROGRESS, T.IMPLEMENTED):
        now = stage.task(ident).status
        if now != T.IMPLEMENTED and now != status:
            stage.move_task(ident, status)


def _required_gates(stage: Stage, task: Task) -> list[AgentName]:
    sensitive = stage.flags.sensitive or ()
    needed = [
        *([A.QA] if machine.needs_qa(task.value) else []),
        *([A.SECURITY] if machine.needs_security(task.value, sensitive) else []),
    ]
    stage.memory.required[task.id] = [agent.value for agent in needed]
    return needed


def _promote(stage: Stage, task: Task) -> None:
    stage.memory.required.setdefault(task.id, [])
    stage.move_task(task.id, T.COMPLETED)


def _final_review(stage: Stage) -> Ok[None] | Err[Halt]:
    """Send those who did not have to review any task over all of them, and have one review of the whole."""
    tasks = [task.value for task in _kept(stage)]
    sensitive = stage.flags.sensitive or ()
    agents = []
    if not stage.log.dispatched(A.QA) and not any(map(machine.needs_qa, tasks)):
        agents.append(A.QA)
    if not stage.log.dispatched(A.SECURITY) and not any(machine.needs_security(task, sensitive) for task in tasks):
        agents.append(A.SECURITY)
    for agent in (*agents, A.REVIEWER):
        passed = _pass(stage, agent, META)
        if isinstance(passed, Err):
            return passed
    return Ok(None)


def _kept(stage: Stage) -> list[Task]:
    """Return the tasks that were not given up."""
    return [task for task in stage.store.tasks() if task.status != T.BLOCKED]


def _combined_pass(stage: Stage) -> Ok[None] | Err[Halt]:
    """Let all three review everything once; after a repair they start again."""
    agents = (A.REVIEWER, A.QA, A.SECURITY)
    at = 0
    while at < len(agents):
        judged = _gate(stage, agents[at], META)
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


def _pass(stage: Stage, agent: AgentName, task: str) -> Ok[GateOutcome] | Err[Halt]:
    """Send an agent off until its gate is passed or the task is given up."""
    while True:
        judged = _gate(stage, agent, task)
        if isinstance(judged, Err) or judged.value in (GateOutcome.PASSED, GateOutcome.DROPPED):
            return judged


def _gate(stage: Stage, agent: AgentName, task: str) -> Ok[GateOutcome] | Err[Halt]:
    """Let Reviewer, QA or Security review a task once, and do what follows from it."""
    if (agent, task) in stage.memory.waived:
        return Ok(GateOutcome.PASSED)
    replied = dispatch(stage, agent, task)
    if isinstance(replied, Err):
        return replied
    output = replied.value
    match output.status:
        case OutputStatus.BLOCKED:
            return _refused(stage, agent, task, output)
        case OutputStatus.NEEDS_DECISION:
            return _follow(stage, _decisions(task, output), output, otherwise=GateOutcome.AGAIN)
        case _:
            has_notes = agent is A.REVIEWER and review_verdict(output.summary) == "PASS WITH NOTES"
            if has_notes and stage.flags.ask_on_notes is not False:
                return _follow(stage, [notes(task, _comments(output))], output, otherwise=GateOutcome.PASSED)
            return Ok(GateOutcome.PASSED)


def _refused(stage: Stage, agent: AgentName, task: str, output: AgentOutput) -> Ok[GateOutcome] | Err[Halt]:
    loop = LOOP_OF[agent]
    if stage.repairs(loop, task) < LIMITS.repairs:
        return repair(stage, loop, task, output)
    return _follow(stage, [exhausted(loop, task, output.reason)], output, otherwise=GateOutcome.AGAIN)


def _follow(
    stage: Stage, questions: list[Question], output: AgentOutput, otherwise: GateOutcome
) -> Ok[GateOutcome] | Err[Halt]:
    """Ask, and do what the answers say. The one that asks for work wins over those that let it pass."""
    state = stage.state
    asked = ask(stage, questions)
    if isinstance(asked, Err):
        return asked
    return follow_answers(stage, asked.value, state, output, otherwise)


def follow_answers(
    stage: Stage, outcomes: list[QuestionOutcome], state: WorkflowState, output: AgentOutput, otherwise: GateOutcome
) -> Ok[GateOutcome] | Err[Halt]:
    """Do what the answers lead to; ASK_USER is left for a loop, or for the state it came from."""
    for outcome in outcomes:
        loop = outcome.topic.loop
        if loop is None or outcome.effect not in (Effect.REPAIR, Effect.RESTART):
            continue
        is_spent = stage.repairs(loop, outcome.topic.task) >= LIMITS.repairs
        if outcome.effect is Effect.RESTART or is_spent:
            stage.count_repair(loop, outcome.topic.task, 0)
        return repair(stage, loop, outcome.topic.task, output)
    dropped = [outcome.topic.task for outcome in outcomes if outcome.effect is Effect.DROP]
    waived = bool(outcomes) and all(outcome.effect is Effect.WAIVE for outcome in outcomes)
    stage.enter(state)
    for task in dropped:
        stage.move_task(task, T.BLOCKED)
    return Ok(GateOutcome.DROPPED if dropped else GateOutcome.PASSED if waived else otherwise)


def repair(stage: Stage, loop: FixLoop, task: str, output: AgentOutput) -> Ok[GateOutcome] | Err[Halt]:
    """Run one round of a loop: count it, dispatch the recommended agent, and return."""
    stage.enter(WorkflowState(loop.value))
    stage.count_repair(loop, task, stage.repairs(loop, task) + 1)
    worked = dispatch(stage, repairer(stage, output), task)
    if isinstance(worked, Err):
        return worked
    stage.enter(S.IMPLEMENT_LOOP)
    return Ok(GateOutcome.REPAIRED)


def repairer(stage: Stage, output: AgentOutput) -> AgentName:
    """Return who repairs: the recommended agent if this state has it, or else the first agent of the state."""
    allowed = machine.agents_of(stage.state, stage.mode)
    return output.next_agent if output.next_agent in allowed else allowed[0]


def _decisions(task: str, output: AgentOutput) -> list[Question]:
    medium = [each for each in output.objects("findings") if each.get("severity") == FindingSeverity.MEDIUM]
    return [security(task, str(each.get("description") or "A medium finding.")) for each in medium]


def _comments(output: AgentOutput) -> str:
    comments = items_of(output.artifacts.get("review_comments"))
    texts = [item if type(item) is str else str(members_of(item).get("message")) for item in comments]
    return " ".join(texts) or "None are written down."


# ----------------------------------------------------------------------------------------------- building and releasing


def integrate(stage: Stage) -> Step:
    if stage.mode is Mode.FULL:
        replied = dispatch(stage, A.INTEGRATOR, META)
        if isinstance(replied, Err):
            return replied
    failed = run_checks(stage)
    if isinstance(failed, Err):
        return failed
    if failed.value:
        return _failed_build(stage, failed.value)
    if stage.mode is Mode.FULL:
        return Ok(S.RELEASE)
    issues = strings_of(stage.status.get("known_issues"))
    written = stage.write_file("report.md", minimal.report(issues).encode("utf-8", "surrogatepass"))
    return written if isinstance(written, Err) else Ok(S.DONE)


def run_checks(stage: Stage) -> Ok[list[str]] | Err[Halt]:
    """Run the commands of all kept tasks, each once, and store what the build says. Gives those that failed."""
    tasks = _kept(stage)
    commands = list(dict.fromkeys(check for task in tasks for check in task.commands))
    if commands and "run_cmd" not in stage.tools:
        task = tasks[0].id
        text = f"{commands[0]} must pass, but run_cmd is not available"
        cannot = about_task(TeamBlocker.TESTS_NOT_RUNNABLE, task, text, "Provide run_cmd, or waive the checks")
        return Err(blocked(BlockerSlug.AGENT_BLOCKED, cannot))
    failed: list[str] = []
    for check in commands:
        is_ok = stage.check_result(check) is CheckResult.PASS
        stage.log.emit("check_run", check=check, ok=is_ok)
        failed += [] if is_ok else [check]
    build = CiStatus.RED if failed else CiStatus.GREEN if commands else CiStatus.UNKNOWN
    stage.save(lambda status: status.update(last_ci_result=build.value))
    stage.memory.last_failed = failed[0] if failed else None
    return Ok(failed)


def _failed_build(stage: Stage, failed: list[str]) -> Step:
    """Repair a red build, ask about it, or stop. Nothing is released on red, whatever the user accepts."""
    state = stage.state
    if stage.memory.build_waived:
        text = f"the build is red in {state.value}, and the user chose not to repair it"
        red = about_state(TeamBlocker.CI_RED, state, text, f"Make this pass: {failed[0]}")
        return Err(blocked(BlockerSlug.ARTIFACT_INVALID, red))
    if stage.repairs(_BUILD, META) < LIMITS.repairs:
        return Ok(S.FIX_BUILD)
    asked = ask(stage, [exhausted(_BUILD, META, f"{failed[0]} fails.")])
    return asked if isinstance(asked, Err) else Ok(after_build_question(stage, asked.value, state))


def after_build_question(stage: Stage, outcomes: list[QuestionOutcome], state: WorkflowState) -> WorkflowState:
    """Return where an answer about a red build leads; one that names no way accepts it."""
    if any(outcome.effect is Effect.RESTART for outcome in outcomes):
        stage.count_repair(_BUILD, META, 0)
        return S.FIX_BUILD
    stage.memory.build_waived = True
    return state


def fix_build(stage: Stage, *, is_counted: bool = False) -> Step:
    """Run one round of repairs; one that was counted before a break is not counted again."""
    if not is_counted:
        stage.count_repair(_BUILD, META, stage.repairs(_BUILD, META) + 1)
    replied = dispatch(stage, repairer(stage, AgentOutput()), META)
    if isinstance(replied, Err):
        return replied
    if stage.mode is Mode.FULL and repairer(stage, replied.value) is A.CODER:
        # The Integrator found that the code is to blame.
        coded = dispatch(stage, A.CODER, META)
        if isinstance(coded, Err):
            return coded
    return Ok(S.INTEGRATE)


def release(stage: Stage) -> Step:
    # That every criterion is met or waived follows from the tasks: they are completed, or known issues name them.
    documented = dispatch(stage, A.DOCS, META, lambda _: stage.linter.guard("G-RELEASE"))
    if isinstance(documented, Err):
        return documented
    integrated = dispatch(stage, A.INTEGRATOR, META)
    if isinstance(integrated, Err):
        return integrated
    failed = run_checks(stage)
    if isinstance(failed, Err):
        return failed
    return _failed_build(stage, failed.value) if failed.value else Ok(S.DONE)

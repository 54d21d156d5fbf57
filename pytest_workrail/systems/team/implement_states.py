"""IMPLEMENT_LOOP and its repairs: task by task, or all tasks and one pass at the end."""

from __future__ import annotations

from enum import Enum
from typing import Any

from pytest_workrail.systems.team.blockers import Halt
from pytest_workrail.systems.team.design_states import Step, leave_lean
from pytest_workrail.systems.team.dispatch import Output, dispatch, leaves_lean
from pytest_workrail.systems.team.questions import Effect, Question, exhausted, notes, security
from pytest_workrail.systems.team.run_state import Stage
from pytest_workrail.systems.team.user_gate import QuestionOutcome, ask
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.roles import review_verdict
from workrail_lint.systems.team.state_machine import LIMITS, LOOP_OF
from workrail_lint.systems.team.vocabulary import (
    META,
    AgentName,
    FindingSeverity,
    FixLoop,
    Mode,
    OutputStatus,
    Strategy,
    TaskStatus,
    WorkflowState,
    is_member,
    is_task_id,
    items_of,
    members_of,
    strings_of,
    task_ids_in,
)

A = AgentName
S = WorkflowState
T = TaskStatus


class GateOutcome(Enum):
    """What became of a gate of a task."""

    PASSED = "passed"
    REPAIRED = "repaired"  # something was changed, so the gate is still to be passed
    AGAIN = "again"  # nothing was changed, and it is still to be passed
    DROPPED = "dropped"  # the task was given up


def implement(stage: Stage) -> Step:
    """The whole loop, from wherever the tasks stand."""
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
            if task.get("status") == T.IMPLEMENTED:
                _promote(stage, task)
    return Ok(S.INTEGRATE)


def _next_task(stage: Stage) -> dict[str, Any] | None:
    """The first task in the order of the plan that is not done and whose dependencies are."""
    tasks = stage.store.tasks()
    done = [status.value for status in machine.done_statuses(stage.strategy)]
    finished = {task.get("id") for task in tasks if task.get("status") in done}
    return next(
        (
            task
            for task in tasks
            if is_task_id(task.get("id"))
            and task.get("id") not in finished
            and not _is_given_up(stage, task)
            and all(needed in finished for needed in strings_of(task.get("depends_on")))
        ),
        None,
    )


def _is_given_up(stage: Stage, task: dict[str, Any]) -> bool:
    issues = strings_of((stage.store.status() or {}).get("known_issues"))
    return task.get("status") == T.BLOCKED and any(task.get("id") in task_ids_in(issue) for issue in issues)


def _drop_unreachable(stage: Stage) -> None:
    """What depends on a task that was given up can't be done either, and nobody may believe that it was."""
    done = (T.IMPLEMENTED.value, T.COMPLETED.value)
    for task in stage.store.tasks():
        if task.get("status") not in done and not _is_given_up(stage, task) and is_task_id(task.get("id")):
            needed = ", ".join(strings_of(task.get("depends_on")))
            stage.add_issue(f"{task['id']} left out: it depends on {needed}")
            stage.move_task(task["id"], T.BLOCKED)


def _build(stage: Stage, task: dict[str, Any]) -> Step:
    """One task: implemented and, unless all are reviewed at the end, reviewed and promoted."""
    ident = str(task["id"])
    if task.get("status") != T.IMPLEMENTED:
        coded = dispatch(stage, A.CODER, ident)
        if isinstance(coded, Err):
            return coded
        if leaves_lean(stage, A.CODER, coded.value):
            return Ok(leave_lean(stage))
        _ensure_implemented(stage, ident)
    if stage.strategy is Strategy.SINGLE_FINAL:
        return Ok(stage.state)
    agents = [A.REVIEWER, *_required_gates(stage, task)]
    for agent in agents:
        passed = _pass(stage, agent, ident)
        if isinstance(passed, Err):
            return passed
        if passed.value is GateOutcome.DROPPED:
            return Ok(stage.state)
    _promote(stage, task)
    return Ok(stage.state)


def _ensure_implemented(stage: Stage, ident: str) -> None:
    """A Coder that said OK and forgot to say so in the plan: the reply is its word."""
    for status in (T.IN_PROGRESS, T.IMPLEMENTED):
        now = stage.task(ident).get("status")
        if now != T.IMPLEMENTED and now != status:
            stage.move_task(ident, status)


def _required_gates(stage: Stage, task: dict[str, Any]) -> list[AgentName]:
    sensitive = stage.flags.sensitive or ()
    needed = [
        *([A.QA] if machine.needs_qa(task) else []),
        *([A.SECURITY] if machine.needs_security(task, sensitive) else []),
    ]
    stage.memory.required[str(task["id"])] = [agent.value for agent in needed]
    return needed


def _promote(stage: Stage, task: dict[str, Any]) -> None:
    stage.memory.required.setdefault(str(task["id"]), [])
    stage.move_task(str(task["id"]), T.COMPLETED)


def _final_review(stage: Stage) -> Ok[None] | Err[Halt]:
    """After the last batch: whoever never had to look at a task looks at all of it, and one review looks across."""
    tasks = stage.store.tasks()
    sensitive = stage.flags.sensitive or ()
    agents = []
    if not stage.trace.dispatched(A.QA) and not any(map(machine.needs_qa, _kept(tasks))):
        agents.append(A.QA)
    if not stage.trace.dispatched(A.SECURITY) and not any(machine.needs_security(t, sensitive) for t in _kept(tasks)):
        agents.append(A.SECURITY)
    for agent in (*agents, A.REVIEWER):
        passed = _pass(stage, agent, META)
        if isinstance(passed, Err):
            return passed
    return Ok(None)


def _kept(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [task for task in tasks if task.get("status") != T.BLOCKED]


def _combined_pass(stage: Stage) -> Ok[None] | Err[Halt]:
    """One pass of all three over everything; after a repair it starts again."""
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
    """One look of Reviewer, QA or Security at a task, and what follows from it."""
    if (agent, task) in stage.memory.waived:
        return Ok(GateOutcome.PASSED)
    replied = dispatch(stage, agent, task)
    if isinstance(replied, Err):
        return replied
    output = replied.value
    match OutputStatus(output["status"]):
        case OutputStatus.BLOCKED:
            return _refused(stage, agent, task, output)
        case OutputStatus.NEEDS_DECISION:
            return _follow(stage, _decisions(task, output), output, otherwise=GateOutcome.AGAIN)
        case _:
            has_notes = agent is A.REVIEWER and review_verdict(output.get("summary")) == "PASS WITH NOTES"
            if has_notes and stage.flags.ask_on_notes is not False:
                return _follow(stage, [notes(task, _comments(output))], output, otherwise=GateOutcome.PASSED)
            return Ok(GateOutcome.PASSED)


def _refused(stage: Stage, agent: AgentName, task: str, output: Output) -> Ok[GateOutcome] | Err[Halt]:
    loop = LOOP_OF[agent]
    if stage.repairs(loop, task) < LIMITS.repairs:
        return repair(stage, loop, task, output)
    return _follow(stage, [exhausted(loop, task, _reason(output))], output, otherwise=GateOutcome.AGAIN)


def _follow(
    stage: Stage, questions: list[Question], output: Output, otherwise: GateOutcome
) -> Ok[GateOutcome] | Err[Halt]:
    """Ask, and do what the answers say. The one that asks for work wins over those that let it pass."""
    state = stage.state
    asked = ask(stage, questions)
    if isinstance(asked, Err):
        return asked
    return follow_answers(stage, asked.value, state, output, otherwise)


def follow_answers(
    stage: Stage, outcomes: list[QuestionOutcome], state: WorkflowState, output: Output, otherwise: GateOutcome
) -> Ok[GateOutcome] | Err[Halt]:
    """What the answers lead to; ASK_USER is left for a loop, or for the state it came from."""
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


def repair(stage: Stage, loop: FixLoop, task: str, output: Output) -> Ok[GateOutcome] | Err[Halt]:
    """One round of a loop: counted on entry, worked on by whoever was recommended, and back."""
    stage.enter(WorkflowState(loop.value))
    stage.count_repair(loop, task, stage.repairs(loop, task) + 1)
    worked = dispatch(stage, repairer(stage, output), task)
    if isinstance(worked, Err):
        return worked
    stage.enter(S.IMPLEMENT_LOOP)
    return Ok(GateOutcome.REPAIRED)


def repairer(stage: Stage, output: Output) -> AgentName:
    """Who repairs: the recommended agent if this state has it, else the Coder or whom the state has."""
    allowed = machine.agents_of(stage.state, stage.mode)
    wanted = members_of(output.get("next")).get("recommended_agent")
    if is_member(wanted, AgentName) and AgentName(wanted) in allowed:
        return AgentName(wanted)
    return allowed[0]


def _decisions(task: str, output: Output) -> list[Question]:
    found = items_of(members_of(output.get("artifacts")).get("findings"))
    medium = [f for f in found if type(f) is dict and f.get("severity") == FindingSeverity.MEDIUM]
    return [security(task, str(each.get("description") or "A medium finding.")) for each in medium]


def _comments(output: Output) -> str:
    found = items_of(members_of(output.get("artifacts")).get("review_comments"))
    texts = [item if type(item) is str else str(members_of(item).get("message")) for item in found]
    return " ".join(texts) or "None are written down."


def _reason(output: Output) -> str:
    noted = strings_of(members_of(output.get("artifacts")).get("notes"))
    return noted[0] if noted else str(output.get("summary"))

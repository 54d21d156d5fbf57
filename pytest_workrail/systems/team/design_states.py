"""From the request to an approved design and a plan: INTAKE, DESIGN, the two gates, PLAN."""

from __future__ import annotations

from typing import Any, TypeAlias

from pytest_workrail.systems.kernel.run import Blocker, json_bytes
from pytest_workrail.systems.team import minimal_outputs as minimal
from pytest_workrail.systems.team.blockers import Halt, missing
from pytest_workrail.systems.team.dispatch import dispatch
from pytest_workrail.systems.team.questions import info
from pytest_workrail.systems.team.run_state import Stage
from pytest_workrail.systems.team.session import TASKS
from pytest_workrail.systems.team.simulated_agents import AgentOutput
from pytest_workrail.systems.team.user_gate import ask, ask_gate, set_correction
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.vocabulary import (
    APPROVE_DESIGN_ID,
    META,
    REVIEW_STRATEGY_ID,
    AgentName,
    BlockerSlug,
    CorrectionStatus,
    Mode,
    OutputStatus,
    WorkflowState,
    is_text,
    items_of,
)

A = AgentName
S = WorkflowState
Step: TypeAlias = Ok[WorkflowState] | Err[Halt]


def intake(stage: Stage) -> Step:
    replied = dispatch(stage, A.SPEC_AGENT, META, lambda _: stage.linter.guard("G-INTAKE"))
    if isinstance(replied, Err):
        return replied
    if replied.value.next_agent is A.RESEARCHER:
        found = research(stage)
        if isinstance(found, Err):
            return found
    return Ok(S.DESIGN)


def intake_lean(stage: Stage) -> Step:
    replied = dispatch(stage, A.SPEC_AGENT, META, lambda _: stage.linter.guard("G-LEAN"))
    if isinstance(replied, Err):
        if replied.error.slug is not BlockerSlug.SUBAGENT_FAILURE:
            return replied
        return _bootstrap(stage)
    return Ok(S.IMPLEMENT_LOOP)


def _bootstrap(stage: Stage) -> Step:
    """The only work of an agent that the Orchestrator may ever take over: four minimal artifacts."""
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
        found = research(stage)
        if isinstance(found, Err):
            return found
    drawn = dispatch(stage, A.ARCHITECT, META, lambda _: stage.linter.guard("G-DESIGN"))
    if isinstance(drawn, Err):
        return drawn
    if stage.flags.ui:
        shown = dispatch(stage, A.DESIGNER, META, lambda output: _design_spec(stage, output))
        if isinstance(shown, Err):
            return shown
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
    """Who makes this change: the entry of the scenario for it, else the Architect."""
    number = stage.memory.change_requests
    stage.memory.change_requests += 1
    named: Any = (stage.team.corrections or ())[number : number + 1]
    if not named:
        return [A.ARCHITECT]
    return [named[0]] if isinstance(named[0], AgentName) else list(named[0])


def _against_correction(stage: Stage, agent: AgentName, output: AgentOutput) -> list[Blocker]:
    """What is wrong with the artifacts of an agent that corrected the design."""
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
    """How many tasks, what they are, both ways, and which one is advised."""
    tasks = stage.store.tasks()
    scope = ", ".join(task.id for task in tasks)
    chained = sum(1 for task in tasks if items_of(task.value.get("depends_on")))
    advised = machine.advised_strategy([task.value for task in tasks]).value
    return (
        f"{len(tasks)} tasks ({scope}; {chained} with dependencies) are planned. Review after every task (per-batch) "
        f"or once at the end (single-final)? Advised: {advised}."
    )


def leave_lean(stage: Stage) -> WorkflowState:
    """A lean run that turned out to be more starts again on the full path, with nothing of its plan."""
    stage.mode = Mode.FULL
    stage.store.remove(TASKS)
    stage.save(lambda status: status.update(retry_counts={}))
    stage.memory.changed.clear()
    stage.memory.required.clear()
    return S.INTAKE

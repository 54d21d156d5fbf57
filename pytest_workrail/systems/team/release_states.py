"""INTEGRATE, FIX_BUILD and RELEASE: the checks, their repair, and what the user gets."""

from __future__ import annotations

from pytest_workrail.systems.team import minimal_outputs as minimal
from pytest_workrail.systems.team.blockers import Halt, TeamBlocker, about_state, about_task, blocked
from pytest_workrail.systems.team.design_states import Step
from pytest_workrail.systems.team.dispatch import dispatch
from pytest_workrail.systems.team.implement_states import repairer
from pytest_workrail.systems.team.questions import Effect, exhausted
from pytest_workrail.systems.team.run_state import Stage
from pytest_workrail.systems.team.user_gate import QuestionOutcome, ask
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.team.scenario_words import CheckResult
from workrail_lint.systems.team.state_machine import LIMITS
from workrail_lint.systems.team.vocabulary import (
    META,
    AgentName,
    BlockerSlug,
    CiStatus,
    FixLoop,
    Mode,
    TaskStatus,
    WorkflowState,
    strings_of,
)

A = AgentName
S = WorkflowState
_BUILD = FixLoop.FIX_BUILD


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
    issues = strings_of((stage.store.status() or {}).get("known_issues"))
    written = stage.write_file("report.md", minimal.report(issues).encode("utf-8", "surrogatepass"))
    return written if isinstance(written, Err) else Ok(S.DONE)


def run_checks(stage: Stage) -> Ok[list[str]] | Err[Halt]:
    """Run the commands of all kept tasks, each once, and store what the build says. Gives those that failed."""
    tasks = [task for task in stage.store.tasks() if task.get("status") != TaskStatus.BLOCKED]
    checks = [check for task in tasks for check in strings_of(task.get("acceptance_checks"))]
    commands = [check for check in dict.fromkeys(checks) if check.startswith("cmd: ")]
    if commands and "run_cmd" not in stage.tools:
        task = str(tasks[0].get("id"))
        text = f"{commands[0]} must pass, but run_cmd is not available"
        cannot = about_task(TeamBlocker.TESTS_NOT_RUNNABLE, task, text, "Provide run_cmd, or waive the checks")
        return Err(blocked(BlockerSlug.AGENT_BLOCKED, cannot))
    failed: list[str] = []
    for check in commands:
        is_ok = stage.check_result(check) is CheckResult.PASS
        stage.trace.emit("check_run", check=check, ok=is_ok)
        failed += [] if is_ok else [check]
    build = CiStatus.RED if failed else CiStatus.GREEN if commands else CiStatus.UNKNOWN
    stage.save(lambda status: status.update(last_ci_result=build.value))
    stage.memory.last_failed = failed[0] if failed else None
    return Ok(failed)


def _failed_build(stage: Stage, failed: list[str]) -> Step:
    """A red build: repaired, asked about, or the end. Nothing is released on red, whatever the user accepts."""
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
    """Where an answer about a red build leads to; any that does not name a way means to live with it."""
    if any(outcome.effect is Effect.RESTART for outcome in outcomes):
        stage.count_repair(_BUILD, META, 0)
        return S.FIX_BUILD
    stage.memory.build_waived = True
    return state


def fix_build(stage: Stage, *, is_counted: bool = False) -> Step:
    """One round of repairs; a round that was counted before a break is not counted again."""
    if not is_counted:
        stage.count_repair(_BUILD, META, stage.repairs(_BUILD, META) + 1)
    replied = dispatch(stage, repairer(stage, {}), META)
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

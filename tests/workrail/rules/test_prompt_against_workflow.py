"""Prompts that contradict their workflow: what is reported, and what only looks like it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lint_probe import fixed, lint, view

from workrail_lint import check, check_text
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.rules.prompt_control import (
    ApprovalWithoutConfirmation,
    ProseExitInCountedLoop,
    ProseJump,
    ProseRoundsDiffer,
)
from workrail_lint.systems.workrail.rules.prompt_references import (
    ProseFileMissing,
    StepReferenceUnknown,
    ToolUnavailable,
    known_step_ids,
)
from workrail_lint.systems.workrail.rules.prompt_wording import (
    DisplayNameDecorated,
    NumberedTwice,
    PromptLeftover,
    RoleInPrompt,
)
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, loop, step, workflow
from workrail_lint.systems.workrail.settings import Settings
from workrail_lint.systems.workrail.system import WorkRailSystem

OTHERS = (step("collect-data", title="Phase 1: Collect"), step("publish", title="Phase 2: Publish"))


@pytest.mark.parametrize(
    "prompt",
    [
        "If it is empty, jump to step 'publish'.",
        "Otherwise go back to step `collect-data`.",
        "Return to Phase 1.",
        "If drift is found, return to `collect-data`.",
        "Loop back to collect-data when a check fails.",
        "Restart from Phase 1.",
        "- **PIVOT**: return to earlier phase",
        "Go back to the previous step.",
        "Skip ahead to Phase 2.",
        "Skip to step 'publish'.",
        "Skip the remaining steps.",
        "Then skip the next two steps.",
        "Skip the rest of this workflow.",
        "Skip phases 1-2.",
        "In that case steps 2–6 are skipped.",
        "If nothing changed, skip this step.",
        "Skip release review entirely.",
    ],
)
def test_jumps(prompt: str) -> None:
    (finding,) = lint(ProseJump, workflow(*OTHERS, step(prompt=prompt), name="Release Review Workflow"))
    assert finding.pointer == "/steps/2/prompt"
    assert "the engine always continues with the next step" in finding.message


@pytest.mark.parametrize(
    "prompt",
    [
        "Do not jump to step 'publish'.",
        "Never go back to Phase 1.",
        "Return to the user with a summary.",
        "Don't jump to conclusions.",
        "Go back to basics.",
        "Skip the parallel ideation.",
        "Skip files over 1 MB.",
        "```\njump to step 'publish'\n```",
        "The phrase `jump to step 2` is forbidden.",
        "1. Read it.\n2. Note what is open.\n3. If something is, go back to step 2.",
        "**Step 1: Look**\n**Step 2: Note**\nIf it fails, go back to step 1.",
        "Return to published articles.",
        "You can always return to your comfortable level.",
    ],
)
def test_no_jumps(prompt: str) -> None:
    assert lint(ProseJump, workflow(*OTHERS, step(prompt=prompt))) == []


def test_a_number_of_the_titles_is_no_list_number() -> None:
    prompt = "1. Read it.\n2. If it fails, go back to step 1."
    assert lint(ProseJump, workflow(step(prompt=prompt, title="Other"))) == []
    assert len(lint(ProseJump, workflow(step(prompt=prompt, title="Step 1: Read"), step("b", title="Step 2: Go")))) == 1


def test_a_rendered_procedure_has_numbers() -> None:
    blocks = {"goal": "Read.", "procedure": ["Read it.", "Note it.", "If it fails, go back to step 2."]}
    assert lint(ProseJump, workflow(step(prompt=None, promptBlocks=blocks))) == []


def test_what_is_required_as_output_may_name_a_phase() -> None:
    blocks = {"goal": "Read.", "outputRequired": {"gaps": "Any gaps that require to return to Phase 1."}}
    assert lint(ProseJump, workflow(*OTHERS, step(prompt=None, promptBlocks=blocks))) == []


def test_skipping_that_a_condition_does() -> None:
    reader = step("later", runCondition={"var": "isTrivial", "not_equals": True})
    prompt = "Set `isTrivial`. If it is true, skip the remaining steps."
    assert lint(ProseJump, workflow(step(prompt=prompt), reader)) == []
    assert len(lint(ProseJump, workflow(step(prompt="Skip the remaining steps."), reader))) == 1
    when = {"var": "mode", "equals": "deep"}
    assert lint(ProseJump, workflow(step(), step("b", "QUICK: skip this step.", runCondition=when))) == []


@pytest.mark.parametrize(
    ("prompt", "count"),
    [
        ("If nothing is left, leave the loop.", 1),
        ("Stop slice loop immediately.", 1),
        ("Break out of the loop.", 1),
        ("The loop will end when you are satisfied.", 1),
        ("Exit this loop early.", 1),
        ("Do not exit the loop.", 0),
        ("The loop ends after all files are read.", 0),
        ("The loop ends automatically.", 0),
        ("Close the event loop.", 0),
        ("```\nexit the loop\n```", 0),
    ],
)
@pytest.mark.parametrize("kind", ["for", "forEach"])
def test_exits_from_counted_loops(prompt: str, count: int, kind: str) -> None:
    config: dict[str, Any] = {} if kind == "for" else {"type": "forEach", "count": ..., "items": "files"}
    assert len(lint(ProseExitInCountedLoop, workflow(loop(step("inner", prompt), **config)))) == count


def test_other_loops_can_be_left() -> None:
    prompt = "If nothing is left, leave the loop."
    assert lint(ProseExitInCountedLoop, workflow(controlled_loop(step("inner", prompt), decision()))) == []
    assert lint(ProseExitInCountedLoop, workflow(step(prompt=prompt))) == []


@pytest.mark.parametrize(
    ("prompt", "count"),
    [
        ("Run at most 6 rounds.", 1),
        ("Use up to five iterations.", 1),
        ("No more than 4 passes.", 1),
        ("A maximum of 9 cycles.", 1),
        ("Rule: max 5 iterations.", 1),
        ("Run at most 3 rounds.", 0),
        ("Run at most three rounds.", 0),
        ("Not more than that. Up to 5 iterations of the simulation.", 0),
        ("Use up to 2 passes per file.", 0),
        ("Read up to 6 files.", 0),
    ],
)
def test_limits_of_rounds(prompt: str, count: int) -> None:
    document = workflow(controlled_loop(step("inner", prompt), decision()))
    assert len(lint(ProseRoundsDiffer, document)) == count
    assert lint(ProseRoundsDiffer, workflow(step(prompt=prompt))) == []


def test_the_count_is_a_limit_too() -> None:
    inner = step("inner", "Run at most 2 rounds.")
    assert lint(ProseRoundsDiffer, workflow(loop(inner, count=2, maxIterations=5))) == []


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("Use the table from step 'colect-data'.", "did you mean 'collect-data'?"),
        ('Use the table from step "collect_data".', "did you mean 'collect-data'?"),
        ("Use the result of step `gather`.", "there is no step 'gather'"),
        ("Use what the `publsh` step wrote.", "did you mean 'publish'?"),
        ("Use the findings of Phase 1b.", "there is no Phase 1b"),
        ("Execution begins in Phase 6.", "there is no Phase 6"),
        ("Current: Collect (Phase 2)", "Phase 1"),
    ],
)
def test_unknown_steps(prompt: str, said: str) -> None:
    (finding,) = lint(StepReferenceUnknown, workflow(*OTHERS, step(prompt=prompt)))
    assert said in finding.message


@pytest.mark.parametrize(
    "prompt",
    [
        "Use the table from step 'collect-data'.",
        "Use the result of the `publish` step.",
        "Add a step 'deploy' to the plan.",
        "Run the `lint` step of the pipeline.",
        "Look at step 'build' of the CI job.",
        "Use the findings of Phase 1.",
        "Phases 1-2 are done.",
        "This is analysis phase 3 of 5.",
        "Plan the Rollout Phase 3 carefully.",
        "Phase 7: Look\nPhase 8: Note\nIn Phase 7, read.",
        "```\nstep 'gone'\n```",
        "There is no step 'gone'. Do not look for step 'gone'.",
        "Collect (Phase 1)",
    ],
)
def test_known_steps(prompt: str) -> None:
    assert lint(StepReferenceUnknown, workflow(*OTHERS, step(prompt=prompt))) == []


def test_phases_count_only_where_titles_number_them() -> None:
    assert lint(StepReferenceUnknown, workflow(step(prompt="Use the findings of Phase 6."))) == []


def test_steps_of_a_routine_are_known() -> None:
    call = step("gather", None, templateCall={"templateId": "wr.templates.routine.ideation", "args": {}})
    assert known_step_ids(view(workflow(step(), call))) > {"gather", "first-step"}


@pytest.mark.parametrize(
    ("prompt", "tools"),
    [
        ("Call workflow_next with the context.", ["workflow_next"]),
        ("Use `workflow_list` and `workflow_get`.", ["workflow_list", "workflow_get"]),
        ("Validate with workflow_validate_json.", ["workflow_validate_json"]),
        ("Emit it via complete_step's artifacts.", ["complete_step"]),
        ("Emit it (complete_step in daemon sessions, continue_workflow in MCP sessions).", []),
        ("Never call workflow_next.", []),
        ("```\nworkflow_next\n```", []),
        ("The workflow_nextness of it.", []),
        ("Set these keys in the next `continue_workflow` call.", []),
    ],
)
def test_tools(prompt: str, tools: list[str]) -> None:
    found = lint(ToolUnavailable, workflow(step(prompt=prompt)))
    assert [tool for finding in found for tool in tools if f"'{tool}'" in finding.message] == tools
    assert len(found) == len(tools)


def test_a_tool_is_reported_once_per_file() -> None:
    prompts = [step(f"s-{n}", "Call workflow_next.") for n in range(3)]
    (finding,) = lint(ToolUnavailable, workflow(*prompts))
    assert "in 2 other places" in finding.message


def test_internal_workflows_know_their_host() -> None:
    document = workflow(step(prompt="Call complete_step."))
    assert lint(ToolUnavailable, document, "workflows/internal/a.json") == []
    assert len(lint(ToolUnavailable, document, "workflows/internal.json")) == 1


@pytest.mark.parametrize(
    ("prompt", "severity"),
    [
        ("Pause until the user approves the text.", Severity.WARNING),
        ("Wait for user approval.", Severity.WARNING),
        ("Wait for explicit human approval before you go on.", Severity.WARNING),
        ("Get the owner's sign-off.", Severity.WARNING),
        ("Ask for approval from the team lead.", Severity.WARNING),
        ("Wait until the reviewer has signed off.", Severity.WARNING),
        ("If the risk is high, wait for user approval.", Severity.INFO),
        ("If the risk is high:\n- get user approval", Severity.INFO),
        ("Do not wait for user approval.", None),
        ("Note whether the approval of the design is on file.", None),
        ("Ask the user which option fits.", None),
        ("The approved plan is in the notes.", None),
    ],
)
def test_approvals(prompt: str, severity: Severity | None) -> None:
    found = lint(ApprovalWithoutConfirmation, workflow(step(prompt=prompt)))
    assert [finding.severity for finding in found] == ([severity] if severity else [])
    for rule in (True, {"var": "x"}):
        assert lint(ApprovalWithoutConfirmation, workflow(step(prompt=prompt, requireConfirmation=rule))) == []


@pytest.mark.parametrize(
    ("prompt", "is_left"),
    [
        ("FIXME: name the site.", True),
        ("Publish it. TODO add the address.", True),
        ("Use the format (TBD).", True),
        ("The limit is TBD.", True),
        ("XXX this is wrong.", True),
        ("Publish it. <!-- which site? -->", True),
        ("// v2\nPublish it.", True),
        ("Greet [insert name here] first.", True),
        ("No TBD verdicts allowed.", False),
        ("Find TODO and FIXME comments.", False),
        ("Note TODO/FIXME/HACK comments.", False),
        ('Are there any "TBD" or "TODO" items?', False),
        ("Known Issues / TODOs", False),
        ("TODO items: list them.", False),
        ("Remove every TODO.", False),
        ("Leave no FIXME behind.", False),
        ("Mark open points as TBD.", False),
        ("Use the branch acei-XXX.", False),
        ("Write `TODO` there.", False),
        ("```\nTODO: x\n```", False),
        ("Read https://example.org/v2.", False),
        ("Make a to-do list, todo by todo.", False),
    ],
)
def test_leftovers(prompt: str, is_left: bool) -> None:
    assert bool(lint(PromptLeftover, workflow(step(prompt=prompt)))) is is_left


def test_numbers_in_a_procedure_are_reported_once_per_file() -> None:
    def blocks(*items: str) -> dict[str, Any]:
        return step(f"s-{len(items)}", None, promptBlocks={"goal": "Read.", "procedure": list(items)})

    document = workflow(blocks("1. Read.", "2) Note.", "3 files are enough."), blocks("1. Go.", "5. Not its own."))
    (finding,) = lint(NumberedTwice, document)
    assert finding.pointer == "/steps/0/promptBlocks/procedure/0"
    mended = json.loads(fixed(finding, document))
    assert mended["steps"][0]["promptBlocks"]["procedure"] == ["Read.", "Note.", "3 files are enough."]
    assert mended["steps"][1]["promptBlocks"]["procedure"] == ["Go.", "5. Not its own."]


@pytest.mark.parametrize(
    ("prompt", "count"),
    [
        ("**Agent's Role:** You guide the user.", 1),
        ("Look.\n\nYour role: a reviewer.", 1),
        ("Describe your role: what you do.", 0),
        ("Your role is to look.", 0),
    ],
)
def test_roles(prompt: str, count: int) -> None:
    assert [f.severity for f in lint(RoleInPrompt, workflow(step(prompt=prompt)))] == [Severity.WARNING] * count
    with_role = workflow(step(prompt=prompt, agentRole="You review."))
    assert [f.severity for f in lint(RoleInPrompt, with_role)] == [Severity.INFO] * count


@pytest.mark.parametrize(
    ("name", "is_decorated"),
    [
        ("Bug Investigation (v2 • Notes-First)", True),
        ("Review | Deep", True),
        ("Review (v2)", True),
        ("Review (Quality Gate v2)", True),
        ("Review (1.2)", True),
        ("Review (Lean)", False),
        ("Review of v2 endpoints", False),
        ("Review (2 passes)", False),
    ],
)
def test_names(name: str, is_decorated: bool) -> None:
    assert bool(lint(DisplayNameDecorated, workflow(name=name))) is is_decorated


@pytest.mark.parametrize(
    ("prompt", "is_missing"),
    [
        ("Read docs/gone.md first.", True),
        ("Follow the rules in docs/gone.md.", True),
        ("Consult `docs/gone.md`.", True),
        ("Read docs/here.md first.", False),
        ("Read docs/gone.md if it exists.", False),
        ("Follow any rules in docs/gone.md.", False),
        ("Read notes.md first.", False),
        ("Read docs/<name>.md first.", False),
        ("Do not read docs/gone.md.", False),
        ("Read https://example.org/docs/gone.md.", False),
        ("Write docs/made.md, then read docs/made.md.", False),
        ("Read ../outside/gone.md.", False),
    ],
)
def test_files(prompt: str, is_missing: bool, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "here.md").write_text("Here.\n")
    document = workflow(step(prompt=prompt))
    assert bool(lint(ProseFileMissing, document, workspace=str(tmp_path))) is is_missing
    assert lint(ProseFileMissing, document) == []


def test_a_result_names_the_other_files_it_depends_on(tmp_path: Path) -> None:
    gone = {str(tmp_path / "docs" / "gone.md"): False}
    for prompt, consulted in (("Read docs/gone.md first.", gone), ("Read it first.", {})):
        settings = Settings(load_core(), workspace=str(tmp_path))
        result = WorkRailSystem().check(
            "workflows/a.json", json.dumps(workflow(step(prompt=prompt))), "workflow", settings
        )
        assert (result.cacheable, result.consulted) == (True, consulted)


# --------------------------------------------------------------------------------------------- workflows


def named(prompts: list[str], folder: Path, *others: dict[str, Any]) -> list[tuple[str, Severity]]:
    """What a whole project, of one workflow with some prompts and others, is told about the workflows they name."""
    (folder / "workflows").mkdir()
    first = workflow(*(step(f"s-{n}", prompt) for n, prompt in enumerate(prompts)))
    for number, document in enumerate((first, *others)):
        (folder / "workflows" / f"{number}.json").write_text(json.dumps(document))
    found = check([folder]).findings
    return [(f.message, f.severity) for f in found if f.name == "workflow-reference-unknown"]


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("Spawn an Executor running `routine-ideation`.", "did you mean 'wr.routine-ideation'?"),
        ("Run the 'Ideation Routine' workflow.", "write 'wr.routine-ideation'"),
        ("Use workflowId='demo.gone' for it.", "workflow 'demo.gone' was not found in the checked folders"),
        ("Execute the `demo.gone` workflow.", "workflow 'demo.gone' was not found"),
        ("Start the 'Second One' workflow.", "write 'demo.second'"),
    ],
)
def test_unknown_workflows(prompt: str, said: str, tmp_path: Path) -> None:
    ((message, severity),) = named([prompt, prompt], tmp_path, workflow(id="demo.second", name="Second One"))
    assert said in message
    assert severity is Severity.WARNING


@pytest.mark.parametrize(
    "prompt",
    [
        "Spawn an Executor running `wr.routine-ideation`.",
        "Execute the `demo.second` workflow.",
        "Do not run `routine-ideation`.",
        "```\nPlease execute the 'Ideation Routine' workflow.\n```",
        "A routine-based look.",
        "Submit a `wr.review_verdict` artifact.",
        "Run the real workflow.",
    ],
)
def test_known_workflows(prompt: str, tmp_path: Path) -> None:
    assert named([prompt], tmp_path, workflow(id="demo.second")) == []


def test_what_was_not_looked_at_is_not_called_unknown(tmp_path: Path) -> None:
    """A bundled workflow may be there at run time, and a single file shows nothing about its neighbours."""
    ((_, severity),) = named(["Spawn an Executor running `wr.some-workflow`."], tmp_path)
    assert severity is Severity.INFO
    alone = check_text(json.dumps(workflow(step(prompt="Execute the `demo.gone` workflow."))), "workflows/a.json")
    assert [f.severity for f in alone.findings if f.name == "workflow-reference-unknown"] == [Severity.INFO]

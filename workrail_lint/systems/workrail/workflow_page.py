"""A workflow as a Markdown page for people: what it is for, what it needs, what runs when, and what comes out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from workrail_lint.base.wording import counted, listed
from workrail_lint.systems.drawing.flowchart import mermaid, times
from workrail_lint.systems.drawing.texts import clean
from workrail_lint.systems.workrail.analysis.analysis import Analysis
from workrail_lint.systems.workrail.graph.texts import condition_text
from workrail_lint.systems.workrail.graph.tree import structure
from workrail_lint.systems.workrail.model.ir import (
    BodyProgramStep,
    ConditionalConfirmation,
    CountSource,
    EveryConfirmation,
    ItemsSource,
    LoopArtifact,
    LoopCondition,
    NoConfirmation,
    NoSource,
    Program,
    ProgramStep,
    PromptStep,
    RepeatingStep,
    Repetition,
)

MARK = "<!-- Written by workrail-lint docs. Edit the workflow, then run it again. -->"
_MARKUP = re.compile(r"[\\`*_\[\]<>|#~]")
_GATES = {"human_approval": "a person", "coordinator_eval": "the coordinator"}


def workflow_page(program: Program, analysis: Analysis) -> str:
    """Return the page of a workflow. Same workflow, same bytes."""
    sections = [
        [MARK, f"# {plain(program.name)}", plain(program.description)],
        [f"Id {_code(program.workflow_id)}, version {_code(program.version)}, {program.kind}."],
        _purpose(program),
        _needs(program, analysis),
        ["## What runs when", f"```mermaid\n{mermaid(structure(program, analysis)).rstrip()}\n```"],
        _steps(program, analysis),
        _outputs(program),
        _modes(program),
    ]
    return "\n\n".join(text for section in sections for text in section if text) + "\n"


def plain(text: str) -> str:
    """Return a text of the author on one line of Markdown, where nothing in it is markup."""
    return _MARKUP.sub(lambda match: f"\\{match[0]}", clean(text))


def _code(text: str) -> str:
    return f"`{clean(text).replace('`', chr(39))}`"


def _bullets(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def _purpose(program: Program) -> list[str]:
    if program.about is None and not program.examples:
        return []
    paragraphs = [plain(part) for part in re.split(r"\n\s*\n", program.about or "") if part.strip()]
    examples = (
        [f"It is meant for goals such as:\n\n{_bullets(map(plain, program.examples))}"] if program.examples else []
    )
    return ["## When to use it", *paragraphs, *examples]


def _needs(program: Program, analysis: Analysis) -> list[str]:
    rows = []
    for name, given in sorted(analysis.inputs.items()):
        values = ", ".join(_code(str(value)) for value in given.values)
        rows.append(f"{_code(name)}{f': {values}' if values else ''} (input)")
    rows += [plain(text) for text in program.preconditions]
    rows += [f"capability {_code(name)} ({level})" for name, level in program.capabilities.items()]
    for reference in program.references:
        weight = " (authoritative)" if reference.authoritative else ""
        rows.append(f"document {_code(reference.source)}: {plain(reference.title)}{weight}")
    return ["## What it needs", _bullets(rows) if rows else "Nothing but a goal."]


def _steps(program: Program, analysis: Analysis) -> list[str]:
    return ["## Steps", *_step_texts(program.steps, "", _variables_set(analysis))]


def _step_texts(
    steps: Iterable[ProgramStep | BodyProgramStep], prefix: str, sets: dict[str, list[str]]
) -> Iterator[str]:
    for number, step in enumerate(steps, 1):
        label = f"{prefix}{number}"
        yield f"### {label}. {plain(step.title)}"
        yield _bullets(_facts(step, sets.get(step.id, [])))
        if isinstance(step, RepeatingStep):
            yield from _step_texts(step.body, f"{label}.", sets)


def _facts(step: ProgramStep | BodyProgramStep, sets: list[str]) -> Iterator[str]:
    yield f"id: {_code(step.id)}"
    if step.run_condition is not None:
        yield f"runs if {plain(condition_text(step.run_condition))}"
    match step.confirmation:
        case EveryConfirmation(gate=gate):
            yield f"waits for {_GATES.get(gate, gate)} to approve"
        case ConditionalConfirmation(gate=gate, condition=condition):
            yield f"waits for {_GATES.get(gate, gate)} to approve if {plain(condition_text(condition))}"
        case NoConfirmation():
            pass
    if isinstance(step, RepeatingStep):
        yield f"repeats {_repetition(step.loop)}, {times(step.loop.max_iterations)} at most"
        return
    if isinstance(step, PromptStep):
        first = next((line for line in step.prompt.splitlines() if line.strip(" #*-")), "")
        yield f"asks: {plain(first)}"
        submitted = list(_submitted(step))
        yield f"submits {listed(submitted)}" if submitted else "submits nothing that is required"
    else:
        yield f"delegates to {listed(_code(each.workflow_id) for each in step.delegations) or 'nobody'}"
    if sets:
        yield f"sets {listed(map(_code, sets))}"


def _submitted(step: PromptStep) -> Iterator[str]:
    if step.notes == "required":
        yield "notes"
    if step.output.contract is not None:
        yield f"an artifact of {_code(step.output.contract.ref)}" + (
            "" if step.output.contract.required else " if there is one"
        )
    if step.output.assessments is not None:
        yield f"assessment {listed(map(_code, step.output.assessments.refs))}"
    if step.output.criteria is not None:
        yield "what its validation criteria ask for"


def _repetition(loop: Repetition) -> str:
    until = loop.kind == "until"
    match loop.source:
        case CountSource(count=count, variable=variable):
            return f"as often as {_code(variable)} says" if count is None and variable else times(count or 0)
        case ItemsSource(variable=variable):
            return f"for each item of {_code(variable)}"
        case LoopCondition(condition=condition):
            return f"{'until' if until else 'while'} {plain(condition_text(condition))}"
        case LoopArtifact(contract_ref=ref):
            return f"until an artifact of {_code(ref)} says stop"
        case NoSource():
            return "never"


def _variables_set(analysis: Analysis) -> dict[str, list[str]]:
    """Return the variables that each step sets by what its prompt says, by the id of the step."""
    result: dict[str, list[str]] = {}
    for name in sorted(analysis.by_name):
        for setter in analysis.each_setter(name):
            if setter.step is not None:
                names = result.setdefault(analysis.steps[setter.step].id, [])
                if name not in names:
                    names.append(name)
    return result


def _outputs(program: Program) -> list[str]:
    steps = [each for top in program.steps for each in ((*top.body,) if isinstance(top, RepeatingStep) else (top,))]
    rows = [
        f"{_code(step.output.contract.ref)} from step {_code(step.id)}"
        for step in steps
        if isinstance(step, PromptStep) and step.output.contract is not None
    ]
    return ["## What comes out", _bullets(rows) if rows else "The notes of its steps."]


def _modes(program: Program) -> list[str]:
    steps = [each for top in program.steps for each in (top, *(top.body if isinstance(top, RepeatingStep) else ()))]
    waiting = [step for step in steps if not isinstance(step.confirmation, NoConfirmation)]
    if waiting:
        names = listed(_code(step.id) for step in waiting)
        text = (
            f"{counted(len(waiting), 'step')} can wait for approval: {names}. A guided run asks there. A run without a "
            "person stops there, or goes on and records a gap, depending on its autonomy."
        )
    else:
        text = "No step waits for approval, so a guided run and one without a person take the same way."
    preferences = program.recommended_preferences
    recommended = [
        f"{noun} {_code(value)}"
        for noun, value in (
            ("autonomy", preferences.recommended_autonomy if preferences else None),
            ("risk policy", preferences.recommended_risk_policy if preferences else None),
        )
        if value is not None
    ]
    return ["## Modes", text, f"The author recommends {listed(recommended)}." if recommended else ""]

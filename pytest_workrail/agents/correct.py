"""The automatic agent: the smallest valid answer to a step, and the context that a run has to start with.

It sets the variables that a prompt asks for, and of others as few as possible, to plain values.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pytest_workrail.agents.agent import Action, Agent, StartView, StepView, Stop, Submit
from pytest_workrail.agents.values import fitting_notes, smallest
from pytest_workrail.engine.core.full_auto import asked_of_user, disclosure
from pytest_workrail.engine.core.index import (
    ASSESSMENT_KIND,
    CAPABILITY_OBSERVATION,
    LOOP_CONTROL_KIND,
    ContractPack,
    IrIndex,
)
from pytest_workrail.engine.core.interpreter import Selection, find_question
from pytest_workrail.engine.core.loops import loop_variables
from pytest_workrail.engine.core.outcomes import (
    InterpreterError,
    InvalidLoopControl,
    LoopReportError,
    LoopUnset,
    LoopVariableUnset,
    MaxIterationsExceeded,
    MissingContext,
    MissingLoopControl,
)
from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.core.prompts import render_context
from pytest_workrail.engine.protocol.requests import merged
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.analysis.inputs import declared_inputs
from workrail_lint.systems.workrail.catalog.contracts import validate_artifact
from workrail_lint.systems.workrail.model.ir import (
    CountSource,
    ItemsSource,
    LoopArtifact,
    LoopCondition,
    ProgramStep,
    RepeatingStep,
)
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL
from workrail_lint.systems.workrail.model.workflow import Condition
from workrail_lint.systems.workrail.solver import Wish

# How often an answer is mended before it is submitted as it is. Each round settles one loop.
MAX_ROUNDS = 50


def solve(
    condition: Condition | None,
    wanted: bool,
    context: Mapping[str, Any],
    shadowed: Mapping[str, Any],
    kept: Collection[str] = (),
) -> dict[str, Json] | None:
    """Return a change to the context after which the condition comes out as wanted; None when none was found.

    `shadowed` are values that lie on top of the context whatever is set in it, such as a loop's own variables;
    `kept` are variables that must stay as they are. A change to null removes a variable.
    """
    return solve_all([(condition, wanted)], context, shadowed, kept)


def solve_all(
    wishes: Sequence[Wish],
    context: Mapping[str, Any],
    shadowed: Mapping[str, Any],
    kept: Collection[str] = (),
) -> dict[str, Json] | None:
    """Return a change to the context after which every one of these conditions comes out as wanted."""
    from pytest_workrail.agents.solving import agent_solver  # few runs have to bring a condition about

    return agent_solver().solve(wishes, context, shadowed, kept).change


def correct_answer(view: StepView, context: dict[str, Json] | None = None) -> Submit:
    """Return the smallest answer to the pending step that the engine accepts; `context` is set with it in any case."""
    answer = with_next_step_needs(view, Submit(notes_of(view, context), artifacts_of(view), context))
    # What was set for a loop can decide which of the criteria apply.
    return replace(answer, notes=notes_of(view, answer.context)) if answer.context else answer


def notes_of(view: StepView, context: Mapping[str, Json] | None = None) -> str | None:
    """Notes where they are asked for, and none elsewhere. `context` is what is submitted with them."""
    step = view.step
    plain = f"Done: {view.step_id}."
    if step.contract is not None:
        return None
    if step.criteria is None:
        return plain if step.requires_notes else None

    fitting = fitting_notes(step.criteria, view.merged(context), plain)
    if fitting is not None or step.assessments is None:
        return fitting or plain
    # Beside assessments the criteria decide nothing; only notes that are missing would.
    return plain if step.requires_notes else None


def artifacts_of(view: StepView) -> tuple[Json, ...]:
    """Return what the step must submit besides notes: one artifact for its contract, or one for each assessment."""
    contract = view.step.contract
    if contract is None:
        return (*assessment_artifacts(view), *disclosures(view))
    artifact = contract_artifact(view, contract.ref) if contract.required else None
    return (*(() if artifact is None else (artifact,)), *disclosures(view))


def disclosures(view: StepView) -> Iterator[Json]:
    """Yield what the agent discloses in the user's place, in a run that never stops: one artifact for each question."""
    seen = render_context(view.loop, view.instance.loop_path, view.context)
    for question in asked_of_user(view.step, seen, view.preferences, view.profile):
        yield disclosure(view.step_id, f"Assumed an answer to: {question.sentence}")


def contract_artifact(view: StepView, ref: str) -> dict[str, Json] | None:
    """Return the smallest artifact that meets a contract at this step; None when the IR has no such pack."""
    pack = view.program.index.packs.get(ref)
    if pack is None:
        return None
    # Two contracts are about more than their form: a loop has to end, and a capability to be there.
    specific: dict[str, Json] | None = None
    if ref == LOOP_CONTROL and view.loop is not None:
        specific = loop_decision(view.profile, view.loop, "stop")
    elif ref == CAPABILITY_OBSERVATION:
        capability = view.step.probed_capability
        specific = observation(capability or "web_browsing", "available", _proof(capability))
    return specific if specific is not None and not pack.issues(specific) else smallest_artifact(pack)


def smallest_artifact(pack: ContractPack) -> dict[str, Json] | None:
    """Return the smallest artifact of a kind."""
    value = smallest(pack.schema, lambda schema, candidate: not validate_artifact(schema, candidate))
    return value if isinstance(value, dict) else None


def loop_decision(profile: Profile, loop: RepeatingStep, decision: str) -> dict[str, Json]:
    """Return a decision about a loop; it names the loop where that matters."""
    artifact: dict[str, Json] = {"kind": LOOP_CONTROL_KIND, "decision": decision}
    return {**artifact, "loopId": loop.id} if _names_loop(profile) else artifact


def _names_loop(profile: Profile) -> bool:
    match profile.loop_id:
        case "ignore":
            return False
        case "match":
            return True


def observation(capability: str, status: str, provenance: dict[str, Json]) -> dict[str, Json]:
    """Return what was seen of a capability."""
    return {
        "kind": "wr.capability_observation",
        "capability": capability,
        "status": status,
        "provenance": provenance,
    }


def _proof(probed: str | None) -> dict[str, Json]:
    """Report a probe only where one was asked for; elsewhere the capability was simply used."""
    return {"kind": "attempted_use" if probed is None else "probe_step", "result": "success"}


def assessment_artifacts(view: StepView, choose: Mapping[str, str] | None = None) -> Iterator[dict[str, Json]]:
    """Yield an artifact for each assessment of the step, at levels that set nothing off.

    `choose` gives levels by dimension, to be taken as they are.
    """
    asked = view.step.assessments
    if asked is None:
        return
    declared = {assessment.id: assessment for assessment in view.program.definition.assessments}
    for ref in asked.refs:
        alarms = {
            consequence.when.any_equals_level
            for consequence in asked.consequences
            if consequence.when.for_assessment in (None, ref)
        }
        required = [each for each in declared[ref].dimensions if each.required is not False]
        # An assessment without any dimension is no valid one, so one that may be left out is answered then.
        levels: dict[str, Json] = {
            each.id: (choose or {}).get(each.id) or _harmless_level(each.levels, alarms)
            for each in required or declared[ref].dimensions[:1]
        }
        yield {
            "kind": ASSESSMENT_KIND,
            **({"assessmentId": ref} if len(asked.refs) > 1 else {}),
            "dimensions": levels,
        }


def _harmless_level(levels: Sequence[str], alarms: set[str]) -> str:
    return next((level for level in levels if level not in alarms), levels[0])


# --------------------------------------------------------------------------------------------------- what comes next


def with_next_step_needs(view: StepView, answer: Submit) -> Submit:
    """Return the answer, with what the next selection needs: variables of loops, and decisions that end them."""
    for _ in range(MAX_ROUNDS):
        mended = _improved(view, answer)
        if mended is None:
            return answer
        answer = mended
    return answer


def _improved(view: StepView, answer: Submit) -> Submit | None:
    """Return a better answer, or None when this one will do or nothing helps."""
    match view.predict(answer):
        case Err(error):
            mended = _after_error(view, answer, error)
            if mended is not None or not view.preferences.never_stops:
                return mended
            # Such a run goes past what can't be helped, and may lack something behind it.
            passed = view.predict(answer, never_stop=True)
            if isinstance(passed, Err):
                return _after_error(view, answer, passed.error)
            unset = next((each for each in passed.value.passed if isinstance(each, LoopUnset)), None)
            return None if unset is None else _changed(answer, needed_variables(view.program.index, unset.step_id))
        case Ok(selection) if view.loop is not None and _repeats_loop(view, selection):
            return _ended(view, answer, view.loop, view.instance.loop_path[-1].iteration + 1)
        case Ok(selection) if selection.is_complete:
            return _not_yet_complete(view, answer, selection)
        case _:
            return None


def _not_yet_complete(view: StepView, answer: Submit, selection: Selection) -> Submit | None:
    """Return the answer with the variables that steps still wait for, so that no step is left out for want of them."""

    def select(patch: Mapping[str, Json]) -> Ok[Selection] | Err[InterpreterError]:
        return view.predict(replace(answer, context={**(answer.context or {}), **patch}))

    question = find_question(selection, view.merged(answer.context), frozenset(), select)
    return None if question is None else _changed(answer, question.patch)


def _repeats_loop(view: StepView, selection: Selection) -> bool:
    """Return whether the loop the step stands in would start another iteration."""
    if selection.step is None or not view.instance.loop_path or not selection.step.loop_path:
        return False
    here, there = view.instance.loop_path[-1], selection.step.loop_path[-1]
    return here.loop_id == there.loop_id and there.iteration > here.iteration


def _after_error(view: StepView, answer: Submit, error: InterpreterError) -> Submit | None:
    match error:
        case MissingContext(loop_id=loop_id) | LoopVariableUnset(loop_id=loop_id):
            return _changed(answer, needed_variables(view.program.index, loop_id))
        case MaxIterationsExceeded(loop_id=loop_id, iteration=iteration):
            return _ended(view, answer, view.program.index.loops[loop_id], iteration)
        case MissingLoopControl(loop_id=loop_id) | InvalidLoopControl(loop_id=loop_id):
            return _stopped(view, answer, view.program.index.loops[loop_id])
        case _:
            return None


def _changed(answer: Submit, change: Mapping[str, Json] | None) -> Submit | None:
    if not change:
        return None
    mended = replace(answer, context={**(answer.context or {}), **change})
    return None if mended == answer else mended


def _ended(view: StepView, answer: Submit, loop: RepeatingStep, iteration: int) -> Submit | None:
    """Return the answer with whatever keeps a loop from starting an iteration; a fixed count can't be helped."""
    context = view.merged(answer.context)
    is_last = iteration >= loop.loop.max_iterations
    match loop.loop.source:
        case LoopArtifact():
            return _stopped(view, answer, loop)
        case LoopCondition():
            variables = loop_variables(loop, iteration, context)
            return _changed(answer, solve(*continue_wish(loop, False), context, variables))
        case CountSource(variable=str(variable)) if is_last:
            return _changed(answer, {variable: iteration})
        case ItemsSource(variable=variable) if is_last:
            return _changed(answer, {variable: context[variable][:iteration]})
        case _:
            return None


def _stopped(view: StepView, answer: Submit, loop: RepeatingStep) -> Submit | None:
    """Return the answer with a decision to stop; None when it has one."""
    decision = loop_decision(view.profile, loop, "stop")
    return None if decision in answer.artifacts else replace(answer, artifacts=(*answer.artifacts, decision))


# ------------------------------------------------------------------------------------------------------- variables


def needed_variables(index: IrIndex, loop_id: str) -> dict[str, Json]:
    """The variable a loop can't be entered without: a count of one, or a list of one."""
    loop = index.loops[loop_id]
    if loop.loop_variable is None:
        return {}
    return {loop.loop_variable: 1 if loop.loop.source.kind == "count" else [_item(loop)]}


def _item(loop: RepeatingStep) -> Json:
    """Return an element with the members that the texts of the body read from it, each filled with its own name."""
    name = loop.loop.variables.item or ""
    texts = [text for step in loop.body for text in step.texts]
    if not any(f"{{{{{name}." in text for text in texts):
        return "item"
    member = re.compile(rf"\{{\{{{re.escape(name)}\.([A-Za-z_][\w.]*)", re.ASCII)
    item: dict[str, Json] = {}
    for path in (path for text in texts for path in member.findall(text)):
        _put(item, path.strip(".").split("."))
    return item


def _put(item: dict[str, Json], names: list[str]) -> None:
    *outer, last = names
    for name in outer:
        inner = item.get(name)
        if not isinstance(inner, dict):
            inner = item[name] = {}
        item = inner
    item.setdefault(last, last)


def start_context(start: StartView) -> dict[str, Json]:
    """Return what has to be added to the context: the inputs, and what the run can't start without."""
    added = missing_inputs(start)
    for _ in range(MAX_ROUNDS):
        match start.predict(added):
            case Err(MissingContext(loop_id=loop_id) | LoopVariableUnset(loop_id=loop_id)):
                added |= needed_variables(start.program.index, loop_id)
                continue
            case Err(error) if not isinstance(error, LoopReportError):
                return added
            case Ok(selection) if not selection.is_complete:
                return added
        change = _context_for_any_step(start, added)
        if not change:
            return added
        added |= change
    return added


def missing_inputs(start: StartView) -> dict[str, Json]:
    """Return an example of each input that the workflow declares and that the run does not start with."""
    inputs = declared_inputs(start.program.definition)
    return {name: each.example for name, each in inputs.items() if name not in start.context}


class _Route(Struct, frozen=True):
    """Conditions that have to come out in a certain way, and what to set besides."""

    wishes: list[Wish]
    variables: dict[str, Json]
    shadowed: dict[str, Json]


def _context_for_any_step(start: StartView, added: dict[str, Json]) -> dict[str, Json] | None:
    """Return what makes a step run where none can: the first whose conditions can be met."""
    for way in _routes(start, added):
        context = merged(start.context, {**added, **way.variables})
        change = solve_all(way.wishes, context, way.shadowed, kept=("goal",))
        if change is not None:
            change = {**way.variables, **change}
            if change and _starts(start, {**added, **change}):
                return change
    return None


def _routes(start: StartView, added: dict[str, Json]) -> Iterator[_Route]:
    """To each step of the top level and into each loop; then the same, past the loops before it."""
    context = merged(start.context, added)
    for passes in (False, True):
        past: list[Wish] = []
        for step in start.program.definition.steps:
            wishes = [*past, (step.run_condition, True)]
            if step.type != "loop":
                yield _Route(wishes, {}, {})
                continue
            yield from _routes_into(step, wishes, start, context)
            if passes:
                past += _skip_conditions(step)


def _routes_into(
    loop: RepeatingStep, wishes: list[Wish], start: StartView, context: dict[str, Any]
) -> Iterator[_Route]:
    if loop.loop_condition is not None:
        wishes = [*wishes, continue_wish(loop, True)]
    variables = needed_variables(start.program.index, loop.id)
    shadowed = loop_variables(loop, 0, {**context, **variables})
    for step in loop.body:
        yield _Route([*wishes, (step.run_condition, True)], variables, shadowed)


def _skip_conditions(loop: RepeatingStep) -> list[Wish]:
    """Return what keeps a loop from being entered."""
    if loop.run_condition is not None:
        return [(loop.run_condition, False)]
    return [continue_wish(loop, False)] if loop.loop_condition is not None else []


def continue_wish(loop: RepeatingStep, goes_on: bool) -> Wish:
    """Return how the condition of a loop has to come out so that it starts an iteration, or does not."""
    return loop.loop_condition, goes_on is (loop.loop.kind != "until")


def _starts(start: StartView, added: dict[str, Json]) -> bool:
    match start.predict(added):
        case Ok(selection):
            return not selection.is_complete
        case Err(error):
            return isinstance(error, MissingContext | LoopVariableUnset)


def _asked_for(view: StepView) -> dict[str, Json] | None:
    """Return the variables that the prompt of the pending step asks for, if anything may wait for one."""
    if not any(_has_condition(step) for step in view.program.definition.all_steps):
        return None
    from pytest_workrail.agents.asked_variables import obedient_context  # it analyses the workflow

    return obedient_context(view)


def _has_condition(step: ProgramStep) -> bool:
    if step.run_condition is not None or step.confirmation_condition is not None:
        return True
    return step.loop_condition is not None if step.type == "loop" else bool(step.fragments)


class Auto(Agent):
    """Submits the smallest valid answer to every step, and sets the variables that its prompt asks for."""

    kind = "auto"
    # Whether it sets a variable at the step whose prompt asks for it; else only where the run can't go on without.
    obeys_prompts = True

    def __init__(self) -> None:
        self._answered: tuple[str, int] | None = None

    def begin(self, start: StartView) -> dict[str, Json]:
        self._answered = None
        return start_context(start)

    def act(self, view: StepView) -> Action:
        if view.refusal in ("terminal", "gated"):
            return Stop("No answer of an agent can change this.")
        place = (view.step_id, view.visit)
        if view.refusal is not None and self._answered == place:
            return Stop("The smallest valid answer was refused.")
        self._answered = place
        return correct_answer(view, _asked_for(view) if self.obeys_prompts else None)

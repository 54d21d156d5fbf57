"""The smallest valid answer to a step, and the context that a run has to start with.

As few variables as possible are set, to plain values.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from pytest_workrail.agents.agent import StartView, StepView, Submit
from pytest_workrail.engine.core.errors import (
    InterpreterError,
    InvalidLoopControl,
    LoopReportError,
    LoopVariableUnset,
    MaxIterationsExceeded,
    MissingContext,
    MissingLoopControl,
)
from pytest_workrail.engine.core.index import (
    ASSESSMENT_KIND,
    CAPABILITY_OBSERVATION,
    LOOP_CONTROL,
    LOOP_CONTROL_KIND,
    ContractPack,
    IrIndex,
)
from pytest_workrail.engine.core.interpreter import Selection
from pytest_workrail.engine.core.loops import loop_variables
from pytest_workrail.engine.core.outputs import requires_notes
from pytest_workrail.engine.core.profiles import LoopIdCheck, Profile
from pytest_workrail.engine.core.question import find_question
from pytest_workrail.engine.core.reports import probe_capability
from pytest_workrail.engine.core.skipped import LoopUnset
from pytest_workrail.engine.model.words import METRICS_OUTCOMES, RESERVED_KEYS, SYSTEM_KEYS
from pytest_workrail.engine.protocol.requests import merged
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.solver.expression import Values
from workrail_lint.systems.workrail.solver.search import Solver, Wish

_HOST_ONLY = (*RESERVED_KEYS, *SYSTEM_KEYS)
# What an agent may give a variable: some are the host's, and one takes only certain words.
LIMITS = {**dict.fromkeys(_HOST_ONLY, Values((), True, True)), "metrics_outcome": Values(METRICS_OUTCOMES, True, True)}

# How often an answer is mended before it is submitted as it is. Each round settles one loop.
MAX_ROUNDS = 50


def agent_solver(conditions: Iterable[object] = ()) -> Solver:
    """Return a solver for what an agent may set; `conditions` are those that its values should be known from."""
    return Solver(conditions, LIMITS)


def workflow_solver(ir: dict[str, Any]) -> Solver:
    """Return a solver for the conditions of a whole workflow."""
    return agent_solver(conditions_of(ir))


def conditions_of(ir: dict[str, Any]) -> Iterator[object]:
    """Yield every condition of an IR that decides about what an agent is shown, in the order of the steps."""
    for step in ir["steps"]:
        yield from _conditions(step)
        for inner in step.get("body", ()):
            yield from _conditions(inner)


def _conditions(step: dict[str, Any]) -> Iterator[object]:
    yield step.get("runCondition")
    if step["type"] == "loop":
        yield step["loop"]["source"].get("condition")
        return
    yield from (fragment.get("when") for fragment in step.get("fragments", ()))
    yield step["confirmation"].get("condition")


def solve(
    condition: object, wanted: bool, context: Mapping[str, Any], shadowed: Mapping[str, Any], kept: Collection[str] = ()
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
    return agent_solver().solve(wishes, context, shadowed, kept).change


def correct_answer(view: StepView) -> Submit:
    """Return the smallest answer to the pending step that the engine accepts."""
    answer = with_next_step_needs(view, Submit(notes_of(view), artifacts_of(view)))
    # What was set for a loop can decide which of the criteria apply.
    return replace(answer, notes=notes_of(view, answer.context)) if answer.context else answer


def notes_of(view: StepView, context: Mapping[str, Json] | None = None) -> str | None:
    """Notes where they are asked for, and none elsewhere. `context` is what is submitted with them."""
    step = view.step
    output: dict[str, Any] = step.get("output", {})
    plain = f"Done: {view.step_id}."
    if "contract" in output:
        return None
    if "criteria" not in output:
        return plain if requires_notes(step) else None
    from pytest_workrail.agents.values import fitting_notes

    fitting = fitting_notes(output["criteria"], view.merged(context), plain)
    if fitting is not None or "assessments" not in output:
        return fitting or plain
    # Beside assessments the criteria decide nothing; only notes that are missing would.
    return plain if requires_notes(step) else None


def artifacts_of(view: StepView) -> tuple[Json, ...]:
    """Return what the step must submit besides notes: one artifact for its contract, or one for each assessment."""
    output: dict[str, Any] = view.step.get("output", {})
    if "contract" in output:
        if not output["contract"]["required"]:
            return ()
        artifact = contract_artifact(view, output["contract"]["ref"])
        return () if artifact is None else (artifact,)
    if "assessments" in output:
        return tuple(assessment_artifacts(view))
    return ()


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
        capability = probe_capability(view.step)
        specific = observation(capability or "web_browsing", "available", _proof(capability))
    return specific if specific is not None and not pack.issues(specific) else smallest_artifact(pack)


def smallest_artifact(pack: ContractPack) -> dict[str, Json] | None:
    """Return the smallest artifact of a kind."""
    from pytest_workrail.agents.values import smallest
    from workrail_lint.systems.workrail.catalog.contracts import validate_artifact

    value = smallest(pack.schema, lambda schema, candidate: not validate_artifact(schema, candidate))
    return value if isinstance(value, dict) else None


def loop_decision(profile: Profile, loop: dict[str, Any], decision: str) -> dict[str, Json]:
    """Return a decision about a loop; it names the loop where that matters."""
    artifact: dict[str, Json] = {"kind": LOOP_CONTROL_KIND, "decision": decision}
    return {**artifact, "loopId": loop["id"]} if _names_loop(profile) else artifact


def _names_loop(profile: Profile) -> bool:
    match profile.loop_id:
        case LoopIdCheck.IGNORE:
            return False
        case LoopIdCheck.MATCH:
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
    asked = view.step["output"]["assessments"]
    declared = {assessment["id"]: assessment for assessment in view.program.ir["assessments"]}
    for ref in asked["refs"]:
        alarms = {
            consequence["when"]["anyEqualsLevel"]
            for consequence in asked["consequences"]
            if consequence["when"].get("forAssessment", ref) == ref
        }
        required = [each for each in declared[ref]["dimensions"] if each.get("required", True)]
        # An assessment without any dimension is no valid one, so one that may be left out is answered then.
        levels: dict[str, Json] = {
            each["id"]: (choose or {}).get(each["id"]) or _harmless_level(each["levels"], alarms)
            for each in required or declared[ref]["dimensions"][:1]
        }
        yield {
            "kind": ASSESSMENT_KIND,
            **({"assessmentId": ref} if len(asked["refs"]) > 1 else {}),
            "dimensions": levels,
        }


def _harmless_level(levels: list[str], alarms: set[str]) -> str:
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


def _ended(view: StepView, answer: Submit, loop: dict[str, Any], iteration: int) -> Submit | None:
    """The answer with whatever keeps a loop from starting an iteration; a fixed count can't be helped."""
    source = loop["loop"]["source"]
    context = view.merged(answer.context)
    match source["kind"]:
        case "artifact":
            return _stopped(view, answer, loop)
        case "condition":
            wanted = loop["loop"]["kind"] == "until"
            variables = loop_variables(loop, iteration, context)
            return _changed(answer, solve(source["condition"], wanted, context, variables))
        case "count" if "variable" in source and iteration >= loop["loop"]["maxIterations"]:
            return _changed(answer, {source["variable"]: iteration})
        case "items" if iteration >= loop["loop"]["maxIterations"]:
            return _changed(answer, {source["variable"]: context[source["variable"]][:iteration]})
        case _:
            return None


def _stopped(view: StepView, answer: Submit, loop: dict[str, Any]) -> Submit | None:
    """Return the answer with a decision to stop; None when it has one."""
    decision = loop_decision(view.profile, loop, "stop")
    return None if decision in answer.artifacts else replace(answer, artifacts=(*answer.artifacts, decision))


# ------------------------------------------------------------------------------------------------------- variables


def needed_variables(index: IrIndex, loop_id: str) -> dict[str, Json]:
    """The variable a loop can't be entered without: a count of one, or a list of one."""
    loop = index.loops[loop_id]
    source = loop["loop"]["source"]
    if source["kind"] == "count":
        return {source["variable"]: 1}
    return {source["variable"]: [_item(loop)]}


def _item(loop: dict[str, Any]) -> Json:
    """Return an element with the members that the texts of the body read from it, each filled with its own name."""
    name = loop["loop"]["variables"]["item"]
    texts = [text for step in loop["body"] for text in _texts_of(step)]
    if not any(f"{{{{{name}." in text for text in texts):
        return "item"
    member = re.compile(rf"\{{\{{{re.escape(name)}\.([A-Za-z_][\w.]*)", re.ASCII)
    item: dict[str, Json] = {}
    for path in (path for text in texts for path in member.findall(text)):
        _put(item, path.strip(".").split("."))
    return item


def _texts_of(step: dict[str, Any]) -> Iterator[str]:
    yield step["title"]
    yield step.get("prompt", "")
    yield from (fragment["text"] for fragment in step.get("fragments", ()))


def _put(item: dict[str, Json], names: list[str]) -> None:
    *outer, last = names
    for name in outer:
        inner = item.get(name)
        if not isinstance(inner, dict):
            inner = item[name] = {}
        item = inner
    item.setdefault(last, last)


def start_context(start: StartView) -> dict[str, Json]:
    """Return what has to be added to the context so that the run can start at all."""
    added: dict[str, Json] = {}
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


class _Route(NamedTuple):
    """Conditions that have to come out in a certain way, and what to set besides."""

    wishes: list[tuple[object, bool]]
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
        past: list[tuple[object, bool]] = []
        for step in start.program.ir["steps"]:
            wishes = [*past, (step.get("runCondition"), True)]
            if step["type"] != "loop":
                yield _Route(wishes, {}, {})
                continue
            yield from _routes_into(step, wishes, start, context)
            if passes:
                past += _skip_conditions(step)


def _routes_into(
    loop: dict[str, Any], wishes: list[tuple[object, bool]], start: StartView, context: dict[str, Any]
) -> Iterator[_Route]:
    source = loop["loop"]["source"]
    variables: dict[str, Json] = {}
    if source["kind"] == "condition":
        wishes = [*wishes, _continue_condition(loop, True)]
    elif "variable" in source:
        variables = needed_variables(start.program.index, loop["id"])
    shadowed = loop_variables(loop, 0, {**context, **variables})
    for step in loop["body"]:
        yield _Route([*wishes, (step.get("runCondition"), True)], variables, shadowed)


def _skip_conditions(loop: dict[str, Any]) -> list[tuple[object, bool]]:
    """Return what keeps a loop from being entered."""
    if "runCondition" in loop:
        return [(loop["runCondition"], False)]
    return [_continue_condition(loop, False)] if loop["loop"]["source"]["kind"] == "condition" else []


def _continue_condition(loop: dict[str, Any], wanted: bool) -> tuple[object, bool]:
    """Return how the condition of a loop has to come out so that it starts an iteration, or does not."""
    return loop["loop"]["source"]["condition"], wanted is (loop["loop"]["kind"] != "until")


def _starts(start: StartView, added: dict[str, Json]) -> bool:
    match start.predict(added):
        case Ok(selection):
            return not selection.is_complete
        case Err(error):
            return isinstance(error, MissingContext | LoopVariableUnset)

"""The variables that the prompt of a step asks an agent to set, with the values that the prompts name.

An IR has prompts but no analysis, so that the workflow is put together from it again and analysed as `check` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from pytest_workrail.agents.agent import StepView
from pytest_workrail.agents.correct import continue_wish
from pytest_workrail.agents.solving import HOST_ONLY, LIMITS
from pytest_workrail.engine.protocol.sessions import Program
from workrail_lint.base.js import Json
from workrail_lint.systems.workrail.analysis.analysis import analyse
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.model.build import workflow_model
from workrail_lint.systems.workrail.model.ir import Program as Definition
from workrail_lint.systems.workrail.model.workflow import Condition
from workrail_lint.systems.workrail.solver.expression import Values
from workrail_lint.systems.workrail.solver.search import Solver


class AskedVariable(NamedTuple):
    """A variable that a step has to set. `values` are all it may have, in the order of the prompt; none if unknown."""

    name: str
    values: tuple[Json, ...]


@lru_cache(maxsize=64)
def asked_variables(program: Program) -> Mapping[str, tuple[AskedVariable, ...]]:
    """Return the variables that each step sets by its prompt and that something reads, by the id of the step."""
    # Nothing counts as a mistake: ids and prompts of expanded templates may be longer than an author may write.
    analysis = analyse(workflow_model(_definition(program.ir), ()), load_core())
    result: dict[str, list[AskedVariable]] = {}
    for name in analysis.by_name:
        domain = analysis.domain(name)
        asked = AskedVariable(name, () if domain is None else tuple(domain.values))
        for setter in analysis.each_setter(name):
            if setter.step is not None and setter.when is None:
                variables = result.setdefault(analysis.steps[setter.step].id, [])
                if asked not in variables:
                    variables.append(asked)
    return {step_id: tuple(variables) for step_id, variables in result.items()}


def obedient_context(view: StepView) -> dict[str, Json] | None:
    """Return the unset variables that the prompt of the pending step asks for, with values from what the prompts say.

    Of these values the first is taken with which a step or a loop can run that waits for the variable, in the order of
    the workflow; where none waits, the first one.
    """
    own = view.loop.loop_condition if view.loop is not None else None
    busy = {*view.merged(None), *HOST_ONLY, *(() if own is None else variables_of(own))}
    asked = {each.name: each for each in asked_variables(view.program).get(view.step_id, ()) if each.name not in busy}
    chosen: dict[str, Json] = {}
    limits = {name: Values(each.values, True, True) for name, each in asked.items() if each.values}
    solver = Solver((), {**LIMITS, **limits})
    for condition, wanted in _waiting(view.program.definition) if asked else ():
        names = variables_of(condition)
        if names & (asked.keys() - chosen.keys()):
            context = view.merged(chosen)
            kept = (names | context.keys()) - (asked.keys() - chosen.keys())
            change = solver.solve([(condition, wanted)], context, {}, kept).change
            chosen |= {name: value for name, value in (change or {}).items() if name in asked}
    chosen |= {name: each.values[0] for name, each in asked.items() if each.values and name not in chosen}
    return chosen or None


def _waiting(program: Definition) -> Iterator[tuple[Condition, bool]]:
    """Yield the conditions under which steps and loops run, in the order of the workflow, as they have to come out."""
    for step in program.all_steps:
        if step.run_condition is not None:
            yield step.run_condition, True
        if step.type == "loop" and step.loop_condition is not None:
            condition, wanted = continue_wish(step, True)
            if condition is not None:
                yield condition, wanted


def variables_of(condition: Condition) -> set[str]:
    """Return the names that a condition reads."""
    return {each.var for each in condition.nested() if each.var is not None}


def _definition(ir: Mapping[str, Any]) -> dict[str, Any]:
    """Return a workflow with the texts and conditions of an IR, and nothing that only its compilation needs."""
    kept = ("name", "description", "preconditions", "about", "metaGuidance")
    return {
        "id": "ir.analysed",
        "version": "1.0.0",
        **{name: ir[name] for name in kept if ir.get(name)},
        "steps": [step for each in ir["steps"] for step in _steps(each)],
    }


def _steps(step: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    shared = {name: step[name] for name in ("id", "title", "runCondition") if name in step}
    match step["type"]:
        case "step":
            fragments = {"promptFragments": step["fragments"]} if step["fragments"] else {}
            yield {**shared, "prompt": step["prompt"] or ".", **fragments}
        case "loop":
            body = [inner for each in step["body"] for inner in _steps(each)]
            if body:
                yield {**shared, "type": "loop", "loop": _loop(step["loop"]), "body": body}


def _loop(loop: Mapping[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = {"type": loop["kind"], "maxIterations": loop["maxIterations"]}
    names = {"iteration": "iterationVar", "item": "itemVar", "index": "indexVar"}
    config |= {names[name]: value for name, value in loop["variables"].items()}
    source = loop["source"]
    match source["kind"]:
        case "count":
            config["count"] = source.get("count", source.get("variable"))
        case "items":
            config["items"] = source["variable"]
        case "condition":
            config["condition"] = source["condition"]
        case "artifact":
            decider = {"kind": "artifact_contract", "contractRef": source["contractRef"]}
            config["conditionSource"] = {**decider, "loopId": source.get("loopId", "loop")}
    return config

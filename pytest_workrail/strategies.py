"""Hypothesis strategies made from an IR: contexts, artifacts and agents for property tests of a workflow.

from pytest_workrail.strategies import agents

@given(agents(IR))
def test_no_prompt_has_a_hole(agent):
    assert "[unset:" not in str(run(WORKFLOW, agent=agent).prompts)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_workrail.agents.agent import Action, Agent, StartView, StepView, Submit
from pytest_workrail.agents.correct import Auto
from pytest_workrail.engine.core.index import ContractPack, contract_packs
from workrail_lint.base.js import Json
from workrail_lint.systems.workrail.analysis.domains import ALTERNATIVES, BOOLEAN, ONE_OF
from workrail_lint.systems.workrail.analysis.inputs import declared_inputs
from workrail_lint.systems.workrail.model.build import condition_model, program_model
from workrail_lint.systems.workrail.model.workflow import AssessmentDefinition, Condition
from workrail_lint.systems.workrail.solver.expression import UNSET
from workrail_lint.systems.workrail.solver.search import Solver

Ir = Mapping[str, Any]
# Turns with a change to the context; later ones change nothing, so that runs come to an end.
_CHANGES = 6
_OPTIONAL_DEPTH = 3
_LISTED_VALUES = (ALTERNATIVES, BOOLEAN, ONE_OF)


def contexts(ir: Ir) -> st.SearchStrategy[dict[str, Json]]:
    """Contexts that make conditions come out in every way: for each variable one value of each kind the workflow tells
    apart, or none; lists and counts for its loops; the inputs that it declares."""
    choices: dict[str, list[st.SearchStrategy[Any]]] = {}
    conditions = list(_conditions(ir))
    for name, values in Solver(conditions).classes([(each, True) for each in conditions]).items():
        choices.setdefault(name, []).append(
            st.sampled_from([value for value in values if value is not UNSET] or [True])
        )
    program = program_model(dict(ir))
    for name, each in declared_inputs(program).items():
        examples = each.values if each.kind in _LISTED_VALUES else (each.example,)
        choices.setdefault(name, []).append(st.sampled_from(list(examples)))
    for loop in program.loops:
        if loop.loop_variable is None:
            continue
        size = int(min(loop.loop.max_iterations, 4))
        item = st.dictionaries(st.sampled_from(["name", "id"]), st.text(max_size=5))
        is_list = loop.loop.source.kind == "items"
        choices.setdefault(loop.loop_variable, []).append(
            st.lists(item, max_size=size) if is_list else st.integers(0, size)
        )
    return st.fixed_dictionaries({}, optional={name: st.one_of(each) for name, each in sorted(choices.items())})


def artifacts(ir: Ir, step: str) -> st.SearchStrategy[Json]:
    """Artifacts that meet the contract of a step, or its assessments. Raises ValueError where none are asked for."""
    program = program_model(dict(ir))
    definition = next((each for each in program.all_steps if each.id == step), None)
    if definition is None:
        raise ValueError(f"the workflow has no step '{step}'")
    if definition.contract is not None:
        return _fitting(contract_packs(program)[definition.contract.ref])
    if definition.assessments is not None:
        declared = {each.id: each for each in program.assessments}
        return st.sampled_from(definition.assessments.refs).flatmap(lambda ref: _assessment(declared[ref]))
    raise ValueError(f"the step '{step}' asks for no artifact")


def agents(ir: Ir) -> st.SearchStrategy[Agent]:
    """Agents that answer every step rightly, with contexts and artifacts of their own choice."""
    asking = [each.id for each in program_model(dict(ir)).all_steps if each.contract is not None]
    chosen = st.fixed_dictionaries({}, optional={step: artifacts(ir, step) for step in asking})
    return st.builds(Drawn, st.lists(contexts(ir), max_size=_CHANGES), chosen)


class Drawn(Agent):
    """The automatic agent with a will of its own: it changes the context as drawn, and submits the drawn artifacts.

    What is refused is answered as the automatic agent would, so that the run goes on.
    """

    def __init__(self, changes: list[dict[str, Json]], chosen: dict[str, Json]) -> None:
        self._changes = changes
        self._chosen = chosen
        self._auto = Auto()
        self._turn = 0

    def __repr__(self) -> str:
        return f"Drawn(changes={self._changes!r}, artifacts={self._chosen!r})"

    def begin(self, start: StartView) -> dict[str, Json]:
        self._turn = 1
        return {**self._auto.begin(start), **(self._changes[0] if self._changes else {})}

    def act(self, view: StepView) -> Action:
        action = self._auto.act(view)
        if not isinstance(action, Submit) or view.refusal is not None:
            return action
        if view.visit == 1 and view.step_id in self._chosen:
            action = replace(action, artifacts=(self._chosen[view.step_id],))
        if self._turn < len(self._changes):
            action = replace(action, context={**(action.context or {}), **self._changes[self._turn]})
        self._turn += 1
        return action


def _conditions(value: Any) -> Iterator[Condition]:
    """Yield every comparison in an IR, wherever it stands."""
    if isinstance(value, dict):
        if isinstance(value.get("var"), str):
            yield condition_model(value)
        for each in value.values():
            yield from _conditions(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _conditions(each)


def _assessment(assessment: AssessmentDefinition) -> st.SearchStrategy[Json]:
    levels: dict[str, st.SearchStrategy[Json]] = {
        each.id: st.sampled_from(each.levels) for each in assessment.dimensions
    }
    return st.fixed_dictionaries(levels).map(
        lambda chosen: {"kind": "wr.assessment", "assessmentId": assessment.id, "dimensions": chosen}
    )


def _fitting(pack: ContractPack) -> st.SearchStrategy[Json]:
    """Values of the contract's schema. What the schema says beyond shapes is left to its own validator."""
    drawn = _of_schema(pack.schema, pack.schema, 0)
    return st.one_of(st.just(pack.example), drawn).filter(lambda value: not pack.issues(value))


def _of_schema(schema: Any, root: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
    if not isinstance(schema, dict):
        return st.none()
    reference = schema.get("$ref")
    if isinstance(reference, str):
        target: Any = root
        for part in reference.lstrip("#/").split("/"):
            target = target.get(part, {}) if isinstance(target, dict) else {}
        return _of_schema(target, root, depth)
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return st.one_of(*(_of_schema(each, root, depth + 1) for each in schema[keyword]))
    return _of_type(schema, root, depth)


def _of_type(schema: dict[str, Any], root: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            members = {name: _of_schema(each, root, depth + 1) for name, each in schema.get("properties", {}).items()}
            required = {name: members[name] for name in schema.get("required", ()) if name in members}
            rest = {name: each for name, each in members.items() if name not in required}
            return st.fixed_dictionaries(required, optional=rest if depth < _OPTIONAL_DEPTH else {})
        case "array":
            low = schema.get("minItems", 0)
            return st.lists(_of_schema(schema.get("items", {}), root, depth + 1), min_size=low, max_size=low + 2)
        case "integer":
            return st.integers(schema.get("minimum", 0), schema.get("maximum", schema.get("minimum", 0) + 9))
        case "number":
            return st.sampled_from([schema.get("minimum", 0), schema.get("maximum", 1)])
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case _:
            if "pattern" in schema:
                return st.from_regex(schema["pattern"], fullmatch=True)
            low = schema.get("minLength", 0)
            letters = st.characters(categories=("Ll", "Nd"), include_characters=" .")
            return st.text(letters, min_size=max(low, 1), max_size=max(low, 1) + 12)

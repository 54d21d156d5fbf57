"""How the model of a workflow comes about: from a definition, or from a step that a pass of the compiler made."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from workrail_lint.documents.nodes import LEFT_OUT, Build, Node, Unchecked, place_below
from workrail_lint.documents.schema.engine import Validator, Violation, compile_schema
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.model.workflow import STEP, Condition, StandardStep, Step, Workflow

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.model.ir import Program

N = TypeVar("N", bound=Node)
_FIRST = "/steps/0"  # where a single step is checked


@cache
def workflow_validator() -> Validator:
    return compile_schema(load_schema("workflow"), on_demand=True)


def workflow_model(
    definition: dict[str, Any],
    violations: Sequence[Violation] | None = None,
    reported: Sequence[Violation] | None = None,
) -> Workflow:
    """Return the model of a definition in the shipping form, which is checked first unless the violations are given.

    `reported` are those that count as damage, if they are not all of them.
    """
    if violations is None:
        violations = workflow_validator().violations(definition)
    model: Workflow = _WorkflowBuild(violations, reported).root(Workflow, definition)
    return model


def step_model(step: dict[str, Any], pointer: str) -> Step:
    """Return the model of a step that a pass made; the pointer is that of the step it was made from."""
    violations = workflow_validator().violations({"steps": [step]})
    moved = [
        violation.replaced(pointer=pointer + violation.pointer.removeprefix(_FIRST))
        for violation in violations
        if violation.pointer.startswith(_FIRST)
    ]
    model: Step = _WorkflowBuild(moved).root(STEP, step, pointer)
    return model


@cache
def _ir_validator() -> Validator:
    return compile_schema(load_schema("ir"), on_demand=True)


def ir_problem(ir: dict[str, Any]) -> str | None:
    """Return where an IR that did not come from the compiler is none; None if it is one."""
    violations = _ir_validator().violations(ir)
    return f"{violations[0].keyword} at {violations[0].pointer or '/'}" if violations else None


def program_model(ir: dict[str, Any]) -> Program:
    """Return the typed form of an IR that the compiler made, or that was checked with `ir_problem`."""
    from workrail_lint.systems.workrail.model.ir import Program  # a check needs no IR

    model: Program = Build().root(Program, ir)
    return model


def unchecked_condition(condition: dict[str, Any]) -> Condition:
    """Return the model of a condition of an IR, or of one that a program made of such conditions."""
    model: Condition = Build().root(Condition, condition)
    return model


def condition_model(condition: dict[str, Any]) -> Condition:
    """Return the model of a condition that nothing has checked."""
    model: Condition = _WorkflowBuild().root(Unchecked(Condition), condition)
    return model


class _WorkflowBuild(Build):
    """Builds workflows, also where the schema looks no further."""

    def unchecked(self, cls: type[N], raw: dict[str, Any], parent: Node | None, key: str) -> N:
        # Steps with an unknown type are taken for standard ones, which have none.
        if cls is Condition:
            sample, place = {"runCondition": raw}, f"{_FIRST}/runCondition"
        elif cls is StandardStep:
            sample, place = {name: value for name, value in raw.items() if name != "type"}, _FIRST
        else:
            sample, place = raw, _FIRST
        pointer = place_below(parent, key)
        self.left_out.update(
            pointer + violation.pointer.removeprefix(place)
            for violation in workflow_validator().violations({"steps": [sample]})
            if violation.keyword in LEFT_OUT and violation.pointer.startswith(f"{place}/")
        )
        return self.node(cls, raw, parent, key)

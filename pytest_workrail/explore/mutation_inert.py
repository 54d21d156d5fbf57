"""Mutants that behave as the workflow does, by proof. Whoever is not proved inert may still be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_workrail.agents.condition_solver import agent_solver, conditions_of
from pytest_workrail.coverage.reachability import ConditionScope
from pytest_workrail.engine.core.profiles import Capabilities, ProfileName, profile_of
from pytest_workrail.explore.mutation_edit import Mutant, Path, value_at


def inert_reason(mutant: Mutant, ir: dict[str, Any], profiles: Sequence[ProfileName]) -> str | None:
    """Why a mutant can't behave differently; None if there is no proof."""
    mutated = mutant.apply(ir)
    if mutated == ir:
        return "the compiled workflow is the same"
    found = _by_rule(mutant, ir, profiles)
    return found if found is not None else _by_solver(mutant, ir, mutated)


def _by_rule(mutant: Mutant, ir: dict[str, Any], profiles: Sequence[ProfileName]) -> str | None:
    step = step_at(ir, mutant.path)
    match mutant.operator:
        case "GDN-DROP":
            return "no answer is made from guidance"
        case "NTS-FLIP" if step is not None and "contract" in step.get("output", {}):
            return "a contract replaces the notes"
        case "LOP-KIND" if step is not None and step["loop"]["source"]["kind"] != "condition":
            return "something other than the kind of the loop decides about it"
        case "ASM-DIM-OPTIONAL":
            assessment = value_at(ir, mutant.path[:2])
            if len(assessment["dimensions"]) == 1:
                return "an assessment without any dimension is invalid anyway"
        case "CAP-LEVEL" if all(profile_of(name).capabilities is Capabilities.RECORD for name in profiles):
            return "only profile locked looks at capabilities"
    return None


def step_at(ir: dict[str, Any], path: Path) -> dict[str, Any] | None:
    """The step or loop that a path of an IR is inside of."""
    if len(path) < 2 or path[0] != "steps":
        return None
    inner = len(path) > 3 and path[2] == "body" and isinstance(path[3], int)
    found: dict[str, Any] = value_at(ir, path[:4] if inner else path[:2])
    return found


def condition_path(path: Path) -> Path | None:
    """Where the condition begins that a path is inside of."""
    for index, part in enumerate(path):
        before = path[max(0, index - 2) : index]
        is_condition = (
            part == "runCondition"
            or (part == "when" and "fragments" in before)
            or (part == "condition" and before[-1:] in (("confirmation",), ("source",)))
        )
        if is_condition:
            return path[: index + 1]
    return None


def loop_around(ir: dict[str, Any], path: Path) -> dict[str, Any] | None:
    """The loop whose body a path is inside of."""
    if len(path) > 3 and path[0] == "steps" and path[2] == "body":
        found: dict[str, Any] = value_at(ir, path[:2])
        return found
    return None


def scope_of(ir: dict[str, Any], path: Path, extra: Sequence[object] = ()) -> ConditionScope:
    """Where conditions at a path are looked at. What else holds there is left out: that proves less, never more."""
    scope = ConditionScope(agent_solver([*conditions_of(ir), *extra]))
    loop = loop_around(ir, path)
    return scope if loop is None else scope.inside(loop)


def _by_solver(mutant: Mutant, ir: dict[str, Any], mutated: dict[str, Any]) -> str | None:
    if mutant.operator.startswith("STP-"):
        return _steps_never_meet(mutant, ir)
    if mutant.operator == "FRG-DROP":
        when = value_at(ir, (*mutant.path, "when"))
        never = when is not None and not scope_of(ir, mutant.path).allows((when, True))
        return "the fragment is never shown" if never else None
    at = condition_path(mutant.path)
    if mutant.operator == "GAT-ALWAYS":
        at = (*mutant.path, "condition")
    if at is None:
        return None
    sound, other = value_at(ir, at), value_at(mutated, at)
    scope = scope_of(ir, mutant.path, (sound, other))
    if scope.allows((sound, True), (other, False)) or scope.allows((sound, False), (other, True)):
        return None
    return "the condition comes out the same in every context"


def _steps_never_meet(mutant: Mutant, ir: dict[str, Any]) -> str | None:
    siblings, index = value_at(ir, mutant.path), mutant.at[-1]
    assert isinstance(index, int)
    scope = scope_of(ir, (*mutant.at, ""))
    own = siblings[index].get("runCondition")
    if not scope.allows((own, True)):
        return "the step never runs"
    if mutant.operator == "STP-SWAP":
        other = siblings[index + 1].get("runCondition")
        if not scope.allows((own, True), (other, True)):
            return "the two steps are never possible at the same time"
    return None

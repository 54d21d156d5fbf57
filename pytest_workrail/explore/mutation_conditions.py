"""Mutants of conditions: of steps, gates, fragments and loops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pytest_workrail.agents.condition_solver import conditions_of, workflow_solver
from pytest_workrail.explore.mutation_edit import REMOVED, Mutant, Path
from workrail_lint.base import js
from workrail_lint.base.js import Json
from workrail_lint.systems.workrail.solver import UNSET

_BOUNDS = {"gt": "gte", "gte": "gt", "lt": "lte", "lte": "lt"}
_COMPARED = ("equals", "not_equals", *_BOUNDS, "contains", "startsWith", "endsWith", "matches", "in")


class ConditionPlace(NamedTuple):
    """A condition of an IR. `prefix` starts the ids of its operators; `what` names it in a sentence."""

    prefix: str
    place: str
    path: Path
    what: str
    beside: tuple[str, ...] = ()


def condition_mutants(at: ConditionPlace, condition: Any, known: dict[str, list[Json]]) -> Iterator[Mutant]:
    """Every mutant of one condition. `known` are the values that the workflow compares each variable with."""

    def mutant(operator: str, path: Path, value: Any, change: str) -> Mutant:
        return Mutant(f"{at.prefix}{operator}", at.place, path, value, change, path, at.beside)

    yield mutant("CND-NEG", at.path, {"not": condition}, f"{at.what} is negated")
    for path, node in _nodes(condition, at.path):
        for word, other in (("and", "or"), ("or", "and")):
            members = node.get(word)
            if not isinstance(members, list) or len(members) < 2:
                continue
            swapped = {(other if name == word else name): member for name, member in node.items()}
            yield mutant("CND-AND-OR", path, swapped, f"'{word}' becomes '{other}' in {at.what}")
            for index in range(len(members)):
                left = [member for place, member in enumerate(members) if place != index]
                change = f"{_described(members[index])} is removed from {at.what}"
                yield mutant("CND-MEMBER-DROP", path, {**node, word: left}, change)
        operator = next((name for name in _COMPARED if name in node), None) if "var" in node else None
        if operator is None:
            continue
        other_value = _other(node, operator, known)
        if other_value is not REMOVED:
            new = {**node, operator: other_value}
            change = f"{_described(node)} becomes {_described(new)} in {at.what}"
            yield mutant("CND-VALUE", path, new, change)
        if operator in _BOUNDS:
            new = {(_BOUNDS[operator] if name == operator else name): value for name, value in node.items()}
            yield mutant("CND-BOUND", path, new, f"{_described(node)} becomes {_described(new)} in {at.what}")


def _nodes(condition: Any, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every object of a condition, outer ones first."""
    if not isinstance(condition, dict):
        return
    yield path, condition
    if "var" in condition:
        return
    for word in ("and", "or"):
        members = condition.get(word)
        for index, member in enumerate(members if isinstance(members, list) else ()):
            yield from _nodes(member, (*path, word, index))
    yield from _nodes(condition.get("not"), (*path, "not"))


def _other(node: dict[str, Any], operator: str, known: dict[str, list[Json]]) -> Any:
    """Another operand: one that the workflow knows for the variable if there is one."""
    operand = node[operator]
    if operator == "in":
        return operand[1:] if isinstance(operand, list) and len(operand) > 1 else REMOVED
    if isinstance(operand, bool):
        return not operand
    if js.is_number(operand):
        return operand + 1
    if not isinstance(operand, str) or operator == "matches":
        return REMOVED
    if operator in _BOUNDS:
        return REMOVED
    others = (value for value in known.get(js.text(node["var"]), ()) if isinstance(value, str))
    return next((value for value in others if value not in (operand, "", "other")), f"not {operand}")


def _described(node: Any) -> str:
    """A condition as a reader says it."""
    if not isinstance(node, dict):
        return "a condition"
    if "var" not in node:
        word = next(iter(node), "empty")
        return f"a condition with '{word}'"
    operator = next((name for name in _COMPARED if name in node), None)
    if operator is None:
        return f"'{node['var']}'"
    signs = {"equals": "=", "not_equals": "≠", "gt": ">", "gte": "≥", "lt": "<", "lte": "≤"}
    operand = ", ".join(map(js.text, node[operator])) if isinstance(node[operator], list) else js.text(node[operator])
    return f"'{node['var']} {signs.get(operator, operator)} {operand}'"


def compared_values(ir: dict[str, Any]) -> dict[str, list[Json]]:
    """The variables of a workflow's conditions, each with values that make a difference; null for one not set."""
    classes = workflow_solver(ir).classes([(condition, True) for condition in conditions_of(ir)])
    return {name: [None if value is UNSET else value for value in values] for name, values in classes.items()}

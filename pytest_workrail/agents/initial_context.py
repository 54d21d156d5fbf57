"""What a run has to start with so that some step can run, where the workflow itself leaves it to the context."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pytest_workrail.agents.agent import StartView
from pytest_workrail.agents.correct import MAX_ROUNDS, needed_variables
from pytest_workrail.engine.core.errors import LoopReportError, LoopVariableUnset, MissingContext
from pytest_workrail.engine.core.loops import loop_variables
from pytest_workrail.engine.protocol.context import merged
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


def start_context(start: StartView) -> dict[str, Json]:
    """What has to be added to the context so that the run can start at all."""
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
    """Where no step can run: what makes the first of them run whose conditions can be met."""
    from pytest_workrail.agents.condition_solver import solve_all

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
    """What keeps a loop from being entered."""
    if "runCondition" in loop:
        return [(loop["runCondition"], False)]
    return [_continue_condition(loop, False)] if loop["loop"]["source"]["kind"] == "condition" else []


def _continue_condition(loop: dict[str, Any], wanted: bool) -> tuple[object, bool]:
    """How the condition of a loop has to come out so that it starts an iteration, or does not."""
    return loop["loop"]["source"]["condition"], wanted is (loop["loop"]["kind"] != "until")


def _starts(start: StartView, added: dict[str, Json]) -> bool:
    match start.predict(added):
        case Ok(selection):
            return not selection.is_complete
        case Err(error):
            return isinstance(error, MissingContext | LoopVariableUnset)

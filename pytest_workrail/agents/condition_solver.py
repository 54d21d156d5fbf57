"""What an agent has to set so that conditions come out as wanted: as few variables as possible, to plain values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_workrail.engine.core.vocabulary import METRICS_OUTCOMES, RESERVED_KEYS, SYSTEM_KEYS
from workrail_lint.base.js import Json
from workrail_lint.systems.workrail.solver import Solver, Values, Wish

_HOST_ONLY = (*RESERVED_KEYS, *SYSTEM_KEYS)
# What an agent may give a variable: some are the host's, and one takes only certain words.
LIMITS = {**dict.fromkeys(_HOST_ONLY, Values((), True, True)), "metrics_outcome": Values(METRICS_OUTCOMES, True, True)}


def agent_solver(conditions: Iterable[object] = ()) -> Solver:
    """A solver for what an agent may set; `conditions` are those that its values should be known from."""
    return Solver(conditions, LIMITS)


def workflow_solver(ir: dict[str, Any]) -> Solver:
    """A solver for the conditions of a whole workflow."""
    return agent_solver(conditions_of(ir))


def conditions_of(ir: dict[str, Any]) -> Iterator[object]:
    """Every condition of an IR that decides about what an agent is shown, in the order of the steps."""
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
    """A change to the context after which the condition comes out as wanted; None when none was found.

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
    """A change to the context after which every one of these conditions comes out as wanted."""
    return agent_solver().solve(wishes, context, shadowed, kept).change

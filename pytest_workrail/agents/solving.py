"""Solvers for the values that an agent may give to variables, imported where a condition has to be brought about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pytest_workrail.engine.model.words import METRICS_OUTCOMES, RESERVED_KEYS, SYSTEM_KEYS
from workrail_lint.systems.workrail.model.ir import Program
from workrail_lint.systems.workrail.model.workflow import Condition
from workrail_lint.systems.workrail.solver.expression import Values
from workrail_lint.systems.workrail.solver.search import Solver

HOST_ONLY = (*RESERVED_KEYS, *SYSTEM_KEYS)
# What an agent may give a variable: some are the host's, and one takes only certain words.
LIMITS = {**dict.fromkeys(HOST_ONLY, Values((), True, True)), "metrics_outcome": Values(METRICS_OUTCOMES, True, True)}


def agent_solver(conditions: Iterable[Condition | None] = ()) -> Solver:
    """Return a solver for what an agent may set; `conditions` are those that its values should be known from."""
    return Solver(conditions, LIMITS)


def workflow_solver(program: Program) -> Solver:
    """Return a solver for the conditions of a whole workflow."""
    return agent_solver(conditions_of(program))


def conditions_of(program: Program) -> Iterator[Condition | None]:
    """Yield every condition of a workflow that decides about what an agent is shown, in the order of the steps."""
    for step in program.all_steps:
        yield step.run_condition
        if step.type == "loop":
            yield step.loop_condition
            continue
        yield from (fragment.when for fragment in step.fragments)
        yield step.confirmation_condition

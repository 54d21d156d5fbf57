"""Under which values each step, fragment, confirmation and loop exit happens, or that it can't."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workrail_lint.systems.workrail.analysis.logic import IMPOSSIBLE, POSSIBLE, UNKNOWN, UNSET, Answer
from workrail_lint.systems.workrail.analysis.records import AUTHORED, UNSET_TEXT, Example

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.analysis.analysis import Analysis
    from workrail_lint.systems.workrail.model.workflow import Condition

_KINDS = {"fragment": "fragment", "gate": "gate", "delegation": "delegation"}


def examples(analysis: Analysis) -> list[Example]:
    """The first assignment found for each, with the values in the order in which the texts name them."""
    found = [_example(analysis, step.origin.pointer, "step", step.conditions) for step in analysis.steps]
    for decision in analysis.decisions:
        step = analysis.steps[decision.step]
        if decision.origin.via == AUTHORED and decision.kind in _KINDS:
            conditions = (decision.condition, *step.conditions)
            found.append(_example(analysis, decision.pointer, _KINDS[decision.kind], conditions))
    for facts in analysis.loops.values():
        if facts.condition is None:
            continue
        # A while loop ends when its condition fails, an until loop when it holds.
        holds, fails = ((facts.condition,), ()) if facts.kind == "until" else ((), (facts.condition,))
        found.append(_example(analysis, facts.condition.pointer, "loop exit", holds, fails))
    return found


def _example(
    analysis: Analysis,
    pointer: str,
    kind: str,
    holds: tuple[Condition, ...],
    fails: tuple[Condition, ...] = (),
) -> Example:
    answer = analysis.satisfy(holds, fails, within_domains=True)
    if answer.verdict != POSSIBLE:
        # What the prompts say is no proof: only a contradiction for any values at all is one.
        loose = analysis.satisfy(holds, fails)
        if answer.verdict == IMPOSSIBLE and loose.verdict != IMPOSSIBLE:
            answer = Answer(UNKNOWN) if loose.assignment is None else loose
    return Example(pointer, kind, answer.verdict, _shown(answer.assignment))


def _shown(assignment: dict[str, Any] | None) -> dict[str, Any] | None:
    if assignment is None:
        return None
    return {name: UNSET_TEXT if value is UNSET else value for name, value in sorted(assignment.items())}

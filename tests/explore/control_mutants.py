"""Changes to an IR that nothing can notice, so that a suite which notices one is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_workrail.explore.mutation_operators import Mutant, Path


def control_mutants(ir: dict[str, Any]) -> Iterator[Mutant]:
    """Member order, members that no answer is made from, and other ways to write the same condition."""
    turned = {name: ir[name] for name in reversed(list(ir))}
    yield Mutant("CTL-ORDER", "", (), turned, "the members come in another order", ())
    yield Mutant("CTL-UNREAD", "", ("examples",), ["Another example."], "an example is added", ("examples",))
    for index, step in enumerate(ir["steps"]):
        at: Path = ("steps", index)
        yield from _of_step(step, at, step["id"])
        for inner, body_step in enumerate(step.get("body", ())):
            yield from _of_step(body_step, (*at, "body", inner), f"{step['id']}/{body_step['id']}")


def _of_step(step: dict[str, Any], at: Path, place: str) -> Iterator[Mutant]:
    turned = {name: step[name] for name in reversed(list(step))}
    yield Mutant("CTL-ORDER", place, at, turned, "the members of a step come in another order", at)
    if step["type"] == "step":
        path = (*at, "guidance")
        yield Mutant("CTL-UNREAD", place, path, [*step["guidance"], "One more."], "a line of guidance is added", path)
    places = [("runCondition",)] if "runCondition" in step else []
    found: list[tuple[Path, Any]] = [((*at, *path), step["runCondition"]) for path in places]
    if "condition" in step["confirmation"]:
        found.append(((*at, "confirmation", "condition"), step["confirmation"]["condition"]))
    for number, fragment in enumerate(step.get("fragments", ())):
        if "when" in fragment:
            found.append(((*at, "fragments", number, "when"), fragment["when"]))
    if step["type"] == "loop" and step["loop"]["source"]["kind"] == "condition":
        found.append(((*at, "loop", "source", "condition"), step["loop"]["source"]["condition"]))
    for path, condition in found:
        yield Mutant("CTL-TWICE-NOT", place, path, {"not": {"not": condition}}, "a condition is negated twice", path)
        yield Mutant("CTL-AND-ONE", place, path, {"and": [condition]}, "a condition is alone in an 'and'", path)
        yield Mutant("CTL-OR-TWICE", place, path, {"or": [condition, condition]}, "a condition is repeated", path)

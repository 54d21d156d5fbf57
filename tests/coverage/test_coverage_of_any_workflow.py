"""The goals of workflows with something changed, also what no author writes: as kept in `expected/damage.txt`.

python tests/coverage/test_coverage_of_any_workflow.py     # writes it anew
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import tables

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from zoo import ELEMENTS, OPERATORS

from pytest_workrail.coverage.goals import goals
from pytest_workrail.engine.core.profiles import PROFILES
from tests.fuzz.damage import every_change
from workrail_lint.base.canonical import digest
from workrail_lint.base.result import Ok
from workrail_lint.systems.workrail.compile import compile_workflow
from workrail_lint.systems.workrail.model.build import ir_problem, program_model

FILE = Path(__file__).parent / "expected" / "damage.txt"
LIMITS = (0, 0.5, 1, 1.5, 2, 11, 12, 13)
COUNTS = (0, 1, 1.5, 2, 3, "many")
# What is compared with the number of an iteration; each on one side of where it can change.
NUMBERS = (0, 1, 1.5, 2, "2", "x", True, False, None, [1, 3], 2**53, 2.0**60)
ASKED = (None, {"var": "go"}, {"not": {"var": "go"}}, {"var": "go", "equals": 1})


def step(name: str, **members: Any) -> dict[str, Any]:
    return {"id": name, "title": name.title(), "prompt": "Do it.", **members}


def loop(name: str, *, when: Any = None, **members: Any) -> dict[str, Any]:
    body = [step(f"{name}-a"), step(f"{name}-b", runCondition=when)]
    if when is None:
        del body[1]["runCondition"]
    kind = {"type": "for", "count": 2, "maxIterations": 3, "iterationVar": "round", **members}
    return {"id": name, "type": "loop", "title": name, "loop": kind, "body": body}


def decided(name: str, asked: Any) -> list[dict[str, Any]]:
    """A loop that a decision ends, with a step before it; both run when asked."""
    source = {"kind": "artifact_contract", "contractRef": "wr.contracts.loop_control", "loopId": name}
    choice = step(f"choose-{name}", outputContract={"contractRef": "wr.contracts.loop_control"})
    kind = {"type": "while", "conditionSource": source, "maxIterations": 2}
    when = {} if asked is None else {"runCondition": asked}
    return [
        step(f"before-{name}", **when),
        {"id": name, "type": "loop", "title": name, "loop": kind, "body": [choice], **when},
    ]


def sources() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for limit, count in product(LIMITS, COUNTS):
        yield f"{count} of {limit}", [loop("loop", count=count, maxIterations=limit)]
    for operator, number in product(("equals", "not_equals", "gt", "lte", "in", "contains"), NUMBERS):
        operand = [number] if operator == "in" and not isinstance(number, list) else number
        when = {"var": "round", operator: operand}
        yield f"round {operator} {operand}", [loop("loop", count="many", maxIterations=14, when=when)]
    for one, other in product(ASKED, repeat=2):
        yield f"decided {one} {other}", [*decided("one", one), *decided("other", other)]


def irs() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield IRs: of loops and conditions of every kind, and of the zoo with one thing changed."""
    about = {"id": "demo.any", "name": "Any", "description": "Any workflow.", "version": "1.0.0"}
    for name, steps in sources():
        made = compile_workflow({**about, "steps": steps})
        if isinstance(made, Ok):
            yield name, made.value.ir
    for source in (ELEMENTS, OPERATORS):
        made = compile_workflow(source)
        assert isinstance(made, Ok), made.error
        steps = made.value.ir["steps"]
        for number, each in enumerate(steps):
            # One step and those it needs: the others say the same in every case.
            ir = {**made.value.ir, "steps": [each]}
            for what, changed in every_change(each, f"{source['id']} {number}"):
                other = {**ir, "steps": [changed]}
                if not what.endswith(("null", "body []", "body left out")) and ir_problem(other) is None:
                    yield what, other


def lines() -> Iterator[str]:
    """Yield each of them, and how many goals it has in each profile, the strong ones included, with a digest."""
    for name, ir in irs():
        found = []
        for profile in PROFILES.values():
            names = [point.name for point in goals(program_model(ir), profile, strong=True)]
            found.append(f"{len(names)} {digest(repr(names).encode())[7:15]}")
        yield f"{name}: {', '.join(found)}"


def test_the_goals_of_any_workflow_are_as_expected() -> None:
    tables.compare_with_file(lines(), FILE)


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")

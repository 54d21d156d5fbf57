"""What simulated agents of a team answer by default, and what is varied to show a goal."""

from __future__ import annotations

import json
from itertools import product

from pytest_workrail.systems.team import generation
from pytest_workrail.systems.team.minimal_outputs import A, output
from workrail_lint.base.canonical import digest
from workrail_lint.systems.team.vocabulary import Mode, OutputStatus

# Who is recommended after an output that is fine, and after any other.
NEXT = {
    A.SPEC_AGENT: (A.ARCHITECT, A.CODER),
    A.ARCHITECT: (A.PLANNER, A.ORCHESTRATOR),
    A.PLANNER: (A.CODER, A.CODER),
    A.DESIGNER: (A.CODER, A.CODER),
    A.RESEARCHER: (A.ARCHITECT, A.CODER),
    A.CODER: (A.REVIEWER, A.ORCHESTRATOR),
    A.REVIEWER: (A.QA, A.CODER),
    A.QA: (A.INTEGRATOR, A.CODER),
    A.SECURITY: (A.CODER, A.CODER),
    A.INTEGRATOR: (A.DOCS, A.ORCHESTRATOR),
    A.DOCS: (A.INTEGRATOR, A.ORCHESTRATOR),
    A.ORCHESTRATOR: (A.ORCHESTRATOR, A.ORCHESTRATOR),
}


def test_who_comes_next() -> None:
    found = {
        (agent, status, mode): output(agent, "T-2", status, mode, [])["next"]["recommended_agent"]
        for agent, status, mode in product(A, OutputStatus, Mode)
    }
    expected = {key: NEXT[key[0]][key[1] is not OutputStatus.OK].value for key in found}
    expected[A.SPEC_AGENT, OutputStatus.OK, Mode.LEAN] = A.CODER.value
    assert found == expected


def test_outputs_and_variations_are_as_expected() -> None:
    """When a change is wanted: print what is digested, before and after it, and compare."""
    written = [["src/a.txt"], ["s/design-specs/a.md"], []]
    outputs = [output(agent, "T-2", *rest) for agent, *rest in product(A, OutputStatus, Mode, written)]
    variations = {goal: list(generation._ways(goal)) for goal in generation._goals()}
    assert digest(json.dumps(outputs).encode())[7:19] == "7a73d402b9d4"
    assert digest(json.dumps(variations).encode())[7:19] == "90a1486bc83d"

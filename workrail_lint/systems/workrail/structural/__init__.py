"""The cross-field rules that no schema can express, as findings by name.

Each check knows whether the reference engine makes it too (`details["engine"]`): the linter checks more places than
the engine does, and under engine parity only what the engine rejects may be an error.
"""

from __future__ import annotations

from typing import Any

from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.checks import assessed_steps
from workrail_lint.systems.workrail.compiler.nodes import Nodes, walk
from workrail_lint.systems.workrail.structural.slots import check_slots
from workrail_lint.systems.workrail.structural.steps import check_ids, check_references, check_steps


def structural_findings(definition: dict[str, Any], nodes: Nodes) -> list[Finding]:
    """Every cross-field violation of a definition in the shipping form, whatever shape it is in.

    `nodes` are those of its steps as they were authored.
    """
    every = walk(nodes)
    steps = [node for node in every if not node.is_loop]
    found = [*check_ids(nodes), *check_steps(steps)]
    # Imported where they are needed: most workflows have neither.
    if len(steps) < len(every):
        from workrail_lint.systems.workrail.structural.loops import check_loops

        found += check_loops(nodes)
    found += check_slots(definition, steps)
    if "references" in definition:
        found += check_references(definition)
    if "assessments" in definition or assessed_steps(steps):
        from workrail_lint.systems.workrail.structural.assessments import check_assessments

        found += check_assessments(definition, steps)
    if [node for node in steps if "functionCalls" in node.step]:
        from workrail_lint.systems.workrail.structural.functions import check_functions

        found += check_functions(definition, nodes)
    return found

"""The cross-field rules that no schema can express, as findings by name.

Each check knows whether the reference engine makes it too (`details["engine"]`): the linter checks more places than
the engine does, and under engine parity only what the engine rejects may be an error.
"""

from __future__ import annotations

from workrail_lint.base.typed import Any
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.nodes import authored_nodes
from workrail_lint.systems.workrail.structural.assessments import check_assessments
from workrail_lint.systems.workrail.structural.functions import check_functions
from workrail_lint.systems.workrail.structural.loops import check_loops
from workrail_lint.systems.workrail.structural.slots import check_slots
from workrail_lint.systems.workrail.structural.steps import check_ids, check_references, check_steps

_CHECKS = (
    check_ids,
    check_steps,
    check_loops,
    check_slots,
    check_references,
    check_assessments,
    check_functions,
)


def structural_findings(definition: dict[str, Any]) -> list[Finding]:
    """Every cross-field violation of a definition in the shipping form, whatever shape it is in."""
    nodes = authored_nodes(definition.get("steps"))
    return [finding for check in _CHECKS for finding in check(definition, nodes)]

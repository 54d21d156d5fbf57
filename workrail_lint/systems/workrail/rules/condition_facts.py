"""The conditions of a workflow, sorted once for all rules.

Nearly every condition compares one plainly named variable with one plain value, and no rule about the form of
conditions applies to those. They are filtered out here, so that a dozen rules share one pass.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.systems.workrail.condition_logic import COMPARISONS
from workrail_lint.systems.workrail.rules.walk import conditions_of

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.model.workflow import Condition
    from workrail_lint.systems.workrail.rules.base import WorkflowContext

_COMPARISONS = frozenset(COMPARISONS)


class ConditionFacts(NamedTuple):
    """Conditions in document order, nested ones included."""

    unusual: list[Condition]  # those whose form may be wrong
    by_variable: dict[str, list[Condition]]  # the comparisons, by the variable they test


@lru_cache(maxsize=1)
def condition_facts(workflow: WorkflowContext) -> ConditionFacts:
    facts = ConditionFacts([], {})
    for condition in conditions_of(workflow):
        members = condition.condition
        name = members.get("var")
        if name.__class__ is str:
            facts.by_variable.setdefault(name, []).append(condition)
        if not _is_plain(members):
            facts.unusual.append(condition)
    return facts


def _is_plain(members: dict[str, Any]) -> bool:
    """Whether the form is surely right: never true for a wrong form, and true for nearly every right one."""
    if "var" not in members:
        return len(members) == 1 and bool(members.get("and") or members.get("or") or members.get("not"))
    name = members["var"]
    if name.__class__ is not str or not name.isascii() or "." in name or not name or name != name.strip():
        return False
    if len(members) == 1:
        return True
    if len(members) > 2:
        return False
    for operator, literal in members.items():
        if operator == "var":
            continue
        if operator == "in":
            items = literal if literal.__class__ is list else ()
            return bool(items) and not any(item.__class__ in (dict, list) for item in items)
        return operator in _COMPARISONS and literal.__class__ not in (dict, list)
    return True

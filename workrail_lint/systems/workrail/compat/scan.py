"""A cheap test whether a document has design-form constructs, because it runs for every workflow.

It may be true for a document in which the rules find nothing; it is never false if a rule would find something.
"""

from __future__ import annotations

from typing import Any

from workrail_lint.systems.workrail.compat.criteria import has_work as has_criteria_work

TOP_LEVEL_MEMBERS = frozenset({"agentRole", "capabilities", "conditions", "extensionContract", "kind"})
STEP_MEMBERS = frozenset({"loopId", "output", "while"})


def is_design_form(document: dict[str, Any]) -> bool:
    """Whether a rewrite may change something."""
    if "version" not in document or not TOP_LEVEL_MEMBERS.isdisjoint(document):
        return True
    if isinstance(document.get("extensionPoints"), dict):
        return True
    features = document.get("features")
    if isinstance(features, list) and any(isinstance(feature, dict) for feature in features):
        return True
    steps = document.get("steps")
    for step in steps if isinstance(steps, list) else ():
        if type(step) is dict and (_marks_members(step) or ("body" in step and _marks_body(step["body"]))):
            return True
    return False


def _marks_body(body: object) -> bool:
    if isinstance(body, list):
        return any(isinstance(inner, dict) and _marks_members(inner) for inner in body)
    return isinstance(body, dict)


def _marks_members(step: dict[str, Any]) -> bool:
    identifier = step.get("id")
    if type(identifier) is str and "_" in identifier:
        return True
    names = step.keys()
    if names.isdisjoint(_SUSPECT):
        return False
    if not names.isdisjoint(STEP_MEMBERS) or step.get("type") == "template_call" or isinstance(step.get("body"), dict):
        return True
    criteria = step.get("validationCriteria")
    return criteria is not None and has_criteria_work(criteria)


_SUSPECT = STEP_MEMBERS | {"body", "type", "validationCriteria"}

"""The rules in their order: the top of the document, each step, the workflow's role, the conditions."""

from __future__ import annotations

from typing import Any

from workrail_lint.systems.workrail.compat import criteria, ids, loops, steps, top_level
from workrail_lint.systems.workrail.compat.conditions import NamedConditions
from workrail_lint.systems.workrail.compat.draft import Draft
from workrail_lint.systems.workrail.compat.frames import frames_of
from workrail_lint.systems.workrail.compat.records import Normalized, Policy


def rewrite(document: dict[str, Any], policy: Policy) -> Normalized:
    """Apply every rule. The order decides member order and which code a step names first."""
    draft = Draft(document, policy)
    top_level.version_missing(draft)
    top_level.extension_map(draft)
    top_level.extension_contract(draft)
    top_level.capabilities(draft)
    top_level.feature_configs(draft)

    frames = frames_of(document)
    plan = ids.IdPlan(frames)
    conditions = NamedConditions(draft)
    for frame in frames:
        steps.template_call(draft, frame, plan)
        ids.dash_id(draft, frame)
        ids.dash_references(draft, frame, plan)
        loops.loop_shape(draft, frame)
        loops.loop_condition(draft, frame, conditions)
        loops.body_object(draft, frame)
        if frame.is_standard:
            steps.output_contract(draft, frame)
            steps.output_hints(draft, frame)
            criteria.bare_rule(draft, frame)
            criteria.rule_messages(draft, frame)

    top_level.agent_role(draft, frames)
    conditions.remove(draft)
    return draft.finish()

"""The nine environment variables of a block."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import NamedTuple

from workrail_lint.systems.blocks.model.documents import StudioWorkflow
from workrail_lint.systems.blocks.paths import OUTPUT_DIR
from workrail_lint.systems.blocks.plan import Plan, nodes_of

NAMES = (
    "WORKFLOW_ID",
    "EXECUTION_ID",
    "NODE_ID",
    "STEP_INDEX",
    "FILE_RESTRICTIONS",
    "TELEMETRY_ENABLED",
    "TELEMETRY_URL",
    "OUTPUT_DIR",
    "PREVIOUS_BLOCK_ID",
)
RUN_SCOPE = (
    "WORKFLOW_ID",
    "EXECUTION_ID",
    "FILE_RESTRICTIONS",
    "TELEMETRY_ENABLED",
    "TELEMETRY_URL",
    "OUTPUT_DIR",
)
BLOCK_SCOPE = ("NODE_ID", "STEP_INDEX", "PREVIOUS_BLOCK_ID")


class Run(NamedTuple):
    """What stays the same for all blocks of a run."""

    execution_id: str
    telemetry_url: str
    telemetry: bool = True
    restrictions: tuple[str, ...] = ()


def environment(definition: StudioWorkflow, plan: Plan, node: str, run: Run, ran: Collection[str]) -> dict[str, str]:
    """The variables of a node's block; `ran` are the nodes that ran before it."""
    return {
        "WORKFLOW_ID": definition.id,
        "EXECUTION_ID": run.execution_id,
        "NODE_ID": node,
        "STEP_INDEX": str(plan.step_index[node]),
        "FILE_RESTRICTIONS": restrictions_text(run.restrictions),
        "TELEMETRY_ENABLED": "1" if run.telemetry else "0",
        "TELEMETRY_URL": run.telemetry_url,
        "OUTPUT_DIR": OUTPUT_DIR,
        "PREVIOUS_BLOCK_ID": previous_block(definition, plan, node, ran),
    }


def restrictions_text(patterns: Collection[str]) -> str:
    """Restrictions as the variable holds them: a JSON array without blanks."""
    return json.dumps(list(patterns), ensure_ascii=False, separators=(",", ":"))


def previous_block(definition: StudioWorkflow, plan: Plan, node: str, ran: Collection[str]) -> str:
    """The block whose output a node may read first; empty when none ran before it.

    All lanes of a group look at the entry before the group; after a group it is the last of its lanes that ran.
    """
    for entry in reversed(plan.entries[: plan.position[node]]):
        for earlier in reversed(nodes_of(entry)):
            if earlier in ran and not definition.by_id[earlier].is_control:
                return earlier
    return ""

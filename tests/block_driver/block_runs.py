"""Short ways to say what is run: definitions from nodes and edges, scenarios from members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from pytest_workrail.systems import blocks
from pytest_workrail.systems.blocks.block_run import BlockRun
from workrail_lint.systems.blocks.rules.samples import edge, group, node, workflow


def chain(*nodes: dict[str, Any], kind: str = "always", **members: Any) -> dict[str, Any]:
    """A definition whose nodes follow each other."""
    ids = [each["id"] for each in nodes]
    edges = [edge(one, other, kind) for one, other in pairwise(ids)]
    return workflow(*nodes, edges=edges, **members)


def lanes_of(*nodes: dict[str, Any], strategy: str | None = None, **members: Any) -> dict[str, Any]:
    """A definition that is one group, g."""
    more = {} if strategy is None else {"mergeStrategy": strategy}
    made = group(*(each["id"] for each in nodes), **more)
    return workflow(*nodes, parallelGroups=[made], **members)


def run(definition: dict[str, Any], agents: Mapping[str, Any] | None = None, **block: Any) -> BlockRun:
    """Run a definition; `block` are members of the scenario's block."""
    keep = block.pop("keep", None)
    others: Sequence[dict[str, Any]] = block.pop("others", ())
    return blocks.run(
        {"name": "test", "block": block}, workflow=definition, workflows=others, replies=agents, keep=keep
    )


def types(run: BlockRun) -> list[str]:
    """The events in short: the type, and the node where there is one."""
    return [f"{event['type']} {event.get('nodeId', '')}".strip() for event in run.events]


def data(run: BlockRun, kind: str) -> list[dict[str, Any]]:
    """What the events of a type said."""
    return [event.get("data", {}) for event in run.events if event["type"] == kind]


def codes(blockers: list[dict[str, Any]]) -> list[str]:
    return [blocker["code"] for blocker in blockers]


__all__ = ["chain", "codes", "data", "edge", "group", "lanes_of", "node", "run", "types", "workflow"]

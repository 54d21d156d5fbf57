"""Who does what in a run: replies by node and number of the run, and outputs made whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_workrail.systems.blocks.setup import Agent, Reply
from pytest_workrail.systems.blocks.snapshots import Changes
from workrail_lint.systems.blocks.vocabulary import EXPECTED_KIND, BlockType, DeliverableKind, OutputStatus

_ALWAYS = Reply()


class Script:
    """The replies of a run, and which of them were used."""

    def __init__(self, replies: Mapping[str, Reply | Agent]) -> None:
        self._replies = replies
        self._runs: dict[str, int] = {}
        self.used: set[str] = set()

    def take(self, node: str) -> Reply | Agent:
        """What a node does now that it runs once more: its own reply for this run, else the one for all runs."""
        number = self._runs[node] = self._runs.get(node, 0) + 1
        for key in (f"{node}#{number}", node):
            if key in self._replies:
                self.used.add(key)
                return self._replies[key]
        return _ALWAYS

    @property
    def unused(self) -> list[str]:
        return [key for key in self._replies if key not in self.used]


def completed_output(
    node: str, block_type: BlockType, given: Mapping[str, Any], found: Changes, stamp: str
) -> dict[str, Any]:
    """An output with everything it needs; what was given wins, so that lies can be told."""
    summary = f"Simulated {node}."
    made: dict[str, Any] = {
        "blockId": node,
        "blockType": block_type.value,
        "status": OutputStatus.COMPLETED.value,
        "deliverables": {},
        "summary": summary,
        "filesModified": list(found.modified),
        "filesCreated": list(found.created),
        "timestamp": stamp,
        **given,
    }
    kind = EXPECTED_KIND[block_type]
    if "deliverables" not in given:
        made["deliverables"] = _smallest_deliverable(kind, made["summary"], summary)
    elif isinstance(given["deliverables"], Mapping):
        made["deliverables"] = {"blockType": kind.value, **given["deliverables"]}
    return made


def _smallest_deliverable(kind: DeliverableKind, summary: Any, task: str) -> dict[str, Any]:
    """The least that a block of a kind has to hand in for nobody to miss anything."""
    match kind:
        case DeliverableKind.PLAN:
            return {"blockType": kind.value, "taskList": [task]}
        case DeliverableKind.GENERIC:
            return {"blockType": kind.value, "summary": summary}
        case _:
            return {"blockType": kind.value}

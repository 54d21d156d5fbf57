"""What the rules about a unit need to know of each of its files: plain JSON, small enough for a cache."""

from __future__ import annotations

from typing import Any

from workrail_lint.systems.blocks.documents import BlockKind

_LONGEST_TEXT = 4096
# The head of a document is enough to recognise it in a prompt.
_DOCUMENT_HEAD = 512
_OUTPUT_MEMBERS = ("blockId", "blockType", "status", "timestamp", "filesModified", "filesCreated")
_NODE_MEMBERS = ("id", "type", "kind", "description", "config")
_DEFINITION_MEMBERS = ("id", "transitions", "parallelGroups", "gates", "rules")


def record_of(kind: BlockKind, value: object) -> dict[str, Any]:
    """The record of a document; `value` is None for one that can't be read, and a string for a prompt."""
    return {"kind": kind.value, "value": _essence(kind, value)}


def _essence(kind: BlockKind, value: object) -> object:
    if kind is BlockKind.PROMPT:
        return value if isinstance(value, str) else None
    if not isinstance(value, dict):
        return None
    match kind:
        case BlockKind.OUTPUT:
            return _output(value)
        case BlockKind.WORKFLOW:
            return _definition(value)
        case BlockKind.TRACE:
            return {}
        case _:
            return value


def _output(value: dict[str, Any]) -> dict[str, Any]:
    deliverables = value.get("deliverables")
    essence = _picked(value, _OUTPUT_MEMBERS)
    if isinstance(value.get("summary"), str):
        essence["summary"] = value["summary"][:_LONGEST_TEXT]
    if isinstance(deliverables, dict):
        essence["deliverables"] = _picked(deliverables, ("blockType",))
        document = deliverables.get("markdownDocument")
        if isinstance(document, str):
            essence["document"] = document.strip()[:_DOCUMENT_HEAD]
    return essence


def _definition(value: dict[str, Any]) -> dict[str, Any]:
    nodes = value.get("nodes")
    slim = [
        _picked(node, _NODE_MEMBERS) if isinstance(node, dict) else None
        for node in (nodes if isinstance(nodes, list) else ())
    ]
    return {**_picked(value, _DEFINITION_MEMBERS), "nodes": slim}


def _picked(value: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value[name] for name in names if name in value}

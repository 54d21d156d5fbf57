"""The drawing as plain JSON data: what stands where, and the tree behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workrail_lint.systems.workrail.graph.railway import Layout
from workrail_lint.systems.workrail.graph.tree import Block, Branch, Card, Group, Switch, branch_text

Data = dict[str, Any]


def layout_data(drawing: Layout) -> Data:
    """Boxes, rails and labels with their places, in pixels."""
    return {
        "width": drawing.width,
        "height": drawing.height,
        "start": list(drawing.start),
        "end": list(drawing.end),
        "nodes": [
            {"id": node.id, **_box(node.x, node.y, node.w, node.h), "lines": list(node.lines)} for node in drawing.nodes
        ],
        "groups": [
            {
                "id": frame.id,
                "kind": frame.kind,
                **_box(frame.x, frame.y, frame.w, frame.h),
                "title": frame.title,
                "note": frame.note,
                "bound": frame.bound,
            }
            for frame in drawing.frames
        ],
        "rails": [
            {
                "kind": rail.kind,
                "points": [list(point) for point in rail.points],
                "from": rail.source,
                "to": rail.target,
            }
            for rail in drawing.rails
        ],
        "labels": [
            {
                "kind": label.kind,
                **_box(label.x, label.y, label.w, label.h),
                "lines": list(label.lines),
                "text": label.text,
                "conditions": list(label.conditions),
                "to": label.target,
            }
            for label in drawing.labels
        ],
        "joints": [list(point) for point in drawing.joints],
        "bars": [{"x": bar.x, "y": bar.y, "w": bar.w} for bar in drawing.bars],
    }


def _box(x: int, y: int, w: int, h: int) -> Data:
    return {"x": x, "y": y, "w": w, "h": h}


def tree_data(blocks: Sequence[Block]) -> list[Data]:
    """The structure in the order of reading, for lists."""
    return [_block_data(block) for block in blocks]


def _block_data(block: Block) -> Data:
    match block:
        case Card():
            return {"kind": "step", "id": block.id, "title": block.title}
        case Group():
            shown = {"kind": block.kind, "id": block.id, "title": block.title, "note": block.note}
            return {**shown, "bound": block.bound, "items": tree_data(block.items)}
        case Branch():
            return {"kind": "branch", "text": branch_text(block), "items": tree_data(block.items)}
        case Switch():
            lanes = [{"text": branch_text(lane, block.subject), "items": tree_data(lane.items)} for lane in block.lanes]
            return {"kind": "switch", "subject": block.subject, "complete": block.is_complete, "lanes": lanes}

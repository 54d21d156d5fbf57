"""What is wrong with a drawing: boxes that overlap, rails that cross."""

from __future__ import annotations

from itertools import combinations, pairwise

from workrail_lint.systems.drawing.railway import Layout, Point

_Box = tuple[int, int, int, int, str]


def overlaps(drawing: Layout) -> list[tuple[str, str]]:
    """Cards and labels that lie on one another, or outside of the drawing."""
    boxes: list[_Box] = [(node.x, node.y, node.w, node.h, node.id) for node in drawing.nodes]
    boxes += [(label.x, label.y, label.w, label.h, label.text) for label in drawing.labels]
    outside = [
        (name, "the edge")
        for x, y, w, h, name in boxes
        if x < 0 or y < 0 or x + w > drawing.width or y + h > drawing.height
    ]
    return outside + [(a[4], b[4]) for a, b in combinations(boxes, 2) if _meet(a, b)]


def _meet(a: _Box, b: _Box) -> bool:
    return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]


def crossings(drawing: Layout) -> int:
    """How often two rails cross, or a rail runs through a card. Rails may share a piece of line."""
    pieces = [(number, *pair) for number, rail in enumerate(drawing.rails) for pair in pairwise(rail.points)]
    across = sum(
        1 for (i, a, b), (j, c, d) in combinations(pieces, 2) if i != j and (_cross(a, b, c, d) or _cross(c, d, a, b))
    )
    inside = sum(
        1
        for node in drawing.nodes
        for _, a, b in pieces
        if max(a.x, b.x) > node.x
        and min(a.x, b.x) < node.x + node.w
        and max(a.y, b.y) > node.y
        and min(a.y, b.y) < node.y + node.h
    )
    return across + inside


def _cross(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Whether the upright piece a-b and the level piece c-d cross in their middles."""
    return a.x == b.x and c.y == d.y and min(c.x, d.x) < a.x < max(c.x, d.x) and min(a.y, b.y) < c.y < max(a.y, b.y)

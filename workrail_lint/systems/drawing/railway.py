"""Places for the blocks of a drawing: cards on a vertical axis, rails between them, nothing crossing.

Sizes are found from the inside out, places from the outside in. All numbers are whole and come from a fixed table of
letter widths, so that the same workflow is drawn with the same bytes on every machine. The result is also plain JSON
data, with the tree behind it, for those that draw themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import accumulate
from typing import NamedTuple

from workrail_lint.documents.nodes import Node as DocumentNode
from workrail_lint.systems.drawing.shapes import Block, Branch, Card, Data, Group, Switch
from workrail_lint.systems.drawing.texts import fitted, pixels

CARD_WIDTH, DELEGATION_WIDTH = 236, 200
TITLE_SIZE, TITLE_LINE, TITLE_LINES = 14, 18, 3
BOLD_SIZE = 16  # bold letters of size 14 take the room of these
LABEL_SIZE, LABEL_LINE, LABEL_HEIGHT, LABEL_WIDTH = 13, 15, 20, 250
_CARD_REST = 38  # of the height of a card: the id and the space around
_GAP, _LANE_GAP, _BYPASS, _PAD = 26, 26, 20, 14
_HEAD, _BACK, _JOIN, _FOOT = 38, 22, 16, 26
_MARGIN, _START = 24, 52
# Room that layers need for what they add to a label, and to the head of a loop.
_LABEL_LAYER, _HEAD_LAYER = 78, 136


class Point(NamedTuple):
    x: int
    y: int


class Node(NamedTuple):
    """A card at its place."""

    id: str
    x: int
    y: int
    w: int
    h: int
    lines: tuple[str, ...]  # of the title
    card: Card


class Frame(NamedTuple):
    """A loop, template call or parallel step around its cards."""

    id: str
    kind: str
    x: int
    y: int
    w: int
    h: int
    title: str
    note: str
    bound: float | None


class Ends(NamedTuple):
    """The steps that a run can come from, and go to next, on a rail; None is the start and the end."""

    before: frozenset[str | None]
    after: frozenset[str | None]


class Rail(NamedTuple):
    """A line through points, at right angles. `kind`: main, branch, skip, back."""

    points: tuple[Point, ...]
    kind: str
    source: str | None  # the card or frame it comes from
    target: str | None  # the one it leads to; such a rail has an arrow
    ends: Ends


class Label(NamedTuple):
    """The condition of a branch or lane, or the variable (`subject`) that all lanes ask about."""

    kind: str  # branch, lane, subject
    x: int
    y: int
    w: int
    h: int
    lines: tuple[str, ...]
    text: str
    conditions: tuple[DocumentNode, ...]
    target: str | None


class Bar(NamedTuple):
    """Where the delegations of a parallel step begin or end."""

    x: int
    y: int
    w: int


@dataclass
class Layout:
    """A drawing: everything at its place."""

    start: Point
    width: int
    height: int
    end: Point
    nodes: list[Node] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    rails: list[Rail] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    joints: list[Point] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)


class _Text(NamedTuple):
    """A label and its size."""

    text: str
    lines: tuple[str, ...]
    w: int
    h: int


@dataclass(slots=True)
class _Box:
    """A block and its size. The rail enters and leaves at `axis`, counted from the left edge."""

    block: Block | None  # None for a sequence
    w: int
    h: int
    axis: int
    top: int = 0  # where the contents begin
    inner: tuple[_Box, ...] = ()
    label: _Text | None = None
    x: int = 0  # of a lane, inside of its switch or parallel step


def layout(blocks: Sequence[Block]) -> Layout:
    """Return the drawing of a workflow, with everything at its place."""
    whole = _sequence(blocks)
    axis, end = _MARGIN + whole.axis, _START + whole.h
    drawing = Layout(Point(axis, 22), whole.w + 2 * _MARGIN, end + 52, Point(axis, end + 30))
    outside = frozenset((None,))
    begin, finish = Ends(outside, _entries(whole, outside)), Ends(_exits(whole, outside), outside)
    drawing.rails.append(Rail((Point(axis, 28), Point(axis, _START)), "main", None, _first(whole), begin))
    _place(whole, _MARGIN, _START, drawing, Ends(outside, outside))
    drawing.rails.append(Rail((Point(axis, end), Point(axis, end + 24)), "main", _last(whole), None, finish))
    return drawing


# Sizes


def _sequence(blocks: Sequence[Block]) -> _Box:
    inner = tuple(map(_measured, blocks))
    left = max(box.axis for box in inner)
    right = max(box.w - box.axis for box in inner)
    height = sum(box.h for box in inner) + _GAP * (len(inner) - 1)
    return _Box(None, left + right, height, left, inner=inner)


def _measured(block: Block) -> _Box:
    match block:
        case Card():
            return _card(block)
        case Group(kind="parallel"):
            return _parallel(block)
        case Group():
            return _group(block)
        case Branch():
            return _branch(block)
        case Switch():
            return _switch(block)


def _card(card: Card) -> _Box:
    width = CARD_WIDTH if not card.is_part else DELEGATION_WIDTH
    lines = title_lines(card)
    return _Box(card, width, _CARD_REST + TITLE_LINE * len(lines), width // 2)


def title_lines(card: Card) -> tuple[str, ...]:
    """Return the title of a card as it is drawn."""
    width = (CARD_WIDTH if not card.is_part else DELEGATION_WIDTH) - 30
    return tuple(fitted(card.title, width, partial(pixels, size=BOLD_SIZE), TITLE_LINES))


def _label(text: str) -> _Text:
    width = _even(pixels(text, LABEL_SIZE) + 20)
    if width <= LABEL_WIDTH:
        return _Text(text, tuple(fitted(text, width, partial(pixels, size=LABEL_SIZE), 1)), width, LABEL_HEIGHT)
    lines = tuple(fitted(text, LABEL_WIDTH - 28, partial(pixels, size=LABEL_SIZE)))
    return _Text(text, lines, LABEL_WIDTH, LABEL_HEIGHT + LABEL_LINE * (len(lines) - 1))


def _branch(branch: Branch) -> _Box:
    body, label = _sequence(branch.items), _label(branch.label())
    axis = max(body.axis, label.w // 2)
    right = max(body.w - body.axis, label.w // 2 + _LABEL_LAYER)
    top = _JOIN + label.h + 12
    return _Box(branch, axis + right + _BYPASS, top + body.h + _JOIN, axis, top, (body,), label)


def _switch(switch: Switch) -> _Box:
    lanes: list[_Box] = []
    x = 0
    for lane in switch.lanes:
        body, label = _sequence(lane.items), _label(lane.label(switch.subject))
        axis = max(body.axis, label.w // 2)
        right = max(body.w - body.axis, label.w // 2 + (_LABEL_LAYER if label.w > LABEL_SIZE * 6 else 0))
        lanes.append(_Box(lane, axis + right, body.h, axis, inner=(body,), label=label, x=x))
        x += axis + right + _LANE_GAP
    subject = _subject(switch)
    head = 13 + 18 if subject is not None else 6 + 12
    top = head + max(lane.label.h for lane in lanes if lane.label is not None) + 12
    axis = _middle(lanes)
    width = x - _LANE_GAP + (0 if switch.is_complete else _BYPASS + 14)
    if subject is not None:
        width = max(width, axis + subject.w // 2 + _LABEL_LAYER)
        short = subject.w // 2 - axis
        if short > 0:  # the variable is wider than everything left of the axis
            for box in lanes:
                box.x += short
            axis, width = axis + short, width + short
    return _Box(switch, width, top + max(lane.h for lane in lanes) + _JOIN + 8, axis, top, tuple(lanes), subject)


def _middle(lanes: list[_Box]) -> int:
    """Return the axis of a switch: that of the middle lane, or the middle between the outer ones."""
    first, last = lanes[0], lanes[-1]
    if len(lanes) % 2:
        middle = lanes[len(lanes) // 2]
        return middle.x + middle.axis
    return (first.x + first.axis + last.x + last.axis) // 2


def _subject(switch: Switch) -> _Text | None:
    if switch.subject is None:
        return None
    lines = tuple(fitted(switch.subject, LABEL_WIDTH, partial(pixels, size=LABEL_SIZE), 1))
    return _Text(switch.subject, lines, _even(pixels(lines[0], LABEL_SIZE) + 44), 22)


def _group(group: Group) -> _Box:
    body = _sequence(group.items)
    left = _PAD + (_BACK if group.kind == "loop" else 0)
    natural = left + body.w + _PAD
    width = max(natural, _head_width(group))
    top = _HEAD + 14
    height = top + body.h + (_FOOT if group.kind == "loop" else _PAD + 2)
    return _Box(group, width, height, left + body.axis + (width - natural) // 2, top, (body,))


def _parallel(group: Group) -> _Box:
    lanes: list[_Box] = []
    x = _PAD
    for item in group.items:
        lane = _measured(item)
        lane.x = x
        x += lane.w + _PAD
        lanes.append(lane)
    width = max(x, _even(_head_width(group)))
    for lane in lanes:
        lane.x += (width - x) // 2
    top = _HEAD + 22
    height = top + max((lane.h for lane in lanes), default=0) + 24
    return _Box(group, width, height, width // 2, top, tuple(lanes))


def _head_width(group: Group) -> int:
    """Return the room for the title and the note of a frame, side by side, and for what layers add."""
    note = pixels(group.note, 13)
    room = max(note, _HEAD_LAYER) if group.kind == "loop" else note
    return min(_even(pixels(group.title, BOLD_SIZE) + room + 58), 2 * CARD_WIDTH)


def _even(number: int) -> int:
    return number + number % 2


# Places


def _place(box: _Box, x: int, y: int, drawing: Layout, ends: Ends) -> None:
    """Put a box at its place. `ends` are the steps around it."""
    match box.block:
        case None:
            _place_sequence(box, x, y, drawing, ends)
        case Card() as card:
            drawing.nodes.append(Node(card.id, x, y, box.w, box.h, title_lines(card), card))
        case Branch() as branch:
            _place_branch(box, branch, x, y, drawing, ends)
        case Switch() as switch:
            _place_switch(box, switch, x, y, drawing, ends)
        case Group() as group:
            drawing.frames.append(Frame(group.id, group.kind, x, y, box.w, box.h, group.title, group.note, group.bound))
            (_place_parallel if group.kind == "parallel" else _place_group)(box, group, x, y, drawing, ends)


def _place_sequence(box: _Box, x: int, y: int, drawing: Layout, ends: Ends) -> None:
    axis, before = x + box.axis, ends.before
    # What a run does next, after each of the boxes.
    after = [*accumulate(reversed(box.inner), lambda rest, inner: _entries(inner, rest), initial=ends.after)][::-1]
    for number, inner in enumerate(box.inner):
        if number:
            points = (Point(axis, y), Point(axis, y + _GAP))
            between = Ends(before, after[number])
            drawing.rails.append(Rail(points, "main", _last(box.inner[number - 1]), _first(inner), between))
            y += _GAP
        _place(inner, axis - inner.axis, y, drawing, Ends(before, after[number + 1]))
        before = _exits(inner, before)
        y += inner.h


def _place_branch(box: _Box, branch: Branch, x: int, y: int, drawing: Layout, ends: Ends) -> None:
    (body,), label, axis = box.inner, box.label, x + box.axis
    assert label is not None
    fork, join, right = y + 4, y + box.h - 5, x + box.w - 2
    into, out = _ways(body, ends)
    drawing.joints.append(Point(axis, fork))
    drawing.rails.append(Rail((Point(axis, y), Point(axis, y + box.top)), "branch", None, _first(body), into))
    drawing.labels.append(_placed("branch", label, axis, y + _JOIN, branch.conditions, _first(body)))
    _place(body, axis - body.axis, y + box.top, drawing, ends)
    drawing.rails.append(Rail((Point(axis, join - 11), Point(axis, y + box.h)), "branch", _last(body), None, out))
    way = (Point(axis, fork), Point(right, fork), Point(right, join), Point(axis, join))
    drawing.rails.append(Rail(way, "skip", None, None, ends))


def _place_switch(box: _Box, switch: Switch, x: int, y: int, drawing: Layout, ends: Ends) -> None:
    axis, subject = x + box.axis, box.label
    split, merge = y + (13 if subject is not None else 6), y + box.h - 8
    into, out = _ways(box, ends)
    drawing.rails.append(Rail((Point(axis, y), Point(axis, split)), "branch", None, None, into))
    for lane in box.inner:
        label, (body,), middle = lane.label, lane.inner, x + lane.x + lane.axis
        assert label is not None
        assert isinstance(lane.block, Branch)
        lane_into, lane_out = _ways(body, ends)
        top = Point(middle, y + box.top)
        down = (Point(axis, split), top) if middle == axis else (Point(axis, split), Point(middle, split), top)
        drawing.rails.append(Rail(down, "branch", None, _first(body), lane_into))
        below = split + (18 if subject is not None else 11)
        drawing.labels.append(_placed("lane", label, middle, below, lane.block.conditions, _first(body)))
        _place(body, middle - body.axis, y + box.top, drawing, ends)
        bottom = Point(middle, y + box.top + body.h)
        up = (bottom, Point(axis, merge)) if middle == axis else (bottom, Point(middle, merge), Point(axis, merge))
        drawing.rails.append(Rail(up, "branch", _last(body), None, lane_out))
    if not switch.is_complete:
        right = x + box.w - 2
        way = (Point(axis, split), Point(right, split), Point(right, merge), Point(axis, merge))
        drawing.rails.append(Rail(way, "skip", None, None, ends))
    drawing.rails.append(Rail((Point(axis, merge), Point(axis, y + box.h)), "branch", None, None, out))
    if subject is None:
        drawing.joints.append(Point(axis, split))
    else:
        drawing.labels.append(_placed("subject", subject, axis, y + 2, (), None))


def _placed(
    kind: str, text: _Text, axis: int, y: int, conditions: tuple[DocumentNode, ...], target: str | None
) -> Label:
    return Label(kind, axis - text.w // 2, y, text.w, text.h, text.lines, text.text, conditions, target)


def _place_group(box: _Box, group: Group, x: int, y: int, drawing: Layout, ends: Ends) -> None:
    (body,), axis = box.inner, x + box.axis
    top, head = y + box.top, y + _HEAD
    end = top + body.h
    again = Ends(_exits(body, frozenset()), _entries(body, frozenset()))
    if group.kind == "loop":  # from its end, a run can come to its beginning
        ends = Ends(ends.before | again.before, ends.after | again.after)
    into, out = _ways(body, ends)
    drawing.rails.append(Rail((Point(axis, head), Point(axis, top)), "main", None, _first(body), into))
    _place(body, axis - body.axis, top, drawing, ends)
    drawing.rails.append(Rail((Point(axis, end), Point(axis, y + box.h)), "main", _last(body), None, out))
    if group.kind == "loop":
        left = x + _PAD + 2
        way = (Point(axis, end + 12), Point(left, end + 12), Point(left, head + 7), Point(axis, head + 7))
        drawing.rails.append(Rail(way, "back", _last(body), _first(body), again))


def _place_parallel(box: _Box, group: Group, x: int, y: int, drawing: Layout, ends: Ends) -> None:
    axis, first, last = x + box.axis, y + _HEAD + 6, y + box.h - 10
    into, out = _ways(box, ends)
    if box.inner:
        left = x + box.inner[0].x + box.inner[0].axis - 20
        wide = box.inner[-1].x + box.inner[-1].axis - box.inner[0].x - box.inner[0].axis + 40
        drawing.bars += [Bar(left, first, wide), Bar(left, last, wide)]
    for lane in box.inner:
        middle, top = x + lane.x + lane.axis, y + box.top
        drawing.rails.append(Rail((Point(middle, first), Point(middle, top)), "main", None, _first(lane), into))
        _place(lane, x + lane.x, top, drawing, ends)
        drawing.rails.append(Rail((Point(middle, top + lane.h), Point(middle, last)), "main", _last(lane), None, out))
    drawing.rails.append(Rail((Point(axis, last), Point(axis, y + box.h)), "main", group.id, None, out))


def _ways(box: _Box, ends: Ends) -> tuple[Ends, Ends]:
    """Return the ends of the rail into a box and of the one out of it."""
    return Ends(ends.before, _entries(box, ends.after)), Ends(_exits(box, ends.before), ends.after)


def _entries(box: _Box, after: frozenset[str | None]) -> frozenset[str | None]:
    """Return the steps at which a run can arrive that enters a box; `after` it, where it can do nothing in it."""
    match box.block:
        case None:
            return reduce(lambda rest, inner: _entries(inner, rest), reversed(box.inner), after)
        case Card() | Group(kind="parallel"):
            return frozenset((box.block.id,))
    inside = frozenset[str | None]().union(*(_entries(inner, after) for inner in _contents(box)))
    return inside | after if _may_be_passed(box.block) else inside


def _exits(box: _Box, before: frozenset[str | None]) -> frozenset[str | None]:
    """Return the steps from which a run can come that leaves a box; `before` it, where it can do nothing in it."""
    match box.block:
        case None:
            return reduce(lambda rest, inner: _exits(inner, rest), box.inner, before)
        case Card() | Group(kind="parallel"):
            return frozenset((box.block.id,))
    inside = frozenset[str | None]().union(*(_exits(inner, before) for inner in _contents(box)))
    return inside | before if _may_be_passed(box.block) else inside


def _contents(box: _Box) -> Iterable[_Box]:
    """Return what is inside of a box; of a switch, what is in its lanes."""
    return (lane.inner[0] for lane in box.inner) if isinstance(box.block, Switch) else box.inner


def _may_be_passed(block: Block) -> bool:
    """Return whether a run can go past a block without a step in it."""
    match block:
        case Switch():
            return not block.is_complete
        case Group():
            return block.kind == "loop"
        case _:
            return isinstance(block, Branch)


def _first(box: _Box) -> str | None:
    """Return the card or frame at which a rail into the box arrives; none where it splits first."""
    while box.block is None:
        box = box.inner[0]
    return box.block.id if isinstance(box.block, Card | Group) else None


def _last(box: _Box) -> str | None:
    while box.block is None:
        box = box.inner[-1]
    return box.block.id if isinstance(box.block, Card | Group) else None


def layout_data(drawing: Layout) -> Data:
    """Return boxes, rails and labels with their places, in pixels."""
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
                # Where a rail begins or ends at no step: the steps that a run comes from, and goes to.
                **_steps("fromSteps", rail.source, rail.ends.before),
                **_steps("toSteps", rail.target, rail.ends.after),
            }
            for rail in drawing.rails
        ],
        "labels": [
            {
                "kind": label.kind,
                **_box(label.x, label.y, label.w, label.h),
                "lines": list(label.lines),
                "text": label.text,
                "conditions": [condition.raw for condition in label.conditions],
                "to": label.target,
            }
            for label in drawing.labels
        ],
        "joints": [list(point) for point in drawing.joints],
        "bars": [{"x": bar.x, "y": bar.y, "w": bar.w} for bar in drawing.bars],
    }


def _steps(name: str, end: str | None, steps: frozenset[str | None]) -> Data:
    if end is not None and steps == {end}:
        return {}
    return {name: sorted(steps, key=lambda step: (step is not None, step))}


def _box(x: int, y: int, w: int, h: int) -> Data:
    return {"x": x, "y": y, "w": w, "h": h}

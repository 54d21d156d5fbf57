"""The parts of a drawing: cards one after the other, frames around them, branches beside each other.

Each system makes these from its documents. They nest, so that everything can be drawn without crossings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from workrail_lint.documents.nodes import Node

Data = dict[str, Any]


class Note(NamedTuple):
    """One thing about a card. `kind`: gate, contract, assessment, fragments, delegation; others have no icon."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Card:
    """Something that is done, such as a step."""

    id: str
    title: str
    notes: tuple[Note, ...] = ()
    about: str | None = None  # below the title, in place of the id
    writer: str = "authored"  # or template, virtual
    step: str | None = None  # the step that it is a part of, if it is not one itself

    @property
    def is_part(self) -> bool:
        return self.step is not None


@dataclass(frozen=True, slots=True)
class Group:
    """A frame around others, such as a loop with its body."""

    id: str
    kind: str  # loop, template, parallel, state
    title: str
    note: str  # beside the title
    bound: float | None  # of a loop
    items: tuple[Block, ...]  # side by side if it is a parallel one


@dataclass(frozen=True, slots=True)
class Branch:
    """Blocks that happen only under a condition. All of the `conditions` have to hold."""

    text: str  # the condition in words
    items: tuple[Block, ...]
    conditions: tuple[Node, ...] = ()  # as the document has them

    def label(self, subject: str | None = None) -> str:
        """Return its condition, or only the value if the variable is above the lanes."""
        if subject is None:
            return self.text
        return self.text.removeprefix(f"{subject} ").removeprefix("is ") or self.text


@dataclass(frozen=True, slots=True)
class Switch:
    """Branches of which at most one runs. A complete switch always has one that does."""

    subject: str | None  # the variable that all lanes ask about
    lanes: tuple[Branch, ...]
    is_complete: bool


Block = Card | Group | Branch | Switch


def cards(blocks: Sequence[Block]) -> list[Card]:
    """Return the cards of a drawing, in the order of reading."""
    result: list[Card] = []
    pending = [*reversed(blocks)]
    while pending:
        block = pending.pop()
        match block:
            case Card():
                result.append(block)
            case Switch():
                pending.extend(reversed(block.lanes))
            case _:
                pending.extend(reversed(block.items))
    return result


def tree_data(blocks: Sequence[Block]) -> list[Data]:
    """Return the structure in the order of reading, for lists."""
    return [_block_data(block) for block in blocks]


def _block_data(block: Block) -> Data:
    match block:
        case Card():
            return {"kind": "step", "id": block.id, "title": block.title}
        case Group():
            heading = {"kind": block.kind, "id": block.id, "title": block.title, "note": block.note}
            return {**heading, "bound": block.bound, "items": tree_data(block.items)}
        case Branch():
            return {"kind": "branch", "text": block.text, "items": tree_data(block.items)}
        case Switch():
            lanes = [{"text": lane.label(block.subject), "items": tree_data(lane.items)} for lane in block.lanes]
            return {"kind": "switch", "subject": block.subject, "complete": block.is_complete, "lanes": lanes}

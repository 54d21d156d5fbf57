"""Records of the analysis (definitions, uses, domains), which point back into the source."""

from __future__ import annotations

from typing import Any

from workrail_lint.base.result import Record
from workrail_lint.systems.workrail.model.workflow import Condition

# How sure we are that something gives a variable its value. The first five count as "set".
CERTAIN, STATED, LISTED, CALLER, ENGINE = "certain", "stated", "listed", "caller", "engine"
UNDELIVERED, MENTIONED = "undelivered", "mentioned"
SET = frozenset((CERTAIN, STATED, LISTED, CALLER, ENGINE))

AUTHORED, TEMPLATE, FEATURE, REF, BINDING, VIRTUAL = "authored", "template", "feature", "ref", "binding", "virtual"
# Text that the workflow takes in from elsewhere, so that its author can't reword it.
FOREIGN = frozenset((TEMPLATE, FEATURE, REF))

CONDITION_KINDS = ("runCondition", "fragment", "gate", "loop", "delegation", "criteria")


class Origin(Record):
    """Where something was written, and how it came into the compiled workflow."""

    __slots__ = ("pointer", "via")

    def __init__(self, pointer: str, via: str) -> None:
        self.pointer = pointer
        self.via = via


class PlacedStep(Record):
    """A compiled step at its place in the run."""

    __slots__ = ("conditions", "damaged", "id", "kind", "loop", "origin", "pointer", "position", "surely_entered")

    def __init__(
        self,
        id: str,
        pointer: str,
        position: tuple[int, int],
        loop: str | None,
        conditions: tuple[Condition, ...],
        kind: str,
        origin: Origin,
        surely_entered: bool,
        damaged: bool,
    ) -> None:
        self.id = id
        self.pointer = pointer  # of the authored step; for an expanded one that of its caller
        self.position = position  # top level, body; a loop comes before its body
        self.loop = loop  # id of the loop that runs it
        self.conditions = conditions  # its own, then those of the loop around it
        self.kind = kind  # standard, loop, parallel
        self.origin = origin
        self.surely_entered = surely_entered  # the loop around it runs at least one round
        self.damaged = damaged  # something in it has a wrong type, which is reported elsewhere


class Text(Record):
    """A text that agents or people read."""

    __slots__ = ("delivered", "field", "pointer", "step", "text", "via", "when")

    def __init__(
        self, pointer: str, step: int | None, field: str, delivered: bool, when: Condition | None, via: str, text: str
    ) -> None:
        self.pointer = pointer
        self.step = step  # index among the steps
        self.field = field
        self.delivered = delivered  # whether an agent reads it
        self.when = when  # of the fragment it belongs to
        self.via = via  # how it came into the compiled workflow
        self.text = text

    @property
    def origin(self) -> Origin:
        return Origin(self.pointer, self.via)


class Use(Record):
    """A place that reads a variable."""

    __slots__ = ("kind", "leaf", "name", "origin", "path", "pointer", "root", "step", "text", "when")

    def __init__(
        self,
        name: str,
        path: str,
        step: int,
        pointer: str,
        kind: str,
        leaf: Condition | None,
        when: Condition | None,
        root: str,
        origin: Origin,
        text: str,
    ) -> None:
        self.name = name
        self.path = path  # what follows the name in a token, as in "heading" for {{chapter.heading}}
        self.step = step
        self.pointer = pointer
        self.kind = kind  # one of CONDITION_KINDS, or items, count, token, mapping
        self.leaf = leaf  # the comparison
        self.when = when  # the condition of the fragment whose text has the token
        self.root = root  # pointer of the whole condition
        self.origin = origin
        self.text = text  # the text around a token


class Decision(Record):
    """A whole condition and what it decides."""

    __slots__ = ("condition", "kind", "origin", "pointer", "step")

    def __init__(self, pointer: str, kind: str, step: int, condition: Condition, origin: Origin) -> None:
        self.pointer = pointer
        self.kind = kind  # one of CONDITION_KINDS
        self.step = step
        self.condition = condition
        self.origin = origin


class Definition(Record):
    """A place that gives a variable its value, or at least names it."""

    __slots__ = ("confidence", "kind", "name", "origin", "pointer", "span", "step", "text", "when")

    def __init__(
        self,
        name: str,
        step: int | None,
        pointer: str,
        span: tuple[int, int],
        kind: str,
        confidence: str,
        text: str,
        when: Condition | None,
        origin: Origin,
    ) -> None:
        self.name = name
        self.step = step
        self.pointer = pointer
        self.span = span  # of the name in the text
        self.kind = kind
        self.confidence = confidence
        self.text = text  # with the name in it
        self.when = when
        self.origin = origin


class Domain(Record):
    """A statement about the values of a variable."""

    __slots__ = ("closed", "kind", "name", "pointer", "span", "text", "values")

    def __init__(
        self,
        name: str,
        values: tuple[Any, ...],
        closed: bool,
        kind: str,
        pointer: str,
        span: tuple[int, int],
        text: str,
    ) -> None:
        self.name = name
        self.values = values
        self.closed = closed
        self.kind = kind  # one-of, alternatives, boolean, number, list, bullets, value
        self.pointer = pointer
        self.span = span
        self.text = text  # with the name in it


class Mention(Record):
    """A place that names a variable without setting it."""

    __slots__ = ("field", "name", "pointer", "role", "span", "step")

    def __init__(self, name: str, step: int | None, pointer: str, span: tuple[int, int], role: str, field: str) -> None:
        self.name = name
        self.step = step
        self.pointer = pointer
        self.span = span
        self.role = role  # condition or plain
        self.field = field


class Example:
    """Under which values something happens, or that it can't."""

    __slots__ = ("assignment", "kind", "pointer", "verdict")

    def __init__(self, pointer: str, kind: str, verdict: str, assignment: dict[str, Any] | None) -> None:
        self.pointer = pointer
        self.kind = kind  # step, fragment, gate, loop exit
        self.verdict = verdict  # possible, impossible, unknown
        self.assignment = assignment  # the values; a variable that is unset has UNSET_TEXT


UNSET_TEXT = "(unset)"

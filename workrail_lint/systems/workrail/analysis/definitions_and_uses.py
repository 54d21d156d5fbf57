"""Records of the analysis (definitions, uses, domains), which point back into the source."""

from __future__ import annotations

from typing import Any, NamedTuple

from workrail_lint.systems.workrail.model.workflow import Condition

# How sure we are that something gives a variable its value. The first five count as "set".
CERTAIN, STATED, LISTED, CALLER, ENGINE = "certain", "stated", "listed", "caller", "engine"
UNDELIVERED, MENTIONED = "undelivered", "mentioned"
SET = frozenset((CERTAIN, STATED, LISTED, CALLER, ENGINE))

AUTHORED, TEMPLATE, FEATURE, REF, BINDING, VIRTUAL = "authored", "template", "feature", "ref", "binding", "virtual"
# Text that the workflow takes in from elsewhere, so that its author can't reword it.
FOREIGN = frozenset((TEMPLATE, FEATURE, REF))

CONDITION_KINDS = ("runCondition", "fragment", "gate", "loop", "delegation", "criteria")


class Origin(NamedTuple):
    """Where something was written, and how it came into the compiled workflow."""

    pointer: str
    via: str


class PlacedStep(NamedTuple):
    """A compiled step at its place in the run."""

    id: str
    pointer: str  # of the authored step; for an expanded one that of its caller
    position: tuple[int, int]  # top level, body; a loop comes before its body
    loop: str | None  # id of the loop that runs it
    conditions: tuple[Condition, ...]  # its own, then those of the loop around it
    kind: str  # standard, loop, parallel
    origin: Origin
    surely_entered: bool  # the loop around it runs at least one round
    damaged: bool  # something in it has a wrong type, which is reported elsewhere


class Text(NamedTuple):
    """A text that agents or people read."""

    pointer: str
    step: int | None  # index among the steps
    field: str
    delivered: bool  # whether an agent reads it
    when: Condition | None  # of the fragment it belongs to
    via: str  # how it came into the compiled workflow
    text: str

    @property
    def origin(self) -> Origin:
        return Origin(self.pointer, self.via)


class Use(NamedTuple):
    """A place that reads a variable."""

    name: str
    path: str  # what follows the name in a token, as in "heading" for {{chapter.heading}}
    step: int
    pointer: str
    kind: str  # one of CONDITION_KINDS, or items, count, token, mapping
    leaf: Condition | None  # the comparison
    when: Condition | None  # the condition of the fragment whose text has the token
    root: str  # pointer of the whole condition
    origin: Origin
    text: str  # the text around a token


class Decision(NamedTuple):
    """A whole condition and what it decides."""

    pointer: str
    kind: str  # one of CONDITION_KINDS
    step: int
    condition: Condition
    origin: Origin


class Definition(NamedTuple):
    """A place that gives a variable its value, or at least names it."""

    name: str
    step: int | None
    pointer: str
    span: tuple[int, int]  # of the name in the text
    kind: str
    confidence: str
    text: str  # with the name in it
    when: Condition | None
    origin: Origin


class Domain(NamedTuple):
    """A statement about the values of a variable."""

    name: str
    values: tuple[Any, ...]
    closed: bool
    kind: str  # one-of, alternatives, boolean, number, list, bullets, value
    pointer: str
    span: tuple[int, int]
    text: str  # with the name in it


class Mention(NamedTuple):
    """A place that names a variable without setting it."""

    name: str
    step: int | None
    pointer: str
    span: tuple[int, int]
    role: str  # condition or plain
    field: str


class Example:
    """Under which values something happens, or that it can't."""

    __slots__ = ("assignment", "kind", "pointer", "verdict")

    def __init__(self, pointer: str, kind: str, verdict: str, assignment: dict[str, Any] | None) -> None:
        self.pointer = pointer
        self.kind = kind  # step, fragment, gate, loop exit
        self.verdict = verdict  # possible, impossible, unknown
        self.assignment = assignment  # the values; a variable that is unset has UNSET_TEXT


UNSET_TEXT = "(unset)"

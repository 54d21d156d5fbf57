"""How much a text that passes validation criteria proves, and how little text passes.

A check that a one-line answer satisfies will be satisfied by one. Each rule is put into a class that is worth
points; a tree of rules guarantees what every way through it guarantees. Pure: no rule, no disk.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias

from workrail_lint.base import js
from workrail_lint.base.ecma_regex import why_invalid, why_invalid_flags
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.regex_analysis import analyze
from workrail_lint.systems.workrail.model.workflow import (
    AllCriteria,
    AnyCriteria,
    Criterion,
    NotCriteria,
    ValidationCriteria,
    ValidationRule,
)

Criteria: TypeAlias = "ValidationCriteria | Criterion"

FLOOR = 200  # a length worth aiming at
_CHEAP = 40
_CAP = 10
_COUNTED_PER_CLASS = 3


class LeafClass(str, Enum):
    """The strength of a single rule."""

    VACUOUS = "VACUOUS"  # any answer passes
    FLAG = "FLAG"  # a phrase that says the work is done
    INVALID = "INVALID"  # can't be evaluated
    KEYWORD = "KEYWORD"  # some word occurs
    STRUCTURE = "STRUCTURE"  # a heading or a shape
    EVIDENCE_WEAK = "EVIDENCE-WEAK"  # a word that evidence is introduced by
    EVIDENCE = "EVIDENCE"  # something that has to be filled in
    FLOOR_WEAK = "FLOOR-WEAK"  # a little text
    FLOOR = "FLOOR"  # a paragraph at least


POINTS = {
    LeafClass.VACUOUS: 0,
    LeafClass.FLAG: 0,
    LeafClass.INVALID: 0,
    LeafClass.KEYWORD: 1,
    LeafClass.STRUCTURE: 2,
    LeafClass.EVIDENCE_WEAK: 2,
    LeafClass.EVIDENCE: 3,
    LeafClass.FLOOR_WEAK: 1,
    LeafClass.FLOOR: 2,
}
_FLOORS = (LeafClass.FLOOR, LeafClass.FLOOR_WEAK)


class EvidenceVerdict(str, Enum):
    """A problem of criteria as a whole; the values are the names of the findings."""

    VACUOUS = "criteria-vacuous"
    OR_BYPASS = "criteria-or-bypass"
    FLAG_ONLY = "criteria-flag-only"
    TRIVIAL = "criteria-trivially-satisfiable"
    SINGLE_CHECK = "criteria-single-check"
    NO_FLOOR = "criteria-no-substance-floor"


# ------------------------------------------------------------------------------------------ single rules


class Leaf:
    """A rule and what it is worth."""

    __slots__ = ("cheap", "conditional", "leaf_class", "negated", "pointer", "rule")

    def __init__(self, rule: ValidationRule, negated: bool) -> None:
        self.rule = rule
        self.pointer = rule.pointer
        self.negated = negated  # stands under a `not`, where it proves nothing
        self.conditional = "condition" in rule  # may be skipped, so it guarantees nothing
        self.leaf_class, cheap = classify(rule)
        self.cheap = 0 if self.conditional else cheap

    @property
    def points(self) -> int:
        return 0 if self.conditional else POINTS[self.leaf_class]

    def is_like(self, other: Leaf) -> bool:
        """Return whether two rules check the same thing; what they say when they fail does not count."""
        mine, theirs = (
            {name: value for name, value in leaf.rule.raw.items() if name != "message"} for leaf in (self, other)
        )
        return js.deep_equal(mine, theirs)


def classify(rule: ValidationRule) -> tuple[LeafClass, int]:
    """Return the class of a rule, and the length of the shortest text that satisfies it (UTF-16 units)."""
    match rule.type:
        case "contains":
            text = rule.value or ""
            return text_class(text), js.u16_length(text)
        case "regex":
            return _regex(rule.pattern, rule.flags or "")
        case "length":
            return _length(rule.min or 0)
        case "schema":
            return schema_class(rule.schema_), 2
        case None:
            return LeafClass.INVALID, 0


def text_class(text: str) -> LeafClass:
    """Return what it proves that a text occurs in the answer."""
    text = js.trim(text)
    if not text:
        return LeafClass.VACUOUS
    if is_flag(text):
        return LeafClass.FLAG
    if text.startswith("#") or (len(text) <= 40 and text.endswith(":")):
        return LeafClass.STRUCTURE
    return LeafClass.EVIDENCE_WEAK if _EVIDENCE_WORDS.search(text) else LeafClass.KEYWORD


def is_flag(text: str) -> bool:
    """Return whether a text only says that something is done."""
    if len(text) > 200:
        return False
    return any(pattern.fullmatch(text) for pattern in _FLAGS)


_DONE = (
    "(?:true|false|yes|no|done|complete|completed|finished|ok|okay|pass|passed|success|successful|ready|approved"
    "|verified|confirmed|1|0)"
)


_DONE_WORD = Pattern(_DONE, re.I)
_SPACE = f"[{js.WHITESPACE_CLASS}]*"
_WORK = "task|step|phase|analysis|review|audit|work|validation|check|implementation"
_STATE = "complete|completed|done|finished"
_FLAGS = (
    Pattern(rf"[A-Za-z_][A-Za-z0-9_. -]{{0,60}}{_SPACE}(?:=|==|:=|:){_SPACE}[\"']?{_DONE}[\"']?[.!]?", re.I),
    Pattern(
        "[a-z][A-Za-z0-9]*(?:Complete|Completed|Done|Finished|Passed|Approved|Verified|Ready|Confirmed|Reviewed|Ok)"
    ),
    Pattern(rf"[a-z0-9]+(?:[_-][a-z0-9]+)*[_-](?:{_STATE}|passed|approved|verified|ready|confirmed|reviewed|ok)", re.I),
    Pattern(
        f"(?:{_DONE}|all good|no issues|no issues found|looks good|lgtm|acknowledged|proceed|continue|stop"
        f"|(?:{_WORK}) (?:is )?(?:{_STATE}))[.!]?",
        re.I,
    ),
)
_EVIDENCE_WORDS = Pattern(
    "file:|line:|path:|severity:|because|rationale|evidence|reproduc|expected|actual|finding|risk:|impact:"
    r"|decision:|trade-?off|assumption|source:|commit|diff|test:|command:|https?://"
    r"|[A-Za-z0-9_/.-]\.[a-z]{1,5}:[0-9]",
    re.I,
)


def _regex(pattern: str | None, flags: str) -> tuple[LeafClass, int]:
    if pattern is None:
        return LeafClass.VACUOUS, 0  # a missing pattern is the empty one
    if why_invalid_flags(flags) or why_invalid(pattern, flags):
        return LeafClass.INVALID, 0
    facts = analyze(pattern, flags)
    if facts is None:
        return LeafClass.KEYWORD, len(pattern)
    if facts.minimum <= 1:
        return LeafClass.VACUOUS, facts.minimum
    if facts.spelled is not None:
        shortest = min(facts.spelled, key=js.u16_length)
        return text_class(shortest), facts.minimum
    varies = facts.has_class or facts.has_quantifier
    decorated = _says_done(facts.words) or (facts.loose is not None and all(map(is_flag, map(js.trim, facts.loose))))
    if facts.letters >= 3 and varies and facts.minimum >= 6 and not decorated:
        return LeafClass.EVIDENCE, facts.minimum
    return LeafClass.KEYWORD, facts.minimum


def _says_done(words: tuple[str, ...]) -> bool:
    """Return whether the only words of a pattern are those that say something is done."""
    return bool(words) and all(_DONE_WORD.fullmatch(word) for word in words)


def _length(low: float) -> tuple[LeafClass, int]:
    least = math.ceil(low)
    if least < 40:
        return LeafClass.VACUOUS, max(least, 0)
    return (LeafClass.FLOOR if least >= FLOOR else LeafClass.FLOOR_WEAK), least


_ANNOTATIONS = frozenset(("$comment", "$id", "$schema", "default", "description", "examples", "title", "type"))


def schema_class(schema: Mapping[str, Any]) -> LeafClass:
    """Return what it proves that an answer is JSON of a certain shape."""
    if schema.keys() <= _ANNOTATIONS:
        return LeafClass.VACUOUS
    match schema:
        case {"required": [_, *_] as names, "properties": {**properties}}:
            required = [value for name, value in properties.items() if name in names]
            if len(required) == len(names) and all(map(_is_flag_property, required)):
                return LeafClass.FLAG
            if any(map(_is_filled_in, required)):
                return LeafClass.EVIDENCE
    return LeafClass.STRUCTURE


def _is_flag_property(schema: object) -> bool:
    match schema:
        case {"enum": [_, *_] as choices}:
            return all(_DONE_WORD.fullmatch(js.text(choice)) for choice in choices)
        case {"type": "boolean"} | {"const": _}:
            return True
        case _:
            return False


def _is_filled_in(schema: object) -> bool:
    """Return whether a property can't be satisfied by an empty value."""
    match schema:
        case {"type": "string", "pattern": str()}:
            return True
        case {"type": "string", "minLength": int() | float() as least}:
            return least >= 10
        case {"type": "array", "minItems": int() | float() as least}:
            return least >= 1
        case {"type": "object", "required": [_, *_]}:
            return True
        case _:
            return False


# -------------------------------------------------------------------------------------------- whole trees


class EvidenceEvaluation:
    """The guarantees of criteria: a score, the shortest answer that passes, and what follows from both."""

    __slots__ = ("bypass", "cheap", "has_floor", "leaves", "score")

    def __init__(self, root: _Node, nodes: list[_Node]) -> None:
        self.score = root.score
        self.cheap = root.cheap
        self.has_floor = root.has_floor
        self.leaves = [node.leaf for node in nodes if node.leaf is not None]
        self.bypass = next((node.pointer for node in nodes if node.is_bypass and not node.negated), None)

    @property
    def counted(self) -> list[Leaf]:
        """The rules that are not negated."""
        return [leaf for leaf in self.leaves if not leaf.negated]

    @property
    def main(self) -> EvidenceVerdict | None:
        """The first of the grave verdicts that applies."""
        counted = self.counted
        if self.leaves and all(leaf.leaf_class is LeafClass.VACUOUS for leaf in counted):
            return EvidenceVerdict.VACUOUS
        if self.bypass is not None:
            return EvidenceVerdict.OR_BYPASS
        if self.score == 0 and any(leaf.leaf_class is LeafClass.FLAG for leaf in counted):
            return EvidenceVerdict.FLAG_ONLY
        return EvidenceVerdict.TRIVIAL if self.leaves and self.cheap <= _CHEAP and self.score < 3 else None

    @property
    def verdicts(self) -> list[EvidenceVerdict]:
        result = [] if self.main is None else [self.main]
        counted = self.counted
        if len(self.leaves) == 1 and counted and counted[0].leaf_class in (LeafClass.KEYWORD, LeafClass.STRUCTURE):
            result.append(EvidenceVerdict.SINGLE_CHECK)
        if self.score >= 3 and not self.has_floor:
            result.append(EvidenceVerdict.NO_FLOOR)
        return result


class _Node:
    """A rule or a composition of an evaluation."""

    __slots__ = (
        "cheap",
        "children",
        "has_floor",
        "is_bypass",
        "kind",
        "leaf",
        "members",
        "negated",
        "pointer",
        "score",
    )

    def __init__(self, kind: str, pointer: str, negated: bool) -> None:
        self.kind = kind  # rule, and, or, not
        self.pointer = pointer
        self.negated = negated
        self.leaf: Leaf | None = None
        self.children: list[_Node] = []
        self.members: list[_Node] = [self]  # what it demands at once, nested conjunctions dissolved
        self.score = 0
        self.cheap = 0
        self.has_floor = False
        self.is_bypass = False


def evaluate_evidence(criteria: Criteria | None, pointer: str = "") -> EvidenceEvaluation:
    """Evaluate criteria in any form: a list of rules, a composition, or a single rule."""
    nodes = list(_nodes(criteria, pointer))
    for node in reversed(nodes):
        _settle(node)
    root = nodes[0] if nodes else _Node("and", pointer, False)
    return EvidenceEvaluation(root, nodes)


def _nodes(criteria: Criteria | None, pointer: str) -> Iterator[_Node]:
    """Yield every node before those below it, in document order and without recursion."""
    stack: list[tuple[Criteria | None, _Node | None, bool]] = [(criteria, None, False)]
    while stack:
        value, parent, negated = stack.pop()
        below: Sequence[Criterion | None] = ()
        match value:
            case None:
                continue
            case ValidationRule() if "type" not in value:
                continue  # no rule of any kind, which the schema reports
            case ValidationRule():
                node = _Node("rule", value.pointer, negated)
                node.leaf = Leaf(value, negated)
            case NotCriteria():
                node, below = _Node("not", value.pointer, True), (value.not_,)
            case AllCriteria():
                node, below = _Node("and", value.pointer, negated), value.and_
            case AnyCriteria():
                node, below = _Node("or", value.pointer, negated), value.or_
            case _:
                node, below = _Node("and", pointer, negated), value
        stack.extend((item, node, node.negated) for item in reversed(below))
        if parent is not None:
            parent.children.append(node)
        yield node


def _settle(node: _Node) -> None:
    """Work out a node from its children, which are settled."""
    if node.leaf is not None:
        node.score, node.cheap = node.leaf.points, node.leaf.cheap
        node.has_floor = node.leaf.leaf_class in _FLOORS and not node.leaf.conditional
    elif node.kind == "and":
        node.members = [member for child in node.children for member in child.members]
        _settle_all(node)
    elif node.kind == "or" and node.children:
        scores = [child.score for child in node.children]
        node.score = min(scores)
        node.cheap = min(child.cheap for child in node.children)
        node.has_floor = all(child.has_floor for child in node.children)
        node.is_bypass = node.score == 0 and max(scores) >= 2


def _settle_all(node: _Node) -> None:
    counted: dict[LeafClass, list[Leaf]] = {}
    floor = total = 0
    for member in node.members:
        leaf = member.leaf
        if leaf is None:
            node.score += member.score
            total += member.cheap
            continue
        if leaf.rule.type == "length":
            floor = max(floor, leaf.cheap)
        else:
            total += leaf.cheap
        alike = counted.setdefault(leaf.leaf_class, [])
        if leaf.points and len(alike) < _COUNTED_PER_CLASS and not any(map(leaf.is_like, alike)):
            alike.append(leaf)
            node.score += leaf.points
    node.score = min(node.score, _CAP)
    node.cheap = max(floor, total)
    node.has_floor = any(member.has_floor for member in node.members)

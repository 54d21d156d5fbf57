"""Verdicts of the analysis, computed once for all rules that report them; here about variables.

One cause makes one finding: a comparison that is wrong in itself, or whose variable nothing sets, is not also reported
as outside its domain or never true. So the judgements are made in order, and each skips what an earlier one reported.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from workrail_lint.base.wording import quoted
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.analysis.analysis import Analysis
from workrail_lint.systems.workrail.analysis.definitions_and_uses import (
    Decision,
    Use,
)
from workrail_lint.systems.workrail.analysis.logic import (
    BOUNDS,
    ONLY_UNSET,
    Comparison,
    KnownNames,
    Node,
    impossible,
)
from workrail_lint.systems.workrail.condition_logic import LOGIC, is_structure
from workrail_lint.systems.workrail.model.workflow import Condition
from workrail_lint.systems.workrail.rules.base import WorkflowContext

_FAR = 1e15  # beyond a bound that is farther away there may be no number


class Verdict:
    """One finding of one rule."""

    __slots__ = ("message", "pointer", "rule", "severity", "unset")

    def __init__(self, rule: str, severity: Severity, pointer: str, message: str, unset: str = "") -> None:
        self.rule = rule
        self.severity = severity
        self.pointer = pointer
        self.message = message
        self.unset = unset  # the variable that nothing in the file sets


class Judge:
    """Collects the verdicts on a workflow, and what they have already covered."""

    def __init__(self, workflow: WorkflowContext) -> None:
        self.workflow = workflow
        self.analysis: Analysis = workflow.analysis
        self.verdicts: dict[str, list[Verdict]] = {}
        self.judged: set[str] = set()  # pointers of comparisons that have their finding
        self.unset: set[str] = set()  # variables that nothing sets
        self.dead: set[int] = set()  # steps that never run
        self.gate_names: dict[str, list[Use]] = {}  # by confirmation, what only its own step sets

    @cached_property
    def known_names(self) -> KnownNames:
        """Return the names to suggest: those that something sets, or that were not asked about so far."""
        analysis = self.analysis
        names = analysis.all_names
        return KnownNames([name for name in names if name not in analysis.by_name or analysis.is_set(name)], len(names))

    @cached_property
    def decisions(self) -> dict[str, Decision]:
        """Return every condition by its pointer."""
        return {decision.pointer: decision for decision in self.analysis.decisions}

    @cached_property
    def plain_uses(self) -> dict[str, list[Use]]:
        """Return the uses of each variable, without the comparisons that another rule reports."""
        odd = self._odd
        if not odd:
            return self.analysis.by_name
        return {
            name: [use for use in uses if use.leaf is None or id(use.leaf) not in odd]
            for name, uses in self.analysis.by_name.items()
        }

    @cached_property
    def malformed(self) -> set[str]:
        """Return the conditions, by pointer, of which another rule reports a part."""
        odd = self._odd
        return {
            use.root
            for use in self.analysis.uses
            if use.leaf is not None and ("." in use.name or (odd and id(use.leaf) in odd))
        }

    @cached_property
    def _odd(self) -> set[int]:
        return {id(use.leaf) for use in self.analysis.uses if use.leaf is not None and is_odd(use.leaf)}

    def report(self, rule: str, severity: Severity, pointer: str, message: str, *, unset: str = "") -> None:
        self.verdicts.setdefault(rule, []).append(Verdict(rule, severity, pointer, message, unset))

    def is_dead(self, use: Use) -> bool:
        return use.step in self.dead

    def verdict_when_unset(self, decision: Decision, name: str) -> bool | None:
        """Return the value of a condition while the variable is unset; None when it depends on others."""
        node = self.analysis.node(decision.condition)
        if node is not None:
            holds = node.value({leaf: leaf.holds(None) for leaf in node.leaves if leaf.variable == name})
            if holds is not None or (all(map(_goes_both_ways, node.leaves)) and is_read_once(node)):
                return holds  # no search needed, which would take as long for every variable of a long condition
        only_unset = {name: ONLY_UNSET}
        if impossible([node], (), only_unset):
            return False
        return True if impossible((), [node], only_unset) else None


def is_read_once(node: Node) -> bool:
    """Return whether every variable is compared once: then each comparison has its own say."""
    return len({leaf.variable for leaf in node.leaves}) == node.size


def _goes_both_ways(leaf: Comparison) -> bool:
    """Return whether a comparison surely holds for some value and fails for another."""
    literal = leaf.operand
    if leaf.operator in BOUNDS:
        return abs(float(literal)) < _FAR
    return leaf.operator in ("equals", "not_equals", "") and not is_structure(literal)


def is_odd(leaf: Condition) -> bool:
    """Return whether another rule reports the comparison: with a structure, or with several things at once."""
    if len(leaf.raw) > 2 or not leaf.raw.keys().isdisjoint(LOGIC):
        return True
    if "in" in leaf:
        return not leaf.in_ or any(map(is_structure, leaf.in_))
    return is_structure(leaf.equals) or is_structure(leaf.not_equals)


_SUBJECTS = {
    "runCondition": "this step",
    "fragment": "this fragment",
    "gate": "this confirmation",
    "loop": "this loop",
    "delegation": "this delegation",
    "criteria": "this validation rule",
}
_NEVER = {
    "runCondition": "never runs",
    "fragment": "never shows",
    "gate": "never triggers",
    "loop": "never starts",
    "delegation": "never runs",
    "criteria": "never applies",
}
_ALWAYS = {
    "runCondition": "is never skipped",
    "fragment": "always shows",
    "gate": "always triggers",
    "loop": "runs until its limit",
    "delegation": "always runs",
    "criteria": "always applies",
}
_EXCEPT = {
    "runCondition": "is skipped",
    "fragment": "is hidden",
    "gate": "is skipped",
    "loop": "ends",
    "delegation": "is skipped",
    "criteria": "is skipped",
}


def subject(judge: Judge, kind: str, step: int) -> str:
    """Return what a condition decides, in words."""
    if kind == "runCondition" and judge.analysis.steps[step].kind == "loop":
        return "this loop"
    return _SUBJECTS[kind]


def consequence(judge: Judge, kind: str, step: int, holds: bool) -> str:
    """Return what happens because a condition always holds or never does, as in "this step never runs"."""
    if kind == "loop" and _is_until(judge, step):
        holds = not holds
    return f"{subject(judge, kind, step)} {(_ALWAYS if holds else _NEVER)[kind]}"


def exception(judge: Judge, kind: str, step: int) -> str:
    """Return what a condition does when it fails, as in "this step is skipped"."""
    return f"{subject(judge, kind, step)} {_EXCEPT[kind]}"


def _is_until(judge: Judge, step: int) -> bool:
    facts = judge.analysis.loops.get(judge.analysis.steps[step].id)
    return facts is not None and facts.kind == "until"


def value_text(value: Any) -> str:
    """Return a value as a message shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else quoted(value, 60)


_OPERATORS = {
    "equals": "is",
    "not_equals": "is not",
    "gt": "is greater than",
    "gte": "is at least",
    "lt": "is less than",
    "lte": "is at most",
    "contains": "contains",
    "in": "is one of",
}
_DEEPEST = 2


def in_words(condition: Condition | None, depth: int = 0) -> str:
    """Return a condition as a clause, for "the step runs only when …"; deep ones are cut short."""
    if condition is None or not condition.raw or depth > _DEEPEST:
        return "…"
    if "var" in condition:
        for name, word in _OPERATORS.items():
            if name in condition:
                if name == "in":
                    return f"{condition.var} {word} {', '.join(map(value_text, condition.in_[:5]))}"
                literal = condition.raw[name]
                return f"{condition.var} {word} {literal if name in BOUNDS else value_text(literal)}"
        return f"{condition.var} is true"
    for logic, parts in (("and", condition.and_), ("or", condition.or_)):
        if logic in condition:
            return f" {logic} ".join(in_words(part, depth + 1) for part in parts[:4])
    return f"not ({in_words(condition.not_, depth + 1)})"

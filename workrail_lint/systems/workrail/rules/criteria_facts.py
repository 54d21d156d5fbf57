"""Facts about validation criteria that several rules need."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from workrail_lint.systems.workrail.rules.prose import step_members

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.evidence_score import EvidenceJudgement
    from workrail_lint.systems.workrail.model.workflow import Condition, StandardStep
    from workrail_lint.systems.workrail.rules.base import WorkflowContext

# The members of each kind of rule, besides its type, message and condition.
MEMBERS: dict[str, tuple[str, ...]] = {
    "contains": ("value",),
    "regex": ("pattern", "flags"),
    "length": ("min", "max"),
    "schema": ("schema",),
}
SHARED = ("type", "message", "condition")

Rule = dict[str, Any]


class Criteria:
    """The criteria of one step."""

    __slots__ = ("_judgement", "_verdicts", "pointer", "rules", "step", "value")

    def __init__(self, step: StandardStep) -> None:
        self.step = step
        self.value: Any = step.step["validationCriteria"]
        self.pointer = step.at("validationCriteria")
        self.rules = [(rule.raw, rule.pointer) for rule in step.validation_rules() if rule.type is not None]
        self._judgement: EvidenceJudgement | None = None
        self._verdicts: list[str] | None = None

    @property
    def decides(self) -> bool:
        """Whether their result counts; next to a contract or an assessment it does not."""
        return "outputContract" not in self.step.step and "assessmentRefs" not in self.step.step

    @property
    def judgement(self) -> EvidenceJudgement:
        if self._judgement is None:
            from workrail_lint.systems.workrail.evidence_score import judge

            self._judgement = judge(self.value, self.pointer)
        return self._judgement

    @property
    def verdicts(self) -> list[str]:
        """The names of what is wrong with them as evidence; none if they do not decide or can't be evaluated."""
        if self._verdicts is None:
            judged = self.decides and not self._is_broken
            self._verdicts = [verdict.value for verdict in self.judgement.verdicts] if judged else []
        return self._verdicts

    @property
    def _is_broken(self) -> bool:
        """Whether a rule always fails or can't be evaluated, which other rules report."""
        for rule, _ in self.rules:
            if rule["type"] in ("contains", "schema") and MEMBERS[rule["type"]][0] not in rule:
                return True
        return any(leaf.leaf_class.value == "INVALID" for leaf in self.judgement.leaves)


@lru_cache(maxsize=4)
def all_criteria(workflow: WorkflowContext) -> tuple[Criteria, ...]:
    """The criteria of every step except template calls, which the engine drops."""
    return tuple(
        Criteria(step)
        for step in (workflow.all_steps if "validationCriteria" in step_members(workflow) else ())
        if step.kind == "standard" and step.validation_criteria is not None and not step.calls_template
    )


def demanded(criteria: object, pointer: str) -> Iterator[tuple[Rule, str, bool]]:
    """The rules that every answer must satisfy, or (flagged) must not satisfy, whatever the context."""
    stack: list[tuple[object, str, bool]] = [(criteria, pointer, False)]
    while stack:
        value, place, negated = stack.pop()
        items: list[tuple[object, str]] = []
        if isinstance(value, list) and not negated:
            items = [(item, f"{place}/{i}") for i, item in enumerate(value)]
        elif isinstance(value, dict):
            # Under a `not`, every branch of an `or` is forbidden; of an `and` it is unknown which.
            logic = "or" if negated else "and"
            if "type" in value:
                if "condition" not in value:
                    yield value, place, negated
            elif isinstance(value.get(logic), list):
                items = [(item, f"{place}/{logic}/{i}") for i, item in enumerate(value[logic])]
            elif "not" in value:
                stack.append((value["not"], f"{place}/not", not negated))
        stack.extend((item, at, negated) for item, at in reversed(items))


def never_holds(condition: Condition | None) -> bool:
    """Whether a rule's condition is false in every context; other rules report a malformed one."""
    if condition is None or not condition.raw:
        return False
    from workrail_lint.systems.workrail.analysis.logic import IMPOSSIBLE, parse, satisfy

    return satisfy([parse(condition)]).verdict == IMPOSSIBLE

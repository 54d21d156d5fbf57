"""What conditions say: whether they can hold, whether they compare alike, and whether anyone sets what they test."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import quoted
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.condition_logic import constants, normal_text
from workrail_lint.systems.workrail.rules.base import ConditionRule
from workrail_lint.systems.workrail.rules.condition_facts import condition_facts
from workrail_lint.systems.workrail.rules.conditions import when
from workrail_lint.systems.workrail.rules.loop_facts import label
from workrail_lint.systems.workrail.rules.samples import step, workflow
from workrail_lint.systems.workrail.rules.variables import origins_of

if TYPE_CHECKING:
    from workrail_lint.rules.base import Report
    from workrail_lint.systems.workrail.rules.base import Condition, Workflow

# Tested once the step is done, when what the step itself set counts already.
_AFTER_THE_STEP = ("gate", "rule")


class ConditionContradiction(ConditionRule):
    code = "CD015"
    name = "condition-contradiction"
    severity = Severity.WARNING
    origin = "product"
    summary = "An `and` can never hold, or an `or` always does, whatever one of its variables is."
    why = "The condition decides nothing: what depends on it never happens, or always does."

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        for condition in condition_facts(workflow).compound:
            for found in constants(condition.condition, condition.pointer):
                logic, verdict = ("or", "always holds") if found.value else ("and", "can never hold")
                report(
                    found.pointer,
                    f"{label(condition.step)}: this {quoted(logic)} {verdict}, whatever {quoted(found.variable)} "
                    "is; check what it says about that variable",
                )

    def examples(self) -> Iterable[Example]:
        large, huge = {"var": "size", "equals": "large"}, {"var": "size", "equals": "huge"}
        yield Example(bad=when({"and": [large, huge]}), good=when({"or": [large, huge]}))
        small = {"var": "size", "not_equals": "large"}
        yield Example(bad=when({"or": [large, small]}), good=when({"or": [large, {"var": "risk", "gt": 2}]}))


class _Literal(NamedTuple):
    """A value that a condition compares a variable with."""

    value: Any
    place: str  # below the condition
    condition: Condition

    @property
    def pointer(self) -> str:
        return f"{self.condition.pointer}/{self.place}"


def _literals(conditions: list[Condition]) -> list[_Literal]:
    found: list[_Literal] = []
    for condition in conditions:
        members = condition.condition
        found += [_Literal(members[name], name, condition) for name in ("equals", "not_equals") if name in members]
        if isinstance(members.get("in"), list):
            found += [_Literal(item, f"in/{index}", condition) for index, item in enumerate(members["in"])]
    return found


def _text_fields(workflow: Workflow) -> dict[str, str]:
    """The fields that the artifacts of steps fill with text, each with the kind of an artifact that does."""
    found: dict[str, str] = {}
    other: set[str] = set()
    known = workflow.catalog.contracts
    refs = {step.contract for step in workflow.all_steps if "outputContract" in step.step and not step.calls_template}
    for pack in (known[ref] for ref in sorted(filter(None, refs)) if ref in known):
        for name, schema in pack.schema.get("properties", {}).items():
            if schema.get("type") == "string" or all(isinstance(item, str) for item in schema.get("enum", (0,))):
                found.setdefault(name, pack.artifact_kind)
            else:
                other.add(name)
    return {name: kind for name, kind in found.items() if name not in other}


class ConditionLenientSurprise(ConditionRule):
    code = "CD016"
    name = "condition-lenient-surprise"
    severity = Severity.INFO
    origin = "product"
    summary = "Conditions on one variable use literals that differ only in case, space or type, or a number for a text."
    why = (
        "Comparisons ignore case and surrounding space, and take text that reads as a number for that number. "
        "Literals that look different here mean the same, or match more than they seem to."
    )

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        fields = _text_fields(workflow)
        for name, conditions in condition_facts(workflow).by_variable.items():
            if len(conditions) > 1 or "in" in conditions[0].condition or name in fields:
                literals = _literals(conditions)
                self._texts(name, literals, report)
                self._numbers(name, literals, fields.get(name), report)

    def _texts(self, name: str, literals: list[_Literal], report: Report) -> None:
        texts = [literal for literal in literals if isinstance(literal.value, str)]
        if len({literal.value for literal in texts}) < 2:
            return
        spellings: dict[str, str] = {}
        for literal in texts:
            first = spellings.setdefault(normal_text(literal.value), literal.value)
            if first != literal.value:
                report(
                    literal.pointer,
                    f"{label(literal.condition.step)}: {quoted(literal.value)} and {quoted(first)} are the same to "
                    f"a condition on {quoted(name)}; spell them alike",
                )

    def _numbers(self, name: str, literals: list[_Literal], kind: str | None, report: Report) -> None:
        text = next((literal.value for literal in literals if isinstance(literal.value, str)), None)
        number = next((literal for literal in literals if js.is_number(literal.value)), None)
        if number is None or (text is None and kind is None):
            return
        if text is None:
            other = f"but the {kind} artifact fills it with text"
        else:
            other = f"other conditions with text such as {quoted(text)}"
        report(
            number.pointer,
            f"{label(number.condition.step)}: compares {quoted(name)} with the number "
            f"{js.number_text(number.value)}, {other}; text that reads as this number matches too",
        )

    def examples(self) -> Iterable[Example]:
        def sized(first: object, second: object) -> dict[str, Any]:
            return when({"or": [{"var": "size", "equals": first}, {"var": "size", "equals": second}]})

        yield Example(bad=sized("Large", "large"), good=sized("large", "huge"))
        yield Example(bad=sized("large", 3), good=sized(2, 3))


class ConditionVarNeverSet(ConditionRule):
    code = "CD017"
    name = "condition-var-never-set"
    severity = Severity.INFO
    origin = "product"
    summary = "A condition tests a variable that nothing before it mentions."
    why = (
        "Variables are set by agents because a prompt asks for them. One that no earlier text mentions is probably "
        "misspelt or forgotten, and a missing variable makes most conditions false."
    )

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        if workflow.is_routine:  # what its caller sets is not to be seen here
            return
        by_variable = condition_facts(workflow).by_variable
        missing: dict[str, Condition] = {}
        for name, conditions in by_variable.items():
            if not name or "." in name or js.trim(name) != name:
                continue
            at_fault = (condition for condition in conditions if not self._is_set(name, condition, workflow))
            first = next(at_fault, None)
            if first is not None:
                missing[name] = first
        for name, condition in missing.items():
            meant = nearest(name, by_variable.keys() - missing.keys())
            hint = f"did you mean {quoted(meant)}?" if meant else "tell an earlier step to set it"
            report(
                f"{condition.pointer}/var",
                f"{label(condition.step)}: nothing before this condition mentions {quoted(name)}; {hint}",
            )

    def _is_set(self, name: str, condition: Condition, workflow: Workflow) -> bool:
        if condition.step.calls_template and condition.role != "run":
            return True  # a template call drops all but its runCondition
        origins = origins_of(workflow)
        if origins.known_at(name, condition.step, every_round=condition.role == "loop"):
            return True
        return condition.role in _AFTER_THE_STEP and origins.mentioned_by(name, condition.step)

    def examples(self) -> Iterable[Example]:
        yield Example(bad=when({"var": "zz"}), good=when({"var": "size"}))
        yield Example(
            bad=workflow(
                step(prompt="Describe it.", promptFragments=[{"id": "deep", "text": "Dig.", "when": {"var": "deep"}}])
            ),
            good=workflow(
                step(prompt="Decide how far to go and set `deep`."),
                step("dig", promptFragments=[{"id": "deep", "text": "Dig.", "when": {"var": "deep"}}]),
            ),
        )

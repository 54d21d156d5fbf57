"""The one walk over a workflow: builds the views, and calls the hooks of every rule that has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from workrail_lint.documents.pointer import child
from workrail_lint.rules.ruleset import RuleSet
from workrail_lint.systems.workrail.rules.base import Condition, Step, Text, Workflow, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import text_index

if TYPE_CHECKING:
    from workrail_lint.documents.schema.engine import Violation
    from workrail_lint.findings import Finding

# Members with conditions, apart from runCondition and requireConfirmation.
_OTHER_HOLDERS = ("loop", "promptFragments", "parallelDelegations", "validationCriteria")
_LOGIC = ("and", "or", "not")
# Violations after which a value does not have the type that its place requires.
_WRONG_TYPE = ("type", "anyOf", "oneOf")


def run_rules(rules: RuleSet[WorkflowRule], workflow: Workflow) -> list[Finding]:
    """The findings of every rule that applies to the document, in no particular order."""
    rules.collector.begin()
    calls = rules.that_apply(lambda rule: rule.applies(workflow))
    for check, report in calls.get("check_workflow", ()):
        check(workflow, report)
    steps, loops = calls.get("check_step"), calls.get("check_loop", ())
    if steps:
        for step in workflow.all_steps:
            for check, report in steps:
                check(step, workflow, report)
    if loops:
        for step in workflow.all_steps:
            if step.kind == "loop":
                for check, report in loops:
                    check(step, workflow, report)
    if conditions := calls.get("check_condition"):
        for condition in conditions_of(workflow):
            for check, report in conditions:
                check(condition, workflow, report)
    for check, report in calls.get("check_text", ()):
        for owner, text in _texts_for(report.rule.words, workflow):
            check(text, owner, workflow, report)
    if strings := calls.get("check_string"):
        for value, pointer, is_name in strings_of(workflow.document.value):
            for check, report in strings:
                check(value, pointer, is_name, workflow, report)
    if workflow.compiled is not None:
        for check, report in calls.get("check_compiled", ()):
            check(workflow.compiled, workflow, report)
    return rules.collector.taken()


def _texts_for(words: tuple[str, ...] | None, workflow: Workflow) -> Iterable[tuple[Step | None, Text]]:
    """The author texts that can concern a rule, each with its step."""
    if words is not None:
        return text_index(workflow).texts_with(words)
    texts: list[tuple[Step | None, Text]] = [(None, text) for text in workflow.top_texts]
    return texts + [(step, text) for step in workflow.all_steps for text in step.texts]


def build_steps(definition: dict[str, Any], damaged: set[str]) -> list[Step]:
    """The views of all steps except those with the wrong shape."""
    steps: list[Step] = []
    authored = definition.get("steps")
    for index, item in enumerate(authored if isinstance(authored, list) else ()):
        pointer = f"/steps/{index}"
        if not isinstance(item, dict) or pointer in damaged:
            continue
        step = Step(item, pointer, index, None)
        body = item.get("body")
        if step.kind == "loop" and isinstance(body, list):
            step.inline = [
                Step(inner, f"{pointer}/body/{position}", position, step)
                for position, inner in enumerate(body)
                if isinstance(inner, dict) and f"{pointer}/body/{position}" not in damaged
            ]
        steps.append(step)
    return steps


def damaged_places(violations: list[Violation]) -> set[str]:
    """The steps and top-level members that hold a value of a wrong type."""
    places: set[str] = set()
    for violation in violations:
        wrong = violation.keyword in _WRONG_TYPE or violation.pointer.endswith("/type")
        tokens = violation.pointer.split("/")[1:]
        if not wrong or not tokens:
            continue
        if tokens[0] != "steps" or len(tokens) == 1:
            places.add(f"/{tokens[0]}")
        elif len(tokens) > 4 and tokens[2] == "body":
            places.add("/" + "/".join(tokens[:4]))
        else:
            places.add(f"/steps/{tokens[1]}")
    return places


def valid_members(definition: dict[str, Any], damaged: set[str]) -> dict[str, Any]:
    """The definition without the top-level members of a wrong type."""
    if not any(child("", name) in damaged for name in definition):
        return definition
    return {name: value for name, value in definition.items() if child("", name) not in damaged}


@lru_cache(maxsize=1)
def conditions_of(workflow: Workflow) -> list[Condition]:
    """Every condition of the workflow, each followed by the ones nested in it."""
    found: list[Condition] = []
    for step in workflow.all_steps:
        data = step.step
        if "runCondition" in data:
            found += nested_conditions(data["runCondition"], f"{step.pointer}/runCondition", "run", step)
        if isinstance(data.get("requireConfirmation"), dict) or not data.keys().isdisjoint(_OTHER_HOLDERS):
            for value, pointer, role in _other_roots(step):
                found += nested_conditions(value, pointer, role, step)
    return found


def _other_roots(step: Step) -> Iterator[tuple[Any, str, str]]:
    """The conditions outside of `runCondition`."""
    data, pointer = step.step, step.pointer
    rule = data.get("requireConfirmation")
    if isinstance(rule, dict):
        if "kind" in rule:
            yield rule.get("condition"), f"{pointer}/requireConfirmation/condition", "gate"
        else:
            yield rule, f"{pointer}/requireConfirmation", "gate"
    loop = data.get("loop")
    if isinstance(loop, dict):
        if "condition" in loop:
            yield loop["condition"], f"{pointer}/loop/condition", "loop"
        source = loop.get("conditionSource")
        if isinstance(source, dict) and "condition" in source:
            yield source["condition"], f"{pointer}/loop/conditionSource/condition", "loop"
    for index, item in enumerate(_list(data.get("promptFragments"))):
        if isinstance(item, dict) and "when" in item:
            yield item["when"], f"{pointer}/promptFragments/{index}/when", "fragment"
    for index, item in enumerate(_list(data.get("parallelDelegations"))):
        if isinstance(item, dict) and "runCondition" in item:
            yield item["runCondition"], f"{pointer}/parallelDelegations/{index}/runCondition", "delegation"
    if "validationCriteria" in data:
        for item, place in criteria_rules(data["validationCriteria"], f"{pointer}/validationCriteria"):
            if "condition" in item:
                yield item["condition"], f"{place}/condition", "rule"


def nested_conditions(value: Any, pointer: str, role: str, step: Step) -> list[Condition]:
    """A condition and everything below it, in document order and without recursion."""
    found: list[Condition] = []
    stack = [(value, pointer)]
    while stack:
        condition, place = stack.pop()
        if not isinstance(condition, dict):
            continue
        found.append(tuple.__new__(Condition, (condition, place, role, not found, step)))
        if "var" in condition and len(condition) <= 2 and condition.keys().isdisjoint(_LOGIC):
            continue  # a comparison, as nearly all are
        below: list[tuple[Any, str]] = []
        for logic in ("and", "or"):
            below += [(item, f"{place}/{logic}/{i}") for i, item in enumerate(_list(condition.get(logic)))]
        below.append((condition.get("not"), f"{place}/not"))
        stack.extend(reversed(below))
    return found


def criteria_rules(criteria: Any, pointer: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The single rules of validation criteria in any form, in document order and without recursion."""
    stack = [(criteria, pointer)]
    while stack:
        value, place = stack.pop()
        if isinstance(value, list):
            stack.extend((item, f"{place}/{i}") for i, item in reversed(list(enumerate(value))))
        elif isinstance(value, dict):
            if "type" in value:
                yield value, place
                continue
            stack.extend((value[name], f"{place}/{name}") for name in ("not", "or", "and") if name in value)


def strings_of(root: object) -> Iterator[tuple[str, str, bool]]:
    """Every string with its pointer, and every member name (flagged), without recursion."""
    stack: list[tuple[object, str]] = [(root, "")]
    while stack:
        value, pointer = stack.pop()
        if isinstance(value, str):
            yield value, pointer, False
        elif isinstance(value, dict):
            for name, item in value.items():
                place = child(pointer, name)
                yield name, place, True
                stack.append((item, place))
        elif isinstance(value, list):
            stack.extend((item, f"{pointer}/{i}") for i, item in enumerate(value))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []

"""The one walk over a workflow: builds the views, and calls the hooks of every rule that has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding
from workrail_lint.rules.ruleset import RuleSet
from workrail_lint.systems.workrail.model.workflow import Condition, Step
from workrail_lint.systems.workrail.rules.base import Text, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import text_index


def run_rules(rules: RuleSet[WorkflowRule], workflow: WorkflowContext) -> list[Finding]:
    """Return the findings of every rule that applies to the document, in no particular order."""
    rules.collector.begin()
    calls = rules.applicable_calls(lambda rule: rule.applies(workflow))
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
    return rules.collector.finish()


def _texts_for(words: tuple[str, ...] | None, workflow: WorkflowContext) -> Iterable[tuple[Step | None, Text]]:
    """Return the author texts that can concern a rule, each with its step."""
    if words is not None:
        return text_index(workflow).texts_with(words)
    texts: list[tuple[Step | None, Text]] = [(None, text) for text in workflow.top_texts]
    return texts + [(step, text) for step in workflow.all_steps for text in step.texts]


@lru_cache(maxsize=1)
def conditions_of(workflow: WorkflowContext) -> list[Condition]:
    """Return every condition of the workflow, each followed by the ones nested in it."""
    return [condition for step in workflow.all_steps for condition in step.conditions()]


def strings_of(root: object) -> Iterator[tuple[str, str, bool]]:
    """Yield every string with its pointer, and every member name (flagged), without recursion."""
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

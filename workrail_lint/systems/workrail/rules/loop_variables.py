"""Outdated names of loop variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import ReplaceText
from workrail_lint.findings import Severity, unsafe
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.rules.base import LoopRule
from workrail_lint.systems.workrail.rules.context_tokens import SUBSTITUTED_FIELDS
from workrail_lint.systems.workrail.rules.loop_facts import label, settings, variables
from workrail_lint.systems.workrail.rules.prose import expressions
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow

if TYPE_CHECKING:
    from workrail_lint.findings import Fix
    from workrail_lint.rules.base import Report
    from workrail_lint.systems.workrail.model.workflow import Step
    from workrail_lint.systems.workrail.rules.base import WorkflowContext

# Names of loop variables in old documentation, by their meaning.
_DOCUMENTED = {
    "_iteration": "iteration",
    "iteration": "iteration",
    "_item": "item",
    "item": "item",
    "_index": "index",
    "index": "index",
}


@cache
def _leading_name() -> re.Pattern[str]:
    return re.compile(r"[a-zA-Z0-9_$]+")


class _Use(NamedTuple):
    """Variables in a text of a body step."""

    step: Step
    field: str
    pointer: str
    expressions: dict[str, list[str]]  # by the name they start with


def _uses(loop: Step, workflow: WorkflowContext, fields: tuple[str, ...]) -> Iterator[_Use]:
    """The texts of a body that use variables; a referenced body is part of its loop."""
    for inner in workflow.body_of(loop):
        for text in inner.texts:
            if text.field in fields and "{{" in text.text:
                named: dict[str, list[str]] = {}
                for expression in expressions(text.text):
                    match = _leading_name().match(js.trim(expression))
                    if match and match[0] != "wr":
                        named.setdefault(match[0], []).append(expression)
                yield _Use(inner, text.field, text.pointer, named)


class LoopVariableDocName(LoopRule):
    code = "LP038"
    name = "loop-variable-doc-name"
    severity = Severity.WARNING
    origin = "doc"
    summary = "A step in a loop body uses an outdated name of a loop variable."
    why = (
        "`_iteration`, `item` and similar names are set only if the loop declares them. Otherwise the agent sees "
        "`[unset: …]`; the names are `currentIteration`, `currentItem` and `currentIndex`."
    )
    fix = "Use the loop's name for the variable."
    fix_safety = "unsafe"

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        own = variables(loop)
        old = _DOCUMENTED.keys() - {*own, settings(loop).get("items")}
        for use in _uses(loop, workflow, (*SUBSTITUTED_FIELDS, "agentRole")):
            for name, written in use.expressions.items():
                if name not in old or workflow.analysis.setters(name):
                    continue
                actual = getattr(own, _DOCUMENTED[name])
                instead = f"use {quoted(actual)}" if actual else "only a forEach loop has such a variable"
                report(
                    use.pointer,
                    f"{label(use.step)}: the loop does not set {quoted(name)}; {instead}",
                    fix=self._fix(use.pointer, name, actual, written) if actual else None,
                )

    @staticmethod
    def _fix(pointer: str, name: str, actual: str, written: list[str]) -> Fix | None:
        spellings = dict.fromkeys(expression for expression in written if expression.startswith(name))
        changes = [ReplaceText(pointer, f"{{{{{old}}}}}", f"{{{{{actual}{old[len(name) :]}}}}}") for old in spellings]
        return unsafe(f"use {quoted(actual)[1:-1]}", *changes) if changes else None

    def examples(self) -> Iterable[Example]:
        def each(prompt: str) -> dict[str, Any]:
            return loop(step("inner-step", prompt), type="forEach", count=..., items="files")

        good = workflow(each("Read {{currentItem}}."))
        yield Example(bad=workflow(each("Read {{item}}.")), good=good, fixed=good)
        counted = workflow(loop(step("inner-step", "This is round {{currentIteration}}.")))
        bad = workflow(loop(step("inner-step", "This is round {{_iteration}}.")))
        yield Example(bad=bad, good=counted, fixed=counted)

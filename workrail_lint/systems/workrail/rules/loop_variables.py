"""The variables that body texts use: the loop's own, those of others, and the names old documents gave them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import name_list, quoted
from workrail_lint.documents.operations import ReplaceText
from workrail_lint.findings import Severity
from workrail_lint.findings.fix import unsafe
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.rules.base import LoopRule
from workrail_lint.systems.workrail.rules.context_tokens import SUBSTITUTED_FIELDS
from workrail_lint.systems.workrail.rules.loop_facts import label, settings, variables
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow
from workrail_lint.systems.workrail.rules.variables import expressions, origins_of

if TYPE_CHECKING:
    from workrail_lint.findings import Fix
    from workrail_lint.rules.base import Report
    from workrail_lint.systems.workrail.rules.base import Step, Workflow

# Names that documents of the past gave the loop variables, by what they stand for.
_DOCUMENTED = {
    "_iteration": "iteration",
    "iteration": "iteration",
    "_item": "item",
    "item": "item",
    "_index": "index",
    "index": "index",
}
_ALWAYS_KNOWN = ("context", "workflowId")
# Where the engine looks for variables that nothing sets.
_FIELDS = ("prompt", "title", "agentRole")


@cache
def _leading_name() -> re.Pattern[str]:
    return re.compile(r"[a-zA-Z0-9_$]+")


class _Use(NamedTuple):
    """Variables in a text of a body step."""

    step: Step
    field: str
    pointer: str
    expressions: dict[str, list[str]]  # by the name they start with


def _uses(loop: Step, workflow: Workflow, fields: tuple[str, ...]) -> Iterator[_Use]:
    """The texts of a body that take in variables; a referenced body is part of its loop."""
    for inner in workflow.body_of(loop):
        for text in inner.texts:
            if text.field in fields and "{{" in text.text:
                named: dict[str, list[str]] = {}
                for expression in expressions(text.text):
                    match = _leading_name().match(js.trim(expression))
                    if match and match[0] != "wr":
                        named.setdefault(match[0], []).append(expression)
                yield _Use(inner, text.field, text.pointer, named)


class LoopVariableUndefined(LoopRule):
    code = "LP037"
    name = "loop-variable-undefined"
    severity = Severity.WARNING
    origin = "engine-warn"
    summary = "A body text uses a variable that is none of the loop's, and that no text before mentions."
    why = "Nobody sets the variable, so the agent reads `[unset: …]` in its place."

    def check_loop(self, loop: Step, workflow: Workflow, report: Report) -> None:
        config, own = settings(loop), [variable for variable in variables(loop) if variable]
        known = {*own, *_ALWAYS_KNOWN, *_DOCUMENTED, config.get("items"), config.get("count")}
        for use in _uses(loop, workflow, _FIELDS):
            for name in use.expressions:
                if name in known or self._is_set(name, use.step, workflow):
                    continue
                meant = nearest(name, own)
                hint = f"did you mean {quoted(meant)}?" if meant else f"the loop's own are {name_list(own)}"
                report(
                    use.pointer,
                    f"{label(use.step)}: {quoted(name)} in its {use.field} is set by nothing before it; {hint}",
                )

    def _is_set(self, name: str, step: Step, workflow: Workflow) -> bool:
        # A token reads a variable, so it does not count as the place that sets it.
        origins = origins_of(workflow)
        return origins.known_at(name, step, tokens=False) or origins.mentioned_by(name, step, tokens=False)

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(loop(step("inner-step", "Read {{zed.path}}."))),
            good=workflow(
                step(prompt="Choose a file and set `zed` to its path."), loop(step("inner-step", "Read {{zed}}."))
            ),
        )


class LoopVariableDocName(LoopRule):
    code = "LP038"
    name = "loop-variable-doc-name"
    severity = Severity.WARNING
    origin = "doc"
    summary = "A body text uses a loop variable under a name that only old documents give it."
    why = (
        "`_iteration`, `item` and their like are set only when the loop declares these names. Otherwise the agent "
        "reads `[unset: …]`; the names are `currentIteration`, `currentItem` and `currentIndex`."
    )
    fix = "Uses the name that the loop gives the variable."
    fix_safety = "unsafe"

    def check_loop(self, loop: Step, workflow: Workflow, report: Report) -> None:
        own = variables(loop)
        old = _DOCUMENTED.keys() - {*own, settings(loop).get("items")}
        for use in _uses(loop, workflow, (*SUBSTITUTED_FIELDS, "agentRole")):
            for name, written in use.expressions.items():
                # These are everyday words, so only one that is marked as a name counts as mentioned.
                if name not in old or origins_of(workflow).known_at(f"`{name}`", use.step):
                    continue
                actual = getattr(own, _DOCUMENTED[name])
                instead = f"use {quoted(actual)}" if actual else "only forEach loops have it"
                report(
                    use.pointer,
                    f"{label(use.step)}: this loop sets no {quoted(name)}; {instead}",
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


class LoopForEachItemShape(LoopRule):
    code = "LP042"
    name = "loop-foreach-item-shape"
    severity = Severity.INFO
    origin = "runtime"
    summary = "A body prompt reads a member of the loop's item."
    why = (
        "The run looks at the first element on entering the loop, and fails when it is not an object. The step that "
        "builds the list has to be told to put objects with these members in it."
    )

    def check_loop(self, loop: Step, workflow: Workflow, report: Report) -> None:
        item = variables(loop).item
        if item is None:
            return
        for inner in workflow.body_of(loop):
            for text in inner.prompt_texts:
                # Fragments join the prompt later than the run looks at it.
                if f"{{{{{item}." in text.text and text.field != "fragment":
                    items = settings(loop).get("items")
                    report(
                        text.pointer,
                        f"{label(inner)}: reads members of {quoted(item)}, so the run fails unless {quoted(items)} "
                        "is a list of objects; say so where the list is made",
                    )
                    return

    def examples(self) -> Iterable[Example]:
        def each(prompt: str) -> dict[str, Any]:
            return loop(step("inner-step", prompt), type="forEach", count=..., items="files")

        yield Example(bad=workflow(each("Read {{currentItem.path}}.")), good=workflow(each("Read {{currentItem}}.")))

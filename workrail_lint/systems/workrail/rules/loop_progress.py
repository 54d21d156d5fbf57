"""LP: whether the rounds of a loop have what they need: something to go through, and something that changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import listed, name_list, quoted
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.analysis.definitions_and_uses import MENTIONED, UNDELIVERED
from workrail_lint.systems.workrail.analysis.domains import LIST, NUMBER
from workrail_lint.systems.workrail.analysis.prose import CONDITION
from workrail_lint.systems.workrail.model.workflow import LoopStep
from workrail_lint.systems.workrail.rules.base import LoopRule, WorkflowContext
from workrail_lint.systems.workrail.rules.rule_needs import CONTEXT, LOOP, decided_by, variables
from workrail_lint.systems.workrail.rules.samples import controlled_loop, loop, step, workflow
from workrail_lint.systems.workrail.rules.verdicts import value_text


class LoopDecidesOnce(LoopRule):
    code = "LP060"
    name = "loop-decides-once"
    severity = Severity.WARNING
    origin = "product"
    summary = "A loop that decides whether to continue runs at most once."
    why = "With `maxIterations` 1 the decision to continue is ignored, and the loop is an ordinary step."

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        if loop.loop.max_iterations == 1 and decided_by(loop, workflow) is not None:
            report(
                loop.at("loop", "maxIterations"),
                f"loop {quoted(loop.id)}: maxIterations 1 ends the loop after the first iteration, also when the "
                "decision is to continue; allow more, or use plain steps",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(step(), controlled_loop(maxIterations=1)),
            good=workflow(step(), controlled_loop(maxIterations=2)),
        )


_COUNT_NAME = Pattern(r"(?:num(?:ber)?|count|total)(?:Of)?[A-Z_]\w*|\w+(?:Count|_count|Total|_total)")


class LoopSourceType(LoopRule):
    code = "LP061"
    name = "loop-source-type"
    severity = Severity.ERROR
    origin = "runtime"
    summary = "A `forEach` loop goes through a number, or the `count` of a `for` loop is a list."
    why = (
        "`items` names a variable that holds a list, and `count` one that holds a number. The run stops at the loop if "
        "the variable holds something else. It is a warning when only the name of the variable says so."
    )

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        config = loop.loop
        if config.type == "forEach" and config.items:
            kinds = {statement.kind for statement in workflow.analysis.statements(config.items)}
            is_stated = NUMBER in kinds and LIST not in kinds
            known = workflow.analysis.domain(config.items)
            if known is not None and known.kind != LIST and kinds.isdisjoint((NUMBER, LIST)):
                report(
                    loop.at("loop", "items"),
                    f"loop {quoted(loop.id)}: {quoted(config.items)} holds a single value "
                    f"({name_list(map(value_text, known.values))}), and forEach needs a list, so the run stops here; "
                    "name a list",
                )
            elif is_stated or (LIST not in kinds and _COUNT_NAME.fullmatch(config.items)):
                report(
                    loop.at("loop", "items"),
                    f"loop {quoted(loop.id)}: {quoted(config.items)} "
                    f"{'holds' if is_stated else 'seems to hold'} a number, and forEach needs a list, so the run stops "
                    "here; name a list, or use a 'for' loop with this count",
                    severity=None if is_stated else Severity.WARNING,
                )
        elif config.type == "for" and isinstance(config.count, str):
            kinds = {statement.kind for statement in workflow.analysis.statements(config.count)}
            if LIST in kinds and NUMBER not in kinds:
                report(
                    loop.at("loop", "count"),
                    f"loop {quoted(loop.id)}: {quoted(config.count)} holds a list, and count needs a number, so the "
                    "run stops here; use a 'forEach' loop with these items",
                )

    def examples(self) -> Iterable[Example]:
        def each(first: str) -> dict[str, Any]:
            return workflow(step("plan", first), loop(step("draft"), type="forEach", count=..., items="chapters"))

        yield Example(
            bad=each("Set `chapters` to the number of chapters."), good=each("Set `chapters` to a list of titles.")
        )

        def counted(first: str) -> dict[str, Any]:
            return workflow(step("plan", first), loop(step("draft"), count="chapters"))

        yield Example(
            bad=counted("Set `chapters` to a list of titles."),
            good=counted("Set `chapters` to the number of chapters."),
        )


class LoopNothingChanges(LoopRule):
    code = "LP062"
    name = "loop-nothing-changes"
    severity = Severity.WARNING
    origin = "product"
    summary = "The body of a loop sets none of the variables that decide whether it continues."
    why = "The condition stays as it is, so a loop that starts runs to `maxIterations`."
    needs = frozenset({LOOP})

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        if decided_by(loop, workflow) != CONTEXT:
            return
        analysis = workflow.analysis
        facts = analysis.loops.get(loop.id)
        condition = facts.condition if facts is not None else None
        node = analysis.node(condition) if condition is not None else None
        if node is None or condition is None or not analysis.is_complete:
            return
        names = list(dict.fromkeys(leaf.variable for leaf in node.leaves))
        if not names or not set(names).isdisjoint(variables(loop)):
            return
        body = {index for index, each in enumerate(analysis.steps) if each.loop == loop.id}
        if not body or any(self._may_change(name, body, workflow) for name in names):
            return
        if not any(analysis.is_set(name) or analysis.is_given(name) for name in names):
            return  # another rule reports them
        report(
            condition.pointer,
            f"loop {quoted(loop.id)}: nothing in the body sets {listed(map(quoted, names), 'or')}, so the loop runs to "
            "maxIterations; ask for the new value in the body",
        )

    @staticmethod
    def _may_change(name: str, body: set[int], workflow: WorkflowContext) -> bool:
        """Return whether the body sets a variable, or says anything about it that is not a test."""
        analysis = workflow.analysis
        return any(
            each.step in body and each.confidence not in (MENTIONED, UNDELIVERED) for each in analysis.definitions(name)
        ) or any(each.step in body and each.role != CONDITION for each in analysis.mentions(name))

    def examples(self) -> Iterable[Example]:
        def mending(prompt: str) -> dict[str, Any]:
            source = {"kind": "context_variable", "condition": {"var": "openItems", "gt": 0}}
            again = loop(step("mend", prompt), type="while", count=..., conditionSource=source, maxIterations=5)
            return workflow(step("list", "Set `openItems` to the number of open items."), again)

        yield Example(bad=mending("Mend one of them."), good=mending("Mend one of them. Update `openItems`."))

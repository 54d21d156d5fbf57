"""The body of a loop: a list of steps, or the id of a top-level step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from workrail_lint.base import js
from workrail_lint.base.wording import quoted
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.workrail.rules.base import LoopRule
from workrail_lint.systems.workrail.rules.loop_facts import move_inline, number, settings
from workrail_lint.systems.workrail.rules.samples import loop, parallel, step, workflow

if TYPE_CHECKING:
    from typing import Any

    from workrail_lint.documents.schema.engine import Violation
    from workrail_lint.findings import Finding, Fix
    from workrail_lint.rules.base import Report
    from workrail_lint.systems.workrail.model.workflow import Step
    from workrail_lint.systems.workrail.rules.base import WorkflowContext
    from workrail_lint.systems.workrail.step_place import StepPlace

_WHEN = {"var": "mode", "equals": "deep"}
# After this many attempts to select the next step the engine gives up.
SELECTION_ROUNDS = 10_000


def _named(body: str, **config: Any) -> dict[str, Any]:
    """A loop whose body names a step."""
    return {**loop(**config), "body": body}


class LoopBodyEmpty(LoopRule):
    code = "LP012"
    name = "loop-body-empty"
    severity = Severity.ERROR
    origin = "schema / struct"
    summary = "The body of a loop is an empty list or an empty string."
    why = "The engine rejects a loop without a step to repeat."
    describes = (("LoopBody", "minItems"),)

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        return Description("the body is empty; a loop needs at least one step to repeat")

    def examples(self) -> Iterable[Example]:
        yield Example(bad=workflow({**loop(), "body": []}), good=workflow(loop(step("inner-step"))))
        yield Example(bad=workflow(step(), _named("")), good=workflow(step(), _named("first-step")))


class LoopNested(LoopRule):
    code = "LP013"
    name = "loop-nested"
    severity = Severity.ERROR
    origin = "schema / struct"
    summary = "A loop is inside the body of another loop."
    why = (
        "The engine rejects nested loops, because a run can be in only one loop at a time. Turn the inner loop into a "
        "step, or put one loop after the other."
    )
    describes = (("BodyStep", "enum"),)

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        if violation.value != "loop":
            return None
        return Description("a loop can't be in the body of another loop; move it to the top level")

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(loop(loop(ident="inner"))), good=workflow(loop(), loop(step("other"), ident="inner"))
        )


class _ReferencedBody(LoopRule):
    """Rules that are fixed by moving the step into the loop."""

    fix = "Move the step into the body of the loop, if no other loop refers to it."
    fix_safety = "unsafe"

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        target = next((step for step in workflow.steps if finding.pointer.startswith(f"{step.pointer}/")), None)
        loops = [
            step for step in workflow.steps if step.kind == "loop" and target and step.step.get("body") == target.id
        ]
        return move_inline(loops[0], workflow) if len(loops) == 1 else None


class LoopBodyRefRunCondition(_ReferencedBody):
    code = "LP014"
    name = "loop-body-ref-run-condition"
    severity = Severity.ERROR
    origin = "struct"
    summary = "A top-level step that is the body of a loop has a `runCondition`."
    why = (
        "The condition would be ambiguous: it could apply to the step or to one iteration of the loop. The engine "
        "rejects it; inside the body it applies to the iteration."
    )

    def examples(self) -> Iterable[Example]:
        inner = step("inspect", runCondition=_WHEN)
        inline = workflow(step(), loop(inner))
        yield Example(bad=workflow(step(), _named("inspect"), inner), good=inline, fixed=inline)


class LoopBodyRefVirtual(_ReferencedBody):
    code = "LP015"
    name = "loop-body-ref-virtual"
    severity = Severity.ERROR
    origin = "struct"
    summary = "A top-level step that is the body of a loop has `verification` or `audit`."
    why = (
        "The generated check would be a top-level step, outside the loop, and run once after all iterations. The "
        "engine rejects this; inside the body the check runs in each iteration."
    )

    def examples(self) -> Iterable[Example]:
        inner = step("inspect", verification={"command": "make test"})
        inline = workflow(step(), loop(inner))
        yield Example(bad=workflow(step(), _named("inspect"), inner), good=inline, fixed=inline)


class LoopBodyRefSynthesis(LoopRule):
    code = "LP016"
    name = "loop-body-ref-synthesis"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "A top-level parallel step that is the body of a loop has a `synthesis`."
    why = (
        "The synthesis becomes a top-level step, outside the loop, and runs once instead of in each iteration. Inside "
        "the body it runs in each iteration."
    )
    fix = "Move the step into the body of the loop, if no other loop refers to it."
    fix_safety = "unsafe"

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        if not isinstance(loop.step.get("body"), str):
            return
        for target in workflow.body_of(loop):
            if target.kind == "parallel" and js.truthy(target.step.get("synthesis")):
                report(
                    target.at("synthesis"),
                    f"step {quoted(target.id)}: loop {quoted(loop.id)} names this step as its body, so its synthesis "
                    "runs once, outside the loop; move the step into the loop's body",
                    fix=move_inline(loop, workflow),
                )

    def examples(self) -> Iterable[Example]:
        inline = workflow(step(), loop(parallel()))
        yield Example(bad=workflow(step(), _named("fan-out"), parallel()), good=inline, fixed=inline)


class LoopBodyAllConditional(LoopRule):
    code = "LP031"
    name = "loop-body-all-conditional"
    severity = Severity.INFO
    origin = "product"
    summary = "Every step of a loop's body has a `runCondition`."
    why = (
        "If no condition is true, an iteration passes without any work but still counts. If no step of the body runs, "
        "nothing can change the conditions either."
    )

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        # An empty condition is always true, so it does not count, and neither does null.
        if loop.inline and all(inner.step.get("runCondition") for inner in loop.inline):
            report(
                loop.at("body"),
                f"loop {quoted(loop.id)}: every body step has a runCondition, so an iteration can pass without any "
                "work; add a step that always runs",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(step(), loop(step("inspect", runCondition=_WHEN))),
            good=workflow(step(), loop(step("look"), step("inspect", runCondition=_WHEN))),
        )


class LoopGuardExceeded(LoopRule):
    code = "LP044"
    name = "loop-guard-exceeded"
    severity = Severity.WARNING
    origin = "run time"
    summary = f"Loops can pass more than {SELECTION_ROUNDS:,} iterations without a step, and then the run fails."
    why = (
        f"The engine tries at most {SELECTION_ROUNDS:,} times to select the next step, and each iteration without a "
        "step counts. If none of the conditions is true, the run ends with an error that the agent can't fix."
    )

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        rounds: int | float = 1
        for top in workflow.steps:
            if top.kind == "loop":
                if _surely_runs(top, workflow):
                    rounds = 1
                rounds += _idle_passes(top, workflow)
                if rounds > SELECTION_ROUNDS:
                    report(
                        top.at("loop", "maxIterations"),
                        f"loop {quoted(top.id)}: if no condition in the bodies is true, {js.number_text(rounds)} "
                        f"iterations pass without a step, and the engine gives up after {SELECTION_ROUNDS:,}; lower "
                        "maxIterations or add a step that always runs",
                    )
                    return
            elif not top.step.get("runCondition") and top.pointer not in workflow.loop_of:
                rounds = 1

    def examples(self) -> Iterable[Example]:
        def idle(*names: str) -> list[dict[str, Any]]:
            return [
                loop(step(f"{name}-body", runCondition=_WHEN), ident=name, count=1000, maxIterations=1000)
                for name in names
            ]

        numbers = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
        yield Example(
            bad=workflow(step(), *idle(*numbers)),
            good=workflow(step(), *idle(*numbers[:5]), step("breathe"), *idle(*numbers[5:])),
        )


def _idle_passes(top: Step, workflow: WorkflowContext) -> int | float:
    """How many iterations a loop can make without a step."""
    if not all(inner.step.get("runCondition") for inner in workflow.body_of(top)):
        return 1
    limit = number(top, "maxIterations")
    count = number(top, "count") if settings(top).get("type") == "for" else None
    return min((value for value in (limit, count) if value is not None), default=1)


def _surely_runs(top: Step, workflow: WorkflowContext) -> bool:
    """Whether a loop always runs a step: it is entered, and a step of its body has no condition."""
    count = number(top, "count")
    is_entered = settings(top).get("type") == "for" and count is not None and count >= 1
    return (
        is_entered
        and not top.step.get("runCondition")
        and not all(inner.step.get("runCondition") for inner in workflow.body_of(top))
    )


class LoopRefBodyMany(LoopRule):
    code = "LP041"
    name = "loop-ref-body-many"
    severity = Severity.INFO
    origin = "engine-warn"
    summary = "A `for` loop whose body is a top-level step runs more than three times."
    why = (
        "Such a body is one step with one prompt for all iterations. If the iterations have different purposes, "
        "separate steps with a `runCondition` each make that visible."
    )

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        count = number(loop, "count")
        if not isinstance(loop.step.get("body"), str) or settings(loop).get("type") != "for":
            return
        if count is not None and count > 3:
            report(
                loop.at("loop", "count"),
                f"loop {quoted(loop.id)}: the agent gets the same prompt {js.number_text(count)} times; if the "
                "iterations differ, use a body of steps with a runCondition each",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(step(), _named("inspect", count=8, maxIterations=8), step("inspect")),
            good=workflow(step(), _named("inspect", count=3, maxIterations=3), step("inspect")),
        )

"""What a loop may have as its body, written inside it or named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from workrail_lint.base import js
from workrail_lint.base.wording import quoted
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.rules.base import LoopRule
from workrail_lint.systems.workrail.rules.loop_facts import move_inline, number, settings
from workrail_lint.systems.workrail.rules.samples import loop, parallel, step, workflow

if TYPE_CHECKING:
    from typing import Any

    from workrail_lint.findings import Finding, Fix
    from workrail_lint.rules.base import Report
    from workrail_lint.systems.workrail.rules.base import Step, Workflow

_WHEN = {"var": "mode", "equals": "deep"}
# How often the engine looks for the next step before it takes the search for endless.
SELECTION_ROUNDS = 10_000


def _named(body: str, **config: Any) -> dict[str, Any]:
    """A loop whose body names a step."""
    return {**loop(**config), "body": body}


class LoopBodyEmpty(LoopRule):
    code = "LP012"
    name = "loop-body-empty"
    severity = Severity.ERROR
    origin = "schema / struct"
    summary = "The body of a loop is an empty list or an empty name."
    why = "A loop without a step to run is refused; there is nothing it could repeat."

    def examples(self) -> Iterable[Example]:
        yield Example(bad=workflow({**loop(), "body": []}), good=workflow(loop(step("inner-step"))))
        yield Example(bad=workflow(step(), _named("")), good=workflow(step(), _named("first-step")))


class LoopNested(LoopRule):
    code = "LP013"
    name = "loop-nested"
    severity = Severity.ERROR
    origin = "schema / struct"
    summary = "A loop stands inside the body of another."
    why = (
        "A run keeps one loop at a time, so a nested one is refused. Make the inner work one step, or let one loop "
        "follow the other."
    )

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(loop(loop(ident="inner"))), good=workflow(loop(), loop(step("other"), ident="inner"))
        )


class _ReferencedBody(LoopRule):
    """Rules that are mended by writing the step inside the loop."""

    fix = "Moves the step into the body of the loop, when no other loop names it."
    fix_safety = "unsafe"

    def fix_for(self, finding: Finding, workflow: Workflow) -> Fix | None:
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
    summary = "A top-level step that serves as a loop's body has a `runCondition`."
    why = (
        "The step no longer runs on its own, so its condition would have two meanings: for the step, and for one round "
        "of the loop. The engine refuses it; inside the body the condition is about the round."
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
    summary = "A step that serves as a loop's body by name has `verification` or `audit`."
    why = (
        "The step added for the check would stand at the top level, outside the loop, and run once after all rounds. "
        "The engine refuses it; inside the body the check belongs to each round."
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
    summary = "A parallel step that serves as a loop's body by name has a `synthesis`."
    why = (
        "The synthesis becomes a step at the top level: the rounds run without it, and it comes once, outside the "
        "loop. Inside the body it belongs to each round."
    )
    fix = "Moves the step into the body of the loop, when no other loop names it."
    fix_safety = "unsafe"

    def check_loop(self, loop: Step, workflow: Workflow, report: Report) -> None:
        if not isinstance(loop.step.get("body"), str):
            return
        for target in workflow.body_of(loop):
            if target.kind == "parallel" and js.truthy(target.step.get("synthesis")):
                report(
                    target.at("synthesis"),
                    f"Step {quoted(target.id)}: is the body of loop {quoted(loop.id)} by name, so its synthesis "
                    "runs once outside the loop; put the step inline in the loop's body",
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
        "When no condition holds, a round passes without an agent doing anything, and it still counts. If nothing in "
        "the body runs, nothing can change the conditions either."
    )

    def check_loop(self, loop: Step, workflow: Workflow, report: Report) -> None:
        # An empty condition always holds, so it does not count; nor does one that is null.
        if loop.body and all(inner.step.get("runCondition") for inner in loop.body):
            report(
                loop.at("body"),
                f"Loop {quoted(loop.id)}: every step of the body has a runCondition, so a round can pass with "
                "nothing done; let one step run in every round",
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
    summary = "Loops that may pass without a step can keep the engine busy for more rounds than it allows."
    why = (
        f"The engine looks for the next step in at most {SELECTION_ROUNDS:,} rounds, and each pass of a loop in which "
        "nothing is to be done is one of them. When none of the conditions holds, the run ends with an error that no "
        "agent can do anything about."
    )

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        rounds: int | float = 1
        for top in workflow.steps:
            if top.kind == "loop":
                if _surely_runs(top, workflow):
                    rounds = 1
                rounds += _idle_passes(top, workflow)
                if rounds > SELECTION_ROUNDS:
                    report(
                        top.at("loop", "maxIterations"),
                        f"Loop {quoted(top.id)}: if no condition in the bodies holds, {js.number_text(rounds)} "
                        f"rounds pass without a step up to here, and the engine gives up after {SELECTION_ROUNDS:,}; "
                        "allow fewer passes or let a step run in every one",
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


def _idle_passes(top: Step, workflow: Workflow) -> int | float:
    """How many passes a loop can make without a step."""
    if not all(inner.step.get("runCondition") for inner in workflow.body_of(top)):
        return 1
    limit = number(top, "maxIterations")
    count = number(top, "count") if settings(top).get("type") == "for" else None
    return min((value for value in (limit, count) if value is not None), default=1)


def _surely_runs(top: Step, workflow: Workflow) -> bool:
    """Whether a loop can't be passed without a step: it is entered, and some step of its body has no condition."""
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
    summary = "A `for` loop runs a step by name more than three times."
    why = (
        "A body given by name is one step with one prompt. When rounds differ in what they are for, separate steps "
        "with a runCondition each say so; one prompt for all hides it."
    )

    def check_loop(self, loop: Step, workflow: Workflow, report: Report) -> None:
        count = number(loop, "count")
        if not isinstance(loop.step.get("body"), str) or settings(loop).get("type") != "for":
            return
        if count is not None and count > 3:
            report(
                loop.at("loop", "count"),
                f"Loop {quoted(loop.id)}: gives the same prompt {js.number_text(count)} times; "
                "if the rounds differ, write steps with a runCondition each into the body",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(step(), _named("inspect", count=8, maxIterations=8), step("inspect")),
            good=workflow(step(), _named("inspect", count=3, maxIterations=3), step("inspect")),
        )

"""The step of a body that ends the loop: its position, and whether its decision is required and used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Remove
from workrail_lint.findings import Severity, unsafe
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.compiler.loops import LOOP_CONTROL
from workrail_lint.systems.workrail.rules.base import LoopRule, WorkflowRule
from workrail_lint.systems.workrail.rules.facts import LOOP
from workrail_lint.systems.workrail.rules.loop_facts import (
    decisions,
    is_artifact_decided,
    label,
    may_come_next,
    settings,
    source,
    steps_after,
    synthesis_contract,
)
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, loop, step, workflow

if TYPE_CHECKING:
    from workrail_lint.findings import Fix
    from workrail_lint.rules.base import Report
    from workrail_lint.systems.workrail.model.workflow import Step
    from workrail_lint.systems.workrail.rules.base import WorkflowContext

# What decides the loops that no agent decides.
_DECIDED_BY: dict[object, str] = {"for": "the count", "forEach": "the list"}


class LoopNoExitStep(WorkflowRule):
    code = "LP023"
    name = "loop-no-exit-step"
    severity = Severity.WARNING
    origin = "spec"
    summary = "A loop waits for a loop-control artifact, but no step of its body has that contract."
    why = (
        "Without a decision the loop continues. On the public engine no step asks for one, so the loop always runs to "
        "`maxIterations`. Only our profile `locked` adds a decision step to the body."
    )
    needs = frozenset({LOOP})

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        decided = source(loop, workflow)
        if decided is None or decided.get("kind") != "artifact_contract" or not workflow.body_of(loop):
            return
        if not decisions(loop, workflow):
            report(
                loop.at("loop", "conditionSource"),
                f"loop {quoted(loop.id)}: no body step has the contract {LOOP_CONTROL}, so on the public engine the "
                "loop always runs to maxIterations (only profile locked adds a decision step); add the contract to "
                "the last step",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(bad=workflow(controlled_loop(step("inner-step"))), good=workflow(controlled_loop()))


class LoopExitStepNotLast(WorkflowRule):
    code = "LP024"
    name = "loop-exit-step-not-last"
    severity = Severity.INFO
    origin = "product"
    summary = "The loop-control step is not the last step of the body."
    why = "A `stop` ends the loop at once, so the last iteration skips the steps after the decision."
    needs = frozenset({LOOP})

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        found = decisions(loop, workflow)
        body = workflow.body_of(loop)
        if found and found[-1].step is not body[-1]:
            last = found[-1]
            report(
                last.contract,
                f"{label(last.step)}: decides before {quoted(body[-1].id)} runs, so a stop skips the steps after it; "
                "move it to the end of the body",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(controlled_loop(decision(), step("inner-step"))),
            good=workflow(controlled_loop(step("inner-step"), decision())),
        )


class LoopMultipleExitSteps(WorkflowRule):
    code = "LP025"
    name = "loop-multiple-exit-steps"
    severity = Severity.WARNING
    origin = "product"
    summary = "A body has several loop-control steps that run in every iteration."
    why = "Each of them can end the loop, and a later step can overrule the `continue` of an earlier one."
    needs = frozenset({LOOP})

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        # An empty condition is always true.
        always = [found for found in decisions(loop, workflow) if not found.step.step.get("runCondition")]
        for again in always[1:]:
            report(
                again.contract,
                f"{label(again.step)}: {quoted(always[0].step.id)} already decides the loop in the same iteration; "
                "keep one of them, or give each a runCondition",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(controlled_loop(decision("decide-early"), decision("decide-late"))),
            good=workflow(controlled_loop(step("inner-step"), decision("decide-late"))),
        )


class LoopExitOptional(WorkflowRule):
    code = "LP026"
    name = "loop-exit-optional"
    severity = Severity.WARNING
    origin = "product"
    summary = "The loop-control contract of a body step is not required."
    why = (
        "The step passes without an artifact, and without a decision the loop continues: a forgotten artifact costs "
        "another iteration."
    )
    fix = "Remove `required`, so that the contract is required."
    fix_safety = "unsafe"
    needs = frozenset({"outputContract", "synthesis"})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if "outputContract" in step.step and step.decides_loop:
            # A routine's step may decide a loop of its caller.
            if (workflow.is_routine or step.pointer in workflow.loop_of) and not step.calls_template:
                self._judge(step, step.step["outputContract"], step.at("outputContract"), report)
        elif step.around is not None and step.kind == "parallel" and synthesis_contract(step) == LOOP_CONTROL:
            self._judge(step, step.step["synthesis"]["outputContract"], step.at("synthesis", "outputContract"), report)

    def _judge(self, step: Step, contract: dict[str, Any], pointer: str, report: Report) -> None:
        if contract.get("required") is False:
            report(
                f"{pointer}/required",
                f"{label(step)}: the decision is optional, and without one the loop continues; remove required",
                fix=unsafe("make the decision required", Remove(f"{pointer}/required")),
            )

    def examples(self) -> Iterable[Example]:
        optional = {**decision(), "outputContract": {"contractRef": LOOP_CONTROL, "required": False}}
        good = workflow(controlled_loop())
        yield Example(bad=workflow(controlled_loop(step("inner-step"), optional)), good=good, fixed=good)


class LoopControlOutsideLoop(WorkflowRule):
    code = "LP027"
    name = "loop-control-outside-loop"
    severity = Severity.WARNING
    origin = "product"
    summary = "A step has the loop-control contract, but no loop uses its decision."
    why = (
        "The agent must make a decision that has no effect: the step is outside of loops, or in a loop that a count, a "
        "list or the context decides."
    )
    fix = "Remove the contract."
    fix_safety = "unsafe"
    needs = frozenset({"outputContract", "synthesis"})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if workflow.is_routine or step.calls_template:
            return
        if step.kind == "standard" and "outputContract" in step.step and step.decides_loop:
            self._judge(step, workflow.loop_of.get(step.pointer), step.at("outputContract"), True, workflow, report)
        elif step.kind == "parallel" and synthesis_contract(step) == LOOP_CONTROL:
            removable = bool(step.step["synthesis"].get("prompt"))
            self._judge(step, step.around, step.at("synthesis", "outputContract"), removable, workflow, report)

    def _judge(
        self, step: Step, loop: Step | None, pointer: str, removable: bool, workflow: WorkflowContext, report: Report
    ) -> None:
        fix: Fix | None = unsafe("remove the contract", Remove(pointer)) if removable else None
        if loop is None:
            if not _named_by_any_loop(step, workflow) and not _decides_the_next(step, workflow):
                message = (
                    "outside of a loop the decision has no effect; remove the contract or move the step into a loop"
                )
                report(pointer, f"{label(step)}: {message}", fix=fix)
            return
        decided = source(loop, workflow)
        if decided is not None and decided.get("kind") == "artifact_contract":
            return
        by = "the context" if decided is not None else _DECIDED_BY.get(settings(loop).get("type"), "nothing")
        report(
            pointer,
            f"{label(step)}: the decision has no effect, because {by} decides loop {quoted(loop.id)}; remove the "
            "contract, or let the artifact decide the loop",
            fix=fix,
        )

    def examples(self) -> Iterable[Example]:
        plain = {member: value for member, value in decision().items() if member != "outputContract"}
        yield Example(
            bad=workflow(step(), decision()), good=workflow(step(), controlled_loop()), fixed=workflow(step(), plain)
        )
        yield Example(
            bad=workflow(loop(decision())), good=workflow(controlled_loop(decision())), fixed=workflow(loop(plain))
        )


def _decides_the_next(step: Step, workflow: WorkflowContext) -> bool:
    """Whether the artifact decides if a loop that follows is entered at all.

    Steps generated for a verification or an audit come in between, with separate artifacts.
    """
    if step.kind == "standard" and not {"verification", "audit"}.isdisjoint(step.step):
        return False
    return any(is_artifact_decided(following, workflow) for following in may_come_next(step, workflow))


def _between(loop: Step, following: Step, workflow: WorkflowContext) -> Iterator[Step]:
    """The steps from a loop to a later step that are no loop's body."""
    for found in steps_after(loop, workflow):
        if found.index >= following.index:
            return
        if found.pointer not in workflow.loop_of:
            yield found


class LoopStopSkipsNext(LoopRule):
    code = "LP047"
    name = "loop-stop-skips-next"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "A loop that an artifact decides directly follows another such loop."
    why = (
        "The engine reads the artifacts of the last submission, whichever loop they are for. When it enters the second "
        "loop, that is still the `stop` of the first one, so the second loop never starts."
    )

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        if loop.around is not None or not is_artifact_decided(loop, workflow) or not decisions(loop, workflow):
            return
        if not any(other.kind == "loop" for other in steps_after(loop, workflow)):
            return
        for following in may_come_next(loop, workflow):
            if not is_artifact_decided(following, workflow):
                continue
            skipped = list(islice(_between(loop, following, workflow), 2))
            when = f" when {quoted(skipped[0].id)} is skipped" if skipped else ""
            when = " when the steps between them are skipped" if len(skipped) > 1 else when
            member = "conditionSource" if "conditionSource" in settings(following) else "type"
            report(
                following.at("loop", member),
                f"loop {quoted(following.id)}: never starts{when}, because the engine reads the stop that ends loop "
                f"{quoted(loop.id)} as its decision too; put a step that always runs between the loops",
            )

    def examples(self) -> Iterable[Example]:
        first = controlled_loop(step("draft"), decision("draft-done"), ident="write")
        second = controlled_loop(step("review"), decision("review-done"), ident="check")
        yield Example(bad=workflow(first, second), good=workflow(first, step("summarize"), second))


def _named_by_any_loop(step: Step, workflow: WorkflowContext) -> bool:
    """Whether a loop names the step, even a loop without a view because something else is wrong with it."""
    steps = workflow.definition.get("steps") or ()
    return any(isinstance(item, dict) and item.get("type") == "loop" and item.get("body") == step.id for item in steps)

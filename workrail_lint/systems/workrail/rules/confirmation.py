"""CD: confirmations, and whether a workflow has steps that always run."""

from __future__ import annotations

from collections.abc import Iterable

from workrail_lint.documents.operations import Remove
from workrail_lint.findings import Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.model.workflow import ConfirmationGate, Step
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.facts import CONDITIONS
from workrail_lint.systems.workrail.rules.prose import label, step_members
from workrail_lint.systems.workrail.rules.samples import step, workflow

_WHEN = {"var": "goal", "contains": "review"}


class ConfirmationRule(WorkflowRule):
    """A rule about confirmations and conditional steps."""

    needs = frozenset({"runCondition", "requireConfirmation"})


class GateConditionSelf(ConfirmationRule):
    code = "CD018"
    name = "gate-condition-self"
    severity = Severity.WARNING
    origin = "spec"
    summary = "The condition of a confirmation tests a variable that only the step itself sets."
    why = (
        "In an interactive run the engine evaluates the condition before the step runs. The variable is unset then, so "
        "the user is never asked. Move the confirmation to the next step."
    )

    needs = frozenset({CONDITIONS})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if "requireConfirmation" in step_members(workflow):
            for verdict in workflow.verdicts.get(self.name, ()):
                report(verdict.pointer, verdict.message)

    def examples(self) -> Iterable[Example]:
        gate = {"kind": "human_approval", "condition": {"var": "verdict", "equals": "blocking"}}
        review = step("review", "Review the change. Set `verdict` to clean, minor, or blocking.")
        yield Example(
            bad=workflow({**review, "requireConfirmation": gate}),
            good=workflow(review, step("merge", "Merge the change.", requireConfirmation=gate)),
        )


def _top_level(workflow: WorkflowContext) -> list[Step]:
    """Return the steps that are not the body of a loop."""
    return [step for step in workflow.steps if step.pointer not in workflow.loop_of]


class FirstStepConditional(ConfirmationRule):
    code = "CD019"
    name = "first-step-conditional"
    severity = Severity.WARNING
    origin = "doc"
    summary = "The first step has a `runCondition`."
    why = (
        "At the start the context contains little more than the goal, so the condition is usually false: the workflow "
        "starts at a later step, and returns to the first one when the variable is set."
    )
    bad = {"steps": [{"runCondition": {"var": "goal", "contains": "review"}}, {"id": "second-step"}]}
    good = {"steps": [{}, {"id": "second-step", "runCondition": {"var": "goal", "contains": "review"}}]}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        first = next(iter(_top_level(workflow)), None)
        if first is not None and first.is_conditional:
            report(
                first.at("runCondition"),
                f"{label(first)}: the first step may be skipped, because no step has set a variable yet; start with a "
                "step that always runs",
            )


class AllStepsConditional(ConfirmationRule):
    code = "CD020"
    name = "all-steps-conditional"
    severity = Severity.WARNING
    origin = "doc"
    summary = "Every step has a `runCondition`."
    why = "If none of the conditions is true, there is no step to run, and the workflow can't even start."

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        steps = _top_level(workflow)
        if steps and all(step.is_conditional for step in steps):
            report(
                "/steps",
                "every step has a runCondition, so a run may have no step to run; add a step that always runs",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(step(runCondition=_WHEN), step("second-step", runCondition=_WHEN)),
            good=workflow(step(), step("second-step", runCondition=_WHEN)),
        )


class ConfirmationOnParallel(ConfirmationRule):
    code = "CD021"
    name = "confirmation-on-parallel"
    severity = Severity.INFO
    origin = "runtime"
    summary = "A parallel step asks for confirmation."
    why = "The engine never asks for confirmation of a parallel step."
    fix = "Remove `requireConfirmation`."
    fix_safety = "unsafe"
    bad = {"steps": [{}, {"type": "parallel", "requireConfirmation": True}]}
    good = {"steps": [{}, {"type": "parallel"}]}

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.kind == "parallel" and step.require_confirmation not in (None, False):
            pointer = step.at("requireConfirmation")
            report(
                pointer,
                f"{label(step)}: requireConfirmation has no effect on a parallel step; move it to the step before or "
                "after",
                fix=unsafe("remove requireConfirmation", Remove(pointer)),
                on_name=True,
            )


class ConfirmationOveruse(ConfirmationRule):
    code = "CD022"
    name = "confirmation-overuse"
    severity = Severity.INFO
    origin = "spec"
    summary = "More than half of the steps, and at least three, always ask for confirmation."
    why = "Users who must confirm every step stop reading what they confirm. Ask only where a decision is hard to undo."

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        steps = [step for step in workflow.all_steps if step.kind != "loop"]
        asking = sum(map(self._always_asks, steps))
        if asking >= 3 and asking * 2 > len(steps):
            report(
                "/steps",
                f"{asking} of {len(steps)} steps always ask for confirmation; ask only where a decision is hard to "
                "undo",
            )

    @staticmethod
    def _always_asks(step: Step) -> bool:
        if step.calls_template or step.kind == "parallel":
            return False
        confirmation = step.require_confirmation
        if confirmation is None or isinstance(confirmation, bool):
            return confirmation is True
        condition = confirmation.condition if isinstance(confirmation, ConfirmationGate) else confirmation
        return condition is None or not condition.raw

    def examples(self) -> Iterable[Example]:
        def asked(times: int) -> list[dict[str, object]]:
            return [step(f"step-{number}", requireConfirmation=number < times) for number in range(4)]

        yield Example(bad=workflow(*asked(3)), good=workflow(*asked(2)))

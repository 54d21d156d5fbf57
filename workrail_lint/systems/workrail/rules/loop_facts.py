"""Facts about a loop that several rules need: its variables, what decides it, and which of its steps do."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Remove, Replace
from workrail_lint.findings import Fix, unsafe
from workrail_lint.systems.workrail.compat.normalize import CONDITION_REF
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL
from workrail_lint.systems.workrail.model.workflow import LoopStep, OutputContract, Step
from workrail_lint.systems.workrail.rules.base import WorkflowContext

# What decides a loop: the kinds of a `conditionSource`.
ARTIFACT, CONTEXT = "artifact_contract", "context_variable"
# A run that skips more steps in a row than these is not foreseen: each pair of conditions costs a search.
_MOST_NEXT = 20


class Decision:
    """A place in a loop body that submits the loop's decision."""

    __slots__ = ("contract", "step")

    def __init__(self, step: Step, contract: str) -> None:
        self.step = step
        self.contract = contract  # pointer of the contract, or of the template call that adds it


class LoopVariables:
    """The names of the loop's variables in its body; item and index only in a forEach."""

    __slots__ = ("index", "item", "iteration")

    def __init__(self, iteration: str, item: str | None, index: str | None) -> None:
        self.iteration = iteration
        self.item = item
        self.index = index

    def __iter__(self) -> Iterator[str | None]:
        return iter((self.iteration, self.item, self.index))


def number_of_rounds(loop: LoopStep) -> float | None:
    """Return the count of a loop, if it is a number."""
    count = loop.loop.count
    return None if isinstance(count, str) else count


def variables(loop: LoopStep) -> LoopVariables:
    config = loop.loop
    iteration = config.iteration_var or "currentIteration"
    if config.type != "forEach":
        return LoopVariables(iteration, None, None)
    return LoopVariables(iteration, config.item_var or "currentItem", config.index_var or "currentIndex")


@lru_cache(maxsize=8)
def decisions(loop: LoopStep, workflow: WorkflowContext) -> tuple[Decision, ...]:
    """Return where the body submits a decision, in the order of its steps."""
    places: list[Decision] = []
    for step in workflow.body_of(loop):
        if step.calls_template:
            routine = workflow.called_routine(step)
            if routine is not None and any(_decides(inner) for inner in routine.steps):
                places.append(Decision(step, step.at("templateCall")))
        elif step.decides_loop:
            places.append(Decision(step, step.at("outputContract")))
        # The synthesis of a referenced body stays at the top level.
        elif step.around is not None and (contract := synthesis_decision(step)) is not None:
            places.append(Decision(step, contract.pointer))
    return tuple(places)


def synthesis_decision(step: Step) -> OutputContract | None:
    """Return the loop-control contract of the step that a parallel step's synthesis becomes."""
    contract = step.synthesis.output_contract if step.kind == "parallel" and step.synthesis is not None else None
    return contract if contract is not None and contract.contract_ref == LOOP_CONTROL else None


def _decides(step: dict[str, Any]) -> bool:
    """Return whether a step of a routine submits the decision."""
    contract = step.get("outputContract")
    return isinstance(contract, dict) and contract.get("contractRef") == LOOP_CONTROL


def decided_by(loop: LoopStep, workflow: WorkflowContext) -> str | None:
    """Return the kind of what decides a while or until loop, as the compiler will see it; "" if it is unknown."""
    if loop.loop.type not in ("while", "until"):
        return None
    if "conditionSource" in loop.loop:
        return loop.loop.condition_source.kind if loop.loop.condition_source is not None else ""
    if decisions(loop, workflow):
        return ARTIFACT
    return CONTEXT if "condition" in loop.loop else None


def artifact_source(loop_id: str) -> dict[str, Any]:
    return {"kind": ARTIFACT, "contractRef": LOOP_CONTROL, "loopId": loop_id}


def is_artifact_decided(step: Step, workflow: WorkflowContext) -> bool:
    return step.kind == "loop" and decided_by(step, workflow) == ARTIFACT


def steps_after(top: Step, workflow: WorkflowContext) -> Iterator[Step]:
    """Return the top-level steps after one."""
    start = bisect_right(workflow.steps, top.index, key=lambda step: step.index)
    return islice(workflow.steps, start, None)


def may_come_next(top: Step, workflow: WorkflowContext) -> Iterator[Step]:
    """Yield the top-level steps that the engine may select right after one: all up to the first that certainly runs.

    A step that is the body of a loop is never selected alone, and a step whose condition follows from that of `top`
    runs whenever `top` did.
    """
    from workrail_lint.systems.workrail.analysis.logic import exclusive, implies

    condition = top.run_condition
    for following in islice(steps_after(top, workflow), _MOST_NEXT):
        if following.pointer in workflow.loop_of:
            continue
        own = following.run_condition
        if not exclusive(condition, own):
            yield following
        if not following.is_conditional or implies(condition, own):
            return


def from_named_condition(loop: Step, workflow: WorkflowContext) -> bool:
    """Return whether the loop's condition was a named one of the design form."""
    if workflow.normalized is None or not workflow.normalized.step_codes:
        return False
    codes: tuple[str, ...] = workflow.normalized.step_codes.get(loop.pointer, ())
    return CONDITION_REF.name in codes


def only_user(loop: LoopStep, workflow: WorkflowContext) -> bool:
    """Return whether no other loop names the same step as its body."""
    return [step.body for step in workflow.steps if step.kind == "loop"].count(loop.body) == 1


def move_inline(loop: LoopStep, workflow: WorkflowContext) -> Fix | None:
    """Move the step that a body names into that body; None if something else needs it where it is."""
    named = [step for step in workflow.all_steps if step.id == loop.body_id]
    if loop.body_id is None or len(named) != 1 or named[0].kind == "loop" or not only_user(loop, workflow):
        return None
    return unsafe(
        f"move step {quoted(loop.body_id)} into the body of loop {quoted(loop.id)}",
        Replace(loop.at("body"), [named[0].raw]),
        Remove(named[0].pointer),
    )

"""Facts about a loop that several rules need: its settings, what decides it, and which of its steps do."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Remove, Replace
from workrail_lint.findings import Fix, unsafe
from workrail_lint.systems.workrail.compiler.loops import LOOP_CONTROL, condition_source
from workrail_lint.systems.workrail.compiler.nodes import Node, step_name

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.catalog.routine import Routine
    from workrail_lint.systems.workrail.model.workflow import Step
    from workrail_lint.systems.workrail.rules.base import WorkflowContext


# A run that skips more steps in a row than these is not foreseen: each pair of conditions costs a search.
_MOST_NEXT = 20


class Decision(NamedTuple):
    """A place in a loop body that submits the loop's decision."""

    step: Step
    contract: str  # pointer of the contract, or of the template call that adds it


class LoopVariables:
    """The names of the loop's variables in its body; item and index only in a forEach."""

    __slots__ = ("index", "item", "iteration")

    def __init__(self, iteration: str, item: str | None, index: str | None) -> None:
        self.iteration = iteration
        self.item = item
        self.index = index

    def __iter__(self) -> Iterator[str | None]:
        return iter((self.iteration, self.item, self.index))


def settings(loop: Step) -> dict[str, Any]:
    config = loop.step.get("loop")
    return config if isinstance(config, dict) else {}


def number(loop: Step, member: str) -> int | float | None:
    """A setting if it is a number."""
    value = settings(loop).get(member)
    return value if type(value) is int or type(value) is float else None


def variables(loop: Step) -> LoopVariables:
    config = settings(loop)
    iteration = config.get("iterationVar") or "currentIteration"
    if config.get("type") != "forEach":
        return LoopVariables(iteration, None, None)
    return LoopVariables(iteration, config.get("itemVar") or "currentItem", config.get("indexVar") or "currentIndex")


@lru_cache(maxsize=8)
def decisions(loop: Step, workflow: WorkflowContext) -> tuple[Decision, ...]:
    """Where the body submits a decision, in the order of its steps."""
    found: list[Decision] = []
    for step in workflow.body_of(loop):
        if step.calls_template:
            routine = called_routine(step, workflow)
            if routine is not None and any(_decides(inner) for inner in routine.steps):
                found.append(Decision(step, step.at("templateCall")))
        elif step.decides_loop:
            found.append(Decision(step, step.at("outputContract")))
        # The synthesis of a referenced body stays at the top level.
        elif step.around is not None and synthesis_contract(step) == LOOP_CONTROL:
            found.append(Decision(step, step.at("synthesis", "outputContract")))
    return tuple(found)


def synthesis_contract(step: Step) -> object:
    """The contract of the step that a parallel step's synthesis becomes."""
    synthesis = step.step.get("synthesis")
    contract = synthesis.get("outputContract") if isinstance(synthesis, dict) else None
    return contract.get("contractRef") if isinstance(contract, dict) else None


def _decides(step: dict[str, Any]) -> bool:
    contract = step.get("outputContract")
    return isinstance(contract, dict) and contract.get("contractRef") == LOOP_CONTROL


def called_routine(step: Step, workflow: WorkflowContext) -> Routine | None:
    """The routine that a template call expands to."""
    call = step.step.get("templateCall")
    template_id = call.get("templateId") if isinstance(call, dict) else None
    return workflow.catalog.templates.get(template_id) if isinstance(template_id, str) else None


@lru_cache(maxsize=8)
def source(loop: Step, workflow: WorkflowContext) -> dict[str, Any] | None:
    """What decides a while or until loop, as the compiler will see it."""
    body = tuple(
        Node({"outputContract": {"contractRef": LOOP_CONTROL}}, decision.contract)
        for decision in decisions(loop, workflow)
    )
    return condition_source(Node(loop.step, loop.pointer), body)


def artifact_source(loop_id: str) -> dict[str, Any]:
    return {"kind": "artifact_contract", "contractRef": LOOP_CONTROL, "loopId": loop_id}


def is_artifact_decided(loop: Step, workflow: WorkflowContext) -> bool:
    decided = source(loop, workflow) if loop.kind == "loop" else None
    return decided is not None and decided.get("kind") == "artifact_contract"


def steps_after(top: Step, workflow: WorkflowContext) -> Iterator[Step]:
    """The top-level steps after one."""
    start = bisect_right(workflow.steps, top.index, key=lambda step: step.index)
    return islice(workflow.steps, start, None)


def may_come_next(top: Step, workflow: WorkflowContext) -> Iterator[Step]:
    """The top-level steps that the engine may select right after one: all up to the first that certainly runs.

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
        if own is None or not own.raw or implies(condition, own):
            return


def from_named_condition(loop: Step, workflow: WorkflowContext) -> bool:
    """Whether the loop's condition was a named one of the design form."""
    if workflow.normalized is None or not workflow.normalized.step_codes:
        return False
    from workrail_lint.systems.workrail.compat.codes import CONDITION_REF

    codes: tuple[str, ...] = workflow.normalized.step_codes.get(loop.pointer, ())
    return CONDITION_REF.name in codes


def only_user(loop: Step, workflow: WorkflowContext) -> bool:
    """Whether no other loop names the same step as its body."""
    body = loop.step.get("body")
    return [step.step.get("body") for step in workflow.steps if step.kind == "loop"].count(body) == 1


def move_inline(loop: Step, workflow: WorkflowContext) -> Fix | None:
    """Move the step that a body names into that body; None if something else needs it where it is."""
    body = loop.step.get("body")
    named = [step for step in workflow.all_steps if step.id == body]
    if not isinstance(body, str) or len(named) != 1 or named[0].kind == "loop" or not only_user(loop, workflow):
        return None
    return unsafe(
        f"move step {quoted(body)} into the body of loop {quoted(loop.id)}",
        Replace(loop.at("body"), [named[0].step]),
        Remove(named[0].pointer),
    )


def label(step: Step) -> str:
    """How a message starts: the step, and the loop it is in, if any."""
    inside = f" (in loop {quoted(step.around.id)})" if step.around else ""
    return f"{'loop' if step.kind == 'loop' else 'step'} {step_name(step.id, step.pointer)}{inside}"

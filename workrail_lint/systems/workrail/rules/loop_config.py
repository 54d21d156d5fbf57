"""LP: the settings of a loop, and its body: a list of steps, or the id of a top-level step."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar

from workrail_lint.base import js
from workrail_lint.base.wording import counted, quoted
from workrail_lint.documents.operations import Insert, Remove, Replace
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.documents.schema.messages import outside_set, shown
from workrail_lint.findings import Finding, Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import Description
from workrail_lint.systems.workrail.analysis.scan import is_identifier
from workrail_lint.systems.workrail.model.workflow import LoopStep
from workrail_lint.systems.workrail.rules.base import LoopRule, WorkflowContext
from workrail_lint.systems.workrail.rules.rule_needs import artifact_source, move_inline, number_of_rounds
from workrail_lint.systems.workrail.rules.samples import controlled_loop, loop, step, workflow
from workrail_lint.systems.workrail.step_place import StepPlace, choices

# The schema's bounds of maxIterations and count.
_LIMIT = 1000
_MANY = 100
# The loop types that use a setting.
_OWNERS = {
    "count": ("for",),
    "items": ("forEach",),
    "itemVar": ("forEach",),
    "indexVar": ("forEach",),
    "condition": ("while", "until"),
    "conditionSource": ("while", "until"),
}


# What a loop needs, and what is said where it is missing.
_NEEDED = {
    "maxIterations": "loop.maxIterations is missing; set it to a number from 1 to 1000",
    "count": "a for loop needs loop.count: a number or the name of a context variable",
    "items": "a forEach loop needs loop.items: the name of the context variable with the list",
}


class LoopTypeInvalid(LoopRule):
    code = "LP001"
    name = "loop-type-invalid"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A loop has a type other than `while`, `until`, `for` and `forEach`."
    why = "The type says how the loop continues, and there are only these four; the engine rejects any other."
    describes = (("LoopType", "enum"), ("LoopType", "type"))
    bad = {"loop": {"type": "repeat", "count": 2, "maxIterations": 2}}
    good = {"type": "loop"}

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        return Description.of(outside_set(violation, place, choices("LoopType")))


class LoopMemberMissing(LoopRule):
    code = "LP002"
    name = "loop-member-missing"
    severity = Severity.ERROR
    origin = "schema / struct"
    summary = "A loop lacks `maxIterations`, `count` (of a `for` loop) or `items` (of a `forEach` loop)."
    why = "Every loop needs a limit. There is no default, so the engine rejects the workflow."
    describes = tuple(("LoopConfig", "required", member) for member in _NEEDED)
    bad = (
        {"loop": {"type": "for", "count": 2}},
        {"loop": {"type": "for", "maxIterations": 2}},
        {"loop": {"type": "forEach", "maxIterations": 2}},
        {"loop": {"type": "forEach", "maxIterations": 2, "items": ""}},
    )
    good = (
        {"type": "loop"},
        {"type": "loop"},
        {"loop": {"type": "forEach", "maxIterations": 2, "items": "files"}},
        {"loop": {"type": "forEach", "maxIterations": 2, "items": "files"}},
    )

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        return Description(_NEEDED[violation.member])


class LoopMaxIterationsInvalid(LoopRule):
    code = "LP003"
    name = "loop-max-iterations-invalid"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A loop's `maxIterations` is not a whole number from 1 to 1000."
    why = "The engine rejects other numbers or rounds them to another limit."
    fix = "Round the number down."
    describes = (("LoopConfig", "minimum", "maxIterations"), ("LoopConfig", "maximum", "maxIterations"))
    bad: ClassVar[Any] = (
        {"loop": {"type": "for", "count": 2, "maxIterations": 5000}},
        {"loop": {"type": "for", "count": 2, "maxIterations": 2.5}},
    )
    good: ClassVar[Any] = (
        {"loop": {"type": "for", "count": 2, "maxIterations": 50}},
        {"type": "loop"},
    )
    fixed: ClassVar[Any] = (
        None,
        {"type": "loop"},
    )

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        return Description(f"loop.maxIterations must be from 1 to 1000, not {shown(violation.value)}")

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        limit = loop.loop.max_iterations
        if limit is None or not 1 <= limit <= _LIMIT or limit % 1 == 0:
            return
        whole, pointer = math.floor(limit), loop.at("loop", "maxIterations")
        report(
            pointer,
            f"loop {quoted(loop.id)}: maxIterations is {js.number_text(limit)}, so a run fails when it enters the "
            f"loop; use a whole number such as {whole}",
            fix=unsafe(f"round down to {whole}", Replace(pointer, whole)),
        )


class LoopMaxIterationsHigh(LoopRule):
    code = "LP005"
    name = "loop-max-iterations-high"
    severity = Severity.WARNING
    origin = "engine-warn"
    summary = "`maxIterations` is greater than 100."
    why = (
        "The limit ends a loop that does not end otherwise. Each iteration costs the agent at least one turn, so a "
        "limit this high has no practical effect."
    )
    bad = {"loop": {"type": "for", "count": 2, "maxIterations": 200}}
    good = {"loop": {"type": "for", "count": 2, "maxIterations": 100}}

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        limit = loop.loop.max_iterations
        if limit is not None and _MANY < limit <= _LIMIT:
            report(
                loop.at("loop", "maxIterations"),
                f"loop {quoted(loop.id)}: may run {js.number_text(limit)} iterations; "
                f"lower maxIterations to {_MANY} or less, or process the list in chunks",
            )


class LoopConditionMissing(LoopRule):
    code = "LP006"
    name = "loop-condition-missing"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A `while` or `until` loop has neither `condition` nor `conditionSource`."
    why = (
        "Nothing decides when the loop ends, so the engine rejects it. Even if a step of the body submits a decision, "
        "`conditionSource` must name it."
    )
    fix = "Use the loop-control artifact as `conditionSource`, if a step of the body submits it."
    describes = (("LoopConfig", "anyOf"),)

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        kind = violation.value.get("type")
        article = "an" if kind == "until" else "a"
        return Description(
            f"{article} {kind} loop needs loop.conditionSource or loop.condition, even if a body step decides"
        )

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        # The step is damaged, so it is only in the whole model.
        place = finding.pointer if finding.pointer.endswith("/loop") else finding.pointer.rpartition("/")[0]
        loop = next((step for step in workflow.whole.steps if step.kind == "loop" and step.at("loop") == place), None)
        if loop is None or "id" not in loop or loop.body is None:
            return None
        body = loop.body_steps or [step for step in workflow.whole.steps if step.id == loop.body_id]
        if not any(inner.decides_loop for inner in body):
            return None
        source = artifact_source(loop.id)
        return unsafe("let the loop-control artifact decide", Insert(place, "conditionSource", None, source))

    def examples(self) -> Iterable[Example]:
        good = workflow(controlled_loop())
        yield Example(bad=workflow(controlled_loop(conditionSource=...)), good=good, fixed=good)


class LoopCountNotPositive(LoopRule):
    code = "LP008"
    name = "loop-count-not-positive"
    severity = Severity.ERROR
    origin = "struct"
    summary = "The `count` of a `for` loop is 0, negative, or a string that is not the name of a variable."
    why = (
        "The engine rejects a loop that never runs its body; it does not skip it. A string is the name of a variable "
        "that holds the number, and the run stops if there is none."
    )
    describes = (("LoopConfig", "minimum", "count"),)
    bad = (
        {"loop": {"type": "for", "count": 0, "maxIterations": 2}},
        {"loop": {"type": "for", "count": "2", "maxIterations": 2}},
    )
    good = (
        {"loop": {"type": "for", "count": 1, "maxIterations": 2}},
        {"loop": {"type": "for", "count": 2, "maxIterations": 2}},
    )

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        if place.parent.get("type") != "for":
            return None
        return Description(f"loop.count must be greater than 0, not {shown(violation.value)}")

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        count = loop.loop.count
        if loop.loop.type != "for" or not isinstance(count, str) or is_identifier(js.trim(count)):
            return
        number = js.to_number(count) if js.trim(count) else -1
        is_whole = number > 0 and number % 1 == 0
        instead = f"write {js.number_text(number)} without quotes" if is_whole else "write a number"
        report(
            loop.at("loop", "count"),
            f"loop {quoted(loop.id)}: the count {quoted(count)} is a string, so the engine looks for a context "
            f"variable "
            f"of that name and the run stops here; {instead}",
        )


class LoopCountAdjusted(LoopRule):
    code = "LP010"
    name = "loop-count-adjusted"
    severity = Severity.WARNING
    origin = "product"
    summary = "A loop's `count` is not a whole number, or larger than `maxIterations`."
    why = "The loop runs another number of times than `count` says."
    fix = "Raise `maxIterations` to the count, if that is at most 1000."
    bad: ClassVar[Any] = (
        {"loop": {"type": "for", "count": 10, "maxIterations": 3}},
        {"loop": {"type": "for", "count": 1.5, "maxIterations": 2}},
    )
    good: ClassVar[Any] = (
        {"loop": {"type": "for", "count": 3, "maxIterations": 3}},
        {"type": "loop"},
    )
    fixed: ClassVar[Any] = (
        {"loop": {"type": "for", "count": 10, "maxIterations": 10}},
        None,
    )

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        self._loop_count_exceeds_max(loop, workflow, report)
        self._loop_count_fraction(loop, workflow, report)

    def _loop_count_exceeds_max(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        count, limit = number_of_rounds(loop), loop.loop.max_iterations
        if loop.loop.type != "for" or count is None or limit is None or limit < 1 or limit % 1 != 0:
            return
        if not limit < count < math.inf:
            return
        wanted, pointer = math.ceil(count), loop.at("loop", "maxIterations")
        raised = unsafe(f"raise maxIterations to {wanted}", Replace(pointer, wanted)) if wanted <= _LIMIT else None
        report(
            loop.at("loop", "count"),
            f"loop {quoted(loop.id)}: count is {js.number_text(count)}, but maxIterations ends the loop after {limit}; "
            "make them equal",
            fix=raised,
        )

    def _loop_count_fraction(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        count = number_of_rounds(loop)
        if loop.loop.type == "for" and count is not None and count > 0 and count % 1 != 0:
            report(
                loop.at("loop", "count"),
                f"loop {quoted(loop.id)}: a count of {js.number_text(count)} runs "
                f"{counted(math.ceil(count), 'iteration')}; write a whole number",
            )


class LoopMemberIgnored(LoopRule):
    code = "LP030"
    name = "loop-member-ignored"
    severity = Severity.WARNING
    origin = "product"
    summary = "A loop has a setting that its type does not use."
    why = "The engine accepts the setting and ignores it, so the loop does not do what it seems to say."
    fix = "Remove the setting."

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        kind = loop.loop.type
        for member, owners in _OWNERS.items():
            # Without a type it is unknown which settings apply.
            if member in loop.loop and kind is not None and kind not in owners:
                pointer = loop.at("loop", member)
                report(
                    pointer,
                    f"loop {quoted(loop.id)}: {member} has no effect in a loop of type {kind}, only in "
                    f"{' and '.join(owners)}; remove it or change the type",
                    on_name=True,
                    fix=unsafe(f"remove {member}", Remove(pointer)),
                )

    def examples(self) -> Iterable[Example]:
        good = workflow(loop())
        yield Example(bad=workflow(loop(items="files")), good=good, fixed=good)
        decided = workflow(controlled_loop())
        yield Example(bad=workflow(controlled_loop(count=3)), good=decided, fixed=decided)


_WHEN = {"var": "mode", "equals": "deep"}
# After this many attempts to select the next step the engine gives up.
SELECTION_ROUNDS = 10_000


def _named(body: str, **config: Any) -> dict[str, Any]:
    """Return a loop whose body names a step."""
    return {**loop(**config), "body": body}


class LoopBodyEmpty(LoopRule):
    code = "LP012"
    name = "loop-body-empty"
    severity = Severity.ERROR
    origin = "schema / struct"
    summary = "The body of a loop is an empty list or an empty string."
    why = "The engine rejects a loop without a step to repeat."
    describes = (("LoopBody", "minItems"),)
    bad = ({"type": "loop", "body": []}, {"steps": [{}, {"type": "loop", "body": ""}]})
    good = ({"type": "loop"}, {"steps": [{}, {"type": "loop", "body": "first-step"}]})

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        return Description("the body is empty; a loop needs at least one step to repeat")


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
    bad = {"type": "loop", "body": [{"type": "loop", "id": "inner"}]}
    good = {"steps": [{"type": "loop"}, {"type": "loop", "id": "inner", "body": [{"id": "other"}]}]}

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        if violation.value != "loop":
            return None
        return Description("a loop can't be in the body of another loop; move it to the top level")


class _ReferencedBody(LoopRule):
    """Rules that are fixed by moving the step into the loop."""

    fix = "Move the step into the body of the loop, if no other loop refers to it."

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        target = next((step for step in workflow.steps if finding.pointer.startswith(f"{step.pointer}/")), None)
        loops = [step for step in workflow.steps if step.kind == "loop" and target and step.body == target.id]
        return move_inline(loops[0], workflow) if len(loops) == 1 else None


class LoopBodyRefRefused(_ReferencedBody):
    code = "LP014"
    name = "loop-body-ref-refused"
    severity = Severity.ERROR
    origin = "struct"
    summary = "A loop's body refers to a step with a condition, a verification or an audit."
    why = "The engine refuses the workflow, or drops what the step has."
    bad: ClassVar[Any] = (
        {
            "steps": [
                {},
                {"type": "loop", "body": "inspect"},
                {"id": "inspect", "verification": {"command": "make test"}},
            ]
        },
    )
    good: ClassVar[Any] = (
        {"steps": [{}, {"type": "loop", "body": [{"id": "inspect", "verification": {"command": "make test"}}]}]},
    )

    def examples(self) -> Iterable[Example]:
        yield from super().examples()
        inner = step("inspect", runCondition=_WHEN)
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
    bad = {"steps": [{}, {"type": "loop", "body": "fan-out"}, {"type": "parallel"}]}
    good = {"steps": [{}, {"type": "loop", "body": [{"type": "parallel"}]}]}

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        if loop.body_id is None:
            return
        for target in workflow.body_of(loop):
            if target.kind == "parallel" and target.synthesis is not None:
                report(
                    target.at("synthesis"),
                    f"step {quoted(target.id)}: loop {quoted(loop.id)} names this step as its body, so its synthesis "
                    "runs once, outside the loop; move the step into the loop's body",
                    fix=move_inline(loop, workflow),
                )


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

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        if loop.inline and all(inner.is_conditional for inner in loop.inline):
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
        rounds: float = 1
        for top in workflow.steps:
            if top.kind == "loop":
                if self._surely_runs(top, workflow):
                    rounds = 1
                rounds += self._idle_passes(top, workflow)
                if rounds > SELECTION_ROUNDS:
                    report(
                        top.at("loop", "maxIterations"),
                        f"loop {quoted(top.id)}: if no condition in the bodies is true, {js.number_text(rounds)} "
                        f"iterations pass without a step, and the engine gives up after {SELECTION_ROUNDS:,}; lower "
                        "maxIterations or add a step that always runs",
                    )
                    return
            elif not top.is_conditional and top.pointer not in workflow.loop_of:
                rounds = 1

    @staticmethod
    def _surely_runs(loop: LoopStep, workflow: WorkflowContext) -> bool:
        """Return whether a loop always runs a step: it is entered, and a step of its body has no condition."""
        count = number_of_rounds(loop)
        is_entered = loop.loop.type == "for" and count is not None and count >= 1
        return is_entered and not loop.is_conditional and not _may_idle(loop, workflow)

    @staticmethod
    def _idle_passes(loop: LoopStep, workflow: WorkflowContext) -> float:
        """Return how many iterations a loop can make without a step."""
        if not _may_idle(loop, workflow):
            return 1
        count = number_of_rounds(loop) if loop.loop.type == "for" else None
        return min((value for value in (loop.loop.max_iterations, count) if value is not None), default=1)

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


def _may_idle(loop: LoopStep, workflow: WorkflowContext) -> bool:
    """Return whether an iteration may pass without a step."""
    return all(inner.is_conditional for inner in workflow.body_of(loop))

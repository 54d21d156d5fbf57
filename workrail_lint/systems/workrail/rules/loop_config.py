"""The settings of a loop: its type, its limits, and the settings of each type."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from workrail_lint.base import js
from workrail_lint.base.wording import counted, quoted
from workrail_lint.documents.operations import Insert, Remove, Replace
from workrail_lint.documents.pointer import resolve
from workrail_lint.documents.schema.messages import outside_set, shown
from workrail_lint.findings import Severity, unsafe
from workrail_lint.rules.base import Example
from workrail_lint.rules.describing import Description
from workrail_lint.systems.workrail.compiler.loops import LOOP_CONTROL
from workrail_lint.systems.workrail.rules.base import LoopRule
from workrail_lint.systems.workrail.rules.loop_facts import artifact_source, number, settings
from workrail_lint.systems.workrail.rules.samples import controlled_loop, loop, workflow
from workrail_lint.systems.workrail.vocabulary import LoopType

if TYPE_CHECKING:
    from workrail_lint.documents.schema.engine import Violation
    from workrail_lint.findings import Finding, Fix
    from workrail_lint.rules.base import Report
    from workrail_lint.systems.workrail.model.workflow import Step
    from workrail_lint.systems.workrail.rules.base import WorkflowContext
    from workrail_lint.systems.workrail.step_place import StepPlace

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


class LoopTypeInvalid(LoopRule):
    code = "LP001"
    name = "loop-type-invalid"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A loop has a type other than `while`, `until`, `for` and `forEach`."
    why = "The type says how the loop continues, and there are only these four; the engine rejects any other."
    describes = (("LoopType", "enum"), ("LoopType", "type"))

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        return Description.of(outside_set(violation, place, [member.value for member in LoopType]))

    def examples(self) -> Iterable[Example]:
        yield Example(bad=workflow(loop(type="repeat")), good=workflow(loop(type="for")))


class LoopMaxIterationsMissing(LoopRule):
    code = "LP002"
    name = "loop-max-iterations-missing"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A loop has no `maxIterations`."
    why = "Every loop needs a limit. There is no default, so the engine rejects the workflow."
    describes = (("LoopConfig", "required", "maxIterations"),)

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        return Description("loop.maxIterations is missing; set it to a number from 1 to 1000")

    def examples(self) -> Iterable[Example]:
        yield Example(bad=workflow(loop(maxIterations=...)), good=workflow(loop(maxIterations=2)))


class LoopMaxIterationsRange(LoopRule):
    code = "LP003"
    name = "loop-max-iterations-range"
    severity = Severity.ERROR
    origin = "schema"
    summary = "`maxIterations` is below 1 or above 1000."
    why = "The engine rejects any limit outside 1 to 1000."
    describes = (("LoopConfig", "minimum", "maxIterations"), ("LoopConfig", "maximum", "maxIterations"))

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        return Description(f"loop.maxIterations must be from 1 to 1000, not {shown(violation.value)}")

    def examples(self) -> Iterable[Example]:
        yield Example(bad=workflow(loop(maxIterations=5000)), good=workflow(loop(maxIterations=50)))


class LoopMaxIterationsFraction(LoopRule):
    code = "LP004"
    name = "loop-max-iterations-fraction"
    severity = Severity.ERROR
    origin = "runtime"
    summary = "`maxIterations` is not a whole number."
    why = (
        "The engine's schema accepts the number, but the run fails with a configuration error when it enters the loop."
    )
    fix = "Round the number down."
    fix_safety = "unsafe"

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        limit = number(loop, "maxIterations")
        if not isinstance(limit, float) or limit.is_integer() or not 1 <= limit <= _LIMIT:
            return
        whole, pointer = math.floor(limit), loop.at("loop", "maxIterations")
        report(
            pointer,
            f"loop {quoted(loop.id)}: maxIterations is {js.number_text(limit)}, so a run fails when it enters the "
            f"loop; use a whole number such as {whole}",
            fix=unsafe(f"round down to {whole}", Replace(pointer, whole)),
        )

    def examples(self) -> Iterable[Example]:
        good = workflow(loop(maxIterations=2))
        yield Example(bad=workflow(loop(maxIterations=2.5)), good=good, fixed=good)


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

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        limit = number(loop, "maxIterations")
        if limit is not None and _MANY < limit <= _LIMIT:
            report(
                loop.at("loop", "maxIterations"),
                f"loop {quoted(loop.id)}: may run {js.number_text(limit)} iterations; "
                f"lower maxIterations to {_MANY} or less, or process the list in chunks",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(bad=workflow(loop(maxIterations=200)), good=workflow(loop(maxIterations=100)))


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
    fix_safety = "unsafe"
    describes = (("LoopConfig", "anyOf"),)

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        kind = violation.value.get("type")
        article = "an" if kind == "until" else "a"
        return Description(
            f"{article} {kind} loop needs loop.conditionSource or loop.condition, even if a body step decides"
        )

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        # The step is invalid, so there is no view of it.
        place = finding.pointer if finding.pointer.endswith("/loop") else finding.pointer.rpartition("/")[0]
        try:
            step = resolve(workflow.definition, place.rpartition("/")[0])
        except KeyError:
            return None
        if not isinstance(step, dict) or not isinstance(step.get("id"), str):
            return None
        body = step.get("body")
        if isinstance(body, str):
            body = [item for item in workflow.definition["steps"] if isinstance(item, dict) and item.get("id") == body]
        items = body if isinstance(body, list) else []
        contracts = [item.get("outputContract") for item in items if isinstance(item, dict)]
        if not any(
            isinstance(contract, dict) and contract.get("contractRef") == LOOP_CONTROL for contract in contracts
        ):
            return None
        source = artifact_source(step["id"])
        return unsafe("let the loop-control artifact decide", Insert(place, "conditionSource", None, source))

    def examples(self) -> Iterable[Example]:
        good = workflow(controlled_loop())
        yield Example(bad=workflow(controlled_loop(conditionSource=...)), good=good, fixed=good)


class LoopCountMissing(LoopRule):
    code = "LP007"
    name = "loop-count-missing"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A `for` loop has no `count`."
    why = "`count` is the number of iterations; `maxIterations` only limits it. The engine rejects a loop without it."
    describes = (("LoopConfig", "required", "count"),)

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        return Description("a for loop needs loop.count: a number or the name of a context variable")

    def examples(self) -> Iterable[Example]:
        yield Example(bad=workflow(loop(count=...)), good=workflow(loop(count=2)))


class LoopCountNotPositive(LoopRule):
    code = "LP008"
    name = "loop-count-not-positive"
    severity = Severity.ERROR
    origin = "struct"
    summary = "The `count` of a `for` loop is 0 or negative."
    why = "The engine rejects a loop that never runs its body; it does not skip it."
    describes = (("LoopConfig", "minimum", "count"),)

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        if place.parent.get("type") != "for":
            return None
        return Description(f"loop.count must be greater than 0, not {shown(violation.value)}")

    def examples(self) -> Iterable[Example]:
        yield Example(bad=workflow(loop(count=0)), good=workflow(loop(count=1)))


class LoopCountFraction(LoopRule):
    code = "LP009"
    name = "loop-count-fraction"
    severity = Severity.WARNING
    origin = "product"
    summary = "The `count` of a `for` loop is not a whole number."
    why = "The loop continues while the iteration is below the count, so 1.5 means two iterations."

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        count = number(loop, "count")
        if settings(loop).get("type") == "for" and isinstance(count, float) and not count.is_integer() and count > 0:
            report(
                loop.at("loop", "count"),
                f"loop {quoted(loop.id)}: a count of {js.number_text(count)} runs "
                f"{counted(math.ceil(count), 'iteration')}; write a whole number",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(bad=workflow(loop(count=1.5)), good=workflow(loop(count=2)))


class LoopCountExceedsMax(LoopRule):
    code = "LP010"
    name = "loop-count-exceeds-max"
    severity = Severity.WARNING
    origin = "product"
    summary = "The `count` of a `for` loop is greater than its `maxIterations`."
    why = "The loop silently ends at `maxIterations`, and the remaining iterations never run."
    fix = "Raise `maxIterations` to the count, if that is at most 1000."
    fix_safety = "unsafe"

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        count, limit = number(loop, "count"), number(loop, "maxIterations")
        if settings(loop).get("type") != "for" or count is None or not isinstance(limit, int) or limit < 1:
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

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(loop(count=10, maxIterations=3)),
            good=workflow(loop(count=3, maxIterations=3)),
            fixed=workflow(loop(count=10, maxIterations=10)),
        )


class LoopItemsMissing(LoopRule):
    code = "LP011"
    name = "loop-items-missing"
    severity = Severity.ERROR
    origin = "schema / struct"
    summary = "A `forEach` loop has no `items`, or `items` is empty."
    why = "`items` names the context variable with the list; without it there is nothing to iterate over."
    describes = (("LoopConfig", "required", "items"),)

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        return Description("a forEach loop needs loop.items: the name of the context variable with the list")

    def examples(self) -> Iterable[Example]:
        good = workflow(loop(type="forEach", count=..., items="files"))
        yield Example(bad=workflow(loop(type="forEach", count=...)), good=good)
        yield Example(bad=workflow(loop(type="forEach", count=..., items="")), good=good)


class LoopVariableName(LoopRule):
    code = "LP017"
    name = "loop-variable-name"
    severity = Severity.ERROR
    origin = "schema"
    summary = "The name of a loop variable is not an identifier."
    why = (
        "Prompts use the variable as `{{name}}`, which allows only letters, digits and underscores, not starting with "
        "a digit. The engine rejects any other name."
    )
    describes = tuple(("LoopConfig", "pattern", member) for member in ("iterationVar", "itemVar", "indexVar"))

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        value = shown(violation.value)
        return Description(f"{place.path} must be an identifier (letters, digits and _), not {value}")

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(loop(type="forEach", count=..., items="files", itemVar="1st")),
            good=workflow(loop(type="forEach", count=..., items="files", itemVar="first")),
        )


class LoopMemberIgnored(LoopRule):
    code = "LP030"
    name = "loop-member-ignored"
    severity = Severity.WARNING
    origin = "product"
    summary = "A loop has a setting that its type does not use."
    why = "The engine accepts the setting and ignores it, so the loop does not do what it seems to say."
    fix = "Remove the setting."
    fix_safety = "unsafe"

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        config = settings(loop)
        kind = config.get("type")
        for member, owners in _OWNERS.items():
            # Without a type it is unknown which settings apply.
            if member in config and kind is not None and kind not in owners:
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

"""What decides whether a `while` or `until` loop continues."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Insert, Operation, Remove, Rename, Replace
from workrail_lint.findings import Fix, Severity, unsafe
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.compiler.loops import LOOP_CONTROL
from workrail_lint.systems.workrail.rules.base import LoopRule
from workrail_lint.systems.workrail.rules.loop_facts import (
    artifact_source,
    from_named_condition,
    only_user,
    settings,
    source,
)
from workrail_lint.systems.workrail.rules.prose import mentions
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, loop, step, workflow

if TYPE_CHECKING:
    from workrail_lint.rules.base import Report
    from workrail_lint.systems.workrail.model.workflow import Step
    from workrail_lint.systems.workrail.rules.base import WorkflowContext

_OTHER_CHECKS = ("outputContract", "assessmentRefs", "validationCriteria", "runCondition")
_AGAIN = {"var": "openFindings", "gt": 0}


def _authored_artifact(loop: Step) -> dict[str, Any] | None:
    """The `conditionSource` of a while or until loop, if it names an artifact."""
    config = settings(loop)
    written = config.get("conditionSource") if config.get("type") in ("while", "until") else None
    return written if isinstance(written, dict) and written.get("kind") == "artifact_contract" else None


class LoopContextControlled(LoopRule):
    code = "LP018"
    name = "loop-context-controlled"
    severity = Severity.WARNING
    origin = "lock"
    summary = "A context variable decides a loop, instead of a loop-control artifact."
    why = (
        "The engine does not check variables: a misspelled or forgotten one keeps the loop running to `maxIterations`, "
        "or ends it at once. A loop-control artifact is validated and recorded."
    )
    fix = "Let an artifact decide, and add its contract to the last step of the body."
    fix_safety = "unsafe"

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        decided = source(loop, workflow)
        if decided is None or decided.get("kind") != "context_variable" or from_named_condition(loop, workflow):
            return
        member = "conditionSource" if "conditionSource" in settings(loop) else "condition"
        report(
            loop.at("loop", member),
            f"loop {quoted(loop.id)}: a context variable, which the engine does not check, decides when the loop ends; "
            f"end the body with a step that has the contract {LOOP_CONTROL}",
            fix=self._fix(loop, member, workflow),
        )

    def _fix(self, loop: Step, member: str, workflow: WorkflowContext) -> Fix | None:
        body = workflow.body_of(loop)
        # On any step but the last, a stop would skip the steps after it.
        if not body or body[-1].kind != "standard" or body[-1].calls_template:
            return None
        # A contract replaces every other check, and a step that may be skipped can't decide every iteration.
        if any(body[-1].step.get(member) for member in _OTHER_CHECKS):
            return None
        if isinstance(loop.step.get("body"), str) and not only_user(loop, workflow):
            return None
        pointer = loop.at("loop", member)
        operations: list[Operation] = [Replace(pointer, artifact_source(loop.id))]
        if member == "condition":
            operations.append(Rename(pointer, "conditionSource"))
        if settings(loop).get("type") == "until":
            operations.append(Replace(loop.at("loop", "type"), "while"))
        operations.append(Insert(body[-1].pointer, "outputContract", None, {"contractRef": LOOP_CONTROL}))
        return unsafe("let a loop-control artifact decide", *operations)

    def examples(self) -> Iterable[Example]:
        review = step("review", "Review the change and count the open findings: continue above 0, else stop.")
        decides = {**review, "outputContract": {"contractRef": LOOP_CONTROL}}
        legacy = loop(review, type="while", count=..., maxIterations=3, condition=_AGAIN)
        good = workflow(controlled_loop(decides))
        yield Example(bad=workflow(legacy), good=good, fixed=good)
        until = {"kind": "context_variable", "condition": {"var": "openFindings", "equals": 0}}
        written = loop(review, type="until", count=..., maxIterations=3, conditionSource=until)
        yield Example(bad=workflow(written), good=good, fixed=good)


class LoopConditionShadowed(LoopRule):
    code = "LP019"
    name = "loop-condition-shadowed"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "A loop has a `condition` that is ignored, because something else decides the loop."
    why = (
        "A `conditionSource`, or else a step of the body with the loop-control contract, takes precedence over "
        "`condition`, which is then never evaluated."
    )
    fix = "Replace the condition with the `conditionSource` that decides, or remove it if there is one."
    fix_safety = "unsafe"

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        config = settings(loop)
        decided = source(loop, workflow)
        if "condition" not in config or decided is None:
            return
        pointer = loop.at("loop", "condition")
        if isinstance(config.get("conditionSource"), dict):
            report(
                pointer,
                f"loop {quoted(loop.id)}: condition is ignored next to conditionSource; remove it",
                fix=unsafe("remove the condition", Remove(pointer)),
            )
        elif decided.get("kind") == "artifact_contract":
            report(
                pointer,
                f"loop {quoted(loop.id)}: condition is ignored, because a step of the body has the contract "
                f"{LOOP_CONTROL}; replace it with a conditionSource of kind artifact_contract",
                fix=unsafe(
                    "replace the condition with a conditionSource",
                    Replace(pointer, artifact_source(loop.id)),
                    Rename(pointer, "conditionSource"),
                ),
            )

    def examples(self) -> Iterable[Example]:
        good = workflow(controlled_loop())
        yield Example(bad=workflow(controlled_loop(conditionSource=..., condition=_AGAIN)), good=good, fixed=good)
        yield Example(bad=workflow(controlled_loop(condition=_AGAIN)), good=good, fixed=good)


class LoopUntilArtifact(LoopRule):
    code = "LP020"
    name = "loop-until-artifact"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "A loop that an artifact decides has the type `until`."
    why = (
        "The decision `continue` or `stop` is never inverted: an `until` loop continues on `continue`, just like a "
        "`while` loop. The type suggests the opposite."
    )
    fix = "Change the type to `while`, which behaves the same."
    fix_safety = "unsafe"

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        if settings(loop).get("type") != "until":
            return
        decided = source(loop, workflow)
        if decided is not None and decided.get("kind") == "artifact_contract":
            pointer = loop.at("loop", "type")
            report(
                pointer,
                f"loop {quoted(loop.id)}: until does not invert an artifact's decision, so the loop continues on "
                "'continue', like while; write while",
                fix=unsafe("change until to while", Replace(pointer, "while")),
            )

    def examples(self) -> Iterable[Example]:
        good = workflow(controlled_loop())
        yield Example(bad=workflow(controlled_loop(type="until")), good=good, fixed=good)


class LoopSourceContractIgnored(LoopRule):
    code = "LP021"
    name = "loop-source-contract-ignored"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "The `conditionSource` of a loop names a contract other than loop control."
    why = "Only loop-control artifacts decide loops. The engine ignores the name, so another contract has no effect."
    fix = "Use the loop-control contract."
    fix_safety = "unsafe"

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        written = _authored_artifact(loop)
        if written is None or written.get("contractRef") == LOOP_CONTROL:
            return
        if not isinstance(written.get("contractRef"), str):
            return
        pointer = loop.at("loop", "conditionSource", "contractRef")
        report(
            pointer,
            f"loop {quoted(loop.id)}: artifacts of {quoted(written['contractRef'])} can't decide a loop; use "
            f"{LOOP_CONTROL}",
            fix=unsafe(f"use {LOOP_CONTROL}", Replace(pointer, LOOP_CONTROL)),
        )

    def examples(self) -> Iterable[Example]:
        good = workflow(controlled_loop())
        other = {**artifact_source("again"), "contractRef": "wr.contracts.review_verdict"}
        yield Example(bad=workflow(controlled_loop(conditionSource=other)), good=good, fixed=good)


class LoopSourceLoopIdMismatch(LoopRule):
    code = "LP022"
    name = "loop-source-loopid-mismatch"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "The `conditionSource` of a loop has no `loopId`, or one that is not the loop's id."
    why = (
        "A decision applies to the loop it names, by the id of the loop step. If a prompt tells the agent another id, "
        "its decisions are rejected; as long as no prompt does, this is only advice."
    )
    fix = "Set `loopId` to the loop's id."
    fix_safety = "unsafe"

    def applies(self, workflow: WorkflowContext) -> bool:
        return not workflow.engine  # the public engine ignores loopId

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        written = _authored_artifact(loop)
        if written is None or written.get("loopId") == loop.id or not loop.id:
            return
        container, pointer = loop.at("loop", "conditionSource"), loop.at("loop", "conditionSource", "loopId")
        title = f"set loopId to {quoted(loop.id)}"
        if "loopId" not in written:
            report(
                container,
                f"loop {quoted(loop.id)}: conditionSource has no loopId; add {quoted(loop.id)}",
                severity=Severity.INFO,
                fix=unsafe(title, Insert(container, "loopId", None, loop.id)),
            )
            return
        other = str(written["loopId"])
        using = next((inner for inner in workflow.body_of(loop) if mentions(inner.prompt_text, other)), None)
        also = f", also in the prompt of step {quoted(using.id)}" if using else ""
        report(
            pointer,
            f"loop {quoted(loop.id)}: loopId of conditionSource is {quoted(other)}; use {quoted(loop.id)}{also}",
            severity=Severity.WARNING if using else Severity.INFO,
            fix=unsafe(title, Replace(pointer, loop.id)),
        )

    def examples(self) -> Iterable[Example]:
        good = workflow(controlled_loop())
        named = artifact_source("again")
        decides = decision() | {
            "prompt": "Submit a wr.loop_control artifact for other: continue above 0 findings, else stop."
        }
        body = controlled_loop(step("inner-step"), decides)
        yield Example(
            bad=workflow(controlled_loop(step("inner-step"), decides, conditionSource={**named, "loopId": "other"})),
            good=good,
            fixed=workflow(body),
            options={"target": "ir"},
        )
        unnamed = {member: value for member, value in named.items() if member != "loopId"}
        yield Example(
            bad=workflow(controlled_loop(conditionSource=unnamed)), good=good, fixed=good, options={"target": "ir"}
        )

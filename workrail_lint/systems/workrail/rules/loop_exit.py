"""LP: what decides whether a loop continues, and the step of its body that ends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Insert, Operation, Remove, Rename, Replace
from workrail_lint.findings import Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.analysis.texts import leaves_of
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL
from workrail_lint.systems.workrail.model.workflow import ArtifactSource, LoopStep, OutputContract, Step
from workrail_lint.systems.workrail.rules.base import LoopRule, WholeWorkflowRule, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import label, mentions
from workrail_lint.systems.workrail.rules.rule_needs import (
    ARTIFACT,
    CONTEXT,
    LOOP,
    MAX_PROMPT,
    artifact_source,
    decided_by,
    decisions,
    from_named_condition,
    is_artifact_decided,
    is_unsafe_id,
    may_come_next,
    only_user,
    steps_after,
    synthesis_decision,
    variables,
)
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, loop, step, workflow
from workrail_lint.systems.workrail.rules.verdicts import in_words

_OTHER_CHECKS = ("outputContract", "assessmentRefs", "validationCriteria", "runCondition")
_AGAIN = {"var": "openFindings", "gt": 0}


def _authored_artifact(loop: LoopStep) -> ArtifactSource | None:
    """Return the `conditionSource` of a while or until loop, if it names an artifact."""
    written = loop.loop.condition_source if loop.loop.type in ("while", "until") else None
    return written if isinstance(written, ArtifactSource) else None


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

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        if decided_by(loop, workflow) != CONTEXT or from_named_condition(loop, workflow):
            return
        member = "conditionSource" if "conditionSource" in loop.loop else "condition"
        report(
            loop.at("loop", member),
            f"loop {quoted(loop.id)}: a context variable, which the engine does not check, decides when the loop ends; "
            f"end the body with a step that has the contract {LOOP_CONTROL}",
            fix=self._fix(loop, member, workflow),
        )

    def _fix(self, loop: LoopStep, member: str, workflow: WorkflowContext) -> Fix | None:
        body = workflow.body_of(loop)
        # On any step but the last, a stop would skip the steps after it.
        if not loop.id or not body or body[-1].kind != "standard" or body[-1].calls_template:
            return None
        # A contract replaces every other check, and a step that may be skipped can't decide every iteration.
        if any(body[-1].raw.get(member) for member in _OTHER_CHECKS):
            return None
        if loop.body_id is not None and not only_user(loop, workflow):
            return None
        says = self._decision(loop, body[-1].prompt)
        if says is None:
            return None
        pointer = loop.at("loop", member)
        operations: list[Operation] = [Replace(pointer, artifact_source(loop.id))]
        if member == "condition":
            operations.append(Rename(pointer, "conditionSource"))
        if loop.loop.type == "until":
            operations.append(Replace(loop.at("loop", "type"), "while"))
        operations.append(Replace(body[-1].at("prompt"), says))
        operations.append(Insert(body[-1].pointer, "outputContract", None, {"contractRef": LOOP_CONTROL}))
        return unsafe("let a loop-control artifact decide, and say in the prompt when to stop", *operations)

    @staticmethod
    def _decision(loop: LoopStep, prompt: str | None) -> str | None:
        """Return the prompt with the condition in words; None where they can't say all of it."""
        source = loop.loop.condition_source
        by_variable = source if source is not None and source.kind == "context_variable" else loop.loop
        words = in_words(by_variable.condition)
        if not prompt or "…" in words or "{" in words:
            return None
        first, other = ("stop", "continue") if loop.loop.type == "until" else ("continue", "stop")
        text = f"{prompt.rstrip()}\n\nSubmit a wr.loop_control artifact: `{first}` if {words}, else `{other}`."
        return text if len(text) <= MAX_PROMPT else None

    def examples(self) -> Iterable[Example]:
        review = step("review", "Review the change and count the open findings in `openFindings`.")
        asks = "\n\nSubmit a wr.loop_control artifact: `continue` if openFindings is greater than 0, else `stop`."
        decides = {**review, "prompt": review["prompt"] + asks, "outputContract": {"contractRef": LOOP_CONTROL}}
        legacy = loop(review, type="while", count=..., maxIterations=3, condition=_AGAIN)
        good = workflow(controlled_loop(decides))
        yield Example(bad=workflow(legacy), good=good, fixed=good)
        until = {"kind": "context_variable", "condition": {"var": "openFindings", "equals": 0}}
        written = loop(review, type="until", count=..., maxIterations=3, conditionSource=until)
        stops = asks.replace("continue", "stop").replace("greater than 0, else `stop`", "'0', else `continue`")
        ends = {**decides, "prompt": review["prompt"] + stops}
        yield Example(bad=workflow(written), good=good, fixed=workflow(controlled_loop(ends)))


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

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        decided = decided_by(loop, workflow)
        if "condition" not in loop.loop or decided is None:
            return
        pointer = loop.at("loop", "condition")
        if "conditionSource" in loop.loop:
            report(
                pointer,
                f"loop {quoted(loop.id)}: condition is ignored next to conditionSource; remove it",
                fix=unsafe("remove the condition", Remove(pointer)),
            )
        elif decided == ARTIFACT:
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

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        if loop.loop.type == "until" and decided_by(loop, workflow) == ARTIFACT:
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

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        written = _authored_artifact(loop)
        if written is None or "contractRef" not in written or written.contract_ref == LOOP_CONTROL:
            return
        pointer = written.at("contractRef")
        report(
            pointer,
            f"loop {quoted(loop.id)}: artifacts of {quoted(written.contract_ref)} can't decide a loop; use "
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
        "If a prompt tells the agent another id than the loop's, its decisions are about no loop: they are rejected or "
        "ignored, and the loop runs to its limit. As long as no prompt names the other id, it is only advice."
    )
    fix = "Set `loopId` to the loop's id, if that one is valid."

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        written = _authored_artifact(loop)
        if written is None or written.loop_id == loop.id or not loop.id:
            return
        title = f"set loopId to {quoted(loop.id)}"
        is_usable = not is_unsafe_id(loop.id)
        if written.loop_id is None:
            if workflow.engine:
                return  # the public engine ignores loopId
            report(
                written.pointer,
                f"loop {quoted(loop.id)}: conditionSource has no loopId; add {quoted(loop.id)}",
                severity=Severity.INFO,
                fix=unsafe(title, Insert(written.pointer, "loopId", None, loop.id)) if is_usable else None,
            )
            return
        other = written.loop_id
        using = next((inner for inner in workflow.body_of(loop) if mentions(inner.prompt_text, other)), None)
        if using is None:
            message = f"loopId of conditionSource is {quoted(other)}; use {quoted(loop.id)}"
        else:
            message = (
                f"the id of the loop is not {quoted(other)}, as conditionSource and the prompt of step "
                f"{quoted(using.id)} say; use {quoted(loop.id)} here, and leave loopId out of the prompt"
            )
        report(
            written.at("loopId"),
            f"loop {quoted(loop.id)}: {message}",
            severity=Severity.WARNING if using else Severity.INFO,
            fix=unsafe(title, Replace(written.at("loopId"), loop.id)) if is_usable else None,
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


# What decides the loops that no agent decides.
_DECIDED_BY: dict[object, str] = {"for": "the count", "forEach": "the list"}


class LoopNoExitStep(WholeWorkflowRule):
    code = "LP023"
    name = "loop-no-exit-step"
    severity = Severity.WARNING
    origin = "spec"
    summary = "A loop waits for a loop-control artifact, but no step of its body has that contract."
    why = (
        "Without a decision the loop continues. On the public engine no step asks for one, so the loop always runs to "
        "`maxIterations`. Only a run of `workrail-test` with `--profile locked` adds a decision step to the body."
    )
    needs = frozenset({LOOP})

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        if not is_artifact_decided(loop, workflow) or not workflow.body_of(loop):
            return
        if not decisions(loop, workflow):
            report(
                loop.at("loop", "conditionSource"),
                f"loop {quoted(loop.id)}: no body step has the contract {LOOP_CONTROL}, so on the public engine the "
                "loop always runs to maxIterations; add the contract to "
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

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        places, body = decisions(loop, workflow), workflow.body_of(loop)
        if places and places[-1].step is not body[-1]:
            last = places[-1]
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

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        always = [place for place in decisions(loop, workflow) if not place.step.is_conditional]
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
    summary = "The loop-control contract of a body step is not required, or every step with it may be skipped."
    why = (
        "Without a decision the loop continues: a forgotten artifact costs another iteration, and a decision that is "
        "always skipped lets the loop run to `maxIterations`."
    )
    fix = "Remove `required`, so that the contract is required."
    needs = frozenset({"outputContract", "synthesis"})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.kind == "standard" and step.decides_loop:
            # A routine's step may decide a loop of its caller.
            if (workflow.is_routine or step.pointer in workflow.loop_of) and not step.calls_template:
                self._check_contract(step, step.output_contract, report)
        elif step.around is not None:
            self._check_contract(step, synthesis_decision(step), report)

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        places = decisions(loop, workflow) if is_artifact_decided(loop, workflow) else ()
        conditions = [place.step.run_condition for place in places if place.step.is_conditional]
        skipping = tuple(condition for condition in conditions if condition is not None)
        if not places or len(skipping) < len(places):
            return
        analysis = workflow.analysis
        around = (loop.run_condition,) if loop.run_condition is not None and loop.run_condition.raw else ()
        names = {leaf.var for condition in skipping for leaf in leaves_of(condition)}
        if not names.isdisjoint(variables(loop)) or analysis.impossible(around, skipping, within_domains=True):
            return  # by the round, or in one case or another, there is a decision
        first = places[0].step
        report(
            first.at("runCondition"),
            f"{label(first)}: in iterations that skip this step the loop gets no decision and continues; remove the "
            "runCondition, or add a decision for the other case",
        )

    @staticmethod
    def _check_contract(step: Step, contract: OutputContract | None, report: Report) -> None:
        if contract is not None and contract.required is False:
            pointer = contract.at("required")
            report(
                pointer,
                f"{label(step)}: the decision is optional, and without one the loop continues; remove required",
                fix=unsafe("make the decision required", Remove(pointer)),
            )

    def examples(self) -> Iterable[Example]:
        optional = {**decision(), "outputContract": {"contractRef": LOOP_CONTROL, "required": False}}
        good = workflow(controlled_loop())
        yield Example(bad=workflow(controlled_loop(step("inner-step"), optional)), good=good, fixed=good)
        sized = step("size-up", "Set `size` to `small` or `large`.")
        large = decision(runCondition={"var": "size", "equals": "large"})
        small = decision("decide-small", runCondition={"var": "size", "not_equals": "large"})
        yield Example(
            bad=workflow(sized, controlled_loop(step("inner-step"), large)),
            good=workflow(sized, controlled_loop(step("inner-step"), large, small)),
        )


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
    needs = frozenset({"outputContract", "synthesis"})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if workflow.is_routine or step.calls_template:
            return
        if step.kind == "standard" and step.decides_loop:
            self._check(step, workflow.loop_of.get(step.pointer), step.at("outputContract"), True, workflow, report)
        elif step.kind == "parallel" and (contract := synthesis_decision(step)) is not None:
            removable = step.synthesis is not None and bool(step.synthesis.prompt)
            self._check(step, step.around, contract.pointer, removable, workflow, report)

    def _check(
        self,
        step: Step,
        loop: LoopStep | None,
        pointer: str,
        removable: bool,
        workflow: WorkflowContext,
        report: Report,
    ) -> None:
        fix: Fix | None = unsafe("remove the contract", Remove(pointer)) if removable else None
        if loop is None:
            if not self._named_by_any_loop(step, workflow) and not self._decides_the_next(step, workflow):
                report(
                    pointer,
                    f"{label(step)}: outside of a loop the decision has no effect; remove the contract or move the "
                    "step into a loop",
                    fix=fix,
                )
            return
        decided = decided_by(loop, workflow)
        if decided == ARTIFACT:
            return
        by = "the context" if decided is not None else _DECIDED_BY.get(loop.loop.type, "nothing")
        report(
            pointer,
            f"{label(step)}: the decision has no effect, because {by} decides loop {quoted(loop.id)}; remove the "
            "contract, or let the artifact decide the loop",
            fix=fix,
        )

    @staticmethod
    def _named_by_any_loop(step: Step, workflow: WorkflowContext) -> bool:
        """Return whether a loop names the step, even a loop that is skipped because something else is wrong with it."""
        return any(other.kind == "loop" and other.body == step.id for other in workflow.whole.steps)

    @staticmethod
    def _decides_the_next(step: Step, workflow: WorkflowContext) -> bool:
        """Return whether the artifact decides if a loop that follows is entered at all.

        Steps generated for a verification or an audit come in between, with separate artifacts.
        """
        if step.kind == "standard" and ("verification" in step or "audit" in step):
            return False
        return any(is_artifact_decided(following, workflow) for following in may_come_next(step, workflow))

    def examples(self) -> Iterable[Example]:
        plain = {member: value for member, value in decision().items() if member != "outputContract"}
        yield Example(
            bad=workflow(step(), decision()), good=workflow(step(), controlled_loop()), fixed=workflow(step(), plain)
        )
        yield Example(
            bad=workflow(loop(decision())), good=workflow(controlled_loop(decision())), fixed=workflow(loop(plain))
        )


class LoopStopSkipsNext(WholeWorkflowRule, LoopRule):
    code = "LP047"
    name = "loop-stop-skips-next"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "A loop that an artifact decides directly follows another such loop."
    why = (
        "The engine reads the artifacts of the last submission, whichever loop they are for. When it enters the second "
        "loop, that is still the `stop` of the first one, so the second loop never starts."
    )

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        if loop.around is not None or not is_artifact_decided(loop, workflow) or not decisions(loop, workflow):
            return
        if not any(other.kind == "loop" for other in steps_after(loop, workflow)):
            return
        for following in may_come_next(loop, workflow):
            if following.kind != "loop" or decided_by(following, workflow) != ARTIFACT:
                continue
            skipped = list(islice(self._between(loop, following, workflow), 2))
            when = f" when {quoted(skipped[0].id)} is skipped" if skipped else ""
            when = " when the steps between them are skipped" if len(skipped) > 1 else when
            member = "conditionSource" if "conditionSource" in following.loop else "type"
            report(
                following.at("loop", member),
                f"loop {quoted(following.id)}: never starts{when}, because the engine reads the stop that ends loop "
                f"{quoted(loop.id)} as its decision too; put a step that always runs between the loops",
            )

    @staticmethod
    def _between(loop: Step, following: Step, workflow: WorkflowContext) -> Iterator[Step]:
        """Yield the steps from a loop to a later step that are no loop's body."""
        for between in steps_after(loop, workflow):
            if between.index >= following.index:
                return
            if between.pointer not in workflow.loop_of:
                yield between

    def examples(self) -> Iterable[Example]:
        first = controlled_loop(step("draft"), decision("draft-done"), ident="write")
        second = controlled_loop(step("review"), decision("review-done"), ident="check")
        yield Example(bad=workflow(first, second), good=workflow(first, step("summarize"), second))

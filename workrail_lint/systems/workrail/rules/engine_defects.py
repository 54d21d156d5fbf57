"""KD: what the public engine gets wrong, where a document alone decides it or allows an agent to trigger it.

The number of a code is that of the known difference in `engine_defects.json`, plus 100 for its second rule. Each rule
reports a document once, at the first of its places. Differences that rules of other families report have no rule here;
the data names those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Replace
from workrail_lint.findings import Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.compiler.nodes import walk
from workrail_lint.systems.workrail.model.nodes import CombinationNode
from workrail_lint.systems.workrail.model.workflow import Step, ValidationRule
from workrail_lint.systems.workrail.rules.base import WholeWorkflowRule, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import label
from workrail_lint.systems.workrail.rules.rule_needs import BRACES, UNSURE_START, is_unsafe_id, variables
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, loop, parallel, step, workflow

_VERDICT = "wr.contracts.review_verdict"
_GUIDANCE_BYTES, _ISSUE_BYTES = 950, 512
_TOKEN = Pattern(r"\{\{((?!wr\.)[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)\}\}")
_NOTES = Pattern(r"\bnotes\b")
_NOTES_ALWAYS = Pattern(r"(?i)\bnotes (?:with|for|on|at|after) (?:every|each) step\b")
_NOTES_FOR = Pattern(r"notes (?:with|for|on|at|after) (?:every|each) ")  # in everything that matches, in lower case
_GENERATING = ("verification", "audit", "synthesis")


class EngineDefectRule(WorkflowRule):
    """A rule about a defect of the public engine: only for documents that it shall run."""

    origin = "runtime"
    severity = Severity.WARNING

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.engine and not workflow.is_routine and bool(workflow.steps)


class EngineFirstStep(EngineDefectRule):
    code = "KD001"
    name = "engine-first-step-unconditional"
    summary = "The first step is a loop or has a condition, and the public engine does not ask for it."
    why = (
        "Without its onboarding step (daemon, console, triggers, spawned agents) the engine starts with the first step "
        "whatever its condition says, and leaves out a loop."
    )
    needs = frozenset({UNSURE_START})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        first = workflow.steps[0]
        if first.pointer != workflow.whole.steps[0].pointer:
            return  # another one comes first, in which something is wrong
        if first.kind == "loop":
            what = "is a loop, which the public engine leaves out when it starts without onboarding"
        elif first.is_conditional:
            what = "has a condition, which the public engine ignores when it starts without onboarding"
        else:
            return
        report(first.pointer, f"{label(first)} comes first and {what}; put an unconditional step before it")

    def examples(self) -> Iterable[Example]:
        conditional = step("deep-look", runCondition={"var": "depth", "equals": "deep"})
        first = step(prompt="Look at the request. Set the context variable depth to deep or shallow.")
        yield Example(workflow(conditional, step("report")), workflow(first, conditional))
        yield Example(workflow(loop()), workflow(step(), loop()))


class EngineLongFix(EngineDefectRule):
    code = "KD003"
    name = "engine-block-fails"
    summary = "What the public engine says when it blocks this step is too long for it, so it must not come to that."
    why = "Blocked on a review verdict, or with a long follow-up guidance, the engine answers with `INTERNAL_ERROR`."
    needs = frozenset({"outputContract", "assessmentConsequences"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for each in workflow.all_steps:
            if each.contract == _VERDICT and not self._shows_verdict(each):
                what = "without a valid verdict the public engine fails with INTERNAL_ERROR instead of blocking"
                report(each.at("outputContract"), f"{label(each)}: {what}; show the exact artifact in the prompt")
                return
            for consequence in each.assessment_consequences if each.kind == "standard" else ():
                if len(consequence.effect.guidance.encode("utf-8", "surrogatepass")) > _GUIDANCE_BYTES:
                    what = f"guidance of more than {_GUIDANCE_BYTES} bytes makes the public engine fail, not block"
                    report(consequence.at("effect", "guidance"), f"{label(each)}: {what}; shorten it")
                    return

    @staticmethod
    def _shows_verdict(each: Step) -> bool:
        """Return whether the prompt has a verdict written out; another rule says what is wrong with it."""
        text = str(each.raw.get("prompt") or each.raw.get("promptBlocks"))
        return '"wr.review_verdict"' in text and '"verdict"' in text

    def examples(self) -> Iterable[Example]:
        rated = {
            "id": "depth",
            "purpose": "Depth.",
            "dimensions": [{"id": "d", "purpose": "p", "levels": ["low", "high"]}],
        }

        def asking(guidance: str) -> dict[str, Any]:
            effect = {"kind": "require_followup", "guidance": guidance}
            consequence = {"when": {"anyEqualsLevel": "low"}, "effect": effect}
            rates = step(prompt="Rate the depth.", assessmentRefs=["depth"], assessmentConsequences=[consequence])
            return workflow(rates, assessments=[rated])

        yield Example(asking("Look again. " * 90), asking("Look again."))
        verdict = step(prompt="Submit a wr.review_verdict artifact.", outputContract={"contractRef": _VERDICT})
        artifact = (
            '{"kind": "wr.review_verdict", "verdict": "clean", "confidence": "high", "findings": [], "summary": "s"}'
        )
        yield Example(
            workflow(verdict), workflow({**verdict, "prompt": f"Submit your verdict in this form: {artifact}"})
        )


class EngineLongNotes(EngineDefectRule):
    code = "KD004"
    name = "engine-notes-cut"
    severity = Severity.INFO
    default_on = False  # true of every workflow with notes
    summary = "A step takes notes, and the public engine can cut long ones inside a character."
    why = "Notes of more than 4096 bytes that are not ASCII can make the session unreadable. Ask for short notes."
    bad = {}
    good = {"notesOptional": True}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for each in workflow.all_steps:
            if each.kind == "standard" and not each.calls_template and not each.notes_optional:
                what = "notes of more than 4096 bytes that are not ASCII can make the session unreadable"
                report(each.pointer, f"{label(each)}: {what}; ask for short notes")
                return


class EngineLongIssue(EngineDefectRule):
    code = "KD005"
    name = "engine-issue-too-long"
    summary = "The message of a criterion is too long for the public engine to store."
    why = "An issue of more than 512 bytes makes the session unreadable; with more than 4096 the call fails."
    needs = frozenset({"validationCriteria"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for each in workflow.all_steps:
            for rule in self._listed_criteria(each):
                if len(rule.message.encode("utf-8", "surrogatepass")) > _ISSUE_BYTES:
                    what = f"a message of more than {_ISSUE_BYTES} bytes makes the session unreadable once it is shown"
                    report(rule.at("message"), f"{label(each)}: {what}; shorten it")
                    return

    @staticmethod
    def _listed_criteria(each: Step) -> Sequence[ValidationRule]:
        """Return the criteria that are a list; a composition shows no messages of its rules."""
        criteria = each.validation_criteria if each.kind == "standard" else None
        return () if criteria is None or isinstance(criteria, CombinationNode) else criteria

    def examples(self) -> Iterable[Example]:
        def demanding(message: str) -> dict[str, Any]:
            rule = {"type": "contains", "value": "## Risks and what was done about them", "message": message}
            return workflow(step(validationCriteria=[rule]))

        yield Example(demanding("Name every risk. " * 40), demanding("Name every risk."))


class EngineFirstPrompt(EngineDefectRule):
    code = "KD012"
    name = "engine-first-prompt-unset"
    summary = "The prompt of the first step uses a variable."
    why = (
        "Without its onboarding step (daemon, console, triggers, spawned agents) the engine renders the first prompt "
        "before it has the context, and the agent sees `[unset: …]`."
    )
    needs = frozenset({BRACES})
    bad = {"prompt": "Work towards this goal: {{goal}}"}
    good = {"steps": [{}, {"id": "second-step", "prompt": "Work towards this goal: {{goal}}"}]}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        first = workflow.steps[0]
        for text in first.prompt_texts if first.kind == "standard" else ():
            tokens = (token for token in _TOKEN.finditer(text.text))
            token = next((token for token in tokens if self._has_value(token[1], workflow)), None)
            if token is not None:
                report(
                    text.pointer,
                    f"{label(first)} comes first, and without onboarding the public engine shows "
                    f"[unset: {token[1]}] here; use the variable in a later step",
                )
                return

    @staticmethod
    def _has_value(name: str, workflow: WorkflowContext) -> bool:
        """Return whether anything sets the variable; another rule reports one that nothing sets, or sets too late."""
        return workflow.analysis.is_given_at_start(name.partition(".")[0])


class EngineDottedId(EngineDefectRule):
    code = "KD013"
    name = "engine-dotted-step-notes"
    summary = "A template call adds steps that need notes, and no prompt tells the agent to submit them."
    why = "Submitted without notes, a step with a dot in its id makes the engine fail with `INTERNAL_ERROR`, not block."
    needs = frozenset({"templateCall"})

    def check_compiled(self, compiled: CompiledWorkflow, workflow: WorkflowContext, report: Report) -> None:
        prompts: list[str] = []  # up to the step
        for node in walk(compiled.nodes):
            prompts.append(str(node.step.get("prompt", "")))
            is_dotted = "." in node.id and node.origin is not None and node.origin.source == "template"
            needs_notes = not node.step.get("notesOptional") and "outputContract" not in node.step
            if is_dotted and needs_notes and not ("notes" in prompts[-1] and _NOTES.search(prompts[-1])):
                if any(map(self._asks_for_notes, prompts)):
                    return  # the agent knows
                report(
                    node.place,
                    f"without notes on step {quoted(node.id)} the public engine fails with INTERNAL_ERROR "
                    "instead of blocking; tell the agent to submit notes with every step",
                )
                return

    @staticmethod
    def _asks_for_notes(prompt: str) -> bool:
        """Return whether a prompt asks for notes with every step. Slow where case is ignored and nothing matches."""
        may_ask = _NOTES_FOR.search(prompt.lower()) if prompt.isascii() else "notes" in prompt.casefold()
        return bool(may_ask) and _NOTES_ALWAYS.search(prompt) is not None

    def examples(self) -> Iterable[Example]:
        call = {"templateId": "wr.templates.routine.final-verification", "args": {"deliverableName": "proof.md"}}
        begin = step("begin", "Say what is to be done. Submit notes with every step.")
        verify = step("verify", None, templateCall=call)
        yield Example(workflow(step("begin", "Say what is to be done."), verify), workflow(begin, verify))


class EngineParallelNotes(EngineDefectRule):
    code = "KD032"
    name = "engine-parallel-notes"
    summary = "A parallel step needs notes, and its prompt does not say so."
    why = "The engine asks for notes on every other kind of step. Here the agent learns about them only from a block."
    needs = frozenset({"parallelDelegations"})
    bad = {"type": "parallel"}
    good = {"type": "parallel", "notesOptional": True}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for each in workflow.all_steps:
            if each.kind == "parallel" and each.notes_optional is not True:
                what = "needs notes, but the prompt of a parallel step does not ask for them"
                report(each.pointer, f"{label(each)} {what}; set `notesOptional` to true")
                return


class EngineLoopVariable(EngineDefectRule):
    code = "KD033"
    name = "engine-loop-variable-unset"
    summary = "A loop names its body by id, and the prompt or the title of the body uses a variable of the loop."
    why = "The engine shows `[unset: …]` there. It fills in loop variables only for an inline body."
    needs = frozenset({"body"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for each in workflow.steps:
            if each.kind != "loop" or each.body_id is None:
                continue
            names = set(variables(each))
            texts = [(inner, inner.title, inner.at("title")) for inner in workflow.body_of(each)]
            texts += [(inner, each.text, each.pointer) for inner, _, _ in texts for each in inner.prompt_texts]
            for inner, text, pointer in texts:
                tokens = (token[1] for token in _TOKEN.finditer(text))
                unset = next((name for name in tokens if name.split(".")[0] in names), None)
                if unset is not None:
                    report(
                        pointer,
                        f"{label(inner)}: the public engine shows [unset: {unset}] here, because the body of "
                        f"loop {quoted(each.id)} is named by id; put the step inline into the loop",
                    )
                    return

    def examples(self) -> Iterable[Example]:
        for body in (
            step("pass-step", "Work on pass {{currentIteration}}."),
            step("pass-step", title="Pass {{currentIteration}}"),
        ):
            yield Example(workflow(step(), body, {**loop(), "body": "pass-step"}), workflow(step(), loop(body)))


class EngineMetricsMisplaced(WholeWorkflowRule, EngineDefectRule):
    code = "KD042"
    name = "engine-metrics-misplaced"
    summary = "The public engine does not ask for the final metrics, because of what the last step is."
    why = "It asks for them in the last step only, and not in loops by id, decision steps, parallel or skipped steps."
    needs = frozenset({"metricsProfile"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if workflow.model.metrics_profile in (None, "none"):
            return
        last = workflow.steps[-1]
        what = self._misplaced(last, workflow)
        if what is not None:
            report(last.pointer, f"{label(last)} comes last and {what}; end with a plain step")

    @staticmethod
    def _misplaced(last: Step, workflow: WorkflowContext) -> str | None:
        never = "so the public engine never asks for the final metrics"
        if last.kind == "parallel":
            return f"is parallel, {never}"
        if last.is_conditional:
            return "has a condition: where it is skipped, the public engine never asks for the final metrics"
        if last.kind == "loop":
            if last.body_id is not None:
                return f"names its body by id, {never}"
            return f"has only decision steps, {never}" if all(inner.decides_loop for inner in last.inline) else None
        loops = [each for each in workflow.steps if each.kind == "loop" and each.body_id == last.id]
        if loops:
            return f"is the body of loop {quoted(loops[0].id)}, {never}"
        if any(last.raw.get(block) for block in _GENERATING):
            return "has generated steps, so the public engine asks for the final metrics before them"
        return None

    def examples(self) -> Iterable[Example]:
        ending = step("wrap-up", "Sum up the work.")
        body = step("pass-step")
        good = workflow(step(), {**ending, "id": "close"}, metricsProfile="research")
        yield Example(workflow(step(), {**loop(), "body": "pass-step"}, body, metricsProfile="research"), good)
        for last in (parallel(), loop(decision()), {**ending, "runCondition": {"var": "goal"}}):
            yield Example(workflow(step(), last, metricsProfile="research"), good)


class EngineLoopIdUnsafe(EngineDefectRule):
    code = "KD043"
    name = "engine-loop-id-unsafe"
    severity = Severity.ERROR
    summary = "The `loopId` of a condition source has characters that make the session unreadable."
    why = (
        "The public engine writes the id to its log and allows only a-z, 0-9, `_` and `-` when it reads the log again: "
        "every session is lost at the first pass. Runs of `workrail-test` are fine."
    )
    fix = "Set `loopId` to the loop's id."
    needs = frozenset({"loop"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for each in workflow.steps:
            source = each.loop.condition_source if each.kind == "loop" else None
            if source is None or source.kind != "artifact_contract" or source.loop_id is None:
                continue
            if is_unsafe_id(source.loop_id):
                is_safe = bool(each.id) and not is_unsafe_id(each.id)
                report(
                    source.at("loopId"),
                    f"loop {quoted(each.id)}: with the loopId {quoted(source.loop_id)} the public engine loses its "
                    f"session at the first pass; use {quoted(each.id) if is_safe else 'a-z, 0-9, _ and - only'}",
                    fix=unsafe(f"set loopId to {quoted(each.id)}", Replace(source.at("loopId"), each.id))
                    if is_safe
                    else None,
                )
                return

    def examples(self) -> Iterable[Example]:
        good = workflow(step(), controlled_loop())
        source = good["steps"][1]["loop"]["conditionSource"]
        bad = workflow(step(), controlled_loop(conditionSource={**source, "loopId": "Again"}))
        yield Example(bad, good, good)


class EngineDimensionIdUnsafe(EngineDefectRule):
    code = "KD044"
    name = "engine-dimension-id-unsafe"
    severity = Severity.ERROR
    summary = "A dimension that can require a follow-up has an id with characters that make the public engine fail."
    why = (
        "Where the consequence is set off, the engine answers with `INTERNAL_ERROR` instead of blocking the step: it "
        "can point only to dimensions of a-z, 0-9, `_` and `-`. Runs of `workrail-test` are fine."
    )
    needs = frozenset({"assessmentConsequences"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        declared = {each.id: each for each in workflow.model.assessments}
        for each in workflow.all_steps:
            if each.kind != "standard":
                continue
            for consequence in each.assessment_consequences:
                scope, level = consequence.when.for_assessment, consequence.when.any_equals_level
                refs = each.assessment_refs if scope is None else [scope]
                dimensions = [one for ref in refs if ref in declared for one in declared[ref].dimensions]
                for dimension in dimensions:
                    if level in dimension.levels and is_unsafe_id(dimension.id):
                        report(
                            dimension.at("id"),
                            f"dimension {quoted(dimension.id)}: at level {quoted(level)} the public engine fails with "
                            f"INTERNAL_ERROR instead of asking for the follow-up of {label(each)}; use a-z, 0-9, _ "
                            "and - only",
                        )
                        return

    def examples(self) -> Iterable[Example]:
        def judged(ident: str) -> dict[str, Any]:
            effect = {"kind": "require_followup", "guidance": "Look again."}
            consequence = {"when": {"anyEqualsLevel": "low"}, "effect": effect}
            rates = step(prompt="Rate the depth.", assessmentRefs=["depth"], assessmentConsequences=[consequence])
            dimension = {"id": ident, "purpose": "How deep it goes.", "levels": ["low", "high"]}
            return workflow(rates, assessments=[{"id": "depth", "purpose": "Depth.", "dimensions": [dimension]}])

        yield Example(judged("Depth of review"), judged("depth-of-review"))

"""How prompts speak: wording that lets an agent off, narrates the machine, or leaves out what it must hand in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.workrail.compiler.nodes import one_line
from workrail_lint.workrail.rules.base import Step, Workflow, WorkflowRule
from workrail_lint.workrail.rules.prose import label, lowered, mentions, quoted, sentence_at, sentences
from workrail_lint.workrail.rules.samples import step, workflow

_LAZY_PHRASES = ("if appropriate", "minimal pass", "light scan", "you may", "smallest", "cheapest")
_LAZY = re.compile(
    r"\b(?:if appropriate|minimal pass|light scan|you may(?! (?:not|only|never)\b)|smallest|cheapest)\b", re.IGNORECASE
)
# What keeps "the smallest …" from meaning "nothing": a floor in the same sentence.
_FLOOR = re.compile(
    r"\b(?:that (?:can )?still|that (?:can|satisf|meet|prove|show)|at least|enough to|record why|must|needed|necessary"
    r"|required|sufficient|correct|credible)",
    re.IGNORECASE,
)


class PromptLazyWording(WorkflowRule):
    code = "PR019"
    name = "prompt-lazy-wording"
    severity = Severity.INFO
    origin = "spec"
    summary = "A prompt invites the least possible effort and sets no floor."
    why = "An agent takes 'if appropriate' or 'a light scan' as leave to skip. A floor in the same sentence prevents it."

    def applies(self, workflow: Workflow) -> bool:
        return mentions(workflow, *_LAZY_PHRASES)

    def check_step(self, step: Step, workflow: Workflow, report: Report) -> None:
        for text in step.prompt_texts:
            loose = [
                match[0]
                for match in _LAZY.finditer(text.text)
                if not _FLOOR.search(sentence_at(text.text, match.start()))
            ]
            if loose:
                shown = ", ".join(map(one_line, dict.fromkeys(loose)))
                report(
                    text.pointer,
                    f"{label(step)}: {shown} lets the agent do next to nothing; say what must be done at least",
                )

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(step(prompt="Do a light scan of the module.")),
            workflow(step(prompt="Do a light scan of the module that names at least every public function.")),
        )


_ENGINE_VOICE = re.compile(
    r"[\s#*>_`-]*(?:the agent (?:should|will|must|needs to)\b|this step (?:will|should)\b"
    r"|provide a loop[- ]control artifact\b|input contract:)",
    re.IGNORECASE,
)


class PromptEngineVoice(WorkflowRule):
    code = "PR020"
    name = "prompt-engine-voice"
    severity = Severity.INFO
    origin = "spec"
    summary = "A prompt opens by narrating the machinery instead of addressing the agent."
    why = "The reader of a prompt is the agent. A text about 'the agent' or 'this step' is followed less closely."

    def applies(self, workflow: Workflow) -> bool:
        return mentions(workflow, "the agent ", "this step ", "loop control artifact", "loop-control", "input contract:")

    def check_step(self, step: Step, workflow: Workflow, report: Report) -> None:
        opening = next((text for text in step.prompt_texts if text.field in ("prompt", "goal", "part")), None)
        if opening is None:
            return
        match = _ENGINE_VOICE.match(opening.text)
        if match is not None:
            report(
                opening.pointer,
                f"{label(step)}: the prompt opens with {quoted(match[0])}; tell the agent directly what to do",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(step(prompt="The agent should review the change.")),
            workflow(step(prompt="Review the change.")),
        )


_FLAGS = ("stillFuzzy", "contextAuditNeeded", "confident")
_SELF_CERTIFY = re.compile(
    r"\b(?:set|record|report|mark|return|decide|declare)\b[^.\n]{0,40}\b(?:stillFuzzy|contextAuditNeeded)\b"
    r"|\b(?:stillFuzzy|contextAuditNeeded)`?\s*(?:[=:]|\bto\b)"
    r"|\b(?:is)?confident`?\s*(?:[=:]|\bto\b)\s*`?true\b",
    re.IGNORECASE,
)
_SCORED = re.compile(
    r"^\s*(?:[-*•]|\d+[.)])\s.*?(?:\d\s*(?:-|–|\.\.|to|/)\s*\d|\bscored?\b|\blow\b.*\bhigh\b|\bhigh\b.*\blow\b|\b[01]\s*=)",
    re.IGNORECASE | re.MULTILINE,
)


class PromptSelfCertify(WorkflowRule):
    code = "PR021"
    name = "prompt-self-certify"
    severity = Severity.WARNING
    origin = "spec"
    summary = "A prompt asks for a bare flag of self-assessment without a rubric behind it."
    why = (
        "Asked whether it is still unsure, an agent says no. A rubric of at least two scored dimensions makes it look "
        "before it answers."
    )

    def applies(self, workflow: Workflow) -> bool:
        return mentions(workflow, *(flag.lower() for flag in _FLAGS))

    def check_step(self, step: Step, workflow: Workflow, report: Report) -> None:
        if step.step.get("assessmentRefs") or len(_SCORED.findall(step.prompt)) >= 2:
            return
        for text in step.prompt_texts:
            match = _SELF_CERTIFY.search(text.text)
            if match is not None:
                report(
                    text.pointer,
                    f"{label(step)}: {quoted(match[0])} asks the agent to certify itself; "
                    "list at least two dimensions to score and derive the flag from them",
                )

    def examples(self) -> Iterable[Example]:
        rubric = "Score each dimension:\n- Scope known: 0-2\n- Evidence read: 0-2\nSet stillFuzzy = true below 3."
        yield Example(
            workflow(step(prompt="Set stillFuzzy = true or false.")),
            workflow(step(prompt=rubric)),
        )


class PromptProtocolMissing(WorkflowRule):
    code = "PR022"
    name = "prompt-protocol-missing"
    severity = Severity.WARNING
    origin = "spec"
    summary = "A step requires an artifact that its prompt does not mention."
    why = "An agent that is not told what to hand in finds out by being blocked."

    def applies(self, workflow: Workflow) -> bool:
        text = workflow.document.text
        return '"outputContract"' in text or '"assessmentRefs"' in text

    def check_step(self, step: Step, workflow: Workflow, report: Report) -> None:
        if step.calls_template or step.kind != "standard":
            return
        contract, refs = step.contract, step.step.get("assessmentRefs")
        if contract is not None and contract in workflow.catalog.contracts:
            pack = workflow.catalog.contracts[contract]
            words = [pack.artifact_kind, contract, *_spaced(pack.artifact_kind.rpartition(".")[2])]
            words += [word for name in pack.schema.get("properties", ()) if name != "kind" for word in _spaced(name)]
            pointer, kind = step.at("outputContract"), pack.artifact_kind
        elif contract is None and isinstance(refs, list) and refs:
            words = ["assessment", "dimension"]
            words += [word for name in _assessment_names(workflow, refs) for word in _spaced(name)]
            pointer, kind = step.at("assessmentRefs"), "wr.assessment"
        else:
            return
        text = step.prompt.lower()
        if not any(word.lower() in text for word in words):
            report(
                pointer,
                f"{label(step)}: the prompt mentions neither the {kind} artifact it requires nor any of its fields; "
                "say what to hand in",
            )

    def examples(self) -> Iterable[Example]:
        def reviewed(prompt: str) -> dict[str, Any]:
            return workflow(step(prompt=prompt, outputContract={"contractRef": "wr.contracts.review_verdict"}))

        yield Example(
            reviewed("Look at the change."),
            reviewed("Look at the change, then hand in a wr.review_verdict artifact."),
        )


def _spaced(name: str) -> tuple[str, str]:
    """A name as it is written in JSON, and as words."""
    return name, re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]", " ", name)


def _assessment_names(workflow: Workflow, refs: list[Any]) -> Iterator[str]:
    declared = workflow.definition.get("assessments")
    for item in declared if isinstance(declared, list) else ():
        if isinstance(item, dict) and item.get("id") in refs:
            yield str(item["id"])
            for dimension in item.get("dimensions") or ():
                if isinstance(dimension, dict) and isinstance(dimension.get("id"), str):
                    yield dimension["id"]


_SPAWN = re.compile(
    r"\b(?:spawn|launch|dispatch|start|delegate (?:\w+ )?to)\s+(?:(?:all|at most|up to|exactly|about)\s+)?"
    r"(?:[2-9]\d*|1\d+|two|three|four|five|six|seven|eight|nine|ten|several|multiple|many|a few|some)\b"
    r"(?:\s+or\s+\w+)?(?:\s+[\w-]+){0,4}?\s+(?:executors|sub-?agents|agents|helpers|workers|delegates|assistants)\b",
    re.IGNORECASE,
)
_MECHANISM = re.compile(r"\bworkrail executors?\b|\btools?\b|\bspawn_agent\b|\bmcp\b|\broutine-|\bworkflowid\b", re.IGNORECASE)
_PARALLELISM = re.compile(
    r"parallel|simultaneous|concurrent|sequential|\bat once\b|\bat the same time\b|\bin turn\b"
    r"|\bone (?:after|at|by)\b|\bside by side\b",
    re.IGNORECASE,
)


class PromptDelegationAmbiguous(WorkflowRule):
    code = "PR025"
    name = "prompt-delegation-ambiguous"
    severity = Severity.INFO
    origin = "lock"
    summary = "A prompt asks for several helpers but does not say with what, or whether at the same time."
    why = "Left open, one run starts them side by side, the next one after another, and a third only pretends to."

    def applies(self, workflow: Workflow) -> bool:
        return mentions(workflow, "spawn", "launch", "dispatch", "start ", "delegate ")

    def check_step(self, step: Step, workflow: Workflow, report: Report) -> None:
        for text in step.prompt_texts:
            match = _SPAWN.search(text.text)
            if match is None:
                continue
            missing = [
                what
                for what, pattern in (("the mechanism", _MECHANISM), ("whether they run in parallel", _PARALLELISM))
                if not pattern.search(step.prompt)
            ]
            if missing:
                report(text.pointer, f"{label(step)}: {quoted(match[0])} leaves open {' and '.join(missing)}; name it")

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(step(prompt="Spawn 3 executors and merge what they report.")),
            workflow(step(prompt="Spawn 3 WorkRail Executors in parallel and merge what they report.")),
        )


_CODE = re.compile(r"\bfun \w+\(|\b\w+\([^()]*\)\s*=(?!=)|=>")


class MetaGuidancePseudoCode(WorkflowRule):
    code = "PR026"
    name = "meta-guidance-pseudo-code"
    severity = Severity.WARNING
    origin = "spec"
    summary = "An item of metaGuidance is written as code."
    why = "Nothing runs it. Rules for an agent work as plain sentences; pseudo-code only looks as if it were enforced."

    def applies(self, workflow: Workflow) -> bool:
        return "metaGuidance" in workflow.document.text

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        for text in workflow.top_texts:
            if text.field == "metaGuidance" and (match := _CODE.search(text.text)):
                report(text.pointer, f"The item holds code ({quoted(match[0])}), which nothing runs; say it as a rule")

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(metaGuidance=["fun adapt(depth) = depth > 2 ? 'deep' : 'quick'"]),
            workflow(metaGuidance=["Go deep when the change touches more than two modules."]),
        )


_MANY_QUESTIONS = 5


class ClarificationHeavy(WorkflowRule):
    code = "PR027"
    name = "clarification-heavy"
    severity = Severity.INFO
    origin = "spec"
    summary = f"A workflow asks more than {_MANY_QUESTIONS} clarification questions."
    why = "A user who has to answer a questionnaire first gives up, or answers anything."

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        prompts = workflow.definition.get("clarificationPrompts")
        if isinstance(prompts, list) and len(prompts) > _MANY_QUESTIONS:
            report(
                "/clarificationPrompts",
                f"{len(prompts)} questions before any work starts; keep those that change what happens, "
                f"at most {_MANY_QUESTIONS}",
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        questions = [f"What is the answer to question {number}?" for number in range(1, 7)]
        yield Example(workflow(clarificationPrompts=questions), workflow(clarificationPrompts=questions[:3]))


RULES: tuple[type[WorkflowRule], ...] = (
    PromptLazyWording,
    PromptEngineVoice,
    PromptSelfCertify,
    PromptProtocolMissing,
    PromptDelegationAmbiguous,
    MetaGuidancePseudoCode,
    ClarificationHeavy,
)

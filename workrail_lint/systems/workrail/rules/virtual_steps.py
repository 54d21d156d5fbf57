"""Verification, audit and synthesis: the blocks from which the compiler generates steps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.operations import Insert, Operation, Remove, Replace
from workrail_lint.documents.pointer import parent
from workrail_lint.findings import Finding, Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.catalog.catalog import PLACEHOLDER
from workrail_lint.systems.workrail.compiler.nodes import Node
from workrail_lint.systems.workrail.compiler.steps import expand_virtual
from workrail_lint.systems.workrail.model.workflow import AuditConfig, Step, SynthesisConfig, VerificationConfig
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import WholeWorkflowRule, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import excerpt, is_reported, is_text, label, value_at
from workrail_lint.systems.workrail.rules.rule_needs import MAX_PROMPT

_MAX_CONFIG_PROMPT = 4096
_MAX_ID = 64
_MAX_TITLE = 128
_FENCE = "```"
_CONFIG_FIELDS = ("verification", "command", "audit", "rubric", "synthesis")
_MERGES = Pattern(r"\b(?:synthes|merg|combin|consolidat|reconcil|unif)", re.IGNORECASE)


def _audit(step: Step) -> AuditConfig | None:
    return step.audit if step.kind == "standard" and not step.calls_template else None


def _verification(step: Step) -> VerificationConfig | None:
    return step.verification if step.kind == "standard" and not step.calls_template else None


class VirtualStepRule(WorkflowRule):
    """A rule about steps that the compiler generates."""

    needs = frozenset({"verification", "audit", "synthesis", "guidance", "metaGuidance", "parallelDelegations"})


class VirtualConfigEmpty(VirtualStepRule):
    code = "PR029"
    name = "virtual-config-empty"
    severity = Severity.ERROR
    origin = "struct"
    summary = "An audit, a verification or a synthesis says nothing to do."
    why = "The generated step would ask the agent to check no criteria, to run nothing, or to merge into nothing."
    bad: ClassVar[Any] = (
        {"audit": {}},
        {"verification": {"command": " "}},
        {"steps": [{}, {"type": "parallel", "synthesis": {}}]},
    )
    good: ClassVar[Any] = (
        {"audit": {"rubric": ["Every claim has a source."]}},
        {"verification": {"command": "make test"}},
        {"steps": [{}, {"type": "parallel"}]},
    )


class AuditRubricBlank(VirtualStepRule):
    code = "PR030"
    name = "audit-rubric-blank"
    severity = Severity.ERROR
    origin = "struct"
    summary = "An item of an audit's rubric is blank."
    why = "The agent can't check a blank criterion."
    fix = "Remove the item."
    bad = {"audit": {"rubric": ["Every claim has a source.", " "]}}
    good = {"audit": {"rubric": ["Every claim has a source."]}}

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        rubric_place = parent(finding.pointer)
        rubric = value_at(workflow.definition, rubric_place)
        if isinstance(rubric, list) and len(rubric) > 1:
            return unsafe("remove the item", Remove(finding.pointer))
        if is_text(value_at(workflow.definition, f"{parent(rubric_place)}/prompt")):
            return unsafe("remove the rubric", Remove(rubric_place))
        return None


class VirtualConfigHidden(VirtualStepRule):
    code = "PR031"
    name = "virtual-config-hidden"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "An audit or a verification has a prompt that leaves out its rubric or command."
    why = "The generated step shows only the prompt, so the agent never sees the rest."
    fix = "Append the rubric to the prompt."
    needs = frozenset({"audit"}) | frozenset({"verification"})
    bad: ClassVar[Any] = (
        {"audit": {"prompt": "Audit the report.", "rubric": ["Every claim has a source."]}},
        {"verification": {"prompt": "Run the tests.", "command": "make test"}},
    )
    good: ClassVar[Any] = (
        {"audit": {"prompt": "Audit the report.\n\nRubric:\n- Every claim has a source."}},
        {"verification": {"prompt": "Run the tests.\n\n```bash\nmake test\n```", "command": "make test"}},
    )

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        self._audit_rubric_ignored(step, workflow, report)
        self._verification_command_ignored(step, workflow, report)

    @staticmethod
    def _rubric_appended(audit: AuditConfig) -> Fix | None:
        prompt = audit.prompt or ""
        missing = [item for item in audit.rubric if is_text(item) and item not in prompt]
        text = prompt.rstrip() + "\n\nRubric:\n" + "\n".join(f"- {item}" for item in missing) if missing else prompt
        if len(text) > _MAX_CONFIG_PROMPT:
            return None
        return unsafe("append the rubric to the prompt", Replace(audit.at("prompt"), text), Remove(audit.at("rubric")))

    def _audit_rubric_ignored(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        audit = _hidden_rubric(step)
        if audit is None:
            return
        report(
            audit.at("rubric"),
            f"{label(step)}: the agent never sees this rubric, because the audit also has a prompt; add the rubric to "
            "the prompt",
            fix=self._rubric_appended(audit),
            on_name=True,
        )

    def _verification_command_ignored(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        config = _hidden_command(step)
        if config is None:
            return
        prompt, command = config.prompt or "", config.command or ""
        text = f"{prompt.rstrip()}\n\n{_FENCE}bash\n{command}\n{_FENCE}"
        fix = unsafe("append the command to the prompt", Replace(config.at("prompt"), text))
        report(
            config.at("command"),
            f"{label(step)}: the command {excerpt(command)} is never run, because the verification also has a "
            "prompt; add the command to the prompt",
            fix=fix if len(text) <= _MAX_CONFIG_PROMPT else None,
        )


def _hidden_rubric(step: Step) -> AuditConfig | None:
    """Return the audit of a step, if its own prompt keeps the rubric from being shown."""
    audit = _audit(step)
    return audit if audit is not None and audit.prompt and audit.rubric else None


def _hidden_command(step: Step) -> VerificationConfig | None:
    """Return the verification of a step, if a prompt is shown instead of its command and does not contain it."""
    config = _verification(step)
    if config is None or not config.prompt or not is_text(config.command) or config.command in config.prompt:
        return None
    return config


class VirtualStepNotRenderable(VirtualStepRule):
    code = "PR035"
    name = "virtual-step-not-renderable"
    severity = Severity.ERROR
    origin = "runtime"
    summary = "A step has `verification`, `audit` or `synthesis`, and the public engine can't show the generated step."
    why = (
        "The public engine looks for the prompt of the generated step in the source file, finds nothing and stops with "
        "`prompt_render_failed` (engine defect KD-02). Runs of `workrail-test` are fine, so with "
        '`target = "ir"` it is info.'
    )
    fix = "Replace the blocks with explicit steps, once everything they show is in their prompts."
    needs = frozenset({"verification", "audit", "synthesis"})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        configs = {"verification": _verification(step), "audit": _audit(step), "synthesis": self._synthesis(step)}
        blocks = [block for block, config in configs.items() if config is not None]
        for block in blocks:
            # The first finding fixes all of them, because the generated steps have a fixed order.
            report(
                step.at(block),
                f"{label(step)}: the public engine can't show the step generated from `{block}` and stops there; "
                "write an explicit step instead",
                fix=self._explicit(step, workflow, blocks) if block == blocks[0] else None,
                on_name=True,
                severity=Severity.ERROR if workflow.engine else Severity.INFO,
            )

    @staticmethod
    def _synthesis(step: Step) -> SynthesisConfig | None:
        return step.synthesis if step.kind == "parallel" and not step.calls_template else None

    @staticmethod
    def _explicit(step: Step, workflow: WorkflowContext, blocks: list[str]) -> Fix | None:
        """Return steps after this one that say what the generated ones would have said."""
        if step.around is None and step.pointer in workflow.loop_of:
            return None  # a referenced body is this one step; a step after it would not be in the loop
        if _hidden_rubric(step) is not None or _hidden_command(step) is not None:
            return None  # what no generated step shows would be lost; another finding adds it to the prompt
        if workflow.is_routine and any(
            PLACEHOLDER.search(text.text) for text in step.texts if text.field in _CONFIG_FIELDS
        ):
            return None  # in a prompt of a routine braces ask every caller for an argument
        if is_reported("step-id-pattern", step.at("id"), workflow):
            return None  # the ids of the new steps would be invalid too
        if any(error.pointer.startswith(f"{step.at(block)}/") for error in workflow.earlier for block in blocks):
            return None  # no generated step shows what is wrong in a block, so it would be lost
        used = workflow.step_ids
        nodes, errors = expand_virtual((Node(step),), workflow.id)
        operations: list[Operation] = [Remove(step.at(block)) for block in blocks]
        for offset, node in enumerate(nodes[1:], 1):
            explicit = {**node.step, "id": node.id.replace("__", "-")}
            fits = (
                len(explicit["id"]) <= _MAX_ID
                and len(explicit["title"]) <= _MAX_TITLE
                and len(explicit["prompt"]) <= MAX_PROMPT
            )
            if errors or explicit["id"] in used or not fits:
                return None
            operations.append(Insert(parent(step.pointer), None, step.index + offset, explicit))
        return unsafe("write explicit steps", *operations)

    def examples(self) -> Iterable[Example]:
        plain = {"id": "first-step", "title": "A step", "prompt": "Describe what you see."}
        explicit = {
            "id": "first-step-verification",
            "title": "Verify: A step",
            "prompt": "Run the tests.",
            "notesOptional": True,
        }
        fixed = samples.workflow(plain, explicit)
        yield Example(samples.workflow({**plain, "verification": {"prompt": "Run the tests."}}), fixed, fixed)


class ParallelNoSynthesis(WholeWorkflowRule, VirtualStepRule):
    code = "PR037"
    name = "parallel-no-synthesis"
    severity = Severity.WARNING
    origin = "spec"
    summary = "A parallel step with several delegations has no synthesis."
    why = "The results are returned side by side, and nothing asks the agent to compare and merge them."
    needs = frozenset({"parallelDelegations"})
    bad = {"steps": [{}, {"type": "parallel", "synthesis": ...}]}
    good = {"steps": [{}, {"type": "parallel"}]}

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.kind != "parallel" or len(step.parallel_delegations) < 2:
            return
        if "synthesis" not in step and not self._merged_next(step, workflow):
            report(
                step.at("parallelDelegations"),
                f"{label(step)}: nothing merges the results of its {len(step.parallel_delegations)} delegations; "
                "add a synthesis, or a step that merges them",
                on_name=True,
            )

    @staticmethod
    def _merged_next(step: Step, workflow: WorkflowContext) -> bool:
        """Return whether the next step says that it merges the results."""
        siblings = workflow.steps if step.around is None else step.around.inline
        following = next((other for other in siblings if other.index == step.index + 1), None)
        return following is not None and any(
            _MERGES.search(text.text) for text in following.texts if text.field != "agentRole"
        )

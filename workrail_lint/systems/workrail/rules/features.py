"""FT: features and refs: whether they reach a prompt, which ones are missing, and duplicate text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Replace
from workrail_lint.findings import Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.compiler.prompt_blocks import LIST_SECTIONS
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import Search, label, listing, prompts, step_members, value_at
from workrail_lint.systems.workrail.rules.rule_needs import REFS

SUBAGENTS = "wr.features.subagent_guidance"
MEMORY = "wr.features.memory_context"
CAPABILITIES = "wr.features.capabilities"


def in_blocks(workflow: WorkflowContext) -> list[Step]:
    """Return the steps that features reach."""
    return [step for step in workflow.all_steps if "promptBlocks" in step and not step.calls_template]


def authored_features(workflow: WorkflowContext) -> object:
    """Return the features as the author wrote them; None if there are only those that capabilities imply."""
    return value_at(workflow.document.value, "/features")


def blocks(*ids: str, **sections: Any) -> dict[str, Any]:
    """Return a workflow with the given features and one step with prompt blocks."""
    step = samples.step(prompt=None, promptBlocks={"goal": "Find the cause.", **sections})
    return samples.workflow(step, features=list(ids) or ...)


class FeatureNoEffect(WorkflowRule):
    code = "FT001"
    name = "feature-no-effect"
    severity = Severity.WARNING
    origin = "doc"
    summary = "Features are declared, but no step uses `promptBlocks`."
    why = "Features are added to `promptBlocks` only, never to a plain `prompt`."
    needs = frozenset({"features"})
    bad = {"features": ["wr.features.capabilities"]}
    good = {"features": ["wr.features.capabilities"], "steps": [{"promptBlocks": {"goal": "Find the cause."}}]}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        features = workflow.model.features
        # A step with another mistake may use them all the same.
        uses = any("promptBlocks" in step and not step.calls_template for step in workflow.whole.all_steps)
        if features and authored_features(workflow) is not None and not uses:
            report(
                "/features",
                f"no step has promptBlocks, so features have no effect ({listing(features)}); use promptBlocks or "
                "remove them",
                on_name=True,
            )


class FeaturePartialEffect(WorkflowRule):
    code = "FT002"
    name = "feature-partial-effect"
    severity = Severity.INFO
    origin = "product"
    summary = "Features are declared, but some steps have a plain `prompt` and do not get them."
    why = "The agent follows a feature in some steps but not in others, which is easy to overlook."
    needs = frozenset({"features"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if not workflow.model.features or authored_features(workflow) is None or not in_blocks(workflow):
            return
        plain = [step.id for step in workflow.all_steps if "prompt" in step and not step.calls_template]
        if plain:
            report(
                "/features",
                f"features have no effect on steps with a plain prompt: {listing(plain)}; use promptBlocks there",
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        good = blocks(CAPABILITIES)
        yield Example({**good, "steps": [*good["steps"], samples.step("second-step")]}, good)


class FeatureOrder(WorkflowRule):
    code = "FT003"
    name = "feature-order"
    severity = Severity.INFO
    origin = "lock"
    summary = "Features are not sorted by id."
    why = "The engine injects features in the given order, so the same features in another order give another hash."
    fix = "Sort the features."
    needs = frozenset({"features"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        features, authored = workflow.model.features, authored_features(workflow)
        ordered = js.u16_sorted(features)
        if list(features) == ordered or authored is None:
            return
        report(
            "/features",
            f"the features are not sorted; write {listing(ordered)}",
            fix=unsafe("sort them", Replace("/features", list(ordered))) if authored == features else None,
        )

    def examples(self) -> Iterable[Example]:
        good = blocks(MEMORY, SUBAGENTS)
        yield Example(blocks(SUBAGENTS, MEMORY), good, good)


# Why a feature is needed: the place, and the clause of the message that says so.
Evidence = tuple[str, str]


_REF_NAME = Search(("wr.refs.",), r"(?<!\{\{)\bwr\.refs\.[a-z][a-z0-9_]*")


class RefInRawPrompt(WorkflowRule):
    code = "FT008"
    name = "ref-in-raw-prompt"
    severity = Severity.WARNING
    origin = "lock"
    summary = "A prompt, guidance or a fragment mentions a ref by name."
    why = "Only a part of kind `ref` is replaced with the text; elsewhere the agent sees a name it can't look up."
    words = _REF_NAME.words
    bad = {"prompt": "Work as wr.refs.memory_usage says."}
    good = {
        "promptBlocks": {"goal": "Find the cause.", "constraints": [[{"kind": "ref", "refId": "wr.refs.memory_usage"}]]}
    }

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        named: dict[str, tuple[Step, str]] = {}
        for hit in prompts(workflow).hits(_REF_NAME):
            named.setdefault(hit.text.pointer, (hit.step, hit.phrase))
        for step in workflow.all_steps if "guidance" in step_members(workflow) else ():
            if step.kind != "standard" or step.calls_template:
                continue
            for index, item in enumerate(step.guidance):
                match = _REF_NAME.pattern.search(item) if "wr.refs." in item else None
                if match is not None:
                    named[step.at("guidance", index)] = step, match[0]
        for pointer, (step, ref) in named.items():
            report(
                pointer,
                f"{label(step)}: the agent sees only the name {quoted(ref)}; include the text with a part of kind ref",
            )


class RefRepeated(WorkflowRule):
    code = "FT009"
    name = "ref-repeated"
    severity = Severity.INFO
    origin = "product"
    summary = "A step includes the same ref twice, or includes a ref that a feature already adds."
    why = "The agent reads the same lines twice, and they count twice against the limit for injected text."
    needs = frozenset({REFS})

    def applies(self, workflow: WorkflowContext) -> bool:
        return "promptBlocks" in step_members(workflow) and '"refId"' in workflow.document.text

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        from_features = {
            part["refId"]: feature
            for feature in workflow.model.features
            if (entry := workflow.catalog.features.get(feature)) is not None
            for section in LIST_SECTIONS
            for value in getattr(entry, section)
            for part in (value if isinstance(value, list) else ())
            if part.get("kind") == "ref"
        }
        by_step: dict[str, dict[str, str]] = {}
        for use in workflow.builtin_uses:
            if use.kind != "ref":
                continue
            owner = use.pointer.partition("/promptBlocks/")[0]
            earlier = by_step.setdefault(owner, {})
            if use.id in earlier:
                report(use.pointer, f"this step already includes ref {quoted(use.id)}; remove one of the two")
            elif use.id in from_features:
                feature = quoted(from_features[use.id])
                report(use.pointer, f"feature {feature} already adds ref {quoted(use.id)}; remove it here")
            earlier.setdefault(use.id, use.pointer)

    def examples(self) -> Iterable[Example]:
        def taking(*refs: str) -> list[list[dict[str, str]]]:
            return [[{"kind": "ref", "refId": ref}] for ref in refs]

        twice = taking("wr.refs.memory_store", "wr.refs.memory_store")
        yield Example(blocks(constraints=twice), blocks(constraints=twice[:1]))
        usage = taking("wr.refs.memory_usage")
        yield Example(blocks(MEMORY, constraints=usage), blocks(constraints=usage))

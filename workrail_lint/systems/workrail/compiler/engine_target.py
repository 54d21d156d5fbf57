"""The engine target: the snapshot the public engine pins, byte for byte, quirks included.

Virtual steps stay configuration, nothing is defaulted. One workflow has
several legitimate digests, so every one of them is named by its mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from workrail_lint.base.result import Err, Ok
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.catalog.catalog import Catalog, PromptValue
from workrail_lint.systems.workrail.compiler.compiled import Passed, Resolved, engine_errors_of, resolve, run_passes
from workrail_lint.systems.workrail.compiler.nodes import RawStep, rendered_steps
from workrail_lint.systems.workrail.compiler.prompt_blocks import LIST_SECTIONS
from workrail_lint.systems.workrail.engines.releases import Target
from workrail_lint.systems.workrail.model.build import workflow_model
from workrail_lint.systems.workrail.model.workflow import Step, Workflow


class HashMode(str, Enum):
    """Which of a workflow's digests: what is in the snapshot depends on how the engine got to it."""

    PINNED = "pinned"
    PINNED_REFS = "pinned+refs"
    PINNED_ONBOARDING = "pinned+onboarding"
    PINNED_ONBOARDING_REFS = "pinned+onboarding+refs"
    PREVIEW = "preview"


# Literal: this text is part of every digest in the onboarding modes.
ONBOARDING_STEP: dict[str, Any] = {
    "id": "wr-system-onboarding",
    "title": "WorkRail Protocol Instructions",
    "prompt": (
        "This repository is managed by WorkRail, an advanced workflow automation engine.\n"
        "You are currently executing within a guided workflow. Your actions are constrained and monitored by the "
        "engine.\n\nRules of Engagement:\n"
        "1. NO PREEMPTIVE WORK: Do not attempt to solve the overarching task right now. You must wait for explicit "
        "workflow steps.\n"
        "2. ADHERE TO THE DAG: You will be fed prompts one step at a time. Complete only the step requested.\n"
        "3. OUTPUT CONTRACTS: Use the `continue_workflow` tool to submit your work when a step is done.\n\n"
        "If you understand these constraints, call `continue_workflow` with no output to receive your first actual "
        "assignment.\n\n"
        "**Action Required**: Acknowledge these instructions by calling `continue_workflow` (with an empty `output` "
        "or simple `notes`). Do NOT attempt the actual task yet."
    ),
    "notesOptional": True,
}
_PREVIEW_LOOP = "Loop step '%s' cannot be previewed in v2 Slice 1 (loop execution/compilation not implemented yet)."
_PREVIEW_FAIL = "Step '%s' has no prompt (promptBlocks resolution failed)."
_IDENTITY = ("name", "description", "version")


def engine_snapshot(
    workflow: Workflow,
    catalog: Catalog,
    overrides: dict[str, str] | None = None,
    mode: HashMode = HashMode.PINNED,
    references: list[dict[str, Any]] | None = None,
    passed: Passed | None = None,
    release: Target | None = None,
) -> Ok[dict[str, Any]] | Err[list[Finding]]:
    """Return the snapshot of a workflow in a mode; the refs modes take the references already resolved.

    `passed` is what the passes make of the workflow, if they ran as the engine runs them and the engine accepts it.
    `release` is the engine's, if it is not the newest.
    """
    if mode is HashMode.PREVIEW:
        return Ok(_preview(workflow, catalog, overrides or {}))
    if mode in (HashMode.PINNED_ONBOARDING, HashMode.PINNED_ONBOARDING_REFS):
        workflow, passed = workflow_model({**workflow.raw, "steps": [ONBOARDING_STEP, *workflow.raw["steps"]]}), None
    definition = workflow.raw
    if passed is None:
        passed = run_passes(workflow, catalog, overrides or {}, for_engine=True, release=release)
        errors = engine_errors_of(workflow, catalog, passed)
        if errors:
            return Err(errors)
    resolved = passed.resolved
    snapshot = _head(definition, "v1_pinned")
    snapshot["definition"] = {**definition, "steps": _pinned_steps(workflow, resolved, catalog, release)}
    if resolved.bound.resolved:
        snapshot["resolvedBindings"] = resolved.bound.resolved
    if resolved.bound.overrides:
        snapshot["pinnedOverrides"] = resolved.bound.overrides
    if mode in (HashMode.PINNED_REFS, HashMode.PINNED_ONBOARDING_REFS) and references:
        snapshot["resolvedReferences"] = references
    return Ok(snapshot)


def _pinned_steps(workflow: Workflow, resolved: Resolved, catalog: Catalog, release: Target | None) -> list[RawStep]:
    """Return the steps as a release pins them; the first ones kept what the author wrote."""
    pins = "resolved" if release is None else release.pins
    if pins == "authored":
        return list(workflow.raw["steps"])
    steps = rendered_steps(resolved.nodes)
    if pins == "blocks":  # no template of that time adds or removes a step
        return [_with_blocks(step, own, workflow, catalog) for step, own in zip(steps, workflow.steps, strict=True)]
    return steps


def _with_blocks(step: RawStep, own: Step, workflow: Workflow, catalog: Catalog) -> RawStep:
    """Return a resolved step that keeps its blocks beside its prompt, with the text of features and refs."""
    if own.kind == "standard" and own.prompt_blocks is not None:
        return {**step, "promptBlocks": _resolved_blocks(own.prompt_blocks.raw, workflow.features, catalog)}
    if own.kind == "loop" and own.body_steps:
        pairs = zip(step["body"], own.body_steps, strict=True)
        return {**step, "body": [_with_blocks(*pair, workflow, catalog) for pair in pairs]}
    return step


def _resolved_blocks(blocks: dict[str, Any], features: Sequence[str], catalog: Catalog) -> dict[str, Any]:
    result = dict(blocks)
    for section in LIST_SECTIONS:
        added = [value for ident in features for value in getattr(catalog.features[ident], section)]
        values = [*blocks.get(section, ()), *added]
        if section in blocks or added:
            result[section] = [_without_refs(value, catalog) for value in values]
    if "goal" in blocks:
        result["goal"] = _without_refs(blocks["goal"], catalog)
    return result


def _without_refs(value: PromptValue, catalog: Catalog) -> PromptValue:
    """Return a value of a block whose refs are parts of text."""
    if isinstance(value, str):
        return value
    texts = [catalog.refs[part["refId"]].text if part["kind"] == "ref" else part["text"] for part in value]
    return [{"kind": "text", "text": text} for text in texts]


def _head(definition: dict[str, Any], source_kind: str) -> dict[str, Any]:
    head: dict[str, Any] = {"schemaVersion": 1, "sourceKind": source_kind}
    if "id" in definition:
        head["workflowId"] = definition["id"]
    head.update((name, definition[name]) for name in _IDENTITY if name in definition)
    return head


def _preview(workflow: Workflow, catalog: Catalog, overrides: dict[str, str]) -> dict[str, Any]:
    first = workflow.steps[0]
    prompt = _preview_prompt(workflow.raw, first, catalog, overrides)
    return {
        **_head(workflow.raw, "v1_preview"),
        "preview": {"stepId": first.id, "title": first.title, "prompt": prompt},
    }


def _preview_prompt(definition: dict[str, Any], first: Step, catalog: Catalog, overrides: dict[str, str]) -> str:
    if first.kind == "loop":
        return str(_PREVIEW_LOOP % first.id)
    if first.kind == "standard" and first.prompt is not None:
        return first.prompt
    alone = workflow_model({**definition, "steps": [first.raw]})
    resolved, errors = resolve(alone, catalog, overrides, for_engine=True)
    prompt = None if errors or not resolved.nodes else resolved.nodes[0].prompt
    return str(_PREVIEW_FAIL % first.id) if prompt is None else prompt

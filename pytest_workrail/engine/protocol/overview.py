"""The manifest of a workflow: what it needs, provides and does, as data for whoever has to choose one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workrail_lint.base.js import Json
from workrail_lint.systems.drawing.texts import clean
from workrail_lint.systems.workrail.analysis.inputs import declared_inputs
from workrail_lint.systems.workrail.graph.texts import condition_text
from workrail_lint.systems.workrail.model.ir import Program, ProgramStep


def manifest(program: Program) -> dict[str, Json]:
    """Return the manifest of a workflow. A step is one line, and the steps of a loop follow it."""
    inputs = declared_inputs(program).values()
    recommended = program.recommended_preferences
    modes: dict[str, Json] = {}
    if recommended is not None and recommended.recommended_autonomy is not None:
        modes["autonomy"] = recommended.recommended_autonomy
    if recommended is not None and recommended.recommended_risk_policy is not None:
        modes["riskPolicy"] = recommended.recommended_risk_policy
    return {
        "needs": {
            "preconditions": list(program.preconditions),
            "inputs": [{"name": each.name, "values": list(each.values)} for each in inputs],
        },
        "provides": [
            {"stepId": step.id, "contract": step.contract.ref, "required": step.contract.required}
            for step in program.all_steps
            if step.contract is not None
        ],
        "capabilities": dict(program.capabilities),
        "features": [feature.id for feature in program.features],
        "contracts": [*sorted({step.contract.ref for step in program.all_steps if step.contract is not None})],
        "recommendedPreferences": modes,
        "steps": list(_lines(program.steps, "")),
    }


def _lines(steps: Iterable[ProgramStep], before: str) -> Iterator[Json]:
    for number, step in enumerate(steps, 1):
        label = f"{before}{number}"
        yield "; ".join([f"{label}. {step.id}: {clean(step.title)}", *_facts(step)])
        yield from _lines(step.body, f"{label}.")


def _facts(step: ProgramStep) -> Iterator[str]:
    if step.run_condition is not None and step.is_conditional:
        yield f"runs if {condition_text(step.run_condition)}"
    if step.type == "loop":
        yield f"repeats {step.loop.max_iterations} times at most"
    elif step.contract is not None:
        yield f"submits {step.contract.ref}"
    elif step.requires_notes:
        yield "submits notes"
    if step.confirmation.kind != "never":
        yield "waits for approval"

"""Why a step or a loop can refuse what is handed in: blocker codes, and the gaps of runs that go on all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_workrail.agents.correct import smallest_artifact, solve
from pytest_workrail.agents.values import failing_notes
from pytest_workrail.engine.core.confirmation import needs_person
from pytest_workrail.engine.core.outputs import requires_notes
from pytest_workrail.engine.core.packs import ASSESSMENT, LOOP_CONTROL, ContractPack
from pytest_workrail.engine.core.profiles import Capabilities, Confirmation, LoopDecision, LoopLimit, Profile
from workrail_lint.base.js import Json

APPROVAL = "USER_ONLY_DEPENDENCY"
FOLLOWUP = "ASSESSMENT_FOLLOWUP_REQUIRED"
AT_LIMIT = "INVARIANT_VIOLATION"
# What a run that never stops records instead of each blocker.
GAP_OF_BLOCKER = {
    "MISSING_REQUIRED_OUTPUT": "missing_required_output",
    "INVALID_REQUIRED_OUTPUT": "invalid_required_output",
    "MISSING_REQUIRED_NOTES": "missing_required_notes",
    FOLLOWUP: "assessment_followup_required",
    "REQUIRED_CAPABILITY_UNKNOWN": "required_capability_unknown",
    "REQUIRED_CAPABILITY_UNAVAILABLE": "required_capability_unavailable",
    APPROVAL: "needs_user_approval",
    AT_LIMIT: "invariant_violation",
}


def step_blockers(step: dict[str, Any], profile: Profile, packs: Mapping[str, ContractPack]) -> list[str]:
    """The codes with which handing in a step can be blocked because of what the step itself asks for.

    What only a broken pattern or schema brings about is not among them: the linter refuses it.
    """
    output: dict[str, Any] = step.get("output", {})
    codes = list(_output_codes(output, packs))
    if "capability" in output.get("contract", {}) and profile.capabilities is Capabilities.ENFORCE:
        codes += ["REQUIRED_CAPABILITY_UNKNOWN", "REQUIRED_CAPABILITY_UNAVAILABLE"]
    if requires_notes(step):
        codes.append("MISSING_REQUIRED_NOTES")
    if output.get("assessments", {}).get("consequences"):
        codes.append(FOLLOWUP)
    if _may_need_person(step) and profile.confirmation is Confirmation.USER_DEPENDENCY:
        codes.append(APPROVAL)
    return codes


def _output_codes(output: dict[str, Any], packs: Mapping[str, ContractPack]) -> Iterator[str]:
    """Contract, assessments, criteria: the first that a step has decides."""
    if "contract" in output:
        contract = output["contract"]
        if contract["required"]:
            yield "MISSING_REQUIRED_OUTPUT"
        pack = packs.get(contract["ref"])
        if pack is not None and contract["ref"] != ASSESSMENT and can_reject(pack):
            yield "INVALID_REQUIRED_OUTPUT"
    elif "assessments" in output:
        yield "INVALID_REQUIRED_OUTPUT"
    elif "criteria" in output:
        yield "MISSING_REQUIRED_OUTPUT"
        if any(
            failing_notes(output["criteria"], context) is not None
            for context in _distinguishing_contexts(output["criteria"])
        ):
            yield "INVALID_REQUIRED_OUTPUT"


def _distinguishing_contexts(criteria: object) -> Iterator[dict[str, Json]]:
    """Contexts in which the rules of criteria apply: those for all, then each that only some contexts call for."""
    yield {}
    stack = [criteria]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(reversed(node))
        elif isinstance(node, dict):
            change = solve(node["condition"], True, {}, {}) if "type" in node and "condition" in node else None
            if change:
                yield change
            stack.extend(node[name] for name in ("not", "or", "and") if name in node)


def can_reject(pack: ContractPack) -> bool:
    """Whether an artifact of the right kind can fail the schema: one without members, or with odd ones."""
    alone: dict[str, Json] = {"kind": pack.artifact_kind}
    whole: dict[str, Json] = smallest_artifact(pack) or alone
    strange: Json = {"unexpected": True}
    odd: list[dict[str, Json]] = [
        {**whole, name: strange} for name in ("unexpected", *pack.schema.get("properties", {}))
    ]
    return any(pack.issues({**artifact, **alone}) for artifact in (alone, *odd))


def _may_need_person(step: dict[str, Any]) -> bool:
    confirmation = step["confirmation"]
    if confirmation["kind"] == "never":
        return False
    return needs_person({"confirmation": {**confirmation, "kind": "always"}}, {})


def loop_blockers(loop_step: dict[str, Any], profile: Profile, reaches_limit: bool) -> list[str]:
    """The codes that come from a loop and not from the step that is handed in."""
    codes: list[str] = []
    by_artifact = loop_step["loop"]["source"]["kind"] == "artifact"
    if by_artifact and profile.loop_decision is LoopDecision.REQUIRE and not any(map(_decides, loop_step["body"])):
        codes += ["MISSING_REQUIRED_OUTPUT", "INVALID_REQUIRED_OUTPUT"]
    if reaches_limit and profile.loop_limit is LoopLimit.REPORT:
        codes.append(AT_LIMIT)
    return codes


def _decides(step: dict[str, Any]) -> bool:
    """Whether the step sees to it in every iteration that there is a decision about the loop."""
    contract = step.get("output", {}).get("contract", {})
    return contract.get("ref") == LOOP_CONTROL and contract["required"] and "runCondition" not in step

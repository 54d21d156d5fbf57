"""Capabilities: what the agent's environment can do, who says so, and what a required one demands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from pytest_workrail.engine.core.packs import ContractPack, artifact_kind
from pytest_workrail.engine.model.events import (
    AttemptDetail,
    AttemptProvenance,
    ClaimDetail,
    ClaimProvenance,
    ProbeDetail,
    ProbeProvenance,
    Provenance,
)
from pytest_workrail.engine.model.reasons import CapabilityUnavailable, CapabilityUnknown
from pytest_workrail.engine.model.words import Capability, CapabilityStatus
from workrail_lint.base.js import Json

PROBE_TEMPLATE = "wr.templates.capability_probe"


class Observation(Struct, frozen=True):
    """A capability observation in the form that is recorded; `artifact_index` is its place in the submission."""

    artifact_index: int
    capability: Capability
    status: CapabilityStatus
    provenance: Provenance

    @property
    def is_strong(self) -> bool:
        """True when something was tried; a mere claim neither unlocks nor locks anything."""
        return self.provenance.enforcement_grade == "strong"


def probe_capability(step: dict[str, Any]) -> str | None:
    """The capability a step probes; None for every other step."""
    capability: str | None = step.get("output", {}).get("contract", {}).get("capability")
    return capability


def observation_issues(step: dict[str, Any], artifact: Mapping[str, Json], pack: ContractPack) -> tuple[str, ...]:
    """What keeps an observation from being recorded at a step: its pack, and where probes are made."""
    issues = pack.issues(dict(artifact))
    if issues:
        return issues
    provenance = artifact["provenance"]
    is_probe = isinstance(provenance, dict) and provenance["kind"] == "probe_step"
    if is_probe and probe_capability(step) != artifact["capability"]:
        return ("provenance.kind: A probe_step observation can be made only at the probe step of its capability",)
    return ()


def contract_issues(step: dict[str, Any], artifact: Mapping[str, Json], pack: ContractPack) -> tuple[str, ...]:
    """What keeps an observation from being the one a step asks for: a probe wants that of its own capability."""
    probed = probe_capability(step)
    if probed is not None and artifact.get("capability") != probed and not pack.issues(dict(artifact)):
        return (f'capability: Invalid literal value, expected "{probed}"',)
    return observation_issues(step, artifact, pack)


def observations(
    step: dict[str, Any], artifacts: Sequence[Json], pack: ContractPack
) -> tuple[tuple[Observation, ...], tuple[int, ...]]:
    """The observations in a submission, and the places of those that do not pass."""
    passed: list[Observation] = []
    failed: list[int] = []
    for index, artifact in enumerate(artifacts):
        if not isinstance(artifact, dict) or artifact_kind(artifact) != pack.artifact_kind:
            continue
        if observation_issues(step, artifact, pack):
            failed.append(index)
            continue
        fields: Any = artifact
        provenance = _provenance(fields["provenance"], fields["status"], step["id"])
        passed.append(Observation(index, fields["capability"], fields["status"], provenance))
    return tuple(passed), tuple(failed)


def _provenance(given: dict[str, Any], status: Any, step_id: str) -> Provenance:
    """The grade follows from the kind; nobody can claim it."""
    match given["kind"]:
        case "probe_step":
            return ProbeProvenance(ProbeDetail(PROBE_TEMPLATE, step_id, given["result"]))
        case "attempted_use":
            return AttemptProvenance(AttemptDetail("workflow_step", given["result"], given.get("failureCode")))
        case _:
            return ClaimProvenance(ClaimDetail(given["claimedBy"], status))


def required_capabilities(ir: dict[str, Any]) -> list[Capability]:
    """The capabilities a workflow can't do without, ascending."""
    return sorted(name for name, level in ir["capabilities"].items() if level == "required")


def probe_steps(ir: dict[str, Any]) -> dict[str, list[str]]:
    """The probe steps of a workflow by the capability they probe."""
    found: dict[str, list[str]] = {}
    for step in ir["steps"]:
        capability = probe_capability(step)
        if capability is not None:
            found.setdefault(capability, []).append(step["id"])
    return found


def capability_reasons(
    ir: dict[str, Any], pending_step_id: str, completed: Collection[str], observed: Iterable[Observation]
) -> tuple[CapabilityUnknown | CapabilityUnavailable, ...]:
    """Required capabilities that nothing strong has shown to be there, as far as their probes were reached.

    `observed` are those on the lineage and then those of the submission, oldest first.
    """
    probes = probe_steps(ir)
    status: dict[str, CapabilityStatus] = {item.capability: item.status for item in observed if item.is_strong}
    reasons: list[CapabilityUnknown | CapabilityUnavailable] = []
    for capability in required_capabilities(ir):
        if not any(step_id == pending_step_id or step_id in completed for step_id in probes.get(capability, ())):
            continue
        match status.get(capability, "unknown"):
            case "unknown":
                reasons.append(CapabilityUnknown(capability))
            case "unavailable":
                reasons.append(CapabilityUnavailable(capability))
            case "available":
                pass
    return tuple(reasons)

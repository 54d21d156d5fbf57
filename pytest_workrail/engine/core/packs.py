"""The contract packs inside an IR, and what they say about an artifact."""

from __future__ import annotations

from typing import Any, NamedTuple

from workrail_lint.base.js import Json

LOOP_CONTROL = "wr.contracts.loop_control"
ASSESSMENT = "wr.contracts.assessment"
CAPABILITY_OBSERVATION = "wr.contracts.capability_observation"
DIVERGENCE = "wr.contracts.workflow_divergence"
LOOP_CONTROL_KIND = "wr.loop_control"
ASSESSMENT_KIND = "wr.assessment"


class ContractPack(NamedTuple):
    """A kind of artifact and its schema."""

    ref: str
    artifact_kind: str
    schema: dict[str, Any]
    example: Json

    def issues(self, artifact: Json) -> tuple[str, ...]:
        """What is wrong with an artifact; nothing when it meets the contract."""
        from workrail_lint.systems.workrail.catalog.contracts import validate_artifact

        return tuple(validate_artifact(self.schema, artifact))


def contract_packs(ir: dict[str, Any]) -> dict[str, ContractPack]:
    """The packs of an IR by their ref."""
    return {
        pack["ref"]: ContractPack(pack["ref"], pack["artifactKind"], pack["schema"], pack.get("example"))
        for pack in ir["contracts"]
    }


def artifact_kind(artifact: Json) -> str | None:
    """The kind an artifact claims to be of."""
    kind = artifact.get("kind") if isinstance(artifact, dict) else None
    return kind if isinstance(kind, str) else None

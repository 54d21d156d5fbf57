"""Divergences: an agent that leaves the path says so, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pytest_workrail.engine.core.packs import ContractPack, artifact_kind
from pytest_workrail.engine.model.words import DivergenceReason
from workrail_lint.base.js import Json


class ReportedDivergence(NamedTuple):
    """A divergence in the form that is recorded; `artifact_index` is its place in the submission."""

    artifact_index: int
    reason: DivergenceReason
    summary: str
    related_step_id: str | None


def divergences(
    artifacts: Sequence[Json], pack: ContractPack
) -> tuple[tuple[ReportedDivergence, ...], tuple[int, ...]]:
    """The divergences in a submission, and the places of those that do not pass."""
    passed: list[ReportedDivergence] = []
    failed: list[int] = []
    for index, artifact in enumerate(artifacts):
        if artifact_kind(artifact) != pack.artifact_kind:
            continue
        if pack.issues(artifact):
            failed.append(index)
            continue
        fields: Any = artifact
        passed.append(ReportedDivergence(index, fields["reason"], fields["summary"], fields.get("relatedStepId")))
    return tuple(passed), tuple(failed)

"""Session health: whether what was loaded is intact. Only a healthy session can be continued."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.model.base import CorruptionReason
from pytest_workrail.engine.projections.dag import project_dag
from pytest_workrail.engine.store.loaded import SessionTruth
from pytest_workrail.engine.store.ports import StoreCorruption, StoreError
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


class Healthy(Struct, frozen=True):
    """Everything verified."""

    kind: ClassVar[Literal["healthy"]] = "healthy"


class CorruptTail(Struct, frozen=True):
    """A prefix can be read, not continued."""

    kind: ClassVar[Literal["corrupt_tail"]] = "corrupt_tail"
    reason: CorruptionReason


class CorruptHead(Struct, frozen=True):
    """Nothing can be trusted."""

    kind: ClassVar[Literal["corrupt_head"]] = "corrupt_head"
    reason: CorruptionReason


class UnknownVersion(Struct, frozen=True):
    """Written by a later version."""

    kind: ClassVar[Literal["unknown_version"]] = "unknown_version"
    reason: CorruptionReason


Health: TypeAlias = Healthy | CorruptTail | CorruptHead | UnknownVersion


_HEALTHY = Ok(Healthy())


def assess(loaded: Ok[SessionTruth] | Err[StoreError]) -> Ok[Health] | Err[StoreError]:
    """The health of a session. A failure that says nothing about the stored bytes is passed on."""
    match loaded:
        case Ok(truth):
            dag = project_dag(truth.events)
            if isinstance(dag, Err):
                return Ok(CorruptTail(CorruptionReason("non_contiguous_indices", dag.error.message)))
            return _HEALTHY
        case Err(StoreCorruption(location=location, reason=reason)):
            if reason.code == "unknown_schema_version":
                return Ok(UnknownVersion(reason))
            return Ok(CorruptHead(reason) if location == "head" else CorruptTail(reason))
        case Err(error):
            return Err(error)


def health_data(health: Health) -> dict[str, Json]:
    """The health as an answer shows it."""
    if isinstance(health, Healthy):
        return {"kind": health.kind}
    return {"kind": health.kind, "reason": {"code": health.reason.code, "message": health.reason.message}}

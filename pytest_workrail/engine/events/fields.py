"""Field types that several records share: branded ids, digests, names."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pytest_workrail.engine.core.values import is_safe_id, is_step_id
from pytest_workrail.engine.core.vocabulary import MAX_DEDUPE_KEY_LENGTH
from pytest_workrail.engine.events import ids
from pytest_workrail.engine.events.ids import IdKind
from pytest_workrail.engine.events.shapes import Holds, Pattern


def _safe(text: str) -> str:
    if not is_safe_id(text):
        raise ValueError("must be made of a-z, 0-9, '_' and '-'")
    return text


def _step(text: str) -> str:
    if not is_step_id(text):
        raise ValueError("must be a step id")
    return text


SessionId: TypeAlias = Annotated[ids.SessionId, Pattern(IdKind.SESSION.pattern)]
RunId: TypeAlias = Annotated[ids.RunId, Pattern(IdKind.RUN.pattern)]
NodeId: TypeAlias = Annotated[ids.NodeId, Pattern(IdKind.NODE.pattern)]
AttemptId: TypeAlias = Annotated[ids.AttemptId, Pattern(IdKind.ATTEMPT.pattern)]
EventId: TypeAlias = Annotated[ids.EventId, Pattern(IdKind.EVENT.pattern)]
WorkflowRef: TypeAlias = Annotated[ids.WorkflowRef, Pattern(IdKind.WORKFLOW.pattern)]
WorkflowHash: TypeAlias = Annotated[ids.WorkflowHash, Pattern(ids.DIGEST_PATTERN)]
SnapshotRef: TypeAlias = Annotated[ids.SnapshotRef, Pattern(ids.DIGEST_PATTERN)]
Digest: TypeAlias = Annotated[ids.Digest, Pattern(ids.DIGEST_PATTERN)]

DedupeKey: TypeAlias = Annotated[str, Pattern("^[a-z0-9_:>-]+$", MAX_DEDUPE_KEY_LENGTH)]
GitSha: TypeAlias = Annotated[str, Pattern("^[0-9a-f]{40}$")]
# Free of the characters that separate the parts of a step instance key.
SafeId: TypeAlias = Annotated[str, Holds(_safe)]
StepId: TypeAlias = Annotated[str, Holds(_step)]

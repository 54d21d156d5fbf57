"""Decisions about a loop: which of the submitted artifacts counts, and what it says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.core.packs import LOOP_CONTROL_KIND, ContractPack, artifact_kind
from pytest_workrail.engine.core.profiles import LoopIdCheck
from workrail_lint.base.js import Json


class Decided(Struct, frozen=True):
    """The last valid artifact says whether to go on."""

    word: ClassVar[str] = "found"
    goes_on: bool

    @property
    def detail(self) -> str:
        return f'decision="{"continue" if self.goes_on else "stop"}"'


class NotFound(Struct, frozen=True):
    """There is no artifact of that kind."""

    word: ClassVar[str] = "not_found"
    detail: str


class Unusable(Struct, frozen=True):
    """There are some, and each has issues; these are the last one's."""

    word: ClassVar[str] = "invalid"
    detail: ClassVar[str] = "Every wr.loop_control artifact fails its schema"
    issues: tuple[str, ...]


LoopReading: TypeAlias = Decided | NotFound | Unusable

_NO_ARTIFACTS = NotFound("No artifacts provided for loop control evaluation")
_NO_CONTROL = NotFound("No wr.loop_control artifact found")


def read_loop_control(artifacts: Sequence[Json], pack: ContractPack, loop_id: str, check: LoopIdCheck) -> LoopReading:
    """What the artifacts say about a loop: the last valid one decides."""
    if not artifacts:
        return _NO_ARTIFACTS
    last: tuple[str, ...] | None = None
    for artifact in reversed(artifacts):
        if not isinstance(artifact, dict) or artifact_kind(artifact) != LOOP_CONTROL_KIND:
            continue
        issues = loop_control_issues(artifact, pack, loop_id, check)
        if not issues:
            return Decided(artifact["decision"] == "continue")
        last = last or issues
    return _NO_CONTROL if last is None else Unusable(last)


def loop_control_issues(
    artifact: dict[str, Json], pack: ContractPack, loop_id: str, check: LoopIdCheck
) -> tuple[str, ...]:
    """What keeps an artifact from deciding about this loop."""
    issues = pack.issues(artifact)
    match check:
        case LoopIdCheck.IGNORE:
            return issues
        case LoopIdCheck.MATCH:
            return issues + _loop_id_issues(artifact, loop_id)


def _loop_id_issues(artifact: dict[str, Json], loop_id: str) -> tuple[str, ...]:
    if "loopId" not in artifact:
        return ("loopId: Required",)
    named = artifact["loopId"]
    # A loop id that breaks the schema has its issue already.
    if named == loop_id or not isinstance(named, str):
        return ()
    return (f'loopId: Invalid literal value, expected "{loop_id}"',)

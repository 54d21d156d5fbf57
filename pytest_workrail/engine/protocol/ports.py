"""Ports of the protocol besides the stores: workflows to start and facts about the workspace. No behaviour."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.model.ids import SessionId, SnapshotRef, WorkflowHash
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.model.words import WorkflowSourceKind
from pytest_workrail.engine.projections.session_facts import Workspace as WorkspaceFacts
from pytest_workrail.engine.store.plan import SessionTruth
from pytest_workrail.engine.store.ports import ContentError, StoreError
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


class WorkflowEntry(Struct, frozen=True):
    """A workflow that can be started, as it was compiled.

    `pin` is what the public engine would pin of it, None where that engine refuses it or none shall continue its
    sessions. `visibility` and `staleness` are the host's own words about it, passed through as they are.
    """

    ir: dict[str, Any]
    source_kind: WorkflowSourceKind = "project"
    source_ref: str = ""
    tags: tuple[str, ...] = ()
    visibility: Json = None
    staleness: Json = None
    pin: dict[str, Any] | None = None

    @property
    def workflow_id(self) -> str:
        return str(self.ir["workflowId"])


class InvalidWorkflow(Struct, frozen=True):
    """A workflow that was found and can't be started, and why."""

    workflow_id: str
    source_kind: WorkflowSourceKind
    errors: tuple[str, ...]


Found: TypeAlias = WorkflowEntry | InvalidWorkflow | None


class Tag(Struct, frozen=True):
    """A subject that workflows are listed under."""

    tag_id: str
    display_name: str
    when: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


class WorkflowLibrary(Protocol):
    """The workflows of a workspace."""

    def find(self, workflow_id: str) -> Found:
        """A workflow by id; None when there is none."""
        ...

    def entries(self) -> Sequence[WorkflowEntry]:
        """Every workflow that can be started."""
        ...

    def rejects(self) -> Sequence[InvalidWorkflow]:
        """Those that were found and left out."""
        ...

    def tags(self) -> Sequence[Tag]:
        """The catalogue of tags; empty when there is none."""
        ...

    def sources(self) -> Sequence[Json]:
        """Where the workflows come from, in the host's words."""
        ...


class GitEnd(Struct, frozen=True):
    """Where the work of a run ended in version control, as far as it is known."""

    head_sha: str | None = None
    commit_shas: tuple[str, ...] = ()


class Workspace(Protocol):
    """The folder a session works in."""

    def facts(self, workspace_path: str) -> WorkspaceFacts:
        """Repository, branch and commit."""
        ...

    def end(self, workspace_path: str | None) -> GitEnd:
        """Where version control stands when a run ends."""
        ...

    def resolve(self, reference: Mapping[str, Any], workspace_path: str | None) -> str | None:
        """The file a reference of a workflow leads to; None when there is none."""
        ...

    def overrides(self, workflow_id: str, workspace_path: str | None) -> Mapping[str, str] | None:
        """The project's bindings for a workflow as they are now; None when they are unknown."""
        ...


# Loading one thing; nothing else can be reached through the function.
LoadSession: TypeAlias = Callable[[SessionId], Ok[SessionTruth] | Err[StoreError]]
LoadSnapshot: TypeAlias = Callable[[SnapshotRef], Ok[ExecutionSnapshot | None] | Err[ContentError]]
LoadWorkflow: TypeAlias = Callable[[WorkflowHash], Ok[dict[str, Json] | None] | Err[ContentError]]

"""A workflow library in memory, and a workspace without any facts: what tests start workflows from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_workrail.engine.projections.facts import Workspace as WorkspaceFacts
from pytest_workrail.engine.protocol.ports import Found, GitEnd, InvalidWorkflow, Tag, WorkflowEntry
from workrail_lint.base.js import Json


class MemoryLibrary:
    """Workflows by id; a later one replaces an earlier one of the same id."""

    def __init__(self, found: Iterable[WorkflowEntry | InvalidWorkflow] = (), tags: Sequence[Tag] = ()) -> None:
        self._found: dict[str, WorkflowEntry | InvalidWorkflow] = {}
        self._tags = tuple(tags)
        for each in found:
            self.put(each)

    def put(self, found: WorkflowEntry | InvalidWorkflow) -> None:
        """Add a workflow, or one that can't be started."""
        self._found[found.workflow_id] = found

    def put_ir(self, ir: dict[str, Any]) -> None:
        """Add a compiled workflow of the project."""
        self.put(WorkflowEntry(ir))

    def find(self, workflow_id: str) -> Found:
        return self._found.get(workflow_id)

    def entries(self) -> Sequence[WorkflowEntry]:
        return [found for found in self._found.values() if isinstance(found, WorkflowEntry)]

    def rejects(self) -> Sequence[InvalidWorkflow]:
        return [found for found in self._found.values() if isinstance(found, InvalidWorkflow)]

    def tags(self) -> Sequence[Tag]:
        return self._tags

    def sources(self) -> Sequence[Json]:
        return [{"kind": kind} for kind in sorted({entry.source_kind for entry in self.entries()})]


class NoWorkspace:
    """A workspace of which nothing is known: no repository, no bindings, no files."""

    def facts(self, workspace_path: str) -> WorkspaceFacts:
        return WorkspaceFacts()

    def end(self, workspace_path: str | None) -> GitEnd:
        return GitEnd()

    def resolve(self, reference: Mapping[str, Any], workspace_path: str | None) -> str | None:
        return None

    def overrides(self, workflow_id: str, workspace_path: str | None) -> Mapping[str, str] | None:
        return None

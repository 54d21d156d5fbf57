"""What the nodes of team documents can do besides holding members: the bases of the generated classes."""

from __future__ import annotations

from workrail_lint.documents.nodes import Node
from workrail_lint.systems.team.vocabulary import is_text


class TaskNode(Node):
    """What a task can do."""

    id: str

    @property
    def label(self) -> str:
        """Return how a message names it."""
        return self.id or f"task {self.index}"

    @property
    def stage(self) -> str:
        """The status as it was meant: case and `_` do not count."""
        status = self.raw.get("status")
        return status.lower().replace("_", "-") if isinstance(status, str) else ""


class CriterionNode(Node):
    """What a criterion can do."""

    id: str

    @property
    def label(self) -> str:
        """Return how a message names it."""
        return self.id if is_text(self.id) else f"criterion {self.index}"

"""Behaviour of the nodes of team documents: the base classes of the generated ones, which hold the members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workrail_lint.documents.nodes import Node
from workrail_lint.systems.team.state_machine import GATES
from workrail_lint.systems.team.vocabulary import AgentName, WorkflowState, decision_number, is_text

if TYPE_CHECKING:
    from workrail_lint.systems.team.model.documents import DesignGate, GateTracking


class TaskNode(Node):
    """Base of a task."""

    id: str

    @property
    def label(self) -> str:
        """The name used in messages."""
        return self.id or f"task {self.index}"

    @property
    def stage(self) -> str:
        """The status as it was meant: case and `_` do not count."""
        status = self.raw.get("status")
        return status.lower().replace("_", "-") if isinstance(status, str) else ""


class CriterionNode(Node):
    """Base of a criterion."""

    id: str

    @property
    def label(self) -> str:
        """The name used in messages."""
        return self.id if is_text(self.id) else f"criterion {self.index}"


class DecisionNode(Node):
    """Base of a user decision."""

    decision_id: str

    @property
    def label(self) -> str:
        """The name used in messages."""
        return self.decision_id or f"decision {self.index}"

    @property
    def number(self) -> int | None:
        return decision_number(self.decision_id)

    @property
    def gate(self) -> WorkflowState | None:
        """The gate of a well-known decision."""
        return GATES.get(self.decision_id)


class StatusNode(Node):
    """Base of the status of a session."""

    gate_tracking: GateTracking | None

    @property
    def design_gate(self) -> DesignGate | None:
        """The tracked state of APPROVE_DESIGN."""
        return self.gate_tracking.approve_design if self.gate_tracking is not None else None


class AuthoredNode(Node):
    """Base of an event that has an author."""

    by: str | None

    @property
    def author(self) -> str:
        """The agent that caused it: the Orchestrator unless it names another."""
        return self.by or AgentName.ORCHESTRATOR.value


class WriteNode(AuthoredNode):
    """Base of the write of a file."""

    file: str
    set: Sequence[str]

    @property
    def changes(self) -> dict[str, str]:
        """The status of each thing that it sets."""
        pairs = (item.partition("=") for item in self.set)
        return {name: status for name, _, status in pairs}

    @property
    def decisions(self) -> list[str]:
        """The decisions that it sets."""
        return [name for name in self.changes if name.startswith("UD-")]

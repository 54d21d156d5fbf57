"""Behaviour of the nodes of team documents: the base classes of the generated ones, which hold the members."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from workrail_lint.base.closed_sets import is_member
from workrail_lint.documents.nodes import Node
from workrail_lint.systems.team.state_machine import GATES, QA_TYPES, is_approval
from workrail_lint.systems.team.vocabulary import (
    APPROVE_DESIGN_ID,
    REVIEW_STRATEGY_ID,
    AgentName,
    CorrectionStatus,
    RiskFlag,
    Strategy,
    WorkflowState,
    decision_number,
    is_text,
)

if TYPE_CHECKING:
    from workrail_lint.systems.team.model.documents import Decision, DesignGate, GateTracking


class TaskNode(Node):
    """Base of a task."""

    id: str
    type: str | None
    risk_flags: Sequence[str]
    acceptance_checks: Sequence[str]

    @property
    def label(self) -> str:
        """The name used in messages."""
        return self.id or f"task {self.index}"

    @property
    def written_status(self) -> str:
        """The status, even an unknown one; empty if it is not a string."""
        status = self.raw.get("status")
        return status if isinstance(status, str) else ""

    @property
    def stage(self) -> str:
        """The status as it was meant: case and `_` do not count."""
        return self.written_status.lower().replace("_", "-")

    @property
    def commands(self) -> list[str]:
        """The checks that are commands to run."""
        return [check for check in self.acceptance_checks if check.startswith("cmd: ")]

    @property
    def needs_qa(self) -> bool:
        """Whether QA checks the task: not if its type is unknown."""
        return self.type in QA_TYPES or self.raw.get("type") is None

    def needs_security(self, sensitive: Collection[str] = ()) -> bool:
        """Return whether Security checks the task, given the ids of those that are sensitive anyway."""
        return RiskFlag.SECURITY.value in self.risk_flags or self.id in sensitive


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

    user_decisions: Sequence[Decision]
    gate_tracking: GateTracking | None

    @property
    def written_state(self) -> str | None:
        """The state, even an unknown one."""
        state = self.raw.get("current_state")
        return state if isinstance(state, str) else None

    def decision(self, ident: str) -> Decision | None:
        """Return the first decision of an id."""
        return next((decision for decision in self.user_decisions if decision.decision_id == ident), None)

    def answer(self, ident: str) -> str | None:
        """Return the answer to a decision that is answered."""
        decision = self.decision(ident)
        return decision.answer if decision is not None and decision.status == "answered" else None

    @property
    def is_design_approved(self) -> bool:
        return is_approval(self.answer(APPROVE_DESIGN_ID))

    @property
    def strategy(self) -> Strategy | None:
        """The stored strategy; None while there is no canonical one."""
        answer = self.answer(REVIEW_STRATEGY_ID)
        return Strategy(answer) if is_member(answer, Strategy) else None

    @property
    def correction(self) -> CorrectionStatus | None:
        """The stored correction status, absent and null read as none; None for an unknown status."""
        gate = self.design_gate
        if gate is None or gate.raw.get("correction_status") is None:
            return CorrectionStatus.NONE
        return None if gate.correction_status is None else CorrectionStatus(gate.correction_status)

    @property
    def returns_to(self) -> str | None:
        """Where ASK_USER goes back to: the context of what is pending, else of the last sequential decision."""
        sequential = [decision for decision in self.user_decisions if decision.number is not None]
        pending = [decision for decision in sequential if decision.status == "pending"]
        context = next((decision.state_context for decision in (*pending[:1], *sequential[-1:])), None)
        return context if is_member(context, WorkflowState) else None

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

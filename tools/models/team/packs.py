"""The team documents as contract packs."""

from __future__ import annotations

import os
from typing import Any

from tools.models.team import examples
from tools.models.team.backlog import Acceptance, TaskBacklog
from tools.models.team.exchange import AgentInput, AgentOutput, DispatchPlan
from tools.models.team.status import SessionStatus
from tools.models.team.wrapped import (
    ApprovalHistory,
    ArchitectureDocument,
    ReportDocument,
    Session,
    SideDocument,
    SpecDocument,
)
from tools.models.workrail.packs import Pack, entries
from workrail_lint.systems import team

PACKS_FILE = os.path.join(os.path.dirname(team.__file__), "packs.json")
_PACKS = {
    "acceptance": Pack(Acceptance, examples.ACCEPTANCE, "Acceptance criteria", "When the work is accepted."),
    "agent_input": Pack(AgentInput, examples.INPUT, "Agent input", "Everything an agent knows when it starts."),
    "agent_output": Pack(AgentOutput, examples.OUTPUT, "Agent output", "The one object that an agent replies with."),
    "approval_history": Pack(
        ApprovalHistory,
        examples.HISTORY,
        "Approval history",
        "The changes of the design that the user asked for.",
    ),
    "architecture_document": Pack(
        ArchitectureDocument,
        examples.ARCHITECTURE,
        "Architecture document",
        "A design by its sections.",
    ),
    "dispatch_plan": Pack(DispatchPlan, examples.PLAN, "Dispatch plan", "Which agents are sent off next, and why."),
    "report_document": Pack(
        ReportDocument,
        examples.REPORT,
        "Report",
        "What the user gets at the end, by its four topics.",
    ),
    "session": Pack(Session, examples.SESSION, "Session", "A session folder: its mode, its state and its files."),
    "session_status": Pack(
        SessionStatus,
        examples.STATUS,
        "Session status",
        "Where a session stands and what was decided.",
    ),
    "side_document": Pack(
        SideDocument,
        examples.SIDE,
        "Side document",
        "A decision record, a research report or a design spec.",
    ),
    "spec_document": Pack(SpecDocument, examples.SPEC, "Spec", "A spec by its sections."),
    "task_backlog": Pack(TaskBacklog, examples.BACKLOG, "Task backlog", "The plan, and how far each task is."),
}


def packs() -> list[dict[str, Any]]:
    """Return the entries of a catalog's list of contracts, by id."""
    return entries("team", _PACKS, **{"x-lengthUnit": "u16"})

"""Writes the classes of the team documents: `workrail_lint/systems/team/model/documents.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.models.runtime import Plan, Runtime
from tools.models.team import status
from tools.models.team.backlog import Acceptance, ChangeRequest, TaskBacklog
from tools.models.team.exchange import AgentInput, AgentOutput, DispatchPlan
from tools.models.team.scalars import Open
from workrail_lint.documents.models import AnyText, Listed, OneOf
from workrail_lint.systems.team.vocabulary import DecisionStatus

PATH = Path(__file__).parents[3] / "workrail_lint" / "systems" / "team" / "model" / "documents.py"
PLAN = Plan(
    "The objects of team documents.",
    bases={
        "Criterion": "CriterionNode",
        "Decision": "DecisionNode",
        "SessionStatus": "StatusNode",
        "Task": "TaskNode",
    },
    bases_module="workrail_lint.systems.team.model.nodes",
    empty=frozenset({"Artifacts"}),
)


class Decision(Open):
    """A question to the user. What its members may be depends on its status, which rules look at."""

    decision_id: AnyText
    question: AnyText
    status: OneOf[DecisionStatus]
    answer: AnyText | None
    asked_at: AnyText
    resolved_at: AnyText | None
    state_context: AnyText
    resolution_reason: AnyText | None


class SessionStatus(status.SessionStatus):
    """status.json: where a session is and what its user decided. The state of tasks is in tasks.yaml alone."""

    user_decisions: Listed[Decision]  # type: ignore[assignment]


def render() -> str:
    """Return the text of the module, formatted like all others."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(PATH), "-"]
    roots = (Acceptance, SessionStatus, AgentInput, AgentOutput, DispatchPlan, ChangeRequest)
    text = Runtime(TaskBacklog, PLAN, *roots).module()
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=PATH.parent).stdout

"""Writes the classes of team documents, traces and scenarios: the modules in `workrail_lint/systems/team/model`."""

from __future__ import annotations

from pathlib import Path

from tools.models.runtime import Plan, Runtime, formatted
from tools.models.team import status
from tools.models.team.backlog import Acceptance, ChangeRequest, TaskBacklog
from tools.models.team.exchange import AgentInput, AgentOutput, DispatchPlan
from tools.models.team.scalars import Open
from tools.models.team.trace import RunTrace
from workrail_lint.documents.models import AnyText, Listed, OneOf
from workrail_lint.systems.team.scenario import TeamScenario
from workrail_lint.systems.team.vocabulary import DecisionStatus

_FOLDER = Path(__file__).parents[3] / "workrail_lint" / "systems" / "team" / "model"
_BASES = "workrail_lint.systems.team.model.nodes"
PLAN = Plan(
    "The objects of team documents.",
    bases={
        "Criterion": "CriterionNode",
        "Decision": "DecisionNode",
        "SessionStatus": "StatusNode",
        "Task": "TaskNode",
    },
    bases_module=_BASES,
    empty=frozenset({"Artifacts"}),
)
TRACE_PLAN = Plan(
    "The events of a trace.",
    bases={"FileWritten": "WriteNode", "TaskStatusSet": "AuthoredNode", "WriteFailed": "WriteNode"},
    bases_module=_BASES,
)
SCENARIO_PLAN = Plan(
    "The objects of a team scenario.",
    plain={"ExpectedBlocker": "Mapping[str, Any]"},  # compared with those of a run, and of no interest before
    is_complete=True,  # what a scenario says is looked at when its form is right
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


def modules() -> dict[str, str]:
    """Return the path and the text of each module, formatted like all others."""
    roots = (Acceptance, SessionStatus, AgentInput, AgentOutput, DispatchPlan, ChangeRequest)
    runtimes = {
        "documents.py": Runtime(TaskBacklog, PLAN, *roots),
        "events.py": Runtime(RunTrace, TRACE_PLAN),
        "scenario.py": Runtime(TeamScenario, SCENARIO_PLAN),
    }
    paths = {str(_FOLDER / name): runtime for name, runtime in runtimes.items()}
    return {path: formatted(path, runtime.module()) for path, runtime in paths.items()}

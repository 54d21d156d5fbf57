"""tasks.yaml, acceptance.json and a line of approve-design-history.jsonl."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tools.models.team.scalars import Check, CriterionId, Open, RepoPath, Said, TaskId, Texts, Timestamp, one_or_more
from workrail_lint.documents.models import AnyText, Array, Listed, Maybe, OneOf, Text
from workrail_lint.systems.team import vocabulary as words


class Project(Open):
    """The project being built, and the rules that hold for every task."""

    name: AnyText
    definition_of_done: Texts


class Task(Open):
    """A piece of work. A lean session may leave out everything but the first four members."""

    id: TaskId
    status: OneOf[words.TaskStatus]
    goal: Said
    acceptance_checks: Annotated[tuple[Check, ...], Array(1)]
    depends_on: Maybe[Listed[TaskId]] = None
    done_when: Maybe[Annotated[tuple[AnyText, ...], Array(1)]] = None
    type: Maybe[OneOf[words.TaskType]] = None
    title: Maybe[AnyText] = None
    risk_flags: Maybe[Listed[OneOf[words.RiskFlag]]] = None
    non_goals: Maybe[Texts] = None
    files_expected: Maybe[Texts] = None
    context_files: Maybe[Listed[RepoPath]] = None


class TaskBacklog(Open):
    """tasks.yaml: the plan, and the only place that says how far each task is."""

    project: Project
    tasks: Annotated[tuple[Task, ...], Array(1)]


class Criterion(Open):
    """A criterion and how to verify it: commands, or steps for a person after `manual: `."""

    id: CriterionId
    description: Said
    verify: one_or_more(Said)  # type: ignore[valid-type]


class Acceptance(Open):
    """acceptance.json: when the work is accepted."""

    acceptance_criteria: Annotated[tuple[Criterion, ...], Array(1)]


class ChangeRequest(Open):
    """A line of approve-design-history.jsonl: a change of the design that the user asked for."""

    at_: Timestamp = Field(alias="at")
    decision_id: Literal["UD-APPROVE-DESIGN"]
    answer: Annotated[str, Text(pattern="^changes-requested:")]
    state_context: Literal["APPROVE_DESIGN"]

"""Inputs and outputs of agents, and the plan that dispatches them."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Literal

from pydantic import Discriminator, Tag

from tools.models.team.scalars import (
    Check,
    Open,
    OptionId,
    Paths,
    RepoPath,
    Said,
    SessionPath,
    Shut,
    TaskRef,
    Texts,
    text_or,
)
from workrail_lint.documents.models import AnyText, Array, ByMember, Listed, Maybe, Number, OneOf
from workrail_lint.systems.team import vocabulary as words


class AddedFile(Shut):
    """A new file."""

    path: RepoPath
    change_type: Literal["added"]


class ModifiedFile(Shut):
    """A changed file."""

    path: RepoPath
    change_type: Literal["modified"]


class DeletedFile(Shut):
    """A removed file."""

    path: RepoPath
    change_type: Literal["deleted"]


class RenamedFile(Shut):
    """A moved file, with the path it had."""

    path: RepoPath
    change_type: Literal["renamed"]
    old_path: RepoPath


ChangedFile = Annotated[
    Annotated[AddedFile, Tag("added")]
    | Annotated[ModifiedFile, Tag("modified")]
    | Annotated[DeletedFile, Tag("deleted")]
    | Annotated[RenamedFile, Tag("renamed")],
    Discriminator(ByMember("change_type")),
]


class GivenTask(Open):
    """A task as an agent is given it."""

    id: TaskRef
    title: Said
    goal: Said
    non_goals: Texts
    constraints: Texts
    context_files: Paths
    session_changed_files: Maybe[Listed[ChangedFile]] = None
    acceptance_checks: Listed[Check]
    risk_flags: Annotated[tuple[OneOf[words.RiskFlag], ...], Array(unique=True)]


class RepoState(Open):
    """The repository as it is."""

    branch: Said
    ci_status: OneOf[words.CiStatus]
    last_failed_step: AnyText | None = None


class AgentInput(Open):
    """Everything an agent knows when it starts."""

    task: GivenTask
    project_type: OneOf[words.ProjectType]
    repo_state: RepoState
    tools_available: Texts
    artifact_list: Maybe[Texts] = None
    research_question: Maybe[Said] = None
    lean: Maybe[bool] = None


class ReviewComment(Open):
    """Something a Reviewer noticed."""

    severity: Maybe[OneOf[words.ReviewSeverity]] = None
    category: Maybe[OneOf[words.ReviewCategory]] = None
    file: Maybe[AnyText] = None
    line: Maybe[AnyText] = None
    message: Maybe[AnyText] = None
    suggested_fix: Maybe[AnyText] = None


class SecurityFinding(Open):
    """Something Security found."""

    severity: Maybe[OneOf[words.FindingSeverity]] = None
    category: Maybe[OneOf[words.FindingCategory]] = None
    file: Maybe[AnyText] = None
    description: Maybe[AnyText] = None
    recommended_fix: Maybe[AnyText] = None


class TestResults(Open):
    """The results of QA's tests."""

    __test__ = False

    passed: Maybe[Annotated[int, Number(0, whole=True)]] = None
    failed: Maybe[Annotated[int, Number(0, whole=True)]] = None
    skipped: Maybe[Annotated[int, Number(0, whole=True)]] = None
    output: Maybe[AnyText] = None


class ResearchOption(Open):
    """A way to go that a Researcher compared with others."""

    id: OptionId
    label: AnyText
    pros: Texts
    cons: Texts
    effort: OneOf[words.Level]
    recommended: bool


class Artifacts(Open):
    """The results of the work; which members are required depends on the role."""

    files_to_create_or_update: Maybe[Texts] = None
    files_changed: Maybe[Texts] = None
    tests_added_or_updated: Maybe[Texts] = None
    commands_to_run: Maybe[Texts] = None
    manual_steps: Maybe[Texts] = None
    notes: Maybe[Texts] = None
    review_comments: Maybe[Listed[text_or(ReviewComment)]] = None  # type: ignore[valid-type]
    findings: Maybe[Listed[text_or(SecurityFinding)]] = None  # type: ignore[valid-type]
    design_spec_inline: AnyText | None = None
    design_spec_file: SessionPath | None = None
    confidence: Maybe[OneOf[words.Level]] = None
    options: Maybe[Listed[ResearchOption]] = None
    test_results: Maybe[TestResults] = None


class Gates(Open):
    """The checks that the work still needs."""

    meets_definition_of_done: bool
    needs_review: bool
    needs_tests: bool
    security_concerns: Texts


class Next(Open):
    """Who should go on, with what, and why."""

    recommended_agent: OneOf[words.AgentName]
    recommended_task_id: TaskRef
    reason: Said


class AgentOutput(Open):
    """The one JSON object that an agent replies with."""

    status: OneOf[words.OutputStatus]
    summary: Said
    artifacts: Artifacts
    gates: Gates
    next: Next


class Specialist(str, Enum):
    """Who may be dispatched: every agent but the Orchestrator, which never dispatches itself."""

    SPEC_AGENT = "SpecAgent"
    ARCHITECT = "Architect"
    PLANNER = "Planner"
    DESIGNER = "Designer"
    RESEARCHER = "Researcher"
    CODER = "Coder"
    REVIEWER = "Reviewer"
    QA = "QA"
    SECURITY = "Security"
    INTEGRATOR = "Integrator"
    DOCS = "Docs"


class DispatchItem(Open):
    """One agent and its task."""

    agent: OneOf[Specialist]
    task: GivenTask
    project_type: OneOf[words.ProjectType]


class Blocker(Open):
    """Why a session can't go on."""

    blocker: Said
    detail: Maybe[AnyText] = None


class DispatchPlan(Open):
    """The next actions that the Orchestrator asks of its driver."""

    state: OneOf[words.WorkflowState]
    dispatch: Annotated[tuple[DispatchItem, ...], Array(0, 2)]
    why: Said
    blockers: Listed[text_or(Blocker)]  # type: ignore[valid-type]
    next_state_hint: Maybe[OneOf[words.WorkflowState]] = None

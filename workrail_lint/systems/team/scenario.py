"""The scenario of a team session. The JSON Schema that ships is generated from here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from workrail_lint.documents.models import (
    AnyText,
    Array,
    ByPresence,
    ByType,
    Closed,
    FilledText,
    Listed,
    Maybe,
    Number,
    OneOf,
    ScenarioFile,
    Text,
)
from workrail_lint.systems.team.vocabulary import (
    SESSION_NAME,
    AgentName,
    CheckResult,
    CiStatus,
    DecisionStatus,
    Defaults,
    Mode,
    ProjectType,
    ReplyFault,
    TaskStatus,
    WorkflowState,
    WriteFault,
)

Count = Annotated[int, Number(1, whole=True)]
Whole = Annotated[int, Number(0, whole=True)]
SessionName = Annotated[str, Text(pattern=SESSION_NAME)]
# A string is written as it is, any other value as JSON; null suppresses a file that the agent writes by default.
Files = dict[str, Any]


class Resume(Closed):
    """A session that was started earlier."""

    resume: Annotated[
        Annotated[FilledText, Tag("string")] | Annotated[Files, Tag("object")], Discriminator(ByType())
    ] = Field(description="A folder with the files of the session, relative to this file; or the files themselves.")
    as_: Maybe[OneOf[WorkflowState]] = Field(
        None,
        alias="as",
        description="The state to continue in, for a session that is BLOCKED for a reason other than a gate.",
    )
    mtimes: Maybe[dict[str, FilledText]] = Field(
        None, description="When files were last written; for other files, the time of the virtual clock."
    )


class RepoState(Closed):
    """The facts about the repository that the agents know."""

    branch: Maybe[FilledText] = Field(None, description="The branch (default: main).")
    ci_status: Maybe[OneOf[CiStatus]] = Field(None, alias="ci_status", description="The result of the last build.")


class Request(Closed):
    """The user's request."""

    user_goal: Maybe[FilledText] = Field(None, alias="user_goal", description="The goal, in one sentence.")
    project_type: Maybe[OneOf[ProjectType]] = Field(None, alias="project_type", description="What is being built.")
    constraints: Maybe[Listed[AnyText]] = Field(None, description="The constraints of the request.")
    repo_state: Maybe[RepoState] = Field(None, alias="repo_state", description="The repository at the start.")
    tools_available: Maybe[Listed[FilledText]] = Field(
        None, alias="tools_available", description="The tools of the agents (default: the five known tools)."
    )


class Flags(Closed):
    """The special properties of the request."""

    ui: Maybe[bool] = Field(None, description="The request has a user interface, so the Designer works too.")
    research: Maybe[bool] = Field(None, description="The request needs research, so the Researcher works too.")
    sensitive: Maybe[Listed[FilledText]] = Field(
        None, description="Tasks that touch authentication, input or the network, so Security checks them."
    )
    ask_on_notes: Maybe[bool] = Field(None, description="Whether PASS WITH NOTES is shown to the user (default: true).")


class Reply(Closed):
    """The actions of an agent in one dispatch."""

    output: Maybe[dict[str, Any]] = Field(
        None, description="Fields of its output, merged over the smallest valid output of its role."
    )
    text: Maybe[AnyText] = Field(None, description="The text of its reply, instead of an output.")
    files: Maybe[Files] = Field(
        None,
        description="What it writes, relative to the session folder or, with the prefix `repo:`, to the repository.",
    )
    fault: Maybe[OneOf[ReplyFault]] = Field(None, description="How the dispatch fails.")


class Refusal(Closed):
    """The user refuses to decide."""

    cancel: FilledText = Field(description="Why.")


class Moot(Closed):
    """The question has become moot."""

    skip: FilledText = Field(description="Why.")


Answer = Annotated[
    Annotated[AnyText, Tag("string")]
    | Annotated[None, Tag("null")]
    | Annotated[
        Annotated[Refusal, Tag("cancel")] | Annotated[Moot, Tag("skip")],
        Discriminator(ByPresence({"cancel": "cancel", "skip": "skip"})),
        Tag("object"),
    ],
    Discriminator(ByType()),
]
Corrector = OneOf[AgentName]
Correctors = Annotated[
    Annotated[Corrector, Tag("string")] | Annotated[Annotated[tuple[Corrector, ...], Array(1)], Tag("array")],
    Discriminator(ByType()),
]
Results = Annotated[
    Annotated[OneOf[CheckResult], Tag("string")]
    | Annotated[Annotated[tuple[OneOf[CheckResult], ...], Array(1)], Tag("array")],
    Discriminator(ByType()),
]


class Fault(Closed):
    """A write that fails."""

    op: Literal["write"] = Field(description="The operation that fails.")
    file: FilledText = Field(description="The file, relative to the session folder.")
    nth: Count = Field(description="Which write of it, from 1; only writes that the trace shows are counted.")
    kind: OneOf[WriteFault] = Field(description="How it fails.")


class Limits(Closed):
    """When a run counts as endless."""

    steps: Maybe[Count] = Field(None, description="The number of events it may have (default: 500).")


class Team(Closed):
    """The simulated session: what agents and the user say, and what fails."""

    mode: Maybe[OneOf[Mode]] = Field(None, description="The path (default: full; on resume, inferred from the files).")
    session: Maybe[SessionName] = Field(None, description="The name of the session.")
    start: Maybe[
        Annotated[Annotated[Literal["new"], Tag("string")] | Annotated[Resume, Tag("object")], Discriminator(ByType())]
    ] = Field(None, description="Where it starts (default: a new session).")
    request: Maybe[Request] = Field(None, description="What the user asked for.")
    flags: Maybe[Flags] = Field(None, description="What is special about it.")
    repository: Maybe[dict[str, AnyText]] = Field(None, description="Files of the repository, by path.")
    replies: Maybe[dict[str, Reply]] = Field(
        None, description="What agents do, by `Agent/task#n`: the nth dispatch of that agent with that task."
    )
    defaults: Maybe[OneOf[Defaults]] = Field(
        None, description="What agents do otherwise: the minimal valid reply, or nothing, which fails the scenario."
    )
    corrections: Maybe[Listed[Correctors]] = Field(
        None, description="Who corrects the design, one entry per change request (default: Architect)."
    )
    user: Maybe[dict[str, Listed[Answer]]] = Field(
        None, description="The user's answers, by decision id: a string, null for no answer, or a refusal."
    )
    faults: Maybe[Listed[Fault]] = Field(None, description="Writes that fail.")
    checks: Maybe[dict[str, Results]] = Field(
        None, description="The results of check commands; the last of several results repeats (default: pass)."
    )
    limits: Maybe[Limits] = Field(None, description="When the run counts as endless.")


class ExpectedDecision(Closed):
    """A decision at the end; fields that are left out are not compared."""

    status: Maybe[OneOf[DecisionStatus]] = Field(None, description="Its status.")
    answer: Maybe[AnyText] = Field(None, description="Its answer.")
    reason: Maybe[AnyText] = Field(None, description="Why it was closed without an answer.")


class ExpectedBlocker(Closed):
    """A blocker; fields that are left out are not compared."""

    code: FilledText = Field(description="Its code.")
    pointer: Maybe[dict[str, AnyText]] = Field(None, description="What it is about.")
    message: Maybe[FilledText] = Field(None, description="A part of its message.")
    fix: Maybe[FilledText] = Field(None, description="A part of what it suggests.")


_Decision = Annotated[
    Annotated[OneOf[DecisionStatus], Tag("string")] | Annotated[ExpectedDecision, Tag("object")],
    Discriminator(ByType()),
]
_Blocker = Annotated[
    Annotated[FilledText, Tag("string")] | Annotated[ExpectedBlocker, Tag("object")], Discriminator(ByType())
]


class Expectations(Closed):
    """The expectations of the run. Fields that are left out are not checked, except two that have a default."""

    final_state: Maybe[OneOf[WorkflowState]] = Field(None, description="The final state (default: DONE).")
    states: Maybe[Listed[OneOf[WorkflowState]]] = Field(None, description="The states, in order.")
    dispatches: Maybe[Listed[FilledText]] = Field(
        None, description="The dispatches as `Agent/task`, in order, without retries."
    )
    decisions: Maybe[dict[str, _Decision]] = Field(None, description="Decisions at the end, by id.")
    tasks: Maybe[dict[str, OneOf[TaskStatus]]] = Field(None, description="Tasks at the end, all of them.")
    retry_counts: Maybe[dict[str, dict[str, Whole]]] = Field(None, description="The retry counts at the end.")
    known_issues: Maybe[Whole] = Field(None, description="The number of known issues at the end.")
    blockers: Maybe[Listed[_Blocker]] = Field(None, description="Every blocker, in order.")
    findings: Maybe[Listed[FilledText]] = Field(
        None, description="The codes of all errors and warnings, in order (default: no errors)."
    )


class TeamScenario(ScenarioFile):
    """A simulated team session and its expected result."""

    team: Team = Field(description="The session.")
    expect: Maybe[Expectations] = Field(None, description="What must be true of the run.")

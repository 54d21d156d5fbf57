"""The scenario of a block run. The JSON Schema that ships is generated from here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from workrail_lint.documents.models import (
    AnyText,
    ByType,
    Closed,
    FilledText,
    Listed,
    Maybe,
    Number,
    OneOf,
    ScenarioFile,
)
from workrail_lint.systems.blocks.vocabulary import (
    BlockerCode,
    Containers,
    Enforcement,
    EventType,
    ExecutionStatus,
    FailureMode,
    GitState,
    NodeStatus,
    PauseAnswer,
    Profile,
    Resolution,
    RunProfile,
    Synthetic,
)

Ticks = Annotated[int, Number(1, 1_000_000, whole=True)]
ExitCode = Annotated[int, Number(0, 255, whole=True)]


class Repo(Closed):
    """The repository that the blocks find at the mount point."""

    files: Maybe[dict[str, AnyText]] = Field(None, description="Path to content of every file it starts with.")
    git: Maybe[OneOf[GitState]] = Field(
        None, description="A clean repository gives lanes worktrees; otherwise they get copies (default: none)."
    )
    restrictions: Maybe[Listed[AnyText]] = Field(None, description="Patterns of the files that may be edited.")
    read_only: Maybe[bool] = Field(None, description="Whether editing is forbidden.")


Output = Annotated[
    Annotated[Literal["none"], Tag("string")] | Annotated[dict[str, Any], Tag("object")],
    Discriminator(ByType()),
    Field(description="Fields of the output, merged over those of the harness; none writes no file."),
]
Writing = Annotated[Annotated[AnyText, Tag("string")] | Annotated[None, Tag("null")], Discriminator(ByType())]


class Reply(Closed):
    """The actions of an agent in one run of its block."""

    ticks: Maybe[Ticks] = Field(None, description="The number of seconds it takes (default: 1).")
    write: Maybe[dict[str, Writing]] = Field(None, description="Path to new content; null deletes the file.")
    exit: Maybe[ExitCode] = Field(None, description="The exit code (default: 0).")
    output: Maybe[Output] = Field(None)
    raw_: Maybe[AnyText] = Field(None, alias="raw", description="The raw content of the output file.")
    timeout: Maybe[bool] = Field(None, description="Whether it runs until it times out.")
    abort: Maybe[bool] = Field(None, description="Whether the user aborts the run during this block.")


class Revision(Closed):
    """Sends a block back."""

    revise: FilledText = Field(description="The feedback of the user.")


Answer = Annotated[
    Annotated[FilledText, Tag("string")] | Annotated[Revision, Tag("object")],
    Discriminator(ByType()),
    Field(description="continue, abort, the value of an option, or what to revise."),
]


class Checks(Closed):
    """Extra runs for comparison."""

    stateless: Maybe[bool] = Field(None, description="Whether warm and cold containers must give the same result.")
    permutations: Maybe[bool] = Field(None, description="Whether lanes finish in every possible order.")


class Block(Closed):
    """A run: a definition, a repository, what agents do and what people answer."""

    workflow: FilledText = Field(description="The definition, relative to this file.")
    workflows: Maybe[Listed[FilledText]] = Field(None, description="Definitions that subWorkflow nodes run.")
    repo: Maybe[Repo] = Field(None, description="The repository (default: empty).")
    execution: Maybe[FilledText] = Field(None, description="Id of the run.")
    telemetry: Maybe[bool] = Field(None, description="Whether telemetry is on (default: true).")
    failure_mode: Maybe[OneOf[FailureMode]] = Field(None, description="The failure mode (default: lenient).")
    containers: Maybe[OneOf[Containers]] = Field(
        None, description="Whether containers are warm or cold (default: warm)."
    )
    enforce: Maybe[OneOf[Enforcement]] = Field(None, description="What enforces restrictions (default: prompt).")
    deliverables: Maybe[OneOf[Profile]] = Field(None, description="The profile of deliverables (default: contract).")
    profile: Maybe[OneOf[RunProfile]] = Field(
        None, description="By what the definition is judged and run (default: the setting block-profile)."
    )
    variables: Maybe[dict[str, Any]] = Field(None, description="Variables of the definition and their values.")
    replies: Maybe[dict[str, Reply]] = Field(
        None, description="By node id; `node#2` is for its second run, the plain id for all other runs."
    )
    gates: Maybe[dict[str, Listed[Answer]]] = Field(None, description="Answers by node, in the order of the questions.")
    conflicts: Maybe[dict[str, FilledText]] = Field(None, description="By path: a lane, manual or abort.")
    manual: Maybe[dict[str, AnyText]] = Field(None, description="The content of manual choices, by path.")
    pauses: Maybe[dict[str, OneOf[PauseAnswer]]] = Field(
        None, description="Nodes or groups before which the user pauses the run, and how that ends."
    )
    check: Maybe[Checks] = Field(None, description="Extra comparisons.")


class ExpectedBlocker(Closed):
    """A blocker; fields that are left out are not compared."""

    code: OneOf[BlockerCode] = Field(description="Its code.")
    node: Maybe[FilledText] = Field(None, description="The node its pointer names.")
    group: Maybe[FilledText] = Field(None, description="The group its pointer names.")
    path: Maybe[AnyText] = Field(None, description="The path its pointer names.")
    message: Maybe[FilledText] = Field(None, description="A part of its message.")


class ExpectedFinding(Closed):
    """A finding; fields that are left out are not compared."""

    code: FilledText = Field(description="Its code.")
    file: Maybe[FilledText] = Field(None, description="The file it is about.")
    pointer: Maybe[AnyText] = Field(None, description="The place in that file.")
    message: Maybe[FilledText] = Field(None, description="A part of its message.")


class ExpectedConflict(Closed):
    """A conflict; fields that are left out are not compared."""

    conflicting_file: FilledText = Field(description="The path.")
    lanes: Maybe[Listed[FilledText]] = Field(None, description="The lanes, first to finish first.")
    resolution: Maybe[OneOf[Resolution]] = Field(None, description="How it was resolved.")
    applied_from: Maybe[FilledText] = Field(None, description="The lane whose version was applied.")


Blocker = Annotated[
    Annotated[FilledText, Tag("string")] | Annotated[ExpectedBlocker, Tag("object")], Discriminator(ByType())
]
Finding = Annotated[
    Annotated[FilledText, Tag("string")] | Annotated[ExpectedFinding, Tag("object")], Discriminator(ByType())
]


class Expectations(Closed):
    """The expectations of the run. Only fields that are present, the status and broken contracts are checked."""

    execution_status: Maybe[OneOf[ExecutionStatus]] = Field(None, description="The final status (default: completed).")
    steps: Maybe[Listed[FilledText]] = Field(None, description="The nodes in the order in which their blocks started.")
    nodes: Maybe[dict[str, OneOf[NodeStatus]]] = Field(None, description="The status of nodes at the end.")
    synthetic: Maybe[dict[str, OneOf[Synthetic]]] = Field(
        None, description="Every node whose output the harness wrote, and why."
    )
    events: Maybe[Listed[OneOf[EventType]]] = Field(None, description="The types of all events, in order.")
    blockers: Maybe[Listed[Blocker]] = Field(None, description="All blockers, in their order.")
    findings: Maybe[Listed[Finding]] = Field(None, description="All findings, in their order.")
    conflicts: Maybe[Listed[ExpectedConflict]] = Field(None, description="All conflicts, merge by merge.")
    applied: Maybe[dict[str, FilledText]] = Field(None, description="Every path that a merge applied, and its lane.")
    files: Maybe[dict[str, Writing]] = Field(None, description="Files of the workspace; null for a missing file.")


class BlockScenario(ScenarioFile):
    """A simulated run of stateless blocks and its expected result."""

    block: Block = Field(description="The run.")
    expect: Maybe[Expectations] = Field(None, description="What must be true of the run.")

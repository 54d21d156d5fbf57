"""The scenario of a block run. The JSON Schema that ships is generated from here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from workrail_lint.documents.models.base import Closed
from workrail_lint.documents.models.scalars import AnyText, FilledText, Listed, Maybe, Number, OneOf
from workrail_lint.documents.models.scenario import LockId, Name
from workrail_lint.documents.models.unions import ByType
from workrail_lint.systems.blocks.run_vocabulary import (
    BlockerCode,
    Containers,
    Enforcement,
    EventType,
    GitState,
    PauseAnswer,
    Profile,
)
from workrail_lint.systems.blocks.vocabulary import ExecutionStatus, FailureMode, NodeStatus, Resolution, Synthetic

Ticks = Annotated[int, Number(1, 1_000_000, whole=True)]
ExitCode = Annotated[int, Number(0, 255, whole=True)]


class Repo(Closed):
    """The repository that the blocks find at the mount point."""

    files: Maybe[dict[str, AnyText]] = Field(None, description="Path to text of every file it starts with.")
    git: Maybe[OneOf[GitState]] = Field(
        None, description="A clean repository gives lanes worktrees; anything else gives them copies. none by itself."
    )
    restrictions: Maybe[Listed[AnyText]] = Field(None, description="Patterns of the files that may be edited.")
    read_only: Maybe[bool] = Field(None, description="Whether nothing may be edited.")


Output = Annotated[
    Annotated[Literal["none"], Tag("string")] | Annotated[dict[str, Any], Tag("object")],
    Discriminator(ByType()),
    Field(description="Members of the output, over those the harness gives it; none writes no file."),
]
Writing = Annotated[Annotated[AnyText, Tag("string")] | Annotated[None, Tag("null")], Discriminator(ByType())]


class Reply(Closed):
    """What an agent does in one run of its block."""

    ticks: Maybe[Ticks] = Field(None, description="How many seconds it takes; 1 when left out.")
    write: Maybe[dict[str, Writing]] = Field(None, description="Path to new text; null deletes the file.")
    exit: Maybe[ExitCode] = Field(None, description="The exit code; 0 when left out.")
    output: Maybe[Output] = Field(None)
    raw: Maybe[AnyText] = Field(None, description="The text of the output file, as it is.")
    timeout: Maybe[bool] = Field(None, description="Whether it goes on until its time is up.")
    abort: Maybe[bool] = Field(None, description="Whether the user aborts the run while it is at work.")


class Revision(Closed):
    """Sends a block back."""

    revise: FilledText = Field(description="What the user says about it.")


Answer = Annotated[
    Annotated[FilledText, Tag("string")] | Annotated[Revision, Tag("object")],
    Discriminator(ByType()),
    Field(description="continue, abort, the value of an option, or what to revise."),
]


class Checks(Closed):
    """Runs made for comparison."""

    stateless: Maybe[bool] = Field(None, description="Whether warm and cold containers have to give the same.")
    permutations: Maybe[bool] = Field(None, description="Whether lanes are made to finish in every order.")


class Block(Closed):
    """A run: a definition, a repository, what agents do and what people answer."""

    workflow: FilledText = Field(description="The definition, relative to this file.")
    workflows: Maybe[Listed[FilledText]] = Field(None, description="Definitions that subWorkflow nodes run.")
    repo: Maybe[Repo] = Field(None, description="The repository; empty when left out.")
    execution: Maybe[FilledText] = Field(None, description="Id of the run.")
    telemetry: Maybe[bool] = Field(None, description="Whether telemetry is on; it is when left out.")
    failure_mode: Maybe[OneOf[FailureMode]] = Field(None, description="lenient when left out.")
    containers: Maybe[OneOf[Containers]] = Field(None, description="warm when left out.")
    enforce: Maybe[OneOf[Enforcement]] = Field(None, description="prompt when left out.")
    deliverables: Maybe[OneOf[Profile]] = Field(None, description="contract when left out.")
    variables: Maybe[dict[str, Any]] = Field(None, description="Variables of the definition and their values.")
    replies: Maybe[dict[str, Reply]] = Field(
        None, description="By node id; `node#2` is for its second run, the plain id for all without one of their own."
    )
    gates: Maybe[dict[str, Listed[Answer]]] = Field(None, description="Answers by node, in the order of the questions.")
    conflicts: Maybe[dict[str, FilledText]] = Field(None, description="By path: a lane, manual or abort.")
    manual: Maybe[dict[str, AnyText]] = Field(None, description="The texts of manual choices, by path.")
    pauses: Maybe[dict[str, OneOf[PauseAnswer]]] = Field(
        None, description="Nodes or groups before which the user pauses the run, and how that ends."
    )
    check: Maybe[Checks] = Field(None, description="What else is to be compared.")


class ExpectedBlocker(Closed):
    """A blocker, as far as it matters."""

    code: OneOf[BlockerCode] = Field(description="Its code.")
    node: Maybe[FilledText] = Field(None, description="The node its pointer names.")
    group: Maybe[FilledText] = Field(None, description="The group its pointer names.")
    path: Maybe[AnyText] = Field(None, description="The path its pointer names.")
    message: Maybe[FilledText] = Field(None, description="A part of its message.")


class ExpectedFinding(Closed):
    """A finding, as far as it matters."""

    code: FilledText = Field(description="Its code.")
    file: Maybe[FilledText] = Field(None, description="The file it is about.")
    pointer: Maybe[AnyText] = Field(None, description="The place in that file.")
    message: Maybe[FilledText] = Field(None, description="A part of its message.")


class ExpectedConflict(Closed):
    """A conflict, as far as it matters."""

    conflicting_file: FilledText = Field(description="The path.")
    lanes: Maybe[Listed[FilledText]] = Field(None, description="The lanes, first to finish first.")
    resolution: Maybe[OneOf[Resolution]] = Field(None, description="How it was settled.")
    applied_from: Maybe[FilledText] = Field(None, description="Whose version was taken.")


Blocker = Annotated[
    Annotated[FilledText, Tag("string")] | Annotated[ExpectedBlocker, Tag("object")], Discriminator(ByType())
]
Finding = Annotated[
    Annotated[FilledText, Tag("string")] | Annotated[ExpectedFinding, Tag("object")], Discriminator(ByType())
]


class Expectations(Closed):
    """What has to be true of the run. What is left out may be anything, but for the status and broken contracts."""

    execution_status: Maybe[OneOf[ExecutionStatus]] = Field(None, description="How it ends; completed when left out.")
    steps: Maybe[Listed[FilledText]] = Field(None, description="The nodes in the order in which their blocks started.")
    nodes: Maybe[dict[str, OneOf[NodeStatus]]] = Field(None, description="How nodes stand at the end.")
    synthetic: Maybe[dict[str, OneOf[Synthetic]]] = Field(
        None, description="Every node whose output the harness wrote, and why."
    )
    events: Maybe[Listed[OneOf[EventType]]] = Field(None, description="The types of all events, in order.")
    blockers: Maybe[Listed[Blocker]] = Field(None, description="All blockers, in their order.")
    findings: Maybe[Listed[Finding]] = Field(None, description="All findings, in their order.")
    conflicts: Maybe[Listed[ExpectedConflict]] = Field(None, description="All conflicts, merge by merge.")
    applied: Maybe[dict[str, FilledText]] = Field(None, description="Every path that a merge applied, and its lane.")
    files: Maybe[dict[str, Writing]] = Field(
        None, description="Files of the workspace; null for one that is not there."
    )


class BlockScenario(Closed):
    """A simulated run of stateless blocks, and what has to come of it."""

    schema_: Maybe[AnyText] = Field(None, alias="$schema", description="The schema an editor checks the file with.")
    name: Maybe[Name] = Field(None, description="What the test is called; the file name when left out.")
    description: Maybe[AnyText] = Field(None, description="What the scenario is there to show.")
    block: Block = Field(description="The run.")
    expect: Maybe[Expectations] = Field(None, description="What has to be true of the run.")
    enforces: Maybe[Listed[LockId]] = Field(None, description="The locks that this scenario enforces.")
    golden: Maybe[bool] = Field(None, description="Whether the run is compared with a golden; it is when left out.")
    skip: Maybe[FilledText] = Field(None, description="Why the scenario is not run.")

"""The records beside the output folder: the mount, environments, fan-in results."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Discriminator, Field, RootModel, Tag

from tools.models.blocks.output import BlockOutput, ExtendedBlockOutput
from tools.models.blocks.scalars import AnyText, HarmlessPath, Open, Texts
from workrail_lint.documents.models import Array, ByMember, Listed, Maybe, Number, OneOf, Text
from workrail_lint.systems.blocks.paths import OUTPUT_DIR
from workrail_lint.systems.blocks.vocabulary import MergeStrategy


class _MountFields(Open):
    source: Literal["local", "github"] = Field(description="Where the repository comes from.")
    branch: Maybe[AnyText] = Field(None, description="Which branch to use.")
    clone_depth: Maybe[Annotated[int, Number(1, whole=True)]] = Field(None, description="How much history to clone.")
    file_restrictions: Maybe[Texts] = Field(None, description="Patterns of the files that may be edited.")
    read_only: Maybe[bool] = Field(None, description="Whether nothing may be edited.")


class LocalMount(_MountFields):
    """A folder of the host."""

    source: Literal["local"] = Field(description="Where the repository comes from.")
    local_path: AnyText = Field(description="The folder.")


class GithubMount(_MountFields):
    """A clone."""

    source: Literal["github"] = Field(description="Where the repository comes from.")
    github_url: Annotated[str, Text(pattern=r"^https://\S+$")] = Field(description="What to clone, over https.")


class RepoMount(
    RootModel[
        Annotated[
            Annotated[LocalMount, Tag("local")] | Annotated[GithubMount, Tag("github")],
            Discriminator(ByMember("source")),
        ]
    ]
):
    """The repository that blocks find at the mount point."""


class Environment(Open):
    """The environment of one block; all values are strings."""

    model_config = ConfigDict(alias_generator=str.upper)

    __pydantic_extra__: dict[str, AnyText]

    workflow_id: AnyText = Field(description="Id of the definition.")
    execution_id: AnyText = Field(description="Id of the run.")
    node_id: AnyText = Field(description="Id of the node.")
    step_index: Annotated[str, Text(pattern=r"^(?:0|[1-9][0-9]*)$")] = Field(description="Number in the plan.")
    file_restrictions: AnyText = Field(description="A JSON array of patterns.")
    telemetry_enabled: Literal["0", "1"] = Field(description="Whether telemetry is sent.")
    telemetry_url: Annotated[str, Text(pattern=r"^https?://\S+$")] = Field(description="Where to.")
    output_dir: Annotated[str, Text(pattern=f"^{OUTPUT_DIR}$".replace(".", r"\."))] = Field(
        description="The output folder."
    )
    previous_block_id: AnyText = Field(description="The block before, or empty.")


class FirstCompleteWins(Open):
    """Settled by who was first."""

    resolution: Literal["first-complete-wins"] = Field(description="How it was settled.")
    conflicting_file: HarmlessPath = Field(description="The path in question.")
    lanes: Annotated[tuple[AnyText, ...], Array(2, unique=True)] = Field(
        description="The lanes, first to finish first."
    )
    applied_from: AnyText = Field(description="Whose version was taken: that of the first lane.")


class UserResolved(Open):
    """Settled by a person."""

    resolution: Literal["user-resolved"] = Field(description="How it was settled.")
    conflicting_file: HarmlessPath = Field(description="The path in question.")
    lanes: Annotated[tuple[AnyText, ...], Array(2, unique=True)] = Field(
        description="The lanes, first to finish first."
    )
    applied_from: Maybe[AnyText] = Field(None, description="Whose version was taken; left out after a manual merge.")


LaneConflict = Annotated[
    Annotated[FirstCompleteWins, Tag("first-complete-wins")] | Annotated[UserResolved, Tag("user-resolved")],
    Discriminator(ByMember("resolution")),
]


class FanInResult(Open):
    """How the lanes of a parallel group came together."""

    merge_strategy: OneOf[MergeStrategy] = Field(description="How they were merged.")
    block_outputs: Listed[BlockOutput] = Field(description="The lanes' outputs, in lane order.")
    conflicts: Listed[LaneConflict] = Field(description="The conflicts, by path.")


class ExtendedFanInResult(FanInResult):
    """How the lanes of a parallel group came together, in the extended profile."""

    block_outputs: Listed[ExtendedBlockOutput] = Field(description="The lanes' outputs, in lane order.")

"""Writes the classes of the block documents: `workrail_lint/systems/blocks/model/documents.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Discriminator, Field, Tag

from tools.models.blocks.definition import StudioWorkflow
from tools.models.blocks.output import CodeDeliverables, ExtendedBlockOutput
from tools.models.blocks.run import (
    Environment,
    ExtendedFanInResult,
    FirstCompleteWins,
    GithubMount,
    LocalMount,
    UserResolved,
)
from tools.models.blocks.scalars import AnyText, Open, Texts
from tools.models.blocks.trace import RunTrace
from tools.models.runtime import Plan, Runtime, formatted
from workrail_lint.documents.models import ByMember, Listed
from workrail_lint.systems.blocks.scenario import BlockScenario

PATH = Path(__file__).parents[3] / "workrail_lint" / "systems" / "blocks" / "model" / "documents.py"
PLAN = Plan(
    "The objects of block documents.",
    bases={
        "Node": "GraphNode",
        "ParallelGroup": "GroupNode",
        "StudioWorkflow": "DefinitionNode",
        "Transition": "TransitionNode",
    },
    bases_module="workrail_lint.systems.blocks.model.graph",
    # Nothing reads the content of files. What a trace has of a fan-in is read like the record of one.
    read_as={"DetailedCodeDeliverables": "CodeDeliverables", "ExtendedFanInResult": "FanInResult"},
    empty=frozenset({"Config"}),
    # Compared with those of a run; of interest before is only their code.
    plain=dict.fromkeys(("ExpectedBlocker", "ExpectedFinding"), "Mapping[str, Any]"),
)


# The classes are those of the extended profile: what a project without it refuses is left out.
class BlockOutput(ExtendedBlockOutput):
    """The file a block leaves behind."""


class UnresolvedConflict(Open):
    """A conflict that does not say how it was settled."""

    conflicting_file: AnyText
    lanes: Texts


_Conflict = Annotated[
    Annotated[FirstCompleteWins, Tag("first-complete-wins")]
    | Annotated[UserResolved, Tag("user-resolved")]
    | Annotated[UnresolvedConflict, Tag("unresolved")],
    Discriminator(ByMember("resolution", absent="unresolved")),
]


class FanInResult(ExtendedFanInResult):
    """How the lanes of a parallel group came together."""

    block_outputs: Listed[BlockOutput] = Field(description="The lanes' outputs, in lane order.")
    conflicts: Listed[_Conflict] = Field(description="The conflicts, by path.")  # type: ignore[assignment]


def modules() -> dict[str, str]:
    """Return the path and the text of the module."""
    roots = (FanInResult, CodeDeliverables, Environment, LocalMount, GithubMount, RunTrace, BlockScenario)
    return {str(PATH): formatted(str(PATH), Runtime(StudioWorkflow, PLAN, *roots).module())}

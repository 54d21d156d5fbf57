"""The block documents as contract packs."""

from __future__ import annotations

import os
from typing import Any

from tools.models.blocks import examples
from tools.models.blocks.definition import StudioWorkflow
from tools.models.blocks.output import BlockOutput
from tools.models.blocks.run import Environment, FanInResult, RepoMount
from tools.models.blocks.wrapped import OutputFolder, Prompt
from tools.models.workrail.packs import Pack, entries
from workrail_lint.systems import blocks

PACKS_FILE = os.path.join(os.path.dirname(blocks.__file__), "packs.json")
_PACKS = {
    "block_output": Pack(BlockOutput, examples.OUTPUT, "Block output", "What a stateless block leaves behind."),
    "environment": Pack(Environment, examples.ENVIRONMENT, "Block environment", "The nine variables a block is given."),
    "fan_in_result": Pack(FanInResult, examples.FAN_IN, "Fan-in result", "How parallel lanes came together."),
    "output_folder": Pack(OutputFolder, examples.FOLDER, "Output folder", "The outputs of all blocks of a run."),
    "prompt": Pack(Prompt, examples.PROMPT, "Block prompt", "The prompt that was assembled for one block."),
    "repo_mount": Pack(RepoMount, examples.MOUNT, "Repository mount", "Which repository blocks work on, and where."),
    "workflow_definition": Pack(StudioWorkflow, examples.WORKFLOW, "Studio workflow", "A graph of stateless blocks."),
}


def packs() -> list[dict[str, Any]]:
    """Return the entries of a catalog's list of contracts, by id."""
    return entries("block", _PACKS)

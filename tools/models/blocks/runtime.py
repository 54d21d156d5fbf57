"""Writes the classes of the block documents: `workrail_lint/systems/blocks/model/documents.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.models.blocks.definition import StudioWorkflow
from tools.models.blocks.output import ExtendedBlockOutput
from tools.models.blocks.run import ExtendedFanInResult, GithubMount, LocalMount
from tools.models.runtime import Plan, Runtime

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
    empty=frozenset({"Config"}),
)


def render() -> str:
    """Return the text of the module, formatted like all others."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(PATH), "-"]
    text = Runtime(StudioWorkflow, PLAN, ExtendedBlockOutput, ExtendedFanInResult, LocalMount, GithubMount).module()
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=PATH.parent).stdout

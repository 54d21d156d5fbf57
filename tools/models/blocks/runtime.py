"""Writes the classes of a workflow definition: `workrail_lint/systems/blocks/model/documents.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.models.blocks.definition import StudioWorkflow
from tools.models.runtime import Plan, Runtime

PATH = Path(__file__).parents[3] / "workrail_lint" / "systems" / "blocks" / "model" / "documents.py"
PLAN = Plan(
    "The objects of a workflow definition.",
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
    text = Runtime(StudioWorkflow, PLAN).module()
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=PATH.parent).stdout

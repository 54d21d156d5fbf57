"""Writes the classes of a workflow: `workrail_lint/systems/workrail/model/workflow.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.models.runtime import Plan, Runtime
from tools.models.workrail.workflow import Workflow

PATH = Path(__file__).parents[3] / "workrail_lint" / "systems" / "workrail" / "model" / "workflow.py"
PLAN = Plan(
    "The objects of a workflow.",
    bases={
        "AllCriteria": "CombinationNode",
        "AnyCriteria": "CombinationNode",
        "Condition": "ConditionNode",
        "LoopStep": "LoopNode",
        "NotCriteria": "CombinationNode",
        "ParallelStep": "ParallelNode",
        "StandardStep": "StandardNode",
        "Workflow": "WorkflowNode",
    },
    bases_module="workrail_lint.systems.workrail.model.nodes",
    # A loop in a body is refused, but it is a loop. What the condition of a validation rule combines, the schema does
    # not look into, but it is made of conditions.
    read_as={"BodyStep": "Step", "RuleCondition": "Condition"},
    unchecked=frozenset({"RuleCondition"}),
)


def render() -> str:
    """Return the text of the module, formatted like all others."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(PATH), "-"]
    text = Runtime(Workflow, PLAN).module()
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=PATH.parent).stdout

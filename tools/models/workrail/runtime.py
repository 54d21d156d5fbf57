"""Writes the classes of a workflow and its IR: `workflow.py` and `ir.py` of `workrail_lint/systems/workrail/model/`."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel

from tools.models.runtime import Plan, Runtime, formatted
from tools.models.workrail.ir import Program
from tools.models.workrail.workflow import Workflow

HERE = Path(__file__).parent
FOLDER = Path(__file__).parents[3] / "workrail_lint" / "systems" / "workrail" / "model"
_WORKFLOW = Plan(
    "The objects of a workflow.",
    bases={
        "AllCriteria": "CombinationNode",
        "AnyCriteria": "CombinationNode",
        "Condition": "ConditionNode",
        "LoopStep": "LoopNode",
        "NotCriteria": "CombinationNode",
        "ParallelStep": "ParallelNode",
        "PromptBlocks": "PromptBlocksNode",
        "StandardStep": "StandardNode",
        "Workflow": "WorkflowNode",
    },
    bases_module="workrail_lint.systems.workrail.model.nodes",
    # A loop in a body is refused, but it is a loop. What the condition of a validation rule combines, the schema does
    # not look into, but it is made of conditions.
    read_as={"BodyStep": "Step", "RuleCondition": "Condition"},
    unchecked=frozenset({"RuleCondition"}),
    # A new member is refused by the engine target until an engine knows it and it is listed there.
    known=json.loads((HERE / "engine_members.json").read_text(encoding="utf-8")),
)


_IR = Plan(
    "The objects of an IR.",
    bases={
        "DelegatingStep": "ProgramStepNode",
        "Program": "ProgramNode",
        "PromptStep": "PromptStepNode",
        "RepeatingStep": "RepeatingStepNode",
    },
    bases_module="workrail_lint.systems.workrail.model.program_nodes",
    empty=frozenset({"StepOutput"}),
    # Criteria stay JSON: the schema does not look into what the condition of a rule combines, so only their evaluation,
    # which is total, says what they mean.
    plain={"ValidationCriteria": "Any"},
    is_complete=True,
    shared=frozenset(
        {
            "AssessmentConsequence",
            "AssessmentDefinition",
            "Condition",
            "FunctionCall",
            "FunctionDefinition",
            "RecommendedPreferences",
            "WorkflowReference",
        }
    ),
    shared_module="workrail_lint.systems.workrail.model.workflow",
)
MODULES: dict[str, tuple[type[BaseModel], Plan]] = {"ir.py": (Program, _IR), "workflow.py": (Workflow, _WORKFLOW)}


def modules() -> dict[str, str]:
    """Return the path and the text of each module."""
    paths = {str(FOLDER / name): (model, plan) for name, (model, plan) in MODULES.items()}
    return {path: formatted(path, Runtime(model, plan).module()) for path, (model, plan) in paths.items()}

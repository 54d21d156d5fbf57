"""The workflow definition of a studio: nodes, transitions, gates, variables, parallel groups."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from tools.models.blocks.scalars import AnyText, Limit, Open, SafeId, Telling, Texts, Timestamp
from workrail_lint.base.closed_sets import words
from workrail_lint.documents.models import Array, ByMember, Finite, Listed, Maybe, Number, OneOf
from workrail_lint.systems.blocks.vocabulary import (
    AgentNodeType,
    Backend,
    BlockType,
    ControlType,
    GateMode,
    GateType,
    MergeStrategy,
    NodeKind,
    PortType,
    Scrutiny,
    VariableType,
    WorkflowStatus,
)


class Metadata(Open):
    """The description of a definition for people."""

    name: Telling = Field(description="Name for people.")
    version: Telling = Field(description="Version of the definition.")
    created_at: AnyText = Field(description="When it was made, normally an ISO-8601 date-time.")
    updated_at: AnyText = Field(description="When it was last changed, normally an ISO-8601 date-time.")
    tags: Texts = Field(description="Words to find it by.")
    description: Maybe[AnyText] = Field(None, description="What it is for.")
    created_by: Maybe[AnyText] = Field(None, description="Who made it.")
    last_used_at: Maybe[Timestamp] = Field(None, description="When it was last run.")
    status: Maybe[OneOf[WorkflowStatus]] = Field(None, description="Whether it is in use.")


class Port(Open):
    """A named end of a node."""

    name: Telling = Field(description="Name of the port.")
    data_type: Telling = Field(description="What passes through it.")
    type: OneOf[PortType] = Field(description="Its direction.")
    required: bool = Field(description="Whether something has to be connected.")
    description: Maybe[AnyText] = Field(None, description="What it is for.")


class Position(Open):
    """Where the editor draws a node."""

    x: Finite = Field(description="Distance from the left.")
    y: Finite = Field(description="Distance from the top.")


class ConditionConfig(Open):
    """How a condition node branches."""

    expression: AnyText = Field(description="What decides.")
    true_branch_node_id: AnyText = Field(description="The node that runs when it is true.")
    false_branch_node_id: AnyText = Field(description="The node that runs when it is false.")


class ForEachConfig(Open):
    """The items and the body that a forEach node repeats."""

    collection_variable: AnyText = Field(description="The variable that holds the items.")
    item_variable: AnyText = Field(description="The variable that holds the item at hand.")
    body_node_ids: Texts = Field(description="The nodes that run for each item.")
    max_iterations: Maybe[Limit] = Field(None, description="How many items are used at most; 100 when left out.")


class SubWorkflowConfig(Open):
    """Which definition a subWorkflow node runs."""

    workflow_id: AnyText = Field(description="Id of that definition.")
    input_mappings: Maybe[dict[str, Any]] = Field(None, description="Its variables, from ours.")
    output_mappings: Maybe[dict[str, Any]] = Field(None, description="Our variables, from its.")


_BLOCK_TYPES = (*words(BlockType), *words(ControlType))
NodeBlockType = Literal["plan", "dev", "test", "review", "devops", "condition", "forEach", "subWorkflow"]
assert NodeBlockType.__args__ == _BLOCK_TYPES  # type: ignore[attr-defined]


class Config(Open):
    """How a node's block is run."""

    model: Maybe[AnyText] = Field(None, description="Which model to use.")
    max_turns: Maybe[Limit] = Field(None, description="How many turns the agent may take.")
    max_budget_usd: Maybe[Limit] = Field(None, alias="maxBudgetUsd", description="How much the block may cost.")
    timeout_seconds: Maybe[Limit] = Field(None, description="How long the block may take.")
    allowed_tools: Maybe[Texts] = Field(None, description="Tools the agent may use.")
    extra_flags: Maybe[Texts] = Field(None, description="Further arguments of the agent program.")
    output_checklist: Maybe[Texts] = Field(None, description="What the block must produce; last in the prompt.")
    system_prompt: Maybe[AnyText] = Field(None, description="The task instruction.")
    system_prompt_prefix: Maybe[AnyText] = Field(None, description="Stands before the task, after the rules.")
    backend: Maybe[OneOf[Backend]] = Field(None, description="Which agent program runs the block.")
    block_type: Maybe[NodeBlockType] = Field(None, description="What the block is for, or how the node steers.")
    gate_mode: Maybe[OneOf[GateMode]] = Field(None, description="Whether a person is asked afterwards.")
    max_retries: Maybe[Annotated[int, Number(0, whole=True)]] = Field(None, description="How often to run it again.")
    retryable_exit_codes: Maybe[Listed[Annotated[int, Number(whole=True)]]] = Field(
        None, description="Exit codes after which running again makes sense."
    )
    condition_config: Maybe[ConditionConfig] = Field(None, description="For condition nodes.")
    for_each_config: Maybe[ForEachConfig] = Field(None, description="For forEach nodes.")
    sub_workflow_config: Maybe[SubWorkflowConfig] = Field(None, description="For subWorkflow nodes.")


class Node(Open):
    """One block of the workflow, or a control that steers the run."""

    id: SafeId = Field(description="Identity of the node; part of file names.")
    type: OneOf[AgentNodeType] = Field(description="The role of the agent.")
    label: Telling = Field(description="Name for people.")
    config: Config = Field(description="How its block is run.")
    inputs: Listed[Port] = Field(description="What it takes.")
    outputs: Listed[Port] = Field(description="What it gives.")
    position: Position = Field(description="Where the editor draws it.")
    description: Maybe[AnyText] = Field(None, description="What it does; the task when there is no system prompt.")
    kind: Maybe[OneOf[NodeKind]] = Field(None, description="Whether it runs an agent or steers the run.")


class PlainCondition(Open):
    """Decided by how the source ended."""

    type: Literal["always", "on_success", "on_failure"] = Field(description="When the transition holds.")
    expression: Maybe[AnyText] = Field(None, description="Not used here.")


class ExpressionCondition(Open):
    """Decided by an expression over the variables."""

    type: Literal["expression"] = Field(description="When the transition holds.")
    expression: AnyText = Field(description="What decides.")


Condition = Annotated[
    Annotated[PlainCondition, Tag("always")]
    | Annotated[PlainCondition, Tag("on_success")]
    | Annotated[PlainCondition, Tag("on_failure")]
    | Annotated[ExpressionCondition, Tag("expression")],
    Discriminator(ByMember("type")),
]


class Transition(Open):
    """From one node to another, under a condition."""

    id: SafeId = Field(description="Identity of the transition.")
    source_node_id: AnyText = Field(description="Where it starts.")
    target_node_id: AnyText = Field(description="Where it leads.")
    condition: Condition = Field(description="When it holds.")
    label: Maybe[AnyText] = Field(None, description="Name for people.")


class GateOption(Open):
    """One answer to a gate."""

    label: AnyText = Field(description="What people read.")
    value: AnyText = Field(description="What is recorded.")
    description: Maybe[AnyText] = Field(None, description="What it means.")
    is_default: Maybe[bool] = Field(None, description="Whether it is preselected.")


class Gate(Open):
    """A question before a node."""

    id: SafeId = Field(description="Identity of the gate.")
    node_id: AnyText = Field(description="The node it stands before.")
    gate_type: OneOf[GateType] = Field(description="What kind of answer is asked for.")
    prompt: Telling = Field(description="The question.")
    options: Listed[GateOption] = Field(description="The answers.")
    required: bool = Field(description="Whether it must be answered.")
    timeout_seconds: Maybe[Limit] = Field(None, description="How long to wait.")


class Variable(Open):
    """A value that expressions and control nodes use."""

    name: AnyText = Field(description="Name of the variable.")
    type: OneOf[VariableType] = Field(description="What it holds.")
    required: bool = Field(description="Whether a run must set it.")
    default_value: Any = Field(None, description="Its value when a run does not set it.")
    description: Maybe[AnyText] = Field(None, description="What it is for.")


class ParallelGroup(Open):
    """Nodes that run at once, one lane each, in workspaces of their own."""

    id: SafeId = Field(description="Identity of the group.")
    label: Telling = Field(description="Name for people.")
    lane_node_ids: Annotated[tuple[AnyText, ...], Array(2, unique=True)] = Field(description="The lanes in order.")
    dormancy_timeout_ms: Maybe[Limit] = Field(None, description="How long an idle container is kept.")
    merge_strategy: Maybe[OneOf[MergeStrategy]] = Field(None, description="How the lanes come together.")


class StudioWorkflow(Open):
    """A graph of blocks that a studio runs."""

    id: SafeId = Field(description="Identity of the workflow.")
    metadata: Metadata = Field(description="What people need to know about it.")
    nodes: Annotated[tuple[Node, ...], Array(1)] = Field(description="The blocks and controls.")
    transitions: Listed[Transition] = Field(description="The edges between them.")
    gates: Listed[Gate] = Field(description="Questions before nodes.")
    variables: Listed[Variable] = Field(description="Values for expressions and controls.")
    parallel_groups: Maybe[Listed[ParallelGroup]] = Field(None, description="Nodes that run at once.")
    rules: Maybe[Texts] = Field(None, description="What holds for every block; first in each prompt.")
    default_scrutiny_level: Maybe[OneOf[Scrutiny]] = Field(None, description="How much is shown at a gate.")
    timeout_seconds: Maybe[Limit] = Field(None, description="How long a run may take.")

"""BC348 and BC349: nodes that steer the run."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from workrail_lint.base.wording import counted
from workrail_lint.documents.nodes import numbered
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.model.documents import Config, Node, StudioWorkflow
from workrail_lint.systems.blocks.plan import bodies_in_themselves
from workrail_lint.systems.blocks.rules.base import ENGINES, BlockDocument
from workrail_lint.systems.blocks.rules.definition_graph import unknown_node
from workrail_lint.systems.blocks.rules.definition_shape import DefinitionRule
from workrail_lint.systems.blocks.rules.samples import WORKFLOW_PATH, control, edge, node, workflow
from workrail_lint.systems.blocks.vocabulary import ControlType, members
from workrail_lint.systems.blocks.wording import shown

CONFIG_OF = {
    ControlType.CONDITION: "conditionConfig",
    ControlType.FOR_EACH: "forEachConfig",
    ControlType.SUB_WORKFLOW: "subWorkflowConfig",
}
_CONDITION = {"expression": "true", "trueBranchNodeId": "b", "falseBranchNodeId": "c"}


class ControlConfig(DefinitionRule):
    code = "BC348"
    name = "control-config"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A control node has no valid configuration, or names nodes that do not exist or that it can't run."
    why = "The run can't continue from a condition without branches, or from a loop without a body or inside itself."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        endless = bodies_in_themselves(document.definition)
        for found in document.definition.nodes:
            if found.is_control:
                for place, problem in _problems(found, document.definition, endless):
                    report(f"{found.pointer}/{place}", f"control node {shown(found.id)}: {problem}")

    def examples(self) -> Iterator[Example]:
        after = (node("b"), node("c"))
        links = [edge("a", "b"), edge("a", "c")]
        good = workflow(control("a", "condition", conditionConfig=_CONDITION), *after, edges=links)
        yield Example(workflow(control("a", "condition"), *after, edges=links), good, path=WORKFLOW_PATH)
        lost = {**_CONDITION, "falseBranchNodeId": "zz"}
        bad = workflow(control("a", "condition", conditionConfig=lost), *after, edges=links)
        yield Example(bad, good, path=WORKFLOW_PATH)
        yield Example(
            workflow(_loop("each", "each", "b"), *after, edges=[edge("each", "c")]),
            workflow(_loop("each", "b"), *after, edges=[edge("each", "c")]),
            path=WORKFLOW_PATH,
        )


def _loop(ident: str, *body: str) -> dict[str, Any]:
    config = {"collectionVariable": "tasks", "itemVariable": "task", "bodyNodeIds": list(body)}
    return control(ident, "forEach", forEachConfig=config)


def _problems(found: Node, definition: StudioWorkflow, endless: Collection[str]) -> Iterator[tuple[str, str]]:
    kind = found.control
    if kind is None:
        yield "config/blockType", f"'blockType' must be one of {', '.join(members(ControlType))}"
        return
    name = CONFIG_OF[kind]
    if name not in found.config:
        yield f"config/{name}", f"{shown(name)} is missing"
        return
    for place, ident in _references(found.config):
        if ident not in definition.by_id:
            yield f"config/{name}/{place}", f"{shown(place.partition('/')[0])}: {unknown_node(ident, definition)}"
        elif kind is ControlType.FOR_EACH and ident in endless and found.id in endless:
            yield f"config/{name}/{place}", f"{shown(ident)} would run inside itself"
        elif kind is ControlType.FOR_EACH and ident in definition.group_of:
            group = definition.group_of[ident].id
            yield f"config/{name}/{place}", f"{shown(ident)} is a lane of {shown(group)}, so a loop can't run it"


def _references(config: Config) -> Iterator[tuple[str, str]]:
    """Yield the nodes that a control names, with the place below its configuration."""
    choice, loop = config.condition_config, config.for_each_config
    if config.block_type == ControlType.CONDITION.value and choice is not None:
        branches = {"trueBranchNodeId": choice.true_branch_node_id, "falseBranchNodeId": choice.false_branch_node_id}
        yield from ((member, ident) for member, ident in branches.items() if choice.has(member))
    if config.block_type == ControlType.FOR_EACH.value and loop is not None:
        yield from ((f"bodyNodeIds/{at}", ident) for at, ident in numbered(loop.body_node_ids))


class ControlShape(DefinitionRule):
    code = "BC349"
    name = "control-shape"
    severity = Severity.WARNING
    origin = ENGINES
    summary = "A condition has fewer than two outgoing transitions, or a `forEach` has an empty body."
    why = "The condition decides nothing, or the loop repeats nothing."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        for found in definition.nodes:
            if found.control is ControlType.CONDITION:
                ways = sum(1 for transition in definition.transitions if transition.source == found.id)
                if ways < 2:
                    ways_out = counted(ways, "outgoing transition")
                    text = f"the condition {shown(found.id)} has {ways_out}; it needs two"
                    report(found.pointer, text)
            loop = found.config.for_each_config
            if found.control is ControlType.FOR_EACH and loop is not None and loop.raw.get("bodyNodeIds") == []:
                report(loop.at("bodyNodeIds"), f"the forEach {shown(found.id)} has an empty body")

    def examples(self) -> Iterator[Example]:
        nodes = (control("a", "condition", conditionConfig=_CONDITION), node("b"), node("c"))
        yield Example(
            workflow(*nodes, edges=[edge("a", "b"), edge("b", "c")]),
            workflow(*nodes, edges=[edge("a", "b"), edge("a", "c")]),
            path=WORKFLOW_PATH,
        )

"""How nodes are configured, nodes that steer the run, and what the studio makes of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.closed_sets import is_member, words
from workrail_lint.base.wording import listed
from workrail_lint.documents.nodes import numbered
from workrail_lint.documents.operations import Remove, ReplaceText
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.model.documents import Config, Node, StudioWorkflow
from workrail_lint.systems.blocks.options import PROFILE
from workrail_lint.systems.blocks.plan import bodies_in_themselves, topological_order
from workrail_lint.systems.blocks.prompts import clean, task_of
from workrail_lint.systems.blocks.rules.base import DECIDED, ENGINES, BlockDocument
from workrail_lint.systems.blocks.rules.definition_graph import unknown_node
from workrail_lint.systems.blocks.rules.definition_shape import DefinitionRule
from workrail_lint.systems.blocks.rules.samples import WORKFLOW_PATH, control, edge, group, uuid, workflow
from workrail_lint.systems.blocks.rules.samples import node as sample_node
from workrail_lint.systems.blocks.vocabulary import (
    PROMPT_FIELD_CHARACTERS,
    Backend,
    BlockProfile,
    BlockType,
    ControlType,
    MergeStrategy,
    NodeKind,
    text_of,
    texts_of,
)
from workrail_lint.systems.blocks.wording import shown


class Field(NamedTuple):
    """A string that becomes part of a prompt."""

    text: str
    pointer: str
    is_item: bool


def prompt_fields(definition: StudioWorkflow) -> Iterator[Field]:
    """Yield every string of a definition that can become part of a prompt."""
    for at, rule in numbered(definition.rules):
        yield Field(rule, f"/rules/{at}", True)
    for node in definition.nodes:
        if node.is_control:
            continue
        config = node.config
        prompts = {"systemPromptPrefix": config.system_prompt_prefix, "systemPrompt": config.system_prompt}
        for name, text in prompts.items():
            if text is not None:
                yield Field(text, config.at(name), False)
        if node.description is not None and text_of(config.system_prompt) is None:
            yield Field(node.description, node.at("description"), False)
        for at, item in numbered(config.output_checklist):
            yield Field(item, config.at("outputChecklist", at), True)


class NodeContradiction(DefinitionRule):
    code = "BC340"
    name = "node-contradiction"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The block type of a node contradicts its type, or its two task instructions differ."
    why = "The configuration wins, so an agent in one role is expected to deliver what another role produces."
    bad = (
        workflow(sample_node("dev", "coding", config={"blockType": "plan"})),
        workflow(sample_node("plan", prompt="Plan", description="Write code")),
    )
    good = (
        workflow(sample_node("dev", "coding", config={"blockType": "dev"})),
        workflow(sample_node("plan", prompt=None, description="Plan")),
    )

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for node in document.definition.nodes:
            written, mapped = node.config.block_type, node.mapped_type
            if is_member(written, BlockType) and mapped is not None and written != mapped.value:
                text = f"{shown(node.id)} is a {node.type} node, which produces {mapped.value}, not {written}"
                report(f"{node.pointer}/config/blockType", text)
            prompt, description = text_of(node.config.system_prompt), text_of(node.description)
            if node.is_control or prompt is None or description is None or clean(prompt) == clean(description):
                continue
            text = f"{shown(node.id)} has a different description; the agent only sees the system prompt"
            report(f"{node.pointer}/description", text)


class StudioUnsupported(DefinitionRule):
    code = "BC342"
    name = "studio-unsupported"
    severity = Severity.WARNING
    origin = ENGINES
    summary = "A definition uses what the studio does not support."
    why = "The block does not start, or another program starts in its place."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for node in document.definition.nodes:
            if node.config.backend == Backend.CODEX.value:
                report(f"{node.pointer}/config/backend", f"the backend 'codex' of {shown(node.id)} is not supported")
        if document.options.studio:
            self._studio_lane_early(document.definition, report)
            self._studio_config_stripped(document.definition, report)
            self._studio_no_fail_on_conflict(document.definition, report)

    def _studio_lane_early(self, definition: StudioWorkflow, report: Report) -> None:
        starts = _studio_starts(definition)
        for item in definition.parallel_groups:
            for at, ident in item.written_lanes:
                for transition in definition.incoming.get(ident, ()):
                    if starts.get(transition.source, -1) > starts.get(ident, len(starts)):
                        text = (
                            f"in the studio, the lane {shown(ident)} starts before {shown(transition.source)}, which "
                            f"leads to it: the group {shown(item.id)} starts with its first lane. Let "
                            f"{shown(transition.source)} lead to every lane"
                        )
                        report(f"{item.pointer}/laneNodeIds/{at}", text)

    def _studio_config_stripped(self, definition: StudioWorkflow, report: Report) -> None:
        for node in definition.nodes:
            dropped = _dropped(node)
            if dropped:
                what = f"when the studio loads the file, it drops {listed(map(shown, dropped))} of {shown(node.id)}"
                role = f"{node.type} agent" if node.type else "agent"
                so = f", which then runs as an ordinary {role}" if node.is_control else ""
                report(f"{node.pointer}/{'kind' if dropped[0] == 'kind' else 'config'}", what + so)

    def _studio_no_fail_on_conflict(self, definition: StudioWorkflow, report: Report) -> None:
        for item in definition.parallel_groups:
            if item.merge_strategy == MergeStrategy.FAIL_ON_CONFLICT.value:
                text = (
                    f"the studio has no 'fail-on-conflict': it ignores the strategy of {shown(item.id)} and does not "
                    "pause when lanes edit the same file"
                )
                report(f"{item.pointer}/mergeStrategy", text)

    def examples(self) -> Iterator[Example]:
        yield self.example(
            workflow(sample_node("plan", config={"backend": "codex"})),
            workflow(sample_node("plan", config={"backend": "claude"})),
        )
        nodes = (sample_node(_A), sample_node(_B, "coding"), sample_node(_C), sample_node(_D, "coding"))
        groups = [group(_B, _D, ident=uuid(8))]
        yield _example(
            workflow(*nodes, id=uuid(0), parallelGroups=groups, edges=[_edge(_A, _B, 5), _edge(_C, _D, 6)]),
            workflow(
                *nodes, id=uuid(0), parallelGroups=groups, edges=[_edge(_A, _B, 5), _edge(_C, _D, 6), _edge(_C, _B, 7)]
            ),
        )
        config = {"expression": "true", "trueBranchNodeId": _B, "falseBranchNodeId": _C}
        after = (sample_node(_B), sample_node(_C))
        links = [_edge(_A, _B, 5), _edge(_A, _C, 6)]
        yield _example(
            workflow(control(_A, "condition", conditionConfig=config), *after, id=uuid(0), edges=links),
            workflow(sample_node(_A), *after, id=uuid(0), edges=links),
        )
        lanes = (sample_node(_A, "coding"), sample_node(_B, "coding"))
        groups = [group(_A, _B, ident=uuid(8))]
        yield _example(
            workflow(*lanes, id=uuid(0), parallelGroups=[{**groups[0], "mergeStrategy": "fail-on-conflict"}]),
            workflow(*lanes, id=uuid(0), parallelGroups=groups),
        )


class TaskInstructionMissing(DefinitionRule):
    code = "BC343"
    name = "task-instruction-missing"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "An agent node has neither a system prompt nor a description."
    why = "The prompt contains no task, and an agent without a task still costs money."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for node in document.definition.nodes:
            if not node.is_control and task_of(node) is None:
                text = f"{shown(node.id)} has no task; set 'config.systemPrompt' or 'description'"
                report(node.pointer, text)

    def examples(self) -> Iterator[Example]:
        yield self.example(workflow(sample_node("plan", prompt=None)), workflow(sample_node("plan")))


class PromptText(DefinitionRule):
    code = "BC345"
    name = "prompt-text"
    severity = Severity.WARNING
    origin = ENGINES
    summary = "A part of a prompt is blank, has more than 4096 characters, or contains NUL."
    why = "It is left out of the prompt, so the list is shorter than its author expects."
    fix = "Remove the blank item or the character."
    fix_safety = "safe"
    kinds = (BlockKind.WORKFLOW, BlockKind.MOUNT)

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for field in prompt_fields(document.definition):
            if field.is_item and js.is_blank(field.text):
                report(field.pointer, "the item is blank", fix=safe("remove it", Remove(field.pointer)))
            if len(field.text) > PROMPT_FIELD_CHARACTERS:
                text = f"this prompt part has {len(field.text):,} characters; engines keep {PROMPT_FIELD_CHARACTERS:,}"
                report(field.pointer, text)
        fields: list[Any] = list(prompt_fields(document.definition))
        if document.kind is BlockKind.MOUNT:
            patterns = texts_of(document.value.get("fileRestrictions"))
            fields = [Field(pattern, f"/fileRestrictions/{at}", True) for at, pattern in patterns]
        for field in fields:
            if "\0" in field.text:
                fix = safe("remove it", ReplaceText(field.pointer, "\0", ""))
                report(field.pointer, "this prompt part contains a NUL character", fix=fix, severity=Severity.ERROR)

    def examples(self) -> Iterator[Example]:
        good = workflow(sample_node("plan", config={"outputChecklist": ["tests"]}))
        bad = workflow(sample_node("plan", config={"outputChecklist": ["tests", ""]}))
        yield self.example(bad, good, good)
        yield self.example(workflow(rules=["x" * 5000]), workflow(rules=["Keep it small."]))
        good = workflow(rules=["Keep it small."])
        yield self.example(workflow(rules=["Keep it\0 small."]), good, good)


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
        for node in document.definition.nodes:
            if node.is_control:
                for place, problem in _problems(node, document.definition, endless):
                    report(f"{node.pointer}/{place}", f"control node {shown(node.id)}: {problem}")

    def examples(self) -> Iterator[Example]:
        after = (sample_node("b"), sample_node("c"))
        links = [edge("a", "b"), edge("a", "c")]
        good = workflow(control("a", "condition", conditionConfig=_CONDITION), *after, edges=links)
        yield self.example(workflow(control("a", "condition"), *after, edges=links), good)
        lost = {**_CONDITION, "falseBranchNodeId": "zz"}
        bad = workflow(control("a", "condition", conditionConfig=lost), *after, edges=links)
        yield self.example(bad, good)
        yield self.example(
            workflow(_loop("each", "each", "b"), *after, edges=[edge("each", "c")]),
            workflow(_loop("each", "b"), *after, edges=[edge("each", "c")]),
        )


def _loop(ident: str, *body: str) -> dict[str, Any]:
    config = {"collectionVariable": "tasks", "itemVariable": "task", "bodyNodeIds": list(body)}
    return control(ident, "forEach", forEachConfig=config)


def _problems(node: Node, definition: StudioWorkflow, endless: Collection[str]) -> Iterator[tuple[str, str]]:
    kind = node.control
    if kind is None:
        yield "config/blockType", f"'blockType' must be one of {', '.join(words(ControlType))}"
        return
    name = CONFIG_OF[kind]
    if name not in node.config:
        yield f"config/{name}", f"{shown(name)} is missing"
        return
    for place, ident in _references(node.config):
        if ident not in definition.by_id:
            yield f"config/{name}/{place}", f"{shown(place.partition('/')[0])}: {unknown_node(ident, definition)}"
        elif kind is ControlType.FOR_EACH and ident in endless and node.id in endless:
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


# What the contract knows about a node's configuration and the studio's file format does not.
_STRIPPED = ("blockType", "conditionConfig", "forEachConfig", "subWorkflowConfig", "maxRetries", "retryableExitCodes")
_A, _B, _C, _D = (uuid(number) for number in range(1, 5))


def _example(bad: dict[str, Any], good: dict[str, Any]) -> Example:
    return Example(bad, good, path=WORKFLOW_PATH, options={PROFILE: BlockProfile.STUDIO.value})


def _edge(source: str, target: str, number: int) -> dict[str, Any]:
    return edge(source, target, ident=uuid(number))


def _studio_starts(definition: StudioWorkflow) -> dict[str, int]:
    """Return when the studio starts each node: in order, but the lanes of a group together with its first one."""
    number = {ident: at for at, ident in enumerate(definition.by_id)}
    names = list(number)
    order = topological_order(len(number), ((number[edge.source], number[edge.target]) for edge in definition.edges))
    starts: dict[str, int] = {}
    for place, at in enumerate(order):
        group = definition.group_of.get(names[at])
        for ident in (names[at],) if group is None else group.lanes:
            starts.setdefault(ident, place)
    return starts


def _dropped(node: Node) -> list[str]:
    kind = ["kind"] if node.kind == NodeKind.CONTROL.value else []
    return [*kind, *(name for name in _STRIPPED if name in node.config)]

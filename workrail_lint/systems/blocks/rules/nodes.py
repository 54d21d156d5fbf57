"""BC340 to BC352: how nodes are configured, nodes that steer the run, and what the studio makes of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.wording import counted, listed
from workrail_lint.documents.nodes import numbered
from workrail_lint.documents.operations import Remove, ReplaceText
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.model.documents import Config, Node, StudioWorkflow
from workrail_lint.systems.blocks.options import PROFILE
from workrail_lint.systems.blocks.plan import bodies_in_themselves, topological_order
from workrail_lint.systems.blocks.prompts import clean, task_of
from workrail_lint.systems.blocks.rules.base import DECIDED, ENGINES, BlockDocument, BlockRule
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
    is_member,
    members,
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
    """Every string of a definition that can become part of a prompt."""
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


class BlockTypeContradiction(DefinitionRule):
    code = "BC340"
    name = "block-type-contradiction"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The block type in a node's configuration contradicts the type of the node."
    why = "The configuration wins, so an agent in one role is expected to deliver what another role produces."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for node in document.definition.nodes:
            written, mapped = node.config.block_type, node.mapped_type
            if is_member(BlockType, written) and mapped is not None and written != mapped.value:
                text = f"{shown(node.id)} is a {node.type} node, which produces {mapped.value}, not {written}"
                report(f"{node.pointer}/config/blockType", text)

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(sample_node("dev", "coding", config={"blockType": "plan"})),
            workflow(sample_node("dev", "coding", config={"blockType": "dev"})),
            path=WORKFLOW_PATH,
        )


class BackendUnsupported(DefinitionRule):
    code = "BC342"
    name = "backend-unsupported"
    severity = Severity.WARNING
    origin = ENGINES
    summary = "A node uses a backend that engines know but can't run."
    why = "The block does not start, or another program starts in its place."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for node in document.definition.nodes:
            if node.config.backend == Backend.CODEX.value:
                report(f"{node.pointer}/config/backend", f"the backend 'codex' of {shown(node.id)} is not supported")

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(sample_node("plan", config={"backend": "codex"})),
            workflow(sample_node("plan", config={"backend": "claude"})),
            path=WORKFLOW_PATH,
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
        yield Example(workflow(sample_node("plan", prompt=None)), workflow(sample_node("plan")), path=WORKFLOW_PATH)


class TaskInstructionAmbiguous(DefinitionRule):
    code = "BC344"
    name = "task-instruction-ambiguous"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The system prompt and the description of a node say different things."
    why = "Only the system prompt reaches the agent; people who read the description are misled."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for node in document.definition.nodes:
            prompt, description = text_of(node.config.system_prompt), text_of(node.description)
            if node.is_control or prompt is None or description is None or clean(prompt) == clean(description):
                continue
            text = f"{shown(node.id)} has a different description; the agent only sees the system prompt"
            report(f"{node.pointer}/description", text)

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(sample_node("plan", prompt="Plan", description="Write code")),
            workflow(sample_node("plan", prompt=None, description="Plan")),
            path=WORKFLOW_PATH,
        )


class ListItemBlank(DefinitionRule):
    code = "BC345"
    name = "list-item-blank"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A rule or an item of a checklist is blank."
    why = "It is left out of the prompt, so the list is shorter than its author expects."
    fix = "Remove it."
    fix_safety = "safe"

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for field in prompt_fields(document.definition):
            if field.is_item and js.is_blank(field.text):
                report(field.pointer, "the item is blank", fix=safe("remove it", Remove(field.pointer)))

    def examples(self) -> Iterator[Example]:
        good = workflow(sample_node("plan", config={"outputChecklist": ["tests"]}))
        bad = workflow(sample_node("plan", config={"outputChecklist": ["tests", ""]}))
        yield Example(bad, good, good, path=WORKFLOW_PATH)


class PromptFieldLong(DefinitionRule):
    code = "BC346"
    name = "prompt-field-long"
    severity = Severity.WARNING
    origin = ENGINES
    summary = f"A part of the prompt has more than {PROMPT_FIELD_CHARACTERS} characters."
    why = "Engines silently cut longer parts, and the end of the instruction is lost."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for field in prompt_fields(document.definition):
            if len(field.text) > PROMPT_FIELD_CHARACTERS:
                text = f"this prompt part has {len(field.text):,} characters; engines keep {PROMPT_FIELD_CHARACTERS:,}"
                report(field.pointer, text)

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(rules=["x" * 5000]), workflow(rules=["Keep it small."]), path=WORKFLOW_PATH)


class NulCharacter(BlockRule):
    code = "BC347"
    name = "nul-character"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A part of the prompt contains a NUL character."
    why = "Arguments and environment variables end at a NUL, so the agent gets half a prompt or does not start."
    fix = "Remove it."
    fix_safety = "safe"
    kinds = (BlockKind.WORKFLOW, BlockKind.MOUNT)

    def check_document(self, document: BlockDocument, report: Report) -> None:
        fields: list[Any] = list(prompt_fields(document.definition))
        if document.kind is BlockKind.MOUNT:
            patterns = texts_of(document.value.get("fileRestrictions"))
            fields = [Field(pattern, f"/fileRestrictions/{at}", True) for at, pattern in patterns]
        for field in fields:
            if "\0" in field.text:
                fix = safe("remove it", ReplaceText(field.pointer, "\0", ""))
                report(field.pointer, "this prompt part contains a NUL character", fix=fix)

    def examples(self) -> Iterator[Example]:
        good = workflow(rules=["Keep it small."])
        yield Example(workflow(rules=["Keep it\0 small."]), good, good, path=WORKFLOW_PATH)


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


def _problems(node: Node, definition: StudioWorkflow, endless: Collection[str]) -> Iterator[tuple[str, str]]:
    kind = node.control
    if kind is None:
        yield "config/blockType", f"'blockType' must be one of {', '.join(members(ControlType))}"
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


class ControlShape(DefinitionRule):
    code = "BC349"
    name = "control-shape"
    severity = Severity.WARNING
    origin = ENGINES
    summary = "A condition has fewer than two outgoing transitions, or a `forEach` has an empty body."
    why = "The condition decides nothing, or the loop repeats nothing."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        for node in definition.nodes:
            if node.control is ControlType.CONDITION:
                ways = sum(1 for transition in definition.transitions if transition.source == node.id)
                if ways < 2:
                    ways_out = counted(ways, "outgoing transition")
                    text = f"the condition {shown(node.id)} has {ways_out}; it needs two"
                    report(node.pointer, text)
            loop = node.config.for_each_config
            if node.control is ControlType.FOR_EACH and loop is not None and loop.raw.get("bodyNodeIds") == []:
                report(loop.at("bodyNodeIds"), f"the forEach {shown(node.id)} has an empty body")

    def examples(self) -> Iterator[Example]:
        nodes = (control("a", "condition", conditionConfig=_CONDITION), sample_node("b"), sample_node("c"))
        yield Example(
            workflow(*nodes, edges=[edge("a", "b"), edge("b", "c")]),
            workflow(*nodes, edges=[edge("a", "b"), edge("a", "c")]),
            path=WORKFLOW_PATH,
        )


# What the contract knows about a node's configuration and the studio's file format does not.
_STRIPPED = (
    "blockType",
    "conditionConfig",
    "forEachConfig",
    "subWorkflowConfig",
    "maxRetries",
    "retryableExitCodes",
)
_A, _B, _C, _D = (uuid(number) for number in range(1, 5))


class StudioRule(DefinitionRule):
    """A rule that only the profile of the studio runs."""

    origin = ENGINES

    def check_document(self, document: BlockDocument, report: Report) -> None:
        if document.options.studio:
            self.check_studio(document.definition, report)

    def check_studio(self, definition: StudioWorkflow, report: Report) -> None:
        """The definition as the studio would take it."""
        raise NotImplementedError


def _example(bad: dict[str, Any], good: dict[str, Any]) -> Example:
    return Example(bad, good, path=WORKFLOW_PATH, options={PROFILE: BlockProfile.STUDIO.value})


def _edge(source: str, target: str, number: int) -> dict[str, Any]:
    return edge(source, target, ident=uuid(number))


class StudioLaneEarly(StudioRule):
    code = "BC350"
    name = "studio-lane-early"
    severity = Severity.WARNING
    summary = "In the studio, a lane starts before a node that leads to it."
    why = "The studio starts a group as soon as its first lane is due, so a lane can miss what a predecessor delivers."

    def check_studio(self, definition: StudioWorkflow, report: Report) -> None:
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

    def examples(self) -> Iterator[Example]:
        nodes = (sample_node(_A), sample_node(_B, "coding"), sample_node(_C), sample_node(_D, "coding"))
        groups = [group(_B, _D, ident=uuid(8))]
        yield _example(
            workflow(*nodes, id=uuid(0), parallelGroups=groups, edges=[_edge(_A, _B, 5), _edge(_C, _D, 6)]),
            workflow(
                *nodes,
                id=uuid(0),
                parallelGroups=groups,
                edges=[_edge(_A, _B, 5), _edge(_C, _D, 6), _edge(_C, _B, 7)],
            ),
        )


def _studio_starts(definition: StudioWorkflow) -> dict[str, int]:
    """When the studio starts each node: in order, but the lanes of a group together with its first one."""
    number = {ident: at for at, ident in enumerate(definition.by_id)}
    names = list(number)
    order = topological_order(len(number), ((number[edge.source], number[edge.target]) for edge in definition.edges))
    starts: dict[str, int] = {}
    for place, at in enumerate(order):
        group = definition.group_of.get(names[at])
        for ident in (names[at],) if group is None else group.lanes:
            starts.setdefault(ident, place)
    return starts


class StudioConfigStripped(StudioRule):
    code = "BC351"
    name = "studio-config-stripped"
    severity = Severity.WARNING
    summary = "The studio drops configuration that its file format does not have."
    why = "A control node runs as an ordinary agent, and a block is neither retried nor of another type."

    def check_studio(self, definition: StudioWorkflow, report: Report) -> None:
        for node in definition.nodes:
            dropped = _dropped(node)
            if dropped:
                what = f"when the studio loads the file, it drops {listed(map(shown, dropped))} of {shown(node.id)}"
                role = f"{node.type} agent" if node.type else "agent"
                so = f", which then runs as an ordinary {role}" if node.is_control else ""
                report(f"{node.pointer}/{'kind' if dropped[0] == 'kind' else 'config'}", what + so)

    def examples(self) -> Iterator[Example]:
        config = {"expression": "true", "trueBranchNodeId": _B, "falseBranchNodeId": _C}
        after = (sample_node(_B), sample_node(_C))
        links = [_edge(_A, _B, 5), _edge(_A, _C, 6)]
        yield _example(
            workflow(control(_A, "condition", conditionConfig=config), *after, id=uuid(0), edges=links),
            workflow(sample_node(_A), *after, id=uuid(0), edges=links),
        )


def _dropped(node: Node) -> list[str]:
    kind = ["kind"] if node.kind == NodeKind.CONTROL.value else []
    return [*kind, *(name for name in _STRIPPED if name in node.config)]


class StudioNeverPauses(StudioRule):
    code = "BC352"
    name = "studio-no-fail-on-conflict"
    severity = Severity.WARNING
    summary = "The studio has no merge strategy `fail-on-conflict`."
    why = "The run does not pause for a conflict, so the user is not asked which lane wins."

    def check_studio(self, definition: StudioWorkflow, report: Report) -> None:
        for item in definition.parallel_groups:
            if item.merge_strategy == MergeStrategy.FAIL_ON_CONFLICT.value:
                text = (
                    f"the studio has no 'fail-on-conflict': it ignores the strategy of {shown(item.id)} and does not "
                    "pause when lanes edit the same file"
                )
                report(f"{item.pointer}/mergeStrategy", text)

    def examples(self) -> Iterator[Example]:
        lanes = (sample_node(_A, "coding"), sample_node(_B, "coding"))
        groups = [group(_A, _B, ident=uuid(8))]
        yield _example(
            workflow(*lanes, id=uuid(0), parallelGroups=[{**groups[0], "mergeStrategy": "fail-on-conflict"}]),
            workflow(*lanes, id=uuid(0), parallelGroups=groups),
        )

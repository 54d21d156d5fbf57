"""A definition of blocks as people see it: its stages in the order of the plan, lanes side by side, merges and loops.

The data has the members of a simulated run that has not begun, so that one page shows both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workrail_lint.base.wording import counted
from workrail_lint.systems.base import Picture
from workrail_lint.systems.blocks.model.documents import Node, StudioWorkflow, Transition
from workrail_lint.systems.blocks.plan import Entry, Plan, Single, body_order
from workrail_lint.systems.blocks.prompts import assemble
from workrail_lint.systems.blocks.vocabulary import FOR_EACH_ITERATIONS, ConditionType, ControlType
from workrail_lint.systems.drawing.shapes import Block, Branch, Card, Group, Note, Switch

_AFTER = {
    ConditionType.ON_SUCCESS.value: "succeeded",
    ConditionType.ON_FAILURE.value: "failed",
    ConditionType.ALWAYS.value: "ended",
}
# Loops inside of loops are drawn so deep; a document must not decide how deep we recurse.
_DEEPEST = 8


def picture(definition: StudioWorkflow, plan: Plan) -> Picture:
    """Return a definition as `graph` and `studio` show it."""
    nodes = definition.by_id
    record = {
        "pack": "block",
        "executionStatus": None,
        "blockers": [],
        "plan": plan.stages(),
        "steps": [
            {"node": node.id, "nodeStatus": None, "prompt": "" if node.is_control else assemble(definition, node)}
            for node in nodes.values()
        ],
        "labels": {ident: node.label or ident for ident, node in nodes.items()},
        "transitions": [{"from": edge.source, "to": edge.target, "when": _when(edge)} for edge in definition.edges],
        "fanIns": [],
        "events": [],
    }
    blocks = tuple(_Artist(definition).blocks(plan.entries))
    return Picture(definition.metadata.name or definition.id, blocks, record)


def _when(edge: Transition) -> str:
    return edge.expression or edge.kind if edge.kind == ConditionType.EXPRESSION.value else edge.kind


class _Artist:
    """Draws the nodes of a definition."""

    def __init__(self, definition: StudioWorkflow) -> None:
        self._definition = definition

    def blocks(self, entries: Sequence[Entry]) -> Iterator[Block]:
        """Yield the entries of a plan; the two ways of a condition that follow each other are side by side."""
        at = 0
        while at < len(entries):
            pair = [self._entry(entry) for entry in entries[at : at + 2]]
            ways = [self._chosen_by(entry) for entry in entries[at : at + 2]]
            lanes = tuple(block for block in pair if isinstance(block, Branch))
            if len(lanes) == 2 and ways[0] is not None and ways[0] == ways[1]:
                yield Switch(None, lanes, is_complete=True)
                at += 2
            else:
                yield pair[0]
                at += 1

    def _chosen_by(self, entry: Entry) -> str | None:
        """Return the condition that alone decides whether an entry runs."""
        if not isinstance(entry, Single) or self._is_conditional(self._definition.incoming[entry.node]):
            return None
        choosing = [condition.id for condition, _ in self._taken(entry.node)]
        return choosing[0] if len(choosing) == 1 else None

    def _entry(self, entry: Entry) -> Block:
        if isinstance(entry, Single):
            return self.block(entry.node)
        labels = [group.label for group in self._definition.parallel_groups if group.id == entry.group]
        lanes = tuple(self.block(node, lane_of=entry.group) for node in entry.nodes)
        title = labels[0] if labels and labels[0] else entry.group
        return Group(entry.group, "parallel", title, f"merged by {entry.strategy}", None, lanes)

    def block(self, ident: str, *, lane_of: str | None = None, depth: int = 0) -> Block:
        """Return a node: in a branch if it runs only under a condition, in a frame if it is a loop."""
        node = self._definition.by_id[ident]
        drawn = self._loop(node, depth) or self._card(node, lane_of)
        condition = self._condition(node)
        return drawn if condition is None else Branch(condition, (drawn,))

    def _loop(self, node: Node, depth: int) -> Group | None:
        loop = node.config.for_each_config
        body = body_order(self._definition, node)
        if loop is None or not body or depth >= _DEEPEST:
            return None
        bound = FOR_EACH_ITERATIONS if loop.max_iterations is None else loop.max_iterations
        note = f"for each {loop.item_variable} of {loop.collection_variable}"
        items = tuple(self.block(inner, depth=depth + 1) for inner in body)
        return Group(node.id, "loop", node.label or node.id, note, bound, items)

    def _card(self, node: Node, lane_of: str | None) -> Card:
        kind = node.control.value if node.control is not None else node.type
        about = f"{node.id}, {kind}" if kind else node.id
        return Card(node.id, node.label or node.id, tuple(self._notes(node)), about, step=lane_of)

    def _notes(self, node: Node) -> Iterator[Note]:
        condition, inner = node.config.condition_config, node.config.sub_workflow_config
        if node.control is ControlType.CONDITION and condition is not None:
            yield Note("condition", f"asks: {condition.expression}")
        if node.control is ControlType.SUB_WORKFLOW and inner is not None:
            yield Note("delegation", f"runs {inner.workflow_id}")
        for gate in self._definition.gates:
            if gate.node_id == node.id:
                yield Note("gate", f"{gate.gate_type or 'gate'} before it: {gate.prompt}")
        if node.asks:
            yield Note("gate", "a person looks at the result")
        if node.config.max_retries:
            yield Note("retries", f"tries again {counted(int(node.config.max_retries), 'time')}")

    def _condition(self, node: Node) -> str | None:
        """Return what has to hold for a node to run, in words; None if it always runs."""
        parts = [expression for _, expression in self._taken(node.id)]
        incoming = self._definition.incoming[node.id]
        if self._is_conditional(incoming):
            ways = [self._way(edge) for edge in incoming]
            text = " or ".join(dict.fromkeys(ways))
            parts.append(f"({text})" if parts and len(ways) > 1 else text)
        return " and ".join(parts) or None

    def _way(self, edge: Transition) -> str:
        source = self._definition.by_id[edge.source]
        if edge.kind == ConditionType.EXPRESSION.value:
            return edge.expression or "never"
        return f"{source.label or source.id} {_AFTER.get(edge.kind, 'ended')}"

    @staticmethod
    def _is_conditional(incoming: Sequence[Transition]) -> bool:
        return bool(incoming) and all(edge.kind != ConditionType.ALWAYS.value for edge in incoming)

    def _taken(self, ident: str) -> Iterator[tuple[Node, str]]:
        """Yield each condition that chooses between a node and another one, with what it asks for the node."""
        for other in self._definition.by_id.values():
            condition = other.config.condition_config
            if other.control is ControlType.CONDITION and condition is not None:
                if condition.true_branch_node_id == ident:
                    yield other, condition.expression
                elif condition.false_branch_node_id == ident:
                    yield other, f"not ({condition.expression})"

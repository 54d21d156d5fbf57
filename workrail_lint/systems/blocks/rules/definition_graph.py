"""Nodes, the transitions between them, gates and variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workrail_lint.base import js
from workrail_lint.base.result import Err
from workrail_lint.base.suggest import did_you_mean, nearest
from workrail_lint.base.wording import counted
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import REPORTED_ELSEWHERE, Description
from workrail_lint.systems.blocks.expressions import parse_expression
from workrail_lint.systems.blocks.model.documents import Gate, StudioWorkflow
from workrail_lint.systems.blocks.plan import find_cycle, topological_order
from workrail_lint.systems.blocks.rules.base import DECIDED, ENGINES, BlockDocument
from workrail_lint.systems.blocks.rules.definition_shape import DefinitionRule
from workrail_lint.systems.blocks.rules.samples import GATE, control, edge, group, workflow
from workrail_lint.systems.blocks.rules.samples import node as sample_node
from workrail_lint.systems.blocks.vocabulary import ConditionType, ControlType, VariableType, text_of
from workrail_lint.systems.blocks.wording import json_type, shown

_LONGEST_CYCLE = 12
MOST_CYCLES = 20


def repeated(names: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield those pairs of a name and a pointer whose name came up before."""
    seen: set[str] = set()
    for name, pointer in names:
        if name and name in seen:
            yield name, pointer
        seen.add(name)


def unknown_node(ident: str, definition: StudioWorkflow) -> str:
    """Return the message about an unknown node, with a similar id if there is one."""
    suggestion = nearest(ident, definition.by_id) if len(definition.by_id) <= 1000 else None
    return f"unknown node {shown(ident)}{did_you_mean(suggestion)}"


def way(ids: Iterable[str]) -> str:
    """Return a path of ids inside a message; of a long path only its ends."""
    names = [shown(ident)[1:-1] for ident in ids]
    if len(names) > _LONGEST_CYCLE:
        names = [*names[:6], "...", *names[-2:]]
    return " -> ".join(names)


class NodeIdDuplicate(DefinitionRule):
    code = "BC305"
    name = "node-id-duplicate"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "Two nodes have the same id."
    why = "Transitions and output files refer to nodes by id, so the two nodes would share one file."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        nodes = document.definition.nodes
        for ident, pointer in repeated((node.id, node.pointer) for node in nodes):
            report(f"{pointer}/id", f"duplicate node id {shown(ident)}")

    def examples(self) -> Iterator[Example]:
        links = [edge("a", "b")]
        yield self.example(
            workflow(sample_node("a"), sample_node("a"), sample_node("b"), edges=links),
            workflow(sample_node("a"), sample_node("b"), edges=links),
        )


class NodeReferenceUnknown(DefinitionRule):
    code = "BC310"
    name = "node-reference-unknown"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A transition, a gate or a group names a node that does not exist."
    why = "The transition is never taken, so its target never runs."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        for transition in definition.transitions:
            for member, ident in (("sourceNodeId", transition.source), ("targetNodeId", transition.target)):
                if transition.has(member) and ident not in definition.by_id:
                    what = unknown_node(ident, definition)
                    report(f"{transition.pointer}/{member}", f"transition {shown(transition.id)}: {what}")
        for gate in definition.gates:
            if gate.has("nodeId") and gate.node_id not in definition.by_id:
                what = unknown_node(gate.node_id, definition)
                report(gate.at("nodeId"), f"gate {shown(gate.raw.get('id'))}: {what}")
        for item in definition.parallel_groups:
            for at, ident in item.written_lanes:
                if ident not in definition.by_id:
                    what = unknown_node(ident, definition)
                    report(f"{item.pointer}/laneNodeIds/{at}", f"group {shown(item.id)}: {what}")

    def examples(self) -> Iterator[Example]:
        two = (sample_node("a"), sample_node("b"))
        yield self.example(workflow(*two, edges=[edge("a", "zz")]), workflow(*two, edges=[edge("a", "b")]))
        yield self.example(workflow(gates=[{**GATE, "nodeId": "zz"}]), workflow(gates=[GATE]))
        yield self.example(
            workflow(*two, parallelGroups=[group("a", "b", "zz")]), workflow(*two, parallelGroups=[group("a", "b")])
        )


class DefinitionNameDuplicate(DefinitionRule):
    code = "BC311"
    name = "definition-name-duplicate"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "Two transitions have the same id, or two variables the same name."
    why = "Logs and recorded results refer to them by id, so the two can't be told apart."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        for what, items in (("transition", definition.transitions), ("group", definition.parallel_groups)):
            for ident, pointer in repeated((item.id, item.pointer) for item in items):
                report(f"{pointer}/id", f"duplicate {what} id {shown(ident)}")
        for name, pointer in repeated((each.name, each.at("name")) for each in definition.variables):
            report(pointer, f"duplicate variable {shown(name)}")

    def examples(self) -> Iterator[Example]:
        three = (sample_node("a"), sample_node("b"), sample_node("c"))
        yield self.example(
            workflow(*three, edges=[edge("a", "b", ident="t1"), edge("b", "c", ident="t1")]),
            workflow(*three, edges=[edge("a", "b", ident="t1"), edge("b", "c", ident="t2")]),
        )
        one = {"name": "n", "type": "number", "required": False}
        good = workflow(variables=[one, {**one, "name": "m"}])
        yield self.example(workflow(variables=[one, one]), good)


class WorkflowCycle(DefinitionRule):
    code = "BC312"
    name = "workflow-cycle"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "Transitions form a cycle."
    why = "The nodes have no possible order, so the run fails before its first block."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        names = list(definition.by_id)
        number = {ident: at for at, ident in enumerate(names)}
        edges = {(number[edge.source], number[edge.target]): edge for edge in definition.edges}
        for _ in range(MOST_CYCLES):
            left = set(range(len(names))) - set(topological_order(len(names), edges))
            if not left:
                return
            cycle = find_cycle(left, edges)
            closing = edges[cycle[-1], cycle[0]]
            ids = [names[at] for at in (*cycle, cycle[0])]
            report(closing.pointer, f"the transitions form a cycle: {way(ids)}")
            # Without this cycle there may be another, independent one.
            edges = {pair: other for pair, other in edges.items() if not {*pair} & {*cycle}}

    def examples(self) -> Iterator[Example]:
        two = (sample_node("a"), sample_node("b"))
        yield self.example(
            workflow(*two, edges=[edge("a", "b"), edge("b", "a")]), workflow(*two, edges=[edge("a", "b")])
        )


class NodeLeadsNowhere(DefinitionRule):
    code = "BC313"
    name = "node-leads-nowhere"
    severity = Severity.WARNING
    origin = ENGINES
    summary = "A node has no transition, or a control node too few branches or no body."
    why = "Only its position in the file decides when it runs; usually a transition was forgotten."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        self._node_disconnected(document, report)
        self._control_shape(document, report)

    def _node_disconnected(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        if len(definition.nodes) < 2:
            return
        connected = {ident for edge in definition.transitions for ident in (edge.source, edge.target)}
        connected |= {ident for group in definition.parallel_groups for ident in group.lanes if len(group.lanes) > 1}
        connected |= definition.body_of.keys() | definition.branches
        for node in definition.nodes:
            if node.id and node.id not in connected:
                report(node.pointer, f"no transition starts or ends at {shown(node.id)}")

    def _control_shape(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        for node in definition.nodes:
            if node.control is ControlType.CONDITION:
                ways = sum(1 for transition in definition.transitions if transition.source == node.id)
                if ways < 2:
                    ways_out = counted(ways, "outgoing transition")
                    report(node.pointer, f"the condition {shown(node.id)} has {ways_out}; it needs two")
            loop = node.config.for_each_config
            if node.control is ControlType.FOR_EACH and loop is not None and loop.raw.get("bodyNodeIds") == []:
                report(loop.at("bodyNodeIds"), f"the forEach {shown(node.id)} has an empty body")

    def examples(self) -> Iterator[Example]:
        three = (sample_node("a"), sample_node("b"), sample_node("c"))
        yield self.example(
            workflow(*three, edges=[edge("a", "b")]), workflow(*three, edges=[edge("a", "b"), edge("b", "c")])
        )
        nodes = (
            control(
                "a",
                "condition",
                conditionConfig={"expression": "true", "trueBranchNodeId": "b", "falseBranchNodeId": "c"},
            ),
            sample_node("b"),
            sample_node("c"),
        )
        yield self.example(
            workflow(*nodes, edges=[edge("a", "b"), edge("b", "c")]),
            workflow(*nodes, edges=[edge("a", "b"), edge("a", "c")]),
        )


class ExpressionInvalid(DefinitionRule):
    code = "BC315"
    name = "expression-not-usable"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "An expression is missing, has invalid syntax, or uses an undeclared variable."
    why = "A missing expression is never true, and an expression on another type is never evaluated."
    describes = (("ExpressionCondition", "required"),)

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        return REPORTED_ELSEWHERE  # below, where a blank expression counts as missing too

    def check_document(self, document: BlockDocument, report: Report) -> None:
        self._expression_missing(document, report)
        declared = document.definition.declared
        for text, pointer in expressions(document.definition):
            parsed = parse_expression(text, document.definition.language)
            if isinstance(parsed, Err):
                where = f"column {parsed.error.column}: {parsed.error.reason}"
                report(pointer, f"invalid expression {shown(text)} at {where}")
                continue
            for name in parsed.value.variables:
                if name not in declared:
                    suggestion = nearest(name, declared) if len(declared) <= 1000 else None
                    message = f"the variable {shown(name)} is not declared{did_you_mean(suggestion)}"
                    report(pointer, message, severity=Severity.WARNING)

    def _expression_missing(self, document: BlockDocument, report: Report) -> None:
        for transition in document.definition.transitions:
            condition = transition.condition
            if condition is None:
                continue
            blank = text_of(condition.expression) is None
            if condition.type == ConditionType.EXPRESSION.value:
                if blank and (condition.has("expression") or condition.raw.get("expression") is None):
                    text = f"transition {shown(transition.id)} has the type 'expression', but no expression"
                    report(condition.at("expression"), text)
            elif not blank:
                kind = shown(condition.type)
                text = f"transition {shown(transition.id)} has the type {kind}, so its expression is ignored"
                report(condition.at("expression"), text, severity=Severity.WARNING)

    def examples(self) -> Iterator[Example]:
        two, variables = (sample_node("a"), sample_node("b")), [{"name": "ready", "type": "boolean", "required": True}]
        good = workflow(*two, edges=[edge("a", "b", "expression", "ready == true")], variables=variables)
        yield self.example(workflow(*two, edges=[edge("a", "b", "expression")], variables=variables), good)
        yield self.example(workflow(*two, edges=[edge("a", "b", "always", "ready")], variables=variables), good)
        runs = [{**variables[0], "name": "run"}]
        yield self.example(
            workflow(*two, edges=[edge("a", "b", "expression", "run()")], variables=runs),
            workflow(*two, edges=[edge("a", "b", "expression", "run")], variables=runs),
        )
        links = [edge("a", "b", "expression", "ready == true")]
        yield self.example(workflow(*two, edges=links), workflow(*two, edges=links, variables=variables))


def expressions(definition: StudioWorkflow) -> Iterator[tuple[str, str]]:
    """Yield every expression that decides something, with its place."""
    for transition in definition.transitions:
        text = text_of(transition.expression)
        if transition.kind == ConditionType.EXPRESSION.value and text is not None:
            yield text, transition.at("condition", "expression")
    for item in definition.nodes:
        choice = item.config.condition_config
        if choice is not None and text_of(choice.expression) is not None:
            yield choice.expression, choice.at("expression")


class GateOptions(DefinitionRule):
    code = "BC319"
    name = "gate-options"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "A gate has no option, two options with the same value, or (a warning) several defaults."
    why = "A gate that can't be answered stops the run for good; options with the same value can't be told apart."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for gate in document.definition.gates:
            if gate.has("options"):
                _check_options(gate, report)

    def examples(self) -> Iterator[Example]:
        good = workflow(gates=[GATE])
        yield self.example(workflow(gates=[{**GATE, "options": []}]), good)
        same = [{"label": "Yes", "value": "yes"}, {"label": "Of course", "value": "yes"}]
        yield self.example(workflow(gates=[{**GATE, "options": same}]), good)


def _check_options(gate: Gate, report: Report) -> None:
    ident = shown(gate.raw.get("id"))
    if not gate.raw["options"]:
        report(gate.at("options"), f"the gate {ident} has no options")
    for value, place in repeated((option.value, option.at("value")) for option in gate.options):
        report(place, f"the gate {ident} has two options with the value {shown(value)}")
    for option in [option for option in gate.options if option.is_default][1:]:
        text = f"the gate {ident} has more than one default option"
        report(option.at("isDefault"), text, severity=Severity.WARNING)


class VariableDefaultType(DefinitionRule):
    code = "BC321"
    name = "variable-default-type"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The default of a variable does not have the variable's type."
    why = "Comparison is strict: a number that is written as a string never equals a number."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for variable in document.definition.variables:
            kind, default = variable.type, variable.default_value
            if default is not None and kind is not None and not _fits(kind, default):
                name = shown(variable.raw.get("name"))
                text = f"the variable {name} has the type {shown(kind)}, but its default is {json_type(default)}"
                report(variable.at("defaultValue"), text)

    def examples(self) -> Iterator[Example]:
        one = {"name": "n", "type": "number", "required": False}
        yield self.example(
            workflow(variables=[{**one, "defaultValue": "x"}]), workflow(variables=[{**one, "defaultValue": 3}])
        )


def _fits(kind: str, value: object) -> bool:
    match kind:
        case VariableType.STRING.value:
            return isinstance(value, str)
        case VariableType.NUMBER.value:
            return js.is_number(value)
        case VariableType.BOOLEAN.value:
            return isinstance(value, bool)
        case VariableType.ARRAY.value:
            return isinstance(value, list)
        case _:
            return True

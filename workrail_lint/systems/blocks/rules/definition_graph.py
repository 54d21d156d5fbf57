"""BC305, BC310 to BC313 and BC315 to BC317: nodes and the transitions between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from workrail_lint.base.result import Err
from workrail_lint.base.suggest import nearest
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.definition import Definition, text_of
from workrail_lint.systems.blocks.expressions import parse_expression
from workrail_lint.systems.blocks.plan import find_cycle, topological_order
from workrail_lint.systems.blocks.rules.base import DECIDED, ENGINES, BlockDocument
from workrail_lint.systems.blocks.rules.definition_shape import DefinitionRule
from workrail_lint.systems.blocks.rules.samples import WORKFLOW_PATH, edge, node, workflow
from workrail_lint.systems.blocks.vocabulary import ConditionType, is_member
from workrail_lint.systems.blocks.wording import shown

if TYPE_CHECKING:
    from workrail_lint.documents.structure import Violation

_LONGEST_CIRCLE = 12
MOST_CIRCLES = 20


def repeated(names: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Of pairs of a name and a pointer, those whose name came up before."""
    seen: set[str] = set()
    for name, pointer in names:
        if name and name in seen:
            yield name, pointer
        seen.add(name)


def unknown_node(ident: str, definition: Definition) -> str:
    """That a node does not exist, and which one was probably meant."""
    suggestion = nearest(ident, definition.by_id) if len(definition.by_id) <= 1000 else None
    return f"{shown(ident)} is no node" + (f"; did you mean {shown(suggestion)}?" if suggestion else "")


def way(ids: Iterable[str]) -> str:
    """Ids in a row inside a message; of a long row only its ends."""
    names = [shown(ident)[1:-1] for ident in ids]
    if len(names) > _LONGEST_CIRCLE:
        names = [*names[:6], "...", *names[-2:]]
    return " -> ".join(names)


class NodeIdDuplicate(DefinitionRule):
    code = "BC305"
    name = "node-id-duplicate"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "Two nodes have the same id."
    why = "Transitions and output files name nodes by their ids, so that two nodes would share one file."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        nodes = document.definition.nodes
        for ident, pointer in repeated((found.id, found.pointer) for found in nodes):
            report(f"{pointer}/id", f"the id {shown(ident)} is that of an earlier node")

    def examples(self) -> Iterator[Example]:
        links = [edge("a", "b")]
        yield Example(
            workflow(node("a"), node("a"), node("b"), edges=links),
            workflow(node("a"), node("b"), edges=links),
            path=WORKFLOW_PATH,
        )


class TransitionEndUnknown(DefinitionRule):
    code = "BC310"
    name = "transition-end-unknown"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A transition starts at or leads to a node that does not exist."
    why = "The transition is never taken, and what it should lead to never runs."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        for transition in definition.transitions:
            for member in ("sourceNodeId", "targetNodeId"):
                ident = transition.value.get(member)
                if isinstance(ident, str) and ident not in definition.by_id:
                    what = unknown_node(ident, definition)
                    report(f"{transition.pointer}/{member}", f"the transition {shown(transition.id)}: {what}")

    def examples(self) -> Iterator[Example]:
        two = (node("a"), node("b"))
        yield Example(
            workflow(*two, edges=[edge("a", "zz")]), workflow(*two, edges=[edge("a", "b")]), path=WORKFLOW_PATH
        )


class TransitionIdDuplicate(DefinitionRule):
    code = "BC311"
    name = "transition-id-duplicate"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "Two transitions, or two groups, have the same id."
    why = "Logs and recorded results name them by their ids, so that nobody can tell the two apart."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        for what, items in (("transition", definition.transitions), ("group", definition.groups)):
            for ident, pointer in repeated((item.id, item.pointer) for item in items):
                report(f"{pointer}/id", f"the id {shown(ident)} is that of an earlier {what}")

    def examples(self) -> Iterator[Example]:
        three = (node("a"), node("b"), node("c"))
        yield Example(
            workflow(*three, edges=[edge("a", "b", ident="t1"), edge("b", "c", ident="t1")]),
            workflow(*three, edges=[edge("a", "b", ident="t1"), edge("b", "c", ident="t2")]),
            path=WORKFLOW_PATH,
        )


class WorkflowCycle(DefinitionRule):
    code = "BC312"
    name = "workflow-cycle"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "Transitions lead in a circle."
    why = "There is no order in which the nodes could run, so that a run fails before its first block."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        names = list(definition.by_id)
        number = {ident: at for at, ident in enumerate(names)}
        edges = {(number[edge.source], number[edge.target]): edge for edge in definition.edges}
        for _ in range(MOST_CIRCLES):
            left = set(range(len(names))) - set(topological_order(len(names), edges))
            if not left:
                return
            circle = find_cycle(left, edges)
            closing = edges[circle[-1], circle[0]]
            ids = [names[at] for at in (*circle, circle[0])]
            report(closing.pointer, f"the transitions lead in a circle: {way(ids)}")
            # Without this circle there may be another one that has nothing to do with it.
            edges = {pair: found for pair, found in edges.items() if not {*pair} & {*circle}}

    def examples(self) -> Iterator[Example]:
        two = (node("a"), node("b"))
        yield Example(
            workflow(*two, edges=[edge("a", "b"), edge("b", "a")]),
            workflow(*two, edges=[edge("a", "b")]),
            path=WORKFLOW_PATH,
        )


class NodeDisconnected(DefinitionRule):
    code = "BC313"
    name = "node-disconnected"
    severity = Severity.WARNING
    origin = ENGINES
    summary = "A node has no transition, though the definition has others."
    why = "It runs at a time that only its place in the file decides; usually a transition was forgotten."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        if len(definition.nodes) < 2:
            return
        connected = {ident for edge in definition.transitions for ident in (edge.source, edge.target)}
        connected |= {ident for group in definition.groups for ident in group.lanes if len(group.lanes) > 1}
        connected |= definition.body_of.keys() | definition.branches
        for found in definition.nodes:
            if found.id and found.id not in connected:
                report(found.pointer, f"no transition starts at {shown(found.id)} or leads to it")

    def examples(self) -> Iterator[Example]:
        three = (node("a"), node("b"), node("c"))
        yield Example(
            workflow(*three, edges=[edge("a", "b")]),
            workflow(*three, edges=[edge("a", "b"), edge("b", "c")]),
            path=WORKFLOW_PATH,
        )


class ExpressionMissing(DefinitionRule):
    code = "BC315"
    name = "expression-missing"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A transition by expression has none; or (a warning) one of another type has an expression."
    why = "A missing expression is never true. One on another type is never looked at, though somebody wrote it."

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        # Message below, where a blank expression counts as missing too.
        return violation.keyword == "required" and violation.expected == "expression"

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for transition in document.definition.transitions:
            kind, written = transition.kind, transition.condition.get("expression")
            place = f"{transition.pointer}/condition/expression"
            if kind == ConditionType.EXPRESSION.value:
                if text_of(written) is None and (written is None or isinstance(written, str)):
                    report(place, f"the transition {shown(transition.id)} goes by an expression, but there is none")
            elif is_member(ConditionType, kind) and text_of(written) is not None:
                text = f"the transition {shown(transition.id)} is of the type {shown(kind)}; its expression is not used"
                report(place, text, severity=Severity.WARNING)

    def examples(self) -> Iterator[Example]:
        two, variables = (node("a"), node("b")), [{"name": "ready", "type": "boolean", "required": True}]
        good = workflow(*two, edges=[edge("a", "b", "expression", "ready == true")], variables=variables)
        yield Example(
            workflow(*two, edges=[edge("a", "b", "expression")], variables=variables), good, path=WORKFLOW_PATH
        )
        yield Example(
            workflow(*two, edges=[edge("a", "b", "always", "ready")], variables=variables), good, path=WORKFLOW_PATH
        )


def expressions(definition: Definition) -> Iterator[tuple[str, str]]:
    """Every expression that decides something, with its place."""
    for transition in definition.transitions:
        text = text_of(transition.expression)
        if transition.kind == ConditionType.EXPRESSION.value and text is not None:
            yield text, f"{transition.pointer}/condition/expression"
    for item in definition.nodes:
        text = text_of(item.settings("conditionConfig").get("expression"))
        if text is not None:
            yield text, f"{item.pointer}/config/conditionConfig/expression"


class ExpressionInvalid(DefinitionRule):
    code = "BC316"
    name = "expression-invalid"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "An expression is not in the language of expressions."
    why = "An expression that can't be evaluated counts as false, so that what follows silently never runs."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for text, pointer in expressions(document.definition):
            parsed = parse_expression(text)
            if isinstance(parsed, Err):
                report(pointer, f"column {parsed.error.column} of {shown(text)}: {parsed.error.reason}")

    def examples(self) -> Iterator[Example]:
        two, variables = (node("a"), node("b")), [{"name": "run", "type": "boolean", "required": True}]
        yield Example(
            workflow(*two, edges=[edge("a", "b", "expression", "run()")], variables=variables),
            workflow(*two, edges=[edge("a", "b", "expression", "run")], variables=variables),
            path=WORKFLOW_PATH,
        )


class ExpressionVariableUnknown(DefinitionRule):
    code = "BC317"
    name = "expression-variable-unknown"
    severity = Severity.WARNING
    origin = ENGINES
    summary = "An expression asks for a variable that is not declared."
    why = "A variable that does not exist is false, whatever the author expected it to hold."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        declared = document.definition.declared
        for text, pointer in expressions(document.definition):
            parsed = parse_expression(text)
            for name in () if isinstance(parsed, Err) else parsed.value.variables:
                if name not in declared:
                    suggestion = nearest(name, declared) if len(declared) <= 1000 else None
                    hint = f"; did you mean {shown(suggestion)}?" if suggestion else ""
                    report(pointer, f"the variable {shown(name)} is not declared{hint}")

    def examples(self) -> Iterator[Example]:
        two, variables = (node("a"), node("b")), [{"name": "ready", "type": "boolean", "required": True}]
        links = [edge("a", "b", "expression", "ready == true")]
        yield Example(workflow(*two, edges=links), workflow(*two, edges=links, variables=variables), path=WORKFLOW_PATH)

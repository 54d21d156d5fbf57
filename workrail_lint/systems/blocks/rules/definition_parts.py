"""BC318 to BC321: gates and variables."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.base import js
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.model.documents import Gate
from workrail_lint.systems.blocks.rules.base import DECIDED, ENGINES, BlockDocument
from workrail_lint.systems.blocks.rules.definition_graph import repeated, unknown_node
from workrail_lint.systems.blocks.rules.definition_shape import DefinitionRule
from workrail_lint.systems.blocks.rules.samples import GATE, WORKFLOW_PATH, workflow
from workrail_lint.systems.blocks.vocabulary import VariableType
from workrail_lint.systems.blocks.wording import json_type, shown


class GateNodeUnknown(DefinitionRule):
    code = "BC318"
    name = "gate-node-unknown"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A gate refers to a node that does not exist."
    why = "The question is never asked, and the step that it should guard runs without approval."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        for gate in definition.gates:
            if gate.has("nodeId") and gate.node_id not in definition.by_id:
                what = unknown_node(gate.node_id, definition)
                report(gate.at("nodeId"), f"gate {shown(gate.raw.get('id'))}: {what}")

    def examples(self) -> Iterator[Example]:
        bad = workflow(gates=[{**GATE, "nodeId": "zz"}])
        yield Example(bad, workflow(gates=[GATE]), path=WORKFLOW_PATH)


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
        yield Example(workflow(gates=[{**GATE, "options": []}]), good, path=WORKFLOW_PATH)
        same = [{"label": "Yes", "value": "yes"}, {"label": "Of course", "value": "yes"}]
        yield Example(workflow(gates=[{**GATE, "options": same}]), good, path=WORKFLOW_PATH)


def _check_options(gate: Gate, report: Report) -> None:
    ident = shown(gate.raw.get("id"))
    if not gate.raw["options"]:
        report(gate.at("options"), f"the gate {ident} has no options")
    for value, place in repeated((option.value, option.at("value")) for option in gate.options):
        report(place, f"the gate {ident} has two options with the value {shown(value)}")
    for option in [option for option in gate.options if option.is_default][1:]:
        text = f"the gate {ident} has more than one default option"
        report(option.at("isDefault"), text, severity=Severity.WARNING)


class VariableDuplicate(DefinitionRule):
    code = "BC320"
    name = "variable-duplicate"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "Two variables have the same name."
    why = "Expressions refer to variables by name; which of the two counts depends on the reader."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for name, pointer in repeated((each.name, each.at("name")) for each in document.definition.variables):
            report(pointer, f"duplicate variable {shown(name)}")

    def examples(self) -> Iterator[Example]:
        one = {"name": "n", "type": "number", "required": False}
        good = workflow(variables=[one, {**one, "name": "m"}])
        yield Example(workflow(variables=[one, one]), good, path=WORKFLOW_PATH)


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
        yield Example(
            workflow(variables=[{**one, "defaultValue": "x"}]),
            workflow(variables=[{**one, "defaultValue": 3}]),
            path=WORKFLOW_PATH,
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

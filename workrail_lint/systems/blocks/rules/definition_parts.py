"""BC318 to BC321: gates and variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.base import js
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
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
        for at, gate in definition.gates:
            ident = gate.get("nodeId")
            if isinstance(ident, str) and ident not in definition.by_id:
                what = unknown_node(ident, definition)
                report(f"/gates/{at}/nodeId", f"gate {shown(gate.get('id'))}: {what}")

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
        for at, gate in document.definition.gates:
            options = gate.get("options")
            if isinstance(options, list):
                _options(gate, options, f"/gates/{at}/options", report)

    def examples(self) -> Iterator[Example]:
        good = workflow(gates=[GATE])
        yield Example(workflow(gates=[{**GATE, "options": []}]), good, path=WORKFLOW_PATH)
        same = [{"label": "Yes", "value": "yes"}, {"label": "Of course", "value": "yes"}]
        yield Example(workflow(gates=[{**GATE, "options": same}]), good, path=WORKFLOW_PATH)


def _options(gate: dict[str, Any], options: list[Any], pointer: str, report: Report) -> None:
    ident = shown(gate.get("id"))
    if not options:
        report(pointer, f"the gate {ident} has no options")
    known = [(at, option) for at, option in enumerate(options) if isinstance(option, dict)]
    values = [(at, option["value"]) for at, option in known if isinstance(option.get("value"), str)]
    for value, place in repeated((value, f"{pointer}/{at}/value") for at, value in values):
        report(place, f"the gate {ident} has two options with the value {shown(value)}")
    defaults = [at for at, option in known if option.get("isDefault") is True]
    for at in defaults[1:]:
        report(
            f"{pointer}/{at}/isDefault", f"the gate {ident} has more than one default option", severity=Severity.WARNING
        )


class VariableDuplicate(DefinitionRule):
    code = "BC320"
    name = "variable-duplicate"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "Two variables have the same name."
    why = "Expressions refer to variables by name; which of the two counts depends on the reader."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        names = [(at, variable.get("name")) for at, variable in document.definition.variables]
        pairs = [(name, f"/variables/{at}/name") for at, name in names if isinstance(name, str)]
        for name, pointer in repeated(pairs):
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
        for at, variable in document.definition.variables:
            kind, default = variable.get("type"), variable.get("defaultValue")
            if default is not None and isinstance(kind, str) and not _fits(kind, default):
                name = shown(variable.get("name"))
                text = f"the variable {name} has the type {shown(kind)}, but its default is {json_type(default)}"
                report(f"/variables/{at}/defaultValue", text)

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

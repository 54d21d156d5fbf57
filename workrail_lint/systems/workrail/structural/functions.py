"""Function calls: the function is visible, and its required arguments are present and of the right type."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import quoted
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding, Severity
from workrail_lint.systems.workrail.compiler.nodes import Node, Nodes, name_hint, step_label
from workrail_lint.systems.workrail.structural.common import Definition, finding, items_of, members_of

Functions = dict[str, dict[str, Any]]


def check_functions(definition: Definition, nodes: Nodes) -> Iterator[Finding]:
    workflow = named_functions(definition)
    for node in nodes:
        if not node.is_loop:
            if "functionCalls" in node.step:
                yield from _check_step(node, workflow)
            continue
        calling = [inner for inner in node.body or () if "functionCalls" in inner.step]
        for inner in calling:
            yield from _check_step(inner, {**workflow, **named_functions(node.step)})


def named_functions(holder: dict[str, Any]) -> Functions:
    """The functions defined here by name; a later definition of a name replaces an earlier one."""
    found: Functions = {}
    for item in items_of(holder.get("functionDefinitions")):
        name = members_of(item).get("name")
        if isinstance(name, str):
            found[name] = item
    return found


def _check_step(node: Node, outer: Functions) -> Iterator[Finding]:
    calls = items_of(node.step.get("functionCalls"))
    visible = {**outer, **named_functions(node.step)}
    for index, call in enumerate(calls):
        name = members_of(call).get("name")
        args = members_of(call).get("args")
        if not isinstance(name, str) or not isinstance(args, dict):
            continue
        pointer = f"{node.pointer}/functionCalls/{index}"
        if name not in visible:
            suggestion = nearest(name, visible)
            hint = name_hint(suggestion, "visible functions", visible)
            yield finding(
                "function-unknown",
                f"{pointer}/name",
                f"{step_label(node)}: unknown function {quoted(name)}{hint}",
                suggestion=suggestion,
            )
            continue
        yield from _check_arguments(node, name, visible[name], args, f"{pointer}/args")


def _check_arguments(
    node: Node, name: str, function: dict[str, Any], args: dict[str, Any], pointer: str
) -> Iterator[Finding]:
    parameters = [members_of(item) for item in items_of(function.get("parameters"))]
    if not parameters:
        return
    label = f"{step_label(node)}: function {quoted(name)}"
    first: dict[str, dict[str, Any]] = {}
    for parameter in parameters:
        ident = parameter.get("name")
        if not isinstance(ident, str):
            continue
        if parameter.get("required") is True and ident not in args:
            yield finding("function-arg-missing", pointer, f"{label} requires the argument {quoted(ident)}")
        first.setdefault(ident, parameter)
    for ident, value in args.items():
        place = child(pointer, ident)
        known = first.get(ident)
        if known is None:
            suggestion = nearest(ident, first)
            yield finding(
                "function-arg-unknown",
                place,
                f"{label} has no parameter {quoted(ident)}{name_hint(suggestion, 'declared parameters', first)}",
                engine=False,
                severity=Severity.WARNING,
                suggestion=suggestion,
                on_name=True,
            )
            continue
        if not has_type(value, known.get("type")):
            yield finding(
                "function-arg-type",
                place,
                f"{label}: argument {quoted(ident)} must be of type {known.get('type')}, not {js.type_name(value)}",
            )
        elif isinstance(known.get("enum"), list) and not any(js.strict_equal(value, x) for x in known["enum"]):
            allowed = ", ".join(quoted(js.text(item)) for item in known["enum"])
            given = quoted(js.text(value))
            message = f"{label}: argument {quoted(ident)} must be one of {allowed}, not {given}"
            yield finding("function-arg-enum", place, message)


def has_type(value: object, kind: object) -> bool:
    """Whether a value has a parameter type; an unknown type allows every value."""
    match kind:
        case "string":
            return isinstance(value, str)
        case "number":
            return js.is_number(value) and math.isfinite(value)  # type: ignore[arg-type]
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return True

"""The IR as typed nodes: what the compiler makes has the shape that the schema promises to others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
from workflow_specimen import WORKFLOW

from workrail_lint import Ok, compile_workflow
from workrail_lint.documents.nodes import Node
from workrail_lint.documents.pointer import resolve
from workrail_lint.documents.schema.engine import compile_schema
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.model.build import program_model
from workrail_lint.systems.workrail.model.ir import Program

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


def irs() -> list[dict[str, Any]]:
    """The IRs of all fixtures that compile, and of a workflow with everything."""
    sources = [json.dumps(WORKFLOW).encode(), *(path.read_bytes() for path in sorted(FIXTURES.rglob("*.json")))]
    results = [compile_workflow(source) for source in sources if b'"steps"' in source]
    return [result.value.ir for result in results if isinstance(result, Ok)]


def nodes_below(root: Node) -> list[Node]:
    found: list[Node] = []
    stack: list[Any] = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, Node):
            found.append(value)
            stack += [value.__dict__.get(attribute) for attribute, _ in value.parts.values()]
        elif isinstance(value, list):
            stack += value
    return found


def test_every_ir_has_the_shape_of_the_schema() -> None:
    ours, theirs = compile_schema(load_schema("ir")), jsonschema.Draft7Validator(load_schema("ir"))
    compiled = irs()
    assert len(compiled) > 40
    for ir in compiled:
        assert ours.violations(ir) == []
        assert list(theirs.iter_errors(ir)) == []


def test_every_object_of_an_ir_is_a_node_and_every_member_an_attribute() -> None:
    kinds = set()
    for ir in irs():
        program = program_model(ir)
        for node in nodes_below(program):
            kinds.add(type(node).__name__)
            assert resolve(ir, node.pointer) is node.raw
            tags = {name for name in node.raw if type(getattr(type(node), name, None)) is str}
            assert set(node.raw) <= {*node.leaves, *node.parts, *tags}, node.pointer
    expected = {"Program", "PromptStep", "RepeatingStep", "DelegatingStep", "Repetition", "StepOutput", "ContractPack"}
    assert kinds >= expected


def test_a_compiled_workflow_has_both_forms() -> None:
    result = compile_workflow(FIXTURES / "workflows" / "code-review.json")
    assert isinstance(result, Ok)
    program = result.value.program
    assert isinstance(program, Program)
    assert program.raw is result.value.ir
    assert [step.id for step in program.steps] == [step["id"] for step in result.value.ir["steps"]]

"""Four validators, one verdict: ours, the pydantic models, and two independent JSON Schema libraries."""

from __future__ import annotations

from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from effort import times
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from workflow_specimen import BINDINGS, DESIGN_WORKFLOW, WORKFLOW, mutated, unshared

from tools.models.workrail.bindings import Bindings
from tools.models.workrail.design import DesignWorkflow
from tools.models.workrail.workflow import Workflow
from workrail_lint.documents.schema.engine import compile_schema
from workrail_lint.systems.schemas import load_schema

KINDS: dict[str, tuple[type[BaseModel], dict[str, Any]]] = {
    "workflow": (Workflow, WORKFLOW),
    "workflow-design": (DesignWorkflow, DESIGN_WORKFLOW),
    "bindings": (Bindings, BINDINGS),
}
SCHEMAS = {kind: load_schema(kind) for kind in KINDS}
OURS = {kind: compile_schema(schema) for kind, schema in SCHEMAS.items()}
RUST = {kind: jsonschema_rs.Draft7Validator(schema) for kind, schema in SCHEMAS.items()}
PYTHON = {kind: jsonschema.Draft7Validator(schema) for kind, schema in SCHEMAS.items()}


def model_accepts(model: type[BaseModel], document: Any) -> bool:
    try:
        model.model_validate(document)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_the_specimens_are_valid_for_everyone(kind: str) -> None:
    model, document = KINDS[kind]
    assert OURS[kind].violations(document) == []
    assert RUST[kind].is_valid(document)
    assert PYTHON[kind].is_valid(document)
    assert model_accepts(model, document)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=times(50, deep=2_000), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_all_validators_agree_on_mutants(kind: str, data: st.DataObject) -> None:
    model, specimen = KINDS[kind]
    document = data.draw(mutated(specimen))
    violations = OURS[kind].violations(document)
    assert RUST[kind].is_valid(document) == (not violations), violations
    assert model_accepts(model, document) == (not violations), violations


@settings(max_examples=times(30, deep=240), deadline=None, suppress_health_check=list(HealthCheck))
@given(document=mutated(WORKFLOW))
def test_the_python_library_agrees_too(document: Any) -> None:
    # Fewer examples, because this one takes a hundred times as long.
    assert PYTHON["workflow"].is_valid(document) == (not OURS["workflow"].violations(document))


@settings(max_examples=times(30, deep=1_500), deadline=None, suppress_health_check=list(HealthCheck))
@given(document=mutated(WORKFLOW))
def test_the_design_form_takes_every_shipping_document(document: Any) -> None:
    if not OURS["workflow"].violations(document):
        assert OURS["workflow-design"].violations(document) == []


NOT_FINITE = float("inf")


@pytest.mark.parametrize(
    ("path", "value", "keyword", "library_accepts"),
    [
        (("steps", 0, "runCondition", "or", 0, "and", 0, "gt"), NOT_FINITE, "type", True),
        (("steps", 0, "validationCriteria", "and", 1, "min"), -NOT_FINITE, "type", True),
        (("functionDefinitions", 0, "parameters", 0, "enum", 1), NOT_FINITE, "type", True),
        (("steps", 2, "loop", "maxIterations"), NOT_FINITE, "type", False),
        (("steps", 2, "loop", "count"), -NOT_FINITE, "type", False),
        (("validatedAgainstSpecVersion",), NOT_FINITE, "type", False),
        # To the Python library `$` also means "before a final line feed".
        (("id",), "demo.everything\n", "pattern", True),
        (("steps", 2, "loop", "itemVar"), "thing\n", "pattern", True),
    ],
)
def test_where_the_library_is_more_lenient(
    path: tuple[Any, ...], value: object, keyword: str, library_accepts: bool
) -> None:
    document = unshared(WORKFLOW)
    place: Any = document
    for token in path[:-1]:
        place = place[token]
    place[path[-1]] = value
    [violation] = OURS["workflow"].violations(document)
    assert violation.pointer == "/" + "/".join(map(str, path))
    assert violation.keyword == keyword
    assert not model_accepts(Workflow, document)
    assert PYTHON["workflow"].is_valid(document) == library_accepts


def test_infinity_and_lone_surrogates_pass_where_any_json_or_text_does() -> None:
    document = {
        **WORKFLOW,
        "name": "half of a pair \ud83d",
        "steps": [
            {
                "id": "only-step",
                "title": "T",
                "prompt": "P",
                "runCondition": {"var": "x", "equals": float("inf"), "in": [float("-inf")]},
                "templateCall": {"templateId": "x", "args": {"\ud800": "\udfff"}},
            }
        ],
    }
    assert OURS["workflow"].violations(document) == []
    assert model_accepts(Workflow, document)

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from tables import for_each
from workflow_specimen import BINDINGS, DESIGN_WORKFLOW, WORKFLOW, unshared

from tools.models.workrail.bindings import Bindings
from tools.models.workrail.conditions import ConfirmationGate
from tools.models.workrail.criteria import AllCriteria
from tools.models.workrail.design import Capabilities, DesignWorkflow
from tools.models.workrail.steps import LoopStep, ParallelStep, StandardStep
from tools.models.workrail.vocabulary import Capability, LoopType, ModelTier
from tools.models.workrail.workflow import Workflow
from workrail_lint.documents.schema.engine import Violation, compile_schema
from workrail_lint.systems.schemas import load_schema

VALIDATORS = {kind: compile_schema(load_schema(kind)) for kind in ("workflow", "workflow-design", "bindings")}


def with_value(path: str, value: Any, document: dict[str, Any] = WORKFLOW) -> Any:
    """A copy of a specimen with one place set; members are named by their path."""
    copy: Any = unshared(document)
    place = copy
    *parents, last = (int(token) if token.isdigit() else token for token in path.split("."))
    for token in parents:
        place = place[token]
    place[last] = value
    return copy


def single(document: Any, kind: str = "workflow") -> Violation:
    """The one violation of a document, on which the model must agree."""
    [violation] = VALIDATORS[kind].violations(document)
    model = {"workflow": Workflow, "workflow-design": DesignWorkflow, "bindings": Bindings}[kind]
    with pytest.raises(ValidationError) as caught:
        model.model_validate(document)
    assert caught.value.error_count() == 1
    return violation


@pytest.mark.parametrize(
    ("model", "document"), [(Workflow, WORKFLOW), (DesignWorkflow, DESIGN_WORKFLOW), (Bindings, BINDINGS)]
)
def test_a_model_gives_back_what_it_read(model: Any, document: dict[str, Any]) -> None:
    parsed = model.model_validate(document)
    assert parsed.model_dump(mode="json", by_alias=True, exclude_unset=True) == document


def test_a_model_is_typed_and_frozen() -> None:
    workflow = Workflow.model_validate(WORKFLOW)
    assert workflow.model_tier is ModelTier.HEAVY
    standard, _, loop, *_, parallel = workflow.steps
    assert isinstance(standard, StandardStep)
    assert isinstance(standard.require_confirmation, ConfirmationGate)
    assert isinstance(standard.validation_criteria, AllCriteria)
    assert isinstance(loop, LoopStep)
    assert loop.loop.type is LoopType.WHILE
    assert isinstance(parallel, ParallelStep)
    with pytest.raises(ValidationError):
        workflow.name = "other"


@for_each(
    "path, value, keyword, shape",
    [
        ("id", "My.Flow", "pattern", "Workflow"),
        ("id", "a.review", "pattern", "Workflow"),
        ("id", "a1.b2.c3", "pattern", "Workflow"),
        ("id", "ab", "minLength", "Workflow"),
        ("id", "a" * 65, "maxLength", "Workflow"),
        ("id", "demo.x\n", "pattern", "Workflow"),
        ("name", "\U0001f600" * 129, "maxLength", "Workflow"),
        ("version", "1.0", "pattern", "Workflow"),
        ("version", "01.0.0", "pattern", "Workflow"),
        ("description", None, "type", "Workflow"),
        ("modelTier", "huge", "enum", "ModelTier"),
        ("modelTier", None, "type", "ModelTier"),
        ("agentRole", "A careful engineer", "additionalProperties", "Workflow"),
        ("examples", [], "minItems", "Workflow"),
        ("examples", [f"an example number {i}" for i in range(7)], "maxItems", "Workflow"),
        ("features", ["a", "a"], "uniqueItems", "Workflow"),
        ("features", [{"id": "a"}], "type", "Workflow"),
        ("validatedAgainstSpecVersion", 1.5, "type", "Workflow"),
        ("validatedAgainstSpecVersion", 0, "minimum", "Workflow"),
        ("validatedAgainstSpecVersion", True, "type", "Workflow"),
        ("validatedAgainstSpecVersion", "1", "type", "Workflow"),
        ("steps", [], "minItems", "Workflow"),
        ("steps", {}, "type", "Workflow"),
        ("steps.0", None, "type", "Step"),
        ("steps.0.type", "standard", "enum", "Step"),
        ("steps.0.type", ["loop"], "enum", "Step"),
        ("steps.0.id", "Step_1", "pattern", "StandardStep"),
        ("steps.0.agentRole", "dev", "minLength", "StandardStep"),
        ("steps.0.titel", "x", "additionalProperties", "StandardStep"),
        ("steps.0.requireConfirmation", "yes", "type", "Confirmation"),
        ("steps.0.requireConfirmation", {"kind": "manager"}, "enum", "GateKind"),
        ("steps.0.requireConfirmation", {"startsWith": "x"}, "additionalProperties", "Condition"),
        ("steps.0.runCondition", {"matches": "x"}, "additionalProperties", "Condition"),
        ("steps.0.runCondition", {"and": [{"or": [{"var": 1}]}]}, "type", "Condition"),
        ("steps.0.promptBlocks.goal", 1, "type", "PromptValue"),
        ("steps.0.promptBlocks.goal", [{"kind": "html"}], "enum", "PromptPart"),
        ("steps.0.promptBlocks.goal", [{}], "required", "PromptPart"),
        ("steps.0.promptBlocks.goal", [{"kind": "ref", "refId": ""}], "minLength", "RefPart"),
        ("steps.0.promptBlocks.outputRequired", {"a": 1}, "type", "PromptBlocks"),
        ("steps.0.validationCriteria", "x", "type", "ValidationCriteria"),
        ("steps.0.validationCriteria", {}, "anyOf", "Composition"),
        ("steps.0.validationCriteria", {"type": "contains", "message": "m"}, "anyOf", "Composition"),
        ("steps.0.validationCriteria", {"and": []}, "minItems", "AllCriteria"),
        ("steps.0.validationCriteria", [{"type": "contains"}], "required", "ValidationRule"),
        ("steps.0.validationCriteria", {"not": {"not": {"type": "contains"}}}, "required", "ValidationRule"),
        ("steps.0.assessmentConsequences.0.effect.kind", "stop", "const", "ConsequenceAction"),
        ("steps.0.functionReferences", ["summarise_it"], "pattern", "StandardStep"),
        ("steps.2.prompt", "x", "additionalProperties", "LoopStep"),
        ("steps.2.body", [], "minItems", "LoopBody"),
        ("steps.2.body", {"id": "abc", "title": "T"}, "type", "LoopBody"),
        ("steps.2.body.0.type", "loop", "enum", "BodyStep"),
        ("steps.2.loop.type", "whilst", "enum", "LoopType"),
        ("steps.2.loop.maxIterations", 0, "minimum", "LoopConfig"),
        ("steps.2.loop.maxIterations", 1000.5, "maximum", "LoopConfig"),
        ("steps.2.loop.count", -1, "minimum", "LoopConfig"),
        ("steps.2.loop.count", False, "type", "LoopConfig"),
        ("steps.2.loop.conditionSource", {}, "required", "ConditionSource"),
        ("steps.2.loop.conditionSource", {"kind": "magic"}, "enum", "ConditionSource"),
        ("steps.2.loop.conditionSource", {"kind": "artifact_contract"}, "required", "ArtifactSource"),
        ("steps.2.loop", {"type": "while", "maxIterations": 1}, "anyOf", "LoopConfig"),
        ("steps.2.loop", {"type": "until", "maxIterations": 1}, "anyOf", "LoopConfig"),
        ("steps.2.loop", {"type": "for", "maxIterations": 1}, "required", "LoopConfig"),
        ("steps.2.loop", {"type": "forEach", "maxIterations": 1}, "required", "LoopConfig"),
        ("steps.6.audit", {}, "additionalProperties", "ParallelStep"),
        ("steps.6.parallelDelegations", [], "minItems", "ParallelStep"),
        ("steps.6.parallelDelegations.1", {"workflowId": ""}, "minLength", "Delegation"),
    ],
)
def test_one_fault_is_one_violation(path: str, value: Any, keyword: str, shape: str) -> None:
    violation = single(with_value(path, value))
    assert (violation.keyword, violation.shape) == (keyword, shape)
    assert violation.pointer.startswith("/" + path.replace(".", "/"))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("id", "x_y"),
        ("validatedAgainstSpecVersion", 1.0),
        ("name", "\U0001f600" * 128),
        ("preconditions", []),
        ("steps.0.requireConfirmation", {}),
        ("steps.0.requireConfirmation", False),
        ("steps.0.runCondition", {"and": [], "or": []}),
        ("steps.0.validationCriteria", []),
        ("steps.0.verification", {}),
        ("steps.0.audit", {}),
        ("steps.0.promptBlocks", {}),
        ("steps.0.guidance", []),
        ("steps.2.body", ""),
        ("steps.2.loop.count", ""),
        ("steps.2.loop.iterationVar", "_"),
        ("functionDefinitions.0.parameters.0.enum", [1, True]),
    ],
)
def test_what_the_schema_leaves_to_later_phases(path: str, value: Any) -> None:
    document = with_value(path, value)
    assert VALIDATORS["workflow"].violations(document) == []
    Workflow.model_validate(document)


def test_uniqueness_is_of_what_was_written() -> None:
    delegation = {"workflowId": "demo.child", "args": {"a": "b", "c": "d"}}
    swapped = {"args": {"c": "d", "a": "b"}, "workflowId": "demo.child"}
    violation = single(with_value("steps.6.parallelDelegations", [delegation, swapped]))
    assert (violation.keyword, violation.pointer) == ("uniqueItems", "/steps/6/parallelDelegations/1")
    parameter = {"name": "p", "type": "string"}
    functions = [
        {"name": "f", "definition": "", "parameters": [{**parameter, "default": default}]} for default in (1, True)
    ]
    assert VALIDATORS["workflow"].violations(with_value("functionDefinitions", functions)) == []


@pytest.mark.parametrize(
    ("document", "keyword"),
    [([], "type"), ({"slot": 1}, "type"), ({"demo.x": {"slot": 1}}, "type"), ({"demo.x": ["slot"]}, "type")],
)
def test_bindings(document: Any, keyword: str) -> None:
    assert single(document, "bindings").keyword == keyword


def test_capabilities_are_the_closed_set() -> None:
    members = {field.alias for field in Capabilities.model_fields.values()}
    assert members == {capability.value for capability in Capability}


@pytest.mark.parametrize("wrap", [lambda inner: {"not": inner}, lambda inner: {"and": [inner], "or": []}])
def test_deep_nesting_is_an_ordinary_answer(wrap: Any) -> None:
    """The model stops counting at 255 levels, which no readable document reaches; the validator does not."""
    condition: Any = {"var": "x"}
    for _ in range(190):
        condition = wrap(condition)
    Workflow.model_validate(with_value("steps.0.runCondition", condition))
    document = unshared(WORKFLOW)
    for _ in range(10_000):
        condition = wrap(condition)
    document["steps"][0]["runCondition"] = condition
    assert VALIDATORS["workflow"].violations(document) == []
    with pytest.raises(ValidationError, match="recursion"):
        Workflow.model_validate(document)

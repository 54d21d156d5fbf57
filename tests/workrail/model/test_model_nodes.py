"""The model of a workflow: what is there has its type and its place, what is wrong is absent."""

from __future__ import annotations

from typing import Any

import pytest
from workflow_specimen import WORKFLOW

from workrail_lint.documents.nodes import Kept, numbered
from workrail_lint.documents.pointer import resolve
from workrail_lint.systems.workrail.model.build import step_model, workflow_model
from workrail_lint.systems.workrail.model.workflow import Condition, LoopStep, ParallelStep, StandardStep, Workflow


def model(*steps: Any, **members: Any) -> Workflow:
    return workflow_model({"id": "demo.flow", "steps": list(steps), **members})


def test_every_node_knows_its_place() -> None:
    workflow = workflow_model(WORKFLOW)
    nodes = list(workflow.walk())
    assert len(nodes) > 40
    assert [node for node in nodes if resolve(WORKFLOW, node.pointer) is not node.raw] == []
    assert len({node.pointer for node in nodes}) == len(nodes)


def test_every_member_of_a_valid_document_is_there_under_its_attribute() -> None:
    for node in workflow_model(WORKFLOW).walk():
        if isinstance(node, Condition) and node.role == "rule":
            continue  # the schema does not look into what these combine
        parts = {name: attribute for name, (attribute, _) in node.parts.items()}
        tags = {"type", "kind"} & set(dir(node))
        assert node.raw.keys() <= node.leaves.keys() | parts.keys() | tags
        for name in node.raw.keys() & node.leaves.keys():
            assert getattr(node, node.leaves[name]) == node.raw[name]
        for name in node.raw.keys() & parts.keys():
            assert parts[name] in node.__dict__


def test_what_is_missing_reads_as_empty() -> None:
    loop = model({"id": "rounds", "type": "loop"}).steps[0]
    assert loop.kind == "loop"
    assert (loop.title, loop.loop.type, loop.loop.max_iterations, loop.body) == ("", None, None, None)
    assert not loop.inline
    assert loop.loop.pointer == "/steps/0/loop"
    assert "loop" not in loop


@pytest.mark.parametrize(
    ("step", "attribute", "member"),
    [
        ({"title": 3}, "title", "title"),
        ({"prompt": ["a"]}, "prompt", "prompt"),
        ({"modelTier": "gigantic"}, "model_tier", "modelTier"),
        ({"runCondition": "always"}, "run_condition", "runCondition"),
        ({"promptBlocks": []}, "prompt_blocks", "promptBlocks"),
        ({"validationCriteria": {"neither": []}}, "validation_criteria", "validationCriteria"),
    ],
)
def test_a_wrong_value_is_absent_and_written(step: dict[str, Any], attribute: str, member: str) -> None:
    (node,) = model({"id": "one", **step}).steps
    assert getattr(node, attribute) == getattr(StandardStep, attribute)
    assert member in node
    assert node.id == "one"


def test_a_value_beyond_its_bounds_stays() -> None:
    (node,) = model({"id": "A", "title": "", "prompt": "x" * 9000}).steps
    assert isinstance(node, StandardStep)
    assert (node.id, node.is_damaged, len(node.prompt or "")) == ("A", False, 9000)


def test_elements_of_a_wrong_type_are_left_out_and_the_others_keep_their_index() -> None:
    step = {"assessmentRefs": [1, "a", None, "b"], "promptFragments": ["x", {"id": "f", "text": "t"}]}
    (node,) = model(step).steps
    assert isinstance(node, StandardStep)
    assert list(numbered(node.assessment_refs)) == [(1, "a"), (3, "b")]
    assert isinstance(node.assessment_refs, Kept)
    assert [fragment.pointer for fragment in node.prompt_fragments] == ["/steps/0/promptFragments/1"]


def test_values_of_a_map_with_a_wrong_type_are_left_out() -> None:
    (node,) = model({"promptBlocks": {"outputRequired": {"a": "text", "b": 2}}}).steps
    assert isinstance(node, StandardStep)
    assert node.prompt_blocks is not None
    assert node.prompt_blocks.output_required == {"a": "text"}


@pytest.mark.parametrize(
    ("definition", "damaged"),
    [
        ({"name": 3}, {"name"}),
        ({"assessments": [{"dimensions": [{"levels": 3}]}]}, {"assessments"}),
        ({"metaGuidance": ["a", 3]}, {"metaGuidance"}),
        ({"assessments": ["x"]}, {"assessments"}),
        ({"steps": {}}, {"steps"}),
        ({"steps": [3, {"id": "fine"}]}, set()),
        ({"steps": [{"title": 3}]}, {"/steps/0"}),
        ({"steps": [{"type": "lop"}]}, {"/steps/0"}),
        ({"steps": [{"runCondition": {"and": [{"not": {"var": 3}}]}}]}, {"/steps/0"}),
        ({"steps": [{"type": "loop", "body": 3}]}, {"/steps/0"}),
        ({"steps": [{"type": "loop", "body": [3]}]}, {"/steps/0"}),
        ({"steps": [{"type": "loop", "loop": {"type": "while"}}]}, {"/steps/0"}),
        ({"steps": [{"type": "loop", "body": [{"title": 3}]}]}, {"/steps/0/body/0"}),
        ({"steps": [{"type": "loop", "body": [{"type": "loop"}]}]}, {"/steps/0/body/0"}),
        ({"steps": [{"type": "loop", "body": [{"runCondition": {"or": [3]}}]}]}, {"/steps/0/body/0"}),
        ({"steps": [{"title": "", "modelTier": "gigantic", "unknown": 3}]}, set()),
    ],
)
def test_a_wrong_type_damages_the_step_or_the_member_around_it(definition: dict[str, Any], damaged: set[str]) -> None:
    workflow = workflow_model(definition)
    steps = {step.pointer for step in workflow.all_steps if step.is_damaged}
    assert steps | workflow.damaged_members == damaged


def test_a_sound_workflow_lacks_what_is_damaged() -> None:
    workflow = model({"id": "bad", "title": 3}, {"id": "good"}, name=3, about="What to know.")
    sound = workflow.sound()
    assert [step.id for step in workflow.steps] == ["bad", "good"]
    assert [step.pointer for step in sound.steps] == ["/steps/1"]
    assert ("name" in workflow, "name" in sound, sound.about) == (True, False, "What to know.")
    assert sound.sound() is sound


def test_a_step_of_an_unknown_type_is_read_as_a_standard_step() -> None:
    (node,) = model({"id": "one", "type": "lop", "prompt": 3, "title": "One"}).steps
    assert isinstance(node, StandardStep)
    assert (node.title, node.prompt) == ("One", None)


def test_a_loop_in_a_body_is_a_loop() -> None:
    inner = {"id": "inner", "type": "loop", "loop": {"type": "for", "count": []}, "body": [{"id": "deep", "title": 3}]}
    (outer,) = model({"id": "outer", "type": "loop", "body": [inner]}).steps
    assert isinstance(outer, LoopStep)
    assert outer.body is not None
    nested = outer.body[0]
    assert isinstance(nested, LoopStep)
    assert (nested.loop.type, nested.loop.count, nested.around) == ("for", None, outer)
    assert isinstance(nested.body, list)
    assert (nested.body[0].id, nested.body[0].title) == ("deep", "")


def test_conditions_of_a_step_in_document_order_with_their_roles() -> None:
    rule = {"type": "contains", "message": "m", "condition": {"and": [{"var": "g"}, {"var": 3}]}}
    standard = {
        "runCondition": {"or": [{"var": "a"}, {"not": {"var": "b"}}]},
        "requireConfirmation": {"kind": "human_approval", "condition": {"var": "c"}},
        "promptFragments": [{"id": "f", "text": "t", "when": {"var": "d"}}],
        "validationCriteria": {"or": [{"not": rule}]},
    }
    loop = {"type": "loop", "loop": {"condition": {"var": "x"}, "conditionSource": {"kind": "context_variable"}}}
    parallel = {"type": "parallel", "requireConfirmation": {"var": "p"}, "parallelDelegations": [{"runCondition": {}}]}
    workflow = model(standard, loop, parallel)
    found = [
        [(condition.var, condition.role, condition.root) for condition in step.conditions()] for step in workflow.steps
    ]
    assert found == [
        [
            *((None, "run", True), ("a", "run", False), (None, "run", False), ("b", "run", False)),
            *(("c", "gate", True), ("d", "fragment", True)),
            *((None, "rule", True), ("g", "rule", False), (None, "rule", False)),
        ],
        [("x", "loop", True)],
        [("p", "gate", True), (None, "delegation", True)],
    ]
    assert {condition.step for step in workflow.steps for condition in step.conditions()} == set(workflow.steps)


def test_depth_is_no_recursion() -> None:
    condition: dict[str, Any] = {"var": "x"}
    for _ in range(2000):
        condition = {"not": condition}
    (node,) = model({"runCondition": condition}).steps
    nested = list(node.conditions())
    assert len(nested) == 2001
    assert nested[-1].pointer == "/steps/0/runCondition" + "/not" * 2000
    assert nested[-1].role == "run"


def test_a_step_that_a_pass_made_has_the_place_it_was_made_from() -> None:
    node = step_model({"id": "smoke.start", "runCondition": {"and": [{"var": "a"}, {"var": 3}]}}, "/steps/4")
    assert isinstance(node, StandardStep)
    assert (node.id, node.pointer) == ("smoke.start", "/steps/4")
    assert [condition.pointer for condition in node.conditions()] == [
        "/steps/4/runCondition",
        "/steps/4/runCondition/and/0",
        "/steps/4/runCondition/and/1",
    ]
    assert [condition.var for condition in node.conditions()] == [None, "a", None]


def test_kinds_and_nodes_cannot_be_changed() -> None:
    workflow = model({}, {"type": "loop"}, {"type": "parallel"})
    assert [type(step) for step in workflow.steps] == [StandardStep, LoopStep, ParallelStep]
    assert [step.kind for step in workflow.steps] == ["standard", "loop", "parallel"]
    with pytest.raises(AttributeError, match=r"StandardStep\.title can't be changed"):
        workflow.steps[0].title = "Other"
    assert isinstance(Condition.leaves, dict)

"""What conditions and confirmations say about a run."""

from __future__ import annotations

from typing import Any

import pytest
from lint_probe import lint

from workrail_lint.systems.workrail.rules import condition_meaning, confirmation
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.samples import decision, loop, parallel, step, workflow

WHEN = {"var": "size", "equals": "large"}
CALL = {"templateId": "wr.templates.routine.ideation"}


def names(rule: type[WorkflowRule], *steps: dict[str, Any], **settings: Any) -> list[str]:
    return [finding.pointer for finding in lint(rule, workflow(*steps), **settings)]


def test_contradictions_are_told_in_every_place_and_once() -> None:
    never = {"and": [{"var": "a", "equals": 1}, {"var": "a", "equals": 2}]}
    steps = (
        step(runCondition={"or": [{"var": "b"}, never]}),
        loop(step("inner-step", requireConfirmation={"kind": "human_approval", "condition": never}), ident="again"),
    )
    assert names(condition_meaning.ConditionContradiction, *steps) == [
        "/steps/0/runCondition/or/1",
        "/steps/1/body/0/requireConfirmation/condition",
    ]


def either(*conditions: dict[str, Any]) -> dict[str, Any]:
    return step(runCondition={"or": list(conditions)})


@pytest.mark.parametrize(
    ("conditions", "places"),
    [
        ([{"var": "a", "equals": "Large"}, {"var": "a", "equals": "large "}], ["/or/1/equals"]),
        ([{"var": "a", "in": ["x", "X", "y"]}], ["/or/0/in/1"]),
        ([{"var": "a", "equals": "x"}, {"var": "a", "not_equals": "x"}], []),
        ([{"var": "a", "equals": "x"}, {"var": "b", "equals": "X"}], []),
        ([{"var": "a", "equals": 1}, {"var": "a", "equals": "one"}], ["/or/0/equals"]),
        ([{"var": "a", "equals": 1}, {"var": "a", "equals": True}], []),
        ([{"var": "a", "gt": 1}, {"var": "a", "equals": "one"}], []),
    ],
)
def test_literals_that_compare_alike(conditions: list[dict[str, Any]], places: list[str]) -> None:
    expected = [f"/steps/0/runCondition{place}" for place in places]
    assert names(condition_meaning.ConditionLenientSurprise, either(*conditions)) == expected


def test_literals_are_compared_across_steps() -> None:
    first, second = (
        step(f"step-{text.lower()}-{i}", runCondition={"var": "a", "equals": text}) for i, text in enumerate("xX")
    )
    assert names(condition_meaning.ConditionLenientSurprise, first, second) == ["/steps/1/runCondition/equals"]


@pytest.mark.parametrize(
    ("condition", "places"),
    [
        ({"var": "verdict", "equals": 3}, ["/steps/1/runCondition/equals"]),
        ({"var": "verdict", "in": ["clean", 3]}, ["/steps/1/runCondition/in/1"]),
        ({"var": "verdict", "equals": "clean"}, []),
        ({"var": "findings", "equals": 3}, []),  # a list
        ({"var": "size", "equals": 3}, []),
    ],
)
def test_a_field_that_an_artifact_fills_with_text(condition: dict[str, Any], places: list[str]) -> None:
    reviewed = step("review", outputContract={"contractRef": "wr.contracts.review_verdict"})
    then = step("then", runCondition=condition)
    assert names(condition_meaning.ConditionLenientSurprise, reviewed, then) == places
    assert names(condition_meaning.ConditionLenientSurprise, step("review"), then) == [p for p in places if "/in/" in p]


SETTER = step("setter", "Measure it and set `size`.")


@pytest.mark.parametrize(
    "steps",
    [
        (SETTER, step("user", runCondition=WHEN)),
        (SETTER, step("user", promptFragments=[{"id": "a", "text": "x", "when": WHEN}])),
        (loop(step("user", runCondition=WHEN), SETTER),),
        (loop(SETTER, type="while", count=..., condition=WHEN),),
        (loop(step("user", runCondition={"var": "currentIteration", "gt": 1})),),
        (step(), step("user", runCondition={"var": "goal", "contains": "fast"})),
        (step("user", requireConfirmation=WHEN, prompt="Measure and set `size`."),),
        (
            step(
                "user",
                "Set `size`.",
                validationCriteria=[{"type": "length", "min": 1, "message": "x", "condition": WHEN}],
            ),
        ),
        (step("user", guidance=["Set `size` early."]), step("second-step", runCondition=WHEN)),
        (step("user", promptFragments=[{"id": "a", "text": "Set size."}]), step("second-step", runCondition=WHEN)),
    ],
)
def test_variables_that_something_sets(steps: tuple[dict[str, Any], ...]) -> None:
    assert names(condition_meaning.ConditionVarNeverSet, *steps) == []


@pytest.mark.parametrize(
    ("steps", "pointer"),
    [
        ((step("user", runCondition=WHEN), SETTER), "/steps/0/runCondition/var"),
        ((step("user", "Read size.", runCondition=WHEN),), "/steps/0/runCondition/var"),
        ((loop(step("user", "Set size.", runCondition=WHEN)),), "/steps/0/body/0/runCondition/var"),
        ((step(), step("user", runCondition={"var": "currentIteration"})), "/steps/1/runCondition/var"),
        # Whether to enter the loop at all is asked before its body has run.
        ((step(), {**loop(SETTER), "runCondition": WHEN}), "/steps/1/runCondition/var"),
        ((step("other", "Set sizes."), step("user", runCondition=WHEN)), "/steps/1/runCondition/var"),
    ],
)
def test_variables_that_nothing_sets_before(steps: tuple[dict[str, Any], ...], pointer: str) -> None:
    assert names(condition_meaning.ConditionVarNeverSet, *steps) == [pointer]


def test_guidance_for_the_whole_workflow_counts_and_its_description_does_not() -> None:
    rule, user = condition_meaning.ConditionVarNeverSet, step("user", runCondition=WHEN)
    assert lint(rule, workflow(step(), user, metaGuidance=["Keep size up to date."])) == []
    assert len(lint(rule, workflow(step(), user, description="Depends on size."))) == 1


def test_a_variable_is_told_once_with_what_may_be_meant() -> None:
    wrong = {"var": "sise", "equals": 1}
    steps = (SETTER, step("user", runCondition=WHEN), step("one", runCondition=wrong), step("two", runCondition=wrong))
    (found,) = lint(condition_meaning.ConditionVarNeverSet, workflow(*steps))
    assert found.pointer == "/steps/2/runCondition/var"
    assert "did you mean 'size'?" in found.message


@pytest.mark.parametrize("name", ["a.b", "", " size"])
def test_names_with_a_fault_of_their_own_are_left_to_that(name: str) -> None:
    assert names(condition_meaning.ConditionVarNeverSet, step(), step("user", runCondition={"var": name})) == []


def test_a_routine_gets_variables_from_its_caller() -> None:
    assert names(condition_meaning.ConditionVarNeverSet, step(), step("user", runCondition=WHEN), is_routine=True) == []


def test_a_template_may_set_a_variable_and_its_call_drops_all_but_the_run_condition() -> None:
    call = step("call", None, templateCall=CALL)
    dropped = {**call, "requireConfirmation": {"var": "nobody"}}
    assert names(condition_meaning.ConditionVarNeverSet, step(), dropped) == []
    assert names(condition_meaning.ConditionVarNeverSet, step(), {**call, "runCondition": {"var": "nobody"}}) == [
        "/steps/1/runCondition/var"
    ]


@pytest.mark.parametrize("kind", ["condition", "gate"])
def test_a_confirmation_on_what_the_step_itself_finds_out(kind: str) -> None:
    gate: dict[str, Any] = WHEN if kind == "condition" else {"kind": "human_approval", "condition": WHEN}
    place = "requireConfirmation" if kind == "condition" else "requireConfirmation/condition"
    own = step("user", "Measure and set `size`.", requireConfirmation=gate)
    assert names(confirmation.GateConditionSelf, own) == [f"/steps/0/{place}/var"]
    assert names(confirmation.GateConditionSelf, SETTER, own) == []
    assert names(confirmation.GateConditionSelf, step("user", requireConfirmation=gate)) == []  # nobody sets it at all


def test_one_confirmation_is_told_once_with_all_its_variables() -> None:
    gate = {"or": [WHEN, {"var": "risk", "gt": 1}, {"var": "size", "equals": "huge"}, {"var": "goal"}]}
    (found,) = lint(
        confirmation.GateConditionSelf, workflow(step(prompt="Set size and risk.", requireConfirmation=gate))
    )
    assert "'size' and 'risk'," in found.message


def test_guidance_does_not_set_a_variable_before_the_step() -> None:
    own = step("user", "Measure and set `size`.", requireConfirmation=WHEN)
    assert len(lint(confirmation.GateConditionSelf, workflow(own, metaGuidance=["Keep size up to date."]))) == 1


def test_a_template_call_has_no_confirmation() -> None:
    call = step("call", None, title="size", templateCall=CALL, requireConfirmation=WHEN)
    assert names(confirmation.GateConditionSelf, step(), call) == []


@pytest.mark.parametrize(
    ("steps", "first", "every"),
    [
        ((step(runCondition=WHEN), step("two")), ["/steps/0/runCondition"], []),
        ((step(runCondition={}), step("two")), [], []),
        ((step(), step("two", runCondition=WHEN)), [], []),
        ((step(runCondition=WHEN), step("two", runCondition=WHEN)), ["/steps/0/runCondition"], ["/steps"]),
        # The body of a loop does not run on its own.
        ((step("body"), {**loop(), "runCondition": WHEN, "body": "body"}), ["/steps/1/runCondition"], ["/steps"]),
    ],
)
def test_workflows_that_may_have_nothing_to_run(
    steps: tuple[dict[str, Any], ...], first: list[str], every: list[str]
) -> None:
    assert names(confirmation.FirstStepConditional, *steps) == first
    assert names(confirmation.AllStepsConditional, *steps) == every


@pytest.mark.parametrize(
    ("rule", "count"), [(True, 1), (WHEN, 1), ({"kind": "human_approval"}, 1), (False, 0), (..., 0)]
)
def test_a_parallel_step_never_asks(rule: Any, count: int) -> None:
    assert len(names(confirmation.ConfirmationOnParallel, step(), parallel(requireConfirmation=rule))) == count


@pytest.mark.parametrize(
    ("asking", "quiet", "count"),
    [(3, 2, 1), (3, 3, 0), (2, 0, 0), (3, 0, 1)],
)
def test_too_many_confirmations(asking: int, quiet: int, count: int) -> None:
    kinds: list[Any] = [True, {"kind": "coordinator_eval"}, {}]
    steps = [step(f"ask-{i}", requireConfirmation=kinds[i % 3]) for i in range(asking)]
    steps += [step(f"go-{i}", requireConfirmation=[False, WHEN, ...][i % 3]) for i in range(quiet)]
    assert len(names(confirmation.ConfirmationOveruse, *steps)) == count


def test_steps_inside_loops_count_and_the_loop_does_not() -> None:
    asked = [decision(f"decide-{i}", requireConfirmation=True) for i in range(3)]
    assert names(confirmation.ConfirmationOveruse, step(), step("two"), loop(*asked)) == ["/steps"]
    assert names(confirmation.ConfirmationOveruse, *[step(f"go-{i}") for i in range(3)], loop(*asked)) == []

"""Who has to confirm, and whether a workflow has anything to run."""

from __future__ import annotations

from typing import Any

import pytest
from lint_probe import lint

from workrail_lint.systems.workrail.rules import analysis_rules
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.samples import decision, loop, step, workflow

WHEN = {"var": "size", "equals": "large"}
CALL = {"templateId": "wr.templates.routine.ideation"}


def names(rule: type[WorkflowRule], *steps: dict[str, Any], **settings: Any) -> list[str]:
    return [finding.pointer for finding in lint(rule, workflow(*steps), **settings)]


SETTER = step("setter", "Measure it and set `size`.")


@pytest.mark.parametrize("kind", ["condition", "gate"])
def test_a_confirmation_on_what_the_step_itself_finds_out(kind: str) -> None:
    gate: dict[str, Any] = WHEN if kind == "condition" else {"kind": "human_approval", "condition": WHEN}
    place = "requireConfirmation" if kind == "condition" else "requireConfirmation/condition"
    own = step("user", "Measure and set `size`.", requireConfirmation=gate)
    assert names(analysis_rules.GateConditionSelf, own) == [f"/steps/0/{place}/var"]
    assert names(analysis_rules.GateConditionSelf, SETTER, own) == []
    assert (
        names(analysis_rules.GateConditionSelf, step("user", requireConfirmation=gate)) == []
    )  # nobody sets it at all


def test_one_confirmation_is_told_once_with_all_its_variables() -> None:
    gate = {"or": [WHEN, {"var": "risk", "gt": 1}, {"var": "size", "equals": "huge"}, {"var": "goal"}]}
    (found,) = lint(
        analysis_rules.GateConditionSelf, workflow(step(prompt="Set `size` and `risk`.", requireConfirmation=gate))
    )
    assert "'size' and 'risk'" in found.message


def test_guidance_does_not_set_a_variable_before_the_step() -> None:
    own = step("user", "Measure and set `size`.", requireConfirmation=WHEN)
    assert len(lint(analysis_rules.GateConditionSelf, workflow(own, metaGuidance=["Keep size up to date."]))) == 1


def test_a_template_call_has_no_confirmation() -> None:
    call = step("call", None, title="size", templateCall=CALL, requireConfirmation=WHEN)
    assert names(analysis_rules.GateConditionSelf, step(), call) == []


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
    # Where the first step may be skipped, the public engine does not even start: that is KD001's to say.
    assert names(analysis_rules.StepsConditional, *steps, engine=True) == []
    assert names(analysis_rules.StepsConditional, *steps) == (every or first)


@pytest.mark.parametrize(
    ("asking", "quiet", "count"),
    [(3, 2, 1), (3, 3, 0), (2, 0, 0), (3, 0, 1)],
)
def test_too_many_confirmations(asking: int, quiet: int, count: int) -> None:
    kinds: list[Any] = [True, {"kind": "coordinator_eval"}, {}]
    steps = [step(f"ask-{i}", requireConfirmation=kinds[i % 3]) for i in range(asking)]
    steps += [step(f"go-{i}", requireConfirmation=[False, WHEN, ...][i % 3]) for i in range(quiet)]
    assert len(names(analysis_rules.ConfirmationOveruse, *steps)) == count


def test_steps_inside_loops_count_and_the_loop_does_not() -> None:
    asked = [decision(f"decide-{i}", requireConfirmation=True) for i in range(3)]
    assert names(analysis_rules.ConfirmationOveruse, step(), step("two"), loop(*asked)) == ["/steps"]
    assert names(analysis_rules.ConfirmationOveruse, *[step(f"go-{i}") for i in range(3)], loop(*asked)) == []

"""How loops end: the deciding step, and how its prompt speaks about the decision."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lint_probe import fixed, lint

from workrail_lint import check_text
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL
from workrail_lint.systems.workrail.rules import loop_exit, loop_text
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, loop, parallel, step, workflow

WHEN = {"var": "mode", "equals": "deep"}
CONTRACT = {"contractRef": LOOP_CONTROL}


def names(rule: type[WorkflowRule], *steps: dict[str, Any], **settings: Any) -> list[str]:
    return [finding.pointer for finding in lint(rule, workflow(*steps), **settings)]


def test_a_decision_may_come_from_a_synthesis_or_a_named_step() -> None:
    fan = parallel(synthesis={"prompt": "Continue or stop?", "outputContract": CONTRACT})
    assert names(loop_exit.LoopNoExitStep, controlled_loop(fan)) == []
    assert names(loop_exit.LoopNoExitStep, {**controlled_loop(), "body": "decide"}, decision()) == []
    assert names(loop_exit.LoopNoExitStep, {**controlled_loop(), "body": "first-step"}, step()) == [
        "/steps/0/loop/conditionSource"
    ]


def test_a_body_that_names_nothing_has_its_own_error() -> None:
    assert names(loop_exit.LoopNoExitStep, {**controlled_loop(), "body": "nowhere"}) == []


def test_the_last_decision_counts_for_the_order() -> None:
    early, late = decision("decide-early"), decision("decide-late")
    assert names(loop_exit.LoopExitStepNotLast, controlled_loop(early, step("inner-step"), late)) == []
    assert names(loop_exit.LoopExitStepNotLast, controlled_loop(early, late, step("inner-step"))) == [
        "/steps/0/body/1/outputContract"
    ]


def test_only_decisions_that_always_come_are_too_many() -> None:
    first, second, third = decision("one"), decision("two", runCondition=WHEN), decision("three", runCondition={})
    assert names(loop_exit.LoopMultipleExitSteps, controlled_loop(first, second)) == []
    assert names(loop_exit.LoopMultipleExitSteps, controlled_loop(first, second, third)) == [
        "/steps/0/body/2/outputContract"
    ]


@pytest.mark.parametrize(("required", "count"), [(False, 1), (True, 0), (..., 0)])
def test_a_decision_is_required_unless_it_says_otherwise(required: Any, count: int) -> None:
    contract = {"contractRef": LOOP_CONTROL, **({} if required is ... else {"required": required})}
    optional = {**decision(), "outputContract": contract}
    assert len(names(loop_exit.LoopExitOptional, controlled_loop(optional))) == count
    assert len(names(loop_exit.LoopExitOptional, {**controlled_loop(), "body": "decide"}, optional)) == count
    assert names(loop_exit.LoopExitOptional, optional) == []  # outside a loop that is another rule's business
    assert len(names(loop_exit.LoopExitOptional, optional, is_routine=True)) == count  # which routines are exempt from


def test_a_decision_in_a_loop_is_read_unless_something_else_decides() -> None:
    rule = loop_exit.LoopControlOutsideLoop
    assert names(rule, controlled_loop()) == []
    assert names(rule, {**controlled_loop(), "body": "decide"}, decision()) == []
    assert names(rule, controlled_loop(type="until")) == []
    assert names(rule, controlled_loop(conditionSource=..., condition=WHEN)) == []
    context = {"kind": "context_variable", "condition": WHEN}
    (by_context,) = lint(rule, workflow(controlled_loop(conditionSource=context)))
    assert "the context" in by_context.message
    (by_list,) = lint(rule, workflow(loop(decision(), type="forEach", count=..., items="files")))
    assert "the list" in by_list.message


def test_a_routine_may_bring_a_decision_into_its_callers_loop() -> None:
    assert names(loop_exit.LoopControlOutsideLoop, decision(), is_routine=True) == []


def test_a_synthesis_without_prompt_keeps_its_contract() -> None:
    rule = loop_exit.LoopControlOutsideLoop
    (bare,) = lint(rule, workflow(parallel(synthesis={"outputContract": CONTRACT})))
    assert bare.pointer == "/steps/0/synthesis/outputContract"
    assert bare.fix is None
    document = workflow(parallel(synthesis={"prompt": "Merge.", "outputContract": CONTRACT}))
    (found,) = lint(rule, document)
    assert json.loads(fixed(found, document)) == workflow(parallel(synthesis={"prompt": "Merge."}))


def decided(prompt: str) -> dict[str, Any]:
    return controlled_loop({**decision(), "prompt": prompt})


@pytest.mark.parametrize(
    "prompt",
    [
        "Output decision: continue",
        "STOP when all is well.",
        'Continue or stop.\n{"kind": "wr.loop_control", "decision": "continue"}',
        "Continue or stop, as in {'decision': 'stop'}.",
        'Continue or stop. {"decision":"continue"} or the same again: {"decision": "continue"}',
    ],
)
def test_one_sided_decisions(prompt: str) -> None:
    assert names(loop_text.LoopDecisionOneSided, decided(prompt)) == ["/steps/0/body/0/prompt"]


@pytest.mark.parametrize(
    "prompt",
    [
        "Decide.",
        "Continue while findings are open; stopping is for later.",
        'Continue or stop: {"decision": "continue | stop"}',
        'Continue or stop: {"decision": "continue" | "stop"}',
        'Continue or stop: {"decision": "continue" or "stop"}',
        'Continue or stop: {"decision": "continue"} while work is left, {"decision": "stop"} when not.',
        "Continue if it says decision: continue, else stop.",
        '```json\n{"decision": "continue"}\n```\nor stop when no finding is left.',
        "Continue as {{wr.bindings.exit_rule}} says.",
    ],
)
def test_two_sided_decisions(prompt: str) -> None:
    assert names(loop_text.LoopDecisionOneSided, decided(prompt)) == []


def test_the_text_that_shows_one_side_is_named() -> None:
    blocks = {"goal": "Continue or stop.", "procedure": ["Think.", 'Submit {"decision": "stop"}.']}
    made = {**decision(), "promptBlocks": blocks}
    del made["prompt"]
    assert names(loop_text.LoopDecisionOneSided, controlled_loop(made)) == ["/steps/0/body/0/promptBlocks/procedure/1"]


def test_a_synthesis_that_decides_is_held_to_the_same() -> None:
    def synthesized(prompt: str, **contract: bool) -> dict[str, Any]:
        output = {"contractRef": LOOP_CONTROL, **contract}
        return parallel(synthesis={"prompt": prompt, "outputContract": output})

    one_sided = synthesized("Output decision: continue", required=False)
    assert names(loop_text.LoopDecisionOneSided, controlled_loop(one_sided)) == ["/steps/0/body/0/synthesis/prompt"]
    assert names(loop_exit.LoopExitOptional, controlled_loop(one_sided)) == [
        "/steps/0/body/0/synthesis/outputContract/required"
    ]
    sound = controlled_loop(synthesized("Continue while findings are open, else stop."))
    assert names(loop_text.LoopDecisionOneSided, sound) == names(loop_exit.LoopExitOptional, sound) == []
    # By name the synthesis is left outside, where it decides nothing.
    apart = ({**controlled_loop(), "body": "fan-out"}, one_sided)
    assert names(loop_text.LoopDecisionOneSided, *apart) == names(loop_exit.LoopExitOptional, *apart) == []


@pytest.mark.parametrize(
    "prompt",
    [
        "Continue until it feels done.",
        "Keep going while confidence is low.",
        "Refine the plan UNTIL you are satisfied with it.",
        "Stop once everything looks good.",
        "1. Read.\n2. Stop when you feel confident.",
        "Repeat as long as the result seems not quite right.",
    ],
)
def test_exits_that_are_left_to_a_feeling(prompt: str) -> None:
    assert names(loop_text.LoopVagueExit, loop(step("refine", prompt))) == ["/steps/0/body/0/prompt"]


@pytest.mark.parametrize(
    "prompt",
    [
        "Continue until `openFindings` is 0.",
        "Continue until you are satisfied: at least two reviewers have no open findings.",
        "If confidence is low, ask the user for more material.",
        "Make sure that the report looks good.",
        "Continue while confidence is low, which means score < 3.",
    ],
)
def test_exits_with_a_rule_nearby_and_texts_about_other_things(prompt: str) -> None:
    assert names(loop_text.LoopVagueExit, loop(step("refine", prompt))) == []


def test_a_rule_in_the_next_item_is_nearby_and_one_far_away_is_not() -> None:
    def made(filler: str) -> dict[str, Any]:
        blocks = {
            "goal": "Refine.",
            "procedure": ["Stop if confidence is now sufficient.", filler, "Else if `gaps` > 0 go on."],
        }
        return loop(step("refine", None, promptBlocks=blocks))

    assert names(loop_text.LoopVagueExit, made("Then think.")) == []
    assert names(loop_text.LoopVagueExit, made("Then think. " * 40)) == ["/steps/0/body/0/promptBlocks/procedure/0"]


def test_the_title_of_a_loop_can_be_vague_too() -> None:
    titled = {**loop(), "title": "Polish until it feels right"}
    assert names(loop_text.LoopVagueExit, titled) == ["/steps/0/title"]


def test_vague_words_outside_loops_are_no_exits() -> None:
    assert names(loop_text.LoopVagueExit, step(prompt="Continue until it feels done.")) == []


def test_a_contract_on_a_loop_itself_is_for_the_schema_to_refuse() -> None:
    assert names(loop_exit.LoopControlOutsideLoop, {**controlled_loop(), "outputContract": CONTRACT}) == []


def test_a_routine_that_decides_a_loop_of_its_caller_speaks_of_both_sides() -> None:
    deciding = json.dumps(workflow({**decision(), "prompt": "Output decision: continue"}, id="routine-decide"))
    found = check_text(deciding, "workflows/routines/decide.json").findings
    assert "loop-decision-one-sided" in {finding.name for finding in found}

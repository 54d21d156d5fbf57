"""Loop settings, bodies and sources: the boundaries, and what must not be reported."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lint_probe import fixed, lint, view

from workrail_lint.findings import Finding, Severity
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL
from workrail_lint.systems.workrail.rules import loop_config, loop_exit
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, loop, parallel, step, workflow

WHEN = {"var": "mode", "equals": "deep"}


def names(rule: type[WorkflowRule], *steps: dict[str, Any], **members: Any) -> list[str]:
    return [finding.pointer for finding in lint(rule, workflow(*steps, **members))]


@pytest.mark.parametrize(("limit", "floor"), [(1.5, 1), (2.5, 2), (999.5, 999)])
def test_a_fractional_limit_is_rounded_down(limit: float, floor: int) -> None:
    document = workflow(loop(maxIterations=limit))
    (found,) = lint(loop_config.LoopMaxIterationsInvalid, document)
    assert json.loads(fixed(found, document))["steps"][0]["loop"]["maxIterations"] == floor


@pytest.mark.parametrize("limit", [1, 2, 2.0, 1000, 0.5, 1000.5, 5000, "3", True, None])
def test_limits_that_are_whole_or_refused_anyway_are_no_fractions(limit: Any) -> None:
    assert names(loop_config.LoopMaxIterationsInvalid, loop(maxIterations=limit)) == []


@pytest.mark.parametrize(("limit", "count"), [(100, 0), (101, 1), (1000, 1), (1001, 0)])
def test_a_limit_is_high_over_100_and_refused_over_1000(limit: int, count: int) -> None:
    assert len(names(loop_config.LoopMaxIterationsHigh, loop(maxIterations=limit))) == count


@pytest.mark.parametrize(("count", "limit", "raised"), [(4, 3, 4), (3.5, 3, 4), (1000, 999, 1000)])
def test_the_limit_is_raised_to_a_count_beyond_it(count: float, limit: int, raised: int) -> None:
    document = workflow(loop(count=count, maxIterations=limit))
    found = lint(loop_config.LoopCountAdjusted, document)[0]
    assert json.loads(fixed(found, document))["steps"][0]["loop"]["maxIterations"] == raised


def test_a_count_beyond_what_a_limit_may_be_is_left_to_the_author() -> None:
    (found,) = lint(loop_config.LoopCountAdjusted, workflow(loop(count=1001, maxIterations=3)))
    assert found.fix is None


@pytest.mark.parametrize(
    "config",
    [
        {"count": 3, "maxIterations": 3},
        {"count": "slices", "maxIterations": 3},
        {"count": 9, "maxIterations": 3, "type": "while"},
        {"count": 9, "maxIterations": 2.5},
        {"count": 9, "maxIterations": ...},
    ],
)
def test_counts_that_fit_or_do_not_count(config: dict[str, Any]) -> None:
    assert names(loop_config.LoopCountAdjusted, loop(**config)) == []


def test_without_a_type_no_member_is_said_to_be_ignored() -> None:
    assert names(loop_config.LoopMemberIgnored, loop(type=..., items="files")) == []


def test_a_count_below_one_runs_one_round() -> None:
    (finding,) = lint(loop_config.LoopCountAdjusted, workflow(loop(count=0.5)))
    assert "runs 1 iteration;" in finding.message


def test_members_of_every_type_are_known() -> None:
    everything: dict[str, Any] = {"count": 1, "items": "x", "itemVar": "i", "indexVar": "j", "condition": WHEN}
    everything["conditionSource"] = {"kind": "context_variable", "condition": WHEN}
    ignored = {
        kind: [
            pointer.rpartition("/")[2]
            for pointer in names(loop_config.LoopMemberIgnored, loop(type=kind, **everything))
        ]
        for kind in ("for", "forEach", "while", "until")
    }
    assert ignored == {
        "for": ["items", "itemVar", "indexVar", "condition", "conditionSource"],
        "forEach": ["count", "condition", "conditionSource"],
        "while": ["count", "items", "itemVar", "indexVar"],
        "until": ["count", "items", "itemVar", "indexVar"],
    }


def missing_source(document: dict[str, Any]) -> Finding:
    """The finding of the schema phase, with the fix that the rule gives it."""
    rule = loop_config.LoopConditionMissing()
    found = Finding(rule.code, rule.name, rule.severity, "no source", "/steps/0/loop")
    found.fix = rule.fix_for(found, view(document))
    return found


def test_a_missing_source_is_added_where_a_body_decides() -> None:
    inline = workflow(controlled_loop(conditionSource=...))
    assert json.loads(fixed(missing_source(inline), inline)) == workflow(controlled_loop())
    named = workflow({**controlled_loop(conditionSource=...), "body": "decide"}, decision())
    source = json.loads(fixed(missing_source(named), named))["steps"][0]["loop"]["conditionSource"]
    assert source == {"kind": "artifact_contract", "contractRef": LOOP_CONTROL, "loopId": "again"}


@pytest.mark.parametrize("body", [[step("inner-step")], "first-step", "nowhere", [None], 3, []])
def test_a_missing_source_is_not_guessed(body: Any) -> None:
    document = workflow({**controlled_loop(conditionSource=...), "body": body}, step())
    assert missing_source(document).fix is None


def test_a_body_that_two_loops_share_is_not_moved() -> None:
    fan = {**parallel(), "id": "shared"}
    both = [{**loop(ident=ident), "body": "shared"} for ident in ("first", "second")]
    found = lint(loop_config.LoopBodyRefSynthesis, workflow(*both, fan))
    assert [(finding.pointer, finding.fix) for finding in found] == [("/steps/2/synthesis", None)] * 2


def test_a_synthesis_inside_the_body_is_fine() -> None:
    assert names(loop_config.LoopBodyRefSynthesis, loop(parallel())) == []
    assert names(loop_config.LoopBodyRefSynthesis, {**loop(), "body": "fan-out"}, parallel(synthesis=...)) == []


def test_the_step_of_a_body_by_name_is_found_by_its_pointer() -> None:
    """Step 1 is not step 10."""
    filler = [step(f"filler-{number}") for number in range(9)]
    bad = step("inspect", runCondition=WHEN)
    document = workflow(*filler, {**loop(), "body": "inspect"}, bad)
    rule = loop_config.LoopBodyRefRefused()
    found = Finding(rule.code, rule.name, rule.severity, "", "/steps/10/runCondition")
    found.fix = rule.fix_for(found, view(document))
    assert json.loads(fixed(found, document)) == workflow(*filler, loop(bad))


@pytest.mark.parametrize(("condition", "count"), [(WHEN, 1), ({}, 0), (..., 0)])
def test_an_empty_condition_does_not_make_a_step_conditional(condition: Any, count: int) -> None:
    body = [step("one", runCondition=condition), step("two", runCondition=WHEN)]
    assert len(names(loop_config.LoopBodyAllConditional, loop(*body))) == count


CONTEXT = {"kind": "context_variable", "condition": WHEN}


@pytest.mark.parametrize(
    ("made", "pointer"),
    [
        (loop(type="while", count=..., condition=WHEN), "/steps/0/loop/condition"),
        (loop(type="until", count=..., conditionSource=CONTEXT), "/steps/0/loop/conditionSource"),
        (controlled_loop(conditionSource=CONTEXT), "/steps/0/loop/conditionSource"),
    ],
)
def test_the_context_decides(made: dict[str, Any], pointer: str) -> None:
    assert names(loop_exit.LoopContextControlled, made) == [pointer]


@pytest.mark.parametrize(
    "made",
    [
        loop(),
        loop(condition=WHEN),
        controlled_loop(),
        controlled_loop(condition=WHEN, conditionSource=...),
        loop(type="while", count=...),
    ],
)
def test_the_context_does_not_decide(made: dict[str, Any]) -> None:
    assert names(loop_exit.LoopContextControlled, made) == []


def test_a_named_condition_of_the_design_form_is_no_context() -> None:
    design = {"type": "loop", "loopId": "again", "title": "Again", "maxIterations": 2, "body": [step("inner-step")]}
    design["while"] = {"kind": "condition_ref", "conditionId": "always"}
    document = workflow(step(), design, conditions=[{"id": "always", "kind": "always_true"}])
    assert view(document).definition["steps"][1]["loop"]["condition"] == {"and": []}
    assert lint(loop_exit.LoopContextControlled, document) == []


@pytest.mark.parametrize(
    "last",
    [
        parallel(),
        step("inner-step", outputContract={"contractRef": "wr.contracts.review_verdict"}),
        step("inner-step", None, templateCall={"templateId": "wr.templates.routine.ideation"}),
    ],
)
def test_the_contract_is_not_put_on_a_step_that_can_not_take_it(last: dict[str, Any]) -> None:
    (found,) = lint(loop_exit.LoopContextControlled, workflow(loop(last, type="while", count=..., condition=WHEN)))
    assert found.fix is None


def test_a_parallel_step_can_decide_through_its_synthesis() -> None:
    fan = parallel(synthesis={"prompt": "Continue or stop?", "outputContract": {"contractRef": LOOP_CONTROL}})
    shadowed = controlled_loop(fan, conditionSource=..., condition=WHEN)
    assert names(loop_exit.LoopConditionShadowed, shadowed) == ["/steps/0/loop/condition"]
    named = {**controlled_loop(conditionSource=..., condition=WHEN), "body": "fan-out"}
    assert names(loop_exit.LoopConditionShadowed, named, fan) == []


def test_a_plain_condition_is_not_shadowed() -> None:
    assert names(loop_exit.LoopConditionShadowed, loop(type="while", count=..., condition=WHEN)) == []
    assert names(loop_exit.LoopConditionShadowed, loop(condition=WHEN)) == []


def test_until_is_fine_where_it_inverts() -> None:
    assert names(loop_exit.LoopUntilArtifact, loop(type="until", count=..., condition=WHEN)) == []
    derived = controlled_loop(type="until", conditionSource=..., condition=WHEN)
    assert names(loop_exit.LoopUntilArtifact, derived) == ["/steps/0/loop/type"]


def test_a_foreign_loop_id_weighs_more_when_a_prompt_repeats_it() -> None:
    source = {"kind": "artifact_contract", "contractRef": LOOP_CONTROL, "loopId": "review_loop"}
    (quiet,) = lint(loop_exit.LoopSourceLoopIdMismatch, workflow(controlled_loop(conditionSource=source)))
    told = {**decision(), "prompt": "Submit wr.loop_control for `review_loop`: continue or stop."}
    (loud,) = lint(loop_exit.LoopSourceLoopIdMismatch, workflow(controlled_loop(told, conditionSource=source)))
    assert (quiet.severity, loud.severity) == (Severity.INFO, Severity.WARNING)
    assert "'decide'" in loud.message


def test_sources_of_counting_loops_are_not_looked_at() -> None:
    source = {"kind": "artifact_contract", "contractRef": "other", "loopId": "other"}
    for rule in (loop_exit.LoopSourceLoopIdMismatch, loop_exit.LoopSourceContractIgnored):
        assert names(rule, loop(conditionSource=source)) == []

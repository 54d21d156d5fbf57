"""Features and refs: what reaches a prompt, what is missing, what is said twice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lint_probe import fixed, lint

from workrail_lint.systems.workrail.rules import features
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.features import CAPABILITIES, MEMORY, SUBAGENTS
from workrail_lint.systems.workrail.rules.samples import step, workflow

CALL = {"templateId": "wr.templates.routine.execution-simulation"}


def blocks(*declared: str, **sections: Any) -> dict[str, Any]:
    made = step(prompt=None, promptBlocks={"goal": "Find the cause.", **sections})
    return workflow(made, features=list(declared) or ...)


def places(rule: type[WorkflowRule], document: dict[str, Any], **settings: Any) -> list[str]:
    return [finding.pointer for finding in lint(rule, document, **settings)]


def test_features_reach_blocks_only() -> None:
    plain = workflow(step(), features=[CAPABILITIES])
    assert places(features.FeatureNoEffect, plain) == ["/features"]
    assert places(features.FeaturePartialEffect, plain) == []
    both = {**blocks(CAPABILITIES), "steps": [*blocks()["steps"], step("second-step")]}
    assert places(features.FeatureNoEffect, both) == []
    (found,) = lint(features.FeaturePartialEffect, both)
    assert "'second-step'" in found.message
    called = {**blocks(CAPABILITIES), "steps": [*blocks()["steps"], step("call-it", None, templateCall=CALL)]}
    assert places(features.FeaturePartialEffect, called) == []


def test_a_damaged_step_uses_features_all_the_same() -> None:
    body = [step("inner-step", prompt=None, promptBlocks={"goal": "Find the cause."})]
    loop = {
        "id": "no-condition",
        "title": "L",
        "type": "loop",
        "loop": {"type": "while", "maxIterations": 3},
        "body": body,
    }
    assert places(features.FeatureNoEffect, workflow(step(), loop, features=[MEMORY])) == []


def test_features_that_capabilities_imply_are_not_the_authors() -> None:
    document = workflow(step(), capabilities={"delegation": "preferred"})
    assert places(features.FeatureNoEffect, document) == []
    assert places(features.FeatureOrder, document) == []


@pytest.mark.parametrize(
    ("declared", "ordered"),
    [
        ([CAPABILITIES, MEMORY, SUBAGENTS], True),
        ([SUBAGENTS, CAPABILITIES], False),
        ([MEMORY], True),
        ([], True),
    ],
)
def test_order(declared: list[str], ordered: bool) -> None:
    document = workflow(features=declared)
    found = lint(features.FeatureOrder, document)
    assert bool(found) is not ordered
    if found:
        assert json.loads(fixed(found[0], document))["features"] == sorted(declared)


def test_configured_features_are_not_sorted_away() -> None:
    configured = {"id": CAPABILITIES, "config": {"probeVisibility": "collapsed"}}
    (found,) = lint(features.FeatureOrder, workflow(features=[SUBAGENTS, configured]))
    assert found.fix is None


@pytest.mark.parametrize(
    ("made", "count"),
    [
        (step(prompt="See wr.refs.memory_usage."), 1),
        (step(guidance=["See wr.refs.memory_usage."]), 1),
        (step(promptFragments=[{"id": "aa", "text": "wr.refs.x"}]), 1),
        (step(prompt=None, promptBlocks={"goal": "As wr.refs.memory_usage says."}), 1),
        (step(prompt="See {{wr.refs.memory_usage}}."), 0),  # a token, refused as such
        (step(prompt="See xwr.refs.a and wr.refs."), 0),
        (step(title="wr.refs.memory_usage"), 0),
        (step(prompt=None, promptBlocks={"goal": [{"kind": "ref", "refId": "wr.refs.memory_usage"}]}), 0),
    ],
)
def test_refs_by_name_in_a_sentence(made: dict[str, Any], count: int) -> None:
    assert len(places(features.RefInRawPrompt, workflow(made))) == count


def test_a_name_beside_a_part_is_still_seen() -> None:
    ref = [{"kind": "ref", "refId": "wr.refs.memory_usage"}]
    document = blocks(constraints=[ref], verify=["wr.refs.memory_usage was followed"])
    assert places(features.RefInRawPrompt, document) == ["/steps/0/promptBlocks/verify/0"]


def test_refs_are_counted_for_each_step() -> None:
    ref = [{"kind": "ref", "refId": "wr.refs.memory_store"}]
    steps = [{**blocks(constraints=[ref])["steps"][0], "id": f"step-{n}"} for n in range(2)]
    assert places(features.RefRepeated, workflow(*steps)) == []
    thrice = blocks(goal=[*ref, *ref], verify=[ref])
    assert places(features.RefRepeated, thrice) == [
        "/steps/0/promptBlocks/goal/1/refId",
        "/steps/0/promptBlocks/verify/0/0/refId",
    ]

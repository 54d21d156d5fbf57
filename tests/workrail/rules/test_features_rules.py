"""Features and refs: what reaches a prompt, what is missing, what is said twice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lint_probe import fixed, lint

from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.rules import features
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.features import CAPABILITIES, MEMORY, SUBAGENTS
from workrail_lint.systems.workrail.rules.samples import parallel, step, workflow

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
    ("text", "rule", "found"),
    [
        ("Spawn two executors.", features.FeatureMissingSubagent, True),
        ("Delegate the search to a helper.", features.FeatureMissingSubagent, True),
        ("Use a second subagent for that.", features.FeatureMissingSubagent, True),
        ("Do not quote the sub-agent's report.", features.FeatureMissingSubagent, False),
        ("Launch the agentic mode.", features.FeatureMissingSubagent, False),
        ("Delegation is not allowed.", features.FeatureMissingSubagent, False),
        ("Call memory_query first.", features.FeatureMissingMemory, True),
        ("Ask mcp_memory_conventions first.", features.FeatureMissingMemory, True),
        ("Use the memory tool.", features.FeatureMissingMemory, True),
        ("Look for memory leaks and in-memory caches.", features.FeatureMissingMemory, False),
        ("Search the web for it.", features.FeatureMissingCapabilities, True),
        ("Use web-fetch when you can.", features.FeatureMissingCapabilities, True),
        ("Spawn two executors.", features.FeatureMissingCapabilities, True),
        ("Research the web framework.", features.FeatureMissingCapabilities, False),
        ("Test it in a web browser.", features.FeatureMissingCapabilities, False),
    ],
)
def test_words_that_call_for_a_feature(text: str, rule: type[features._MissingFeature], found: bool) -> None:
    document = blocks(procedure=[text])
    assert bool(places(rule, document)) is found
    assert places(rule, blocks(rule.feature, procedure=[text])) == []
    assert places(rule, document, is_routine=True) == []


def test_a_feature_is_added_in_its_place_and_only_where_it_reaches_a_prompt() -> None:
    document = blocks(CAPABILITIES, SUBAGENTS, procedure=["Call memory_query first."])
    (found,) = lint(features.FeatureMissingMemory, document)
    assert json.loads(fixed(found, document))["features"] == [CAPABILITIES, MEMORY, SUBAGENTS]
    (plain,) = lint(features.FeatureMissingMemory, workflow(step(prompt="Call memory_query first.")))
    assert plain.fix is None


def test_parallel_steps_and_extension_points_delegate() -> None:
    assert places(features.FeatureMissingSubagent, workflow(step(), parallel())) == ["/steps/1"]
    points = [{"slotId": "checker", "purpose": "Checks.", "default": "routine-check"}]
    assert places(features.FeatureMissingSubagent, workflow(extensionPoints=points)) == ["/extensionPoints"]


def test_memory_guidance_may_come_by_name() -> None:
    ref = [{"kind": "ref", "refId": "wr.refs.memory_query"}]
    assert places(features.FeatureMissingMemory, blocks(constraints=[ref], procedure=["Call memory_query."])) == []


def test_every_line_of_a_declared_feature_is_recognised() -> None:
    catalog = load_core()
    for ident, feature in catalog.features.items():
        for value in (*feature.constraints, *feature.procedure, *feature.verify):
            line = value if isinstance(value, str) else catalog.refs[value[0]["refId"]].text.split("\n")[1]
            document = blocks(ident, procedure=[f"First. {line} Last."])
            assert places(features.FeatureDuplicatedText, document) == ["/steps/0/promptBlocks/procedure/0"], line
            assert places(features.FeatureDuplicatedText, blocks(procedure=[line])) == []


def test_duplicated_text_in_guidance_and_meta_guidance() -> None:
    line = "Write down which path was taken or skipped, and the reason."
    document = workflow(step(guidance=[line]), features=[CAPABILITIES], metaGuidance=[line])
    assert places(features.FeatureDuplicatedText, document) == ["/metaGuidance/0", "/steps/0/guidance/0"]


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

"""What body texts hold: lengths in UTF-16 units, expressions, variables."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from effort import patience, times
from hypothesis import given, settings
from hypothesis import strategies as st
from lint_probe import fixed, lint

from workrail_lint.systems.workrail.rules import analysis_rules, loop_text
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.prose import expressions, mentions
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow


def names(rule: type[WorkflowRule], *steps: dict[str, Any], **members: Any) -> list[str]:
    return [finding.pointer for finding in lint(rule, workflow(*steps, **members))]


def body(prompt: str | None, **members: Any) -> dict[str, Any]:
    return loop(step("inner-step", prompt, **members))


@pytest.mark.parametrize(
    ("text", "is_long"),
    [
        ("x" * 1500, False),
        ("x" * 1501, True),
        ("\U0001f600" * 750, False),
        ("\U0001f600" * 751, True),
    ],
)
def test_lengths_count_utf16_units(text: str, is_long: bool) -> None:
    assert bool(lint(loop_text.LoopPromptLong, workflow(body(text)))) is is_long


def test_the_texts_of_blocks_are_joined_by_newlines() -> None:
    blocks: dict[str, Any] = {"goal": "g" * 500, "constraints": ["c" * 499, [{"kind": "text", "text": "p" * 900}]]}
    blocks |= {"procedure": ["d" * 499], "outputRequired": {"notes": "n" * 900}}
    assert names(loop_text.LoopPromptLong, body(None, promptBlocks=blocks)) == []
    blocks["verify"] = ["v"]
    assert names(loop_text.LoopPromptLong, body(None, promptBlocks=blocks)) == ["/steps/0/body/0/promptBlocks"]


def test_a_step_outside_loops_may_be_long() -> None:
    assert names(loop_text.LoopPromptLong, step(prompt="x" * 3000)) == []
    assert names(loop_text.LoopPromptLong, {**loop(), "body": "first-step"}, step(prompt="x" * 3000)) == []


@settings(max_examples=times(150, deep=1_200))
@given(st.text(alphabet="{}?:a ", max_size=24))
def test_expressions_are_found_as_the_engine_finds_them(text: str) -> None:
    assert list(expressions(text)) == re.findall(r"\{\{([^}]*)\}\}", text)


def test_open_braces_cost_no_time() -> None:
    hostile = "{{" * 200_000 + "?" * 200_000 + ":" * 200_000
    with patience():
        assert list(expressions(hostile)) == []
        assert names(analysis_rules.VariableNeverSet, body(hostile)) == []


@pytest.mark.parametrize(
    ("prompt", "title", "pointer"),
    [
        ("Take the analysis further.", "A step", "prompt"),
        ("Start with Step 1.", "A step", "prompt"),
        ("Structure the report.", "A step", "prompt"),
        ("Go on.", "Deep ANALYSIS", "title"),
        ("Take the Analysis further, in step 1.", "A step", None),
    ],
)
def test_progressive_loops(prompt: str, title: str, pointer: str | None) -> None:
    made = step("inner-step", prompt, title=title)
    expected = [f"/steps/0/body/0/{pointer}"] if pointer else []
    assert names(loop_text.LoopPatternProgressive, loop(made)) == expected
    assert names(loop_text.LoopPatternProgressive, loop(made, type="while", count=...)) == []
    assert names(loop_text.LoopPatternProgressive, loop(step("other"), made)) == []


def test_a_loop_that_is_called_an_analysis() -> None:
    called = {**loop(), "title": "Deep Analysis"}
    assert names(loop_text.LoopPatternProgressive, called) == ["/steps/0/title"]
    assert names(loop_text.LoopPatternProgressive, {**called, "title": "Deep dive"}) == []


@pytest.mark.parametrize(
    "prompt",
    [
        "This is step 2 of 5.",
        "Step\u00a02\tof 5: go on.",
        "Repeat this until nothing is left.",
        "Now repeat steps 2 to 4.",
        "Iterate over the files until all are read.",
        "Iterate over all files and fix them.",
        "Keep iterating until the tests pass.",
    ],
)
def test_rounds_by_hand(prompt: str) -> None:
    assert names(loop_text.LoopManualIteration, step(prompt=prompt)) == ["/steps/0/prompt"]
    assert names(loop_text.LoopManualIteration, body(prompt)) == []
    assert names(loop_text.LoopManualIteration, {**loop(), "body": "first-step"}, step(prompt=prompt)) == []


@pytest.mark.parametrize("members", [{}, {"templateCall": {"templateId": "wr.templates.capability_probe"}}])
def test_a_count_that_continues_in_a_fragment_is_seen(members: dict[str, Any]) -> None:
    fragment = {"id": "rest", "text": "2 of 5.", "when": {"var": "goal"}}
    counting = step(prompt="This is step", promptFragments=[fragment], guidance=["Be brief."], **members)
    assert names(loop_text.LoopManualIteration, counting) == ["/steps/0"]


@pytest.mark.parametrize(
    "prompt",
    [
        "For each story, write one sentence.",
        "Do not repeat yourself.",
        "Step 2 offers more.",
        "Avoid repeated findings; iterate.",
        "If the two read alike, iterate until they differ.",
    ],
)
def test_everyday_words_are_no_rounds(prompt: str) -> None:
    assert names(loop_text.LoopManualIteration, step(prompt=prompt)) == []


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("set `zed` now", "zed", True),
        ("zed", "zed", True),
        ("zedding, azed, $zed, zed_1", "zed", False),
        ("zedding and then zed.", "zed", True),
        ("{{zed}}", "zed", True),
        ("anything", "", False),
        ("ßzed", "zed", True),  # only ASCII letters make a name
    ],
)
def test_mentions_are_whole_words(text: str, name: str, expected: bool) -> None:
    assert mentions(text, name) is expected


def each(prompt: str, **config: Any) -> dict[str, Any]:
    return loop(step("inner-step", prompt), **{"type": "forEach", "count": ..., "items": "files", **config})


def test_the_one_whose_title_speaks_of_an_analysis_is_named() -> None:
    (found,) = lint(loop_text.LoopPatternProgressive, workflow({**loop(), "title": "Analysis"}))
    assert (found.pointer, found.message.partition(":")[0]) == ("/steps/0/title", "loop 'again'")


def test_old_names_are_replaced_in_every_form() -> None:
    document = workflow(each("{{item}} is {{item.name}} at {{_index}}, {{ item }}"))
    found = lint(loop_text.LoopVariableDocName, document)
    assert len(found) == 2
    assert json.loads(fixed(found[0], document))["steps"][0]["body"][0]["prompt"] == (
        "{{currentItem}} is {{currentItem.name}} at {{_index}}, {{ item }}"
    )


@pytest.mark.parametrize(
    ("config", "prompt", "count"),
    [
        ({"itemVar": "item"}, "{{item}}", 0),
        ({"items": "item"}, "{{item.length}}", 0),
        ({}, "{{_iteration}} {{iteration}} {{_item}} {{item}} {{_index}} {{index}}", 6),
        ({"iterationVar": "iteration"}, "{{iteration}} {{_iteration}}", 1),
    ],
)
def test_old_names_may_be_declared(config: dict[str, Any], prompt: str, count: int) -> None:
    assert len(names(loop_text.LoopVariableDocName, each(prompt, **config))) == count
    assert (
        names(analysis_rules.VariableNeverSet, step("set-up", "Set `files` and `item`."), each(prompt, **config)) == []
    )


def test_old_names_are_seen_wherever_the_run_puts_values_in() -> None:
    fragment = {"id": "more", "text": "Also {{item}}.", "when": {"var": "goal"}}
    blocks = {"goal": "Read {{item}}.", "verify": [[{"kind": "text", "text": "{{item}} was read."}]]}
    inner = step("inner-step", None, promptBlocks=blocks, promptFragments=[fragment], guidance=["Mind {{item}}."])
    document = loop(inner, type="forEach", count=..., items="files")
    base = "/steps/0/body/0"
    assert names(loop_text.LoopVariableDocName, document) == [
        f"{base}/promptBlocks/goal",
        f"{base}/promptBlocks/verify/0/0/text",
        f"{base}/promptFragments/0/text",
    ]


def test_an_old_name_that_a_step_sets_is_a_variable_like_any_other() -> None:
    setter = step("setter", "Pick the next entry and set `item`.")
    assert names(loop_text.LoopVariableDocName, setter, body("{{item}}")) == []
    talker = step("talker", "Pick the next item.")
    (found,) = lint(loop_text.LoopVariableDocName, workflow(talker, body("{{item}}")))
    assert found.fix is None  # a counting loop has no item

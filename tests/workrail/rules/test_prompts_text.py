"""Shape, size and wording of prompts: boundaries, and sentences that must not be reported."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lint_probe import lint, view

from workrail_lint import check_text
from workrail_lint.systems.workrail.rules import prompt_parts, prompt_wording, structure
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.prose import Search, excerpt, prompts, sentence_at
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow

WHEN = {"var": "mode", "equals": "deep"}
CALL = {"templateId": "wr.templates.routine.execution-simulation"}


def places(rule: type[WorkflowRule], *steps: dict[str, Any], **members: Any) -> list[str]:
    return [finding.pointer for finding in lint(rule, workflow(*steps, **members))]


def says(rule: type[WorkflowRule], prompt: str) -> bool:
    return bool(places(rule, step(prompt=prompt)))


def blocks(**sections: Any) -> dict[str, Any]:
    return step(prompt=None, promptBlocks=sections)


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ({"goal": ""}, ["goal"]),
        ({"goal": "\ufeff \n"}, ["goal"]),
        ({"goal": "\x1c"}, []),  # Python's white space, not JavaScript's
        ({"goal": []}, ["goal"]),
        ({"goal": [{"kind": "text", "text": " "}]}, ["goal"]),
        ({"goal": [{"kind": "text", "text": ""}, {"kind": "ref", "refId": "wr.refs.memory_usage"}]}, []),
        ({"goal": "a", "constraints": ["a", " "], "verify": [[]]}, ["constraints/1", "verify/0"]),
        ({"goal": "a", "outputRequired": {"x/y": "", "z": "a"}}, ["outputRequired/x~1y"]),
        ({"goal": "a", "procedure": []}, []),
    ],
)
def test_blank_blocks(sections: dict[str, Any], expected: list[str]) -> None:
    found = places(prompt_parts.PromptBlockBlank, blocks(**sections))
    assert found == [f"/steps/0/promptBlocks/{place}" for place in expected]


def test_a_blank_item_is_counted_from_one() -> None:
    (finding,) = lint(prompt_parts.PromptBlockBlank, workflow(blocks(goal="Look.", verify=["Look again.", ""])))
    assert finding.message.endswith(": item 2 of verify is blank; fill it in or remove it")
    assert finding.pointer.endswith("/promptBlocks/verify/1")


def checked(document: dict[str, Any], name: str) -> list[str]:
    found = check_text(json.dumps(document), "workflows/example.json").findings
    return [finding.pointer for finding in found if finding.name == name]


@pytest.mark.parametrize(("length", "count"), [(8183, 0), (8185, 1)])
def test_a_compiled_prompt_is_measured_with_its_headings(length: int, count: int) -> None:
    document = workflow(blocks(goal="é" * length))
    assert checked(document, "prompt-too-large") == ["/steps/0/promptBlocks"] * count


def test_a_generated_prompt_is_measured_too() -> None:
    audit = {"rubric": ["x" * 1000 for _ in range(9)]}
    assert checked(workflow(step(audit=audit)), "prompt-too-large") == ["/steps/0/audit"]


def test_the_budget_counts_feature_and_ref_text_of_one_step() -> None:
    ref = [{"kind": "ref", "refId": "wr.refs.notes_first_durability"}]
    within, over = workflow(blocks(constraints=[ref] * 20)), workflow(blocks(constraints=[ref] * 40))
    assert checked(within, "prompt-refs-budget") == []
    assert checked(over, "prompt-refs-budget") == ["/steps/0/promptBlocks"]
    assert (
        checked(
            workflow(*({**blocks(constraints=[ref] * 20), "id": f"step-{n}"} for n in range(3))), "prompt-refs-budget"
        )
        == []
    )


@pytest.mark.parametrize(
    "prompt",
    [
        "Do a light scan.",
        "Fix it, IF APPROPRIATE, and go on.",
        "Write the smallest summary.",
        "Pick the cheapest option.",
        "A minimal pass will do. You must report afterwards.",
        "Look at it\nif appropriate\nand must stop.",
    ],
)
def test_wording_without_a_floor(prompt: str) -> None:
    assert says(prompt_wording.PromptLazyWording, prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "Do a light scan that still names every caller.",
        "Do a light scan of at least ten files.",
        "If appropriate, skip it and record why.",
        "You may skip this.",
        "Run the smallest test that can still falsify it.",
        "Make the smallest correct change.",
        "List stories: the smallest independently releasable items.",
        "Pick whichever seems appropriate.",
        "Do the cheapest check needed to close the gap.",
        "A lightscan is no light-scan.",
    ],
)
def test_wording_with_a_floor_or_of_another_kind(prompt: str) -> None:
    assert not says(prompt_wording.PromptLazyWording, prompt)


def test_loose_phrases_of_one_text_are_one_finding() -> None:
    (found,) = lint(
        prompt_wording.PromptLazyWording, workflow(step(prompt="Do a minimal pass. Do a light scan. Do a light scan."))
    )
    assert "'minimal pass', 'light scan'" in found.message


@pytest.mark.parametrize(
    ("prompt", "voice"),
    [
        ("The agent should review it.", True),
        ("## This step will review it.", True),
        ("**Input contract:** the diff", True),
        ("Provide a loop-control artifact at the end.", True),
        ("Review it. The agent should stop then.", False),
        ("The agentic part is first.", False),
        ("This step is short.", False),
    ],
)
def test_the_voice_of_the_opening(prompt: str, voice: bool) -> None:
    assert says(prompt_wording.PromptEngineVoice, prompt) is voice
    assert bool(places(prompt_wording.PromptEngineVoice, blocks(goal=prompt))) is voice
    assert bool(places(prompt_wording.PromptEngineVoice, blocks(goal=[{"kind": "text", "text": prompt}]))) is voice


@pytest.mark.parametrize(
    ("prompt", "certifies"),
    [
        ("Set stillFuzzy = true or false.", True),
        ("Decide whether `contextAuditNeeded` holds.", True),
        ("When sure, `confident` = true.", True),
        ("contextAuditNeeded: true when unsure", True),
        ("Output `stillFuzzy` (true or false).", True),
        ("State whether stillFuzzy is true.", True),
        ("If stillFuzzy is set, go back.", False),
        ("Be confident and truthful.", False),
        ("This is confidential: true story.", False),
        ("- Scope: 0-2\n- Evidence: 0-2\nSet stillFuzzy = true below 3.", False),
        ("- Scope: low, medium or high\n1. Evidence: high or low\nSet stillFuzzy from these.", False),
        ("- Scope: 0-2\nSet stillFuzzy = true below 2.", True),
    ],
)
def test_flags_that_an_agent_sets_about_itself(prompt: str, certifies: bool) -> None:
    assert says(prompt_wording.PromptSelfCertify, prompt) is certifies


def test_an_assessment_is_a_rubric() -> None:
    assert (
        places(prompt_wording.PromptSelfCertify, step(prompt="Set stillFuzzy = true.", assessmentRefs=["gate"])) == []
    )


@pytest.mark.parametrize(
    ("prompt", "is_open"),
    [
        ("Spawn 3 executors.", True),
        ("Launch several helpers at once.", True),
        ("Delegate work to two agents.", True),
        ("Spawn at most 12 targeted subagents with the task tool.", False),
        ("Spawn TWO or THREE WorkRail Executors SIMULTANEOUSLY.", False),
        ("Spawn a WorkRail Executor with the diff.", False),
        ("Spawn 1 executor.", False),
        ("Respawn 3 executors.", False),
        ("Launch three rockets.", False),
    ],
)
def test_several_subagents_need_a_mechanism(prompt: str, is_open: bool) -> None:
    found = lint(prompt_wording.PromptDelegationAmbiguous, workflow(step(prompt=prompt)))
    assert bool(found) is is_open


@pytest.mark.parametrize(
    ("item", "code"),
    [
        ("fun adapt(x) = deep", True),
        ("depth(x) = 3", True),
        ("x => y", True),
        ("Have fun (really).", False),
        ("Compare a(b) == c.", False),
        ("Set mode = deep (or quick).", False),
        ("DEFAULT BEHAVIOR: self-execute (always)", False),
    ],
)
def test_pseudo_code_in_meta_guidance(item: str, code: bool) -> None:
    assert bool(places(prompt_wording.MetaGuidancePseudoCode, metaGuidance=["A rule.", item])) is code


@pytest.mark.parametrize(("count", "heavy"), [(5, False), (6, True)])
def test_clarification_is_heavy_over_five(count: int, heavy: bool) -> None:
    questions = [f"Question {n}?" for n in range(count)]
    assert bool(places(prompt_wording.ClarificationHeavy, clarificationPrompts=questions)) is heavy


SENTENCE = "Do not edit any file in this step, and hand over before the next"


@pytest.mark.parametrize(("count", "found"), [(2, 0), (3, 1), (5, 1)])
def test_boilerplate_is_a_sentence_in_three_steps(count: int, found: int) -> None:
    steps = [step(f"step-{n}", f"Part {n}. {SENTENCE}. Then part {n + 1}.") for n in range(count)]
    assert len(places(structure.PromptBoundaryBoilerplate, *steps)) == found


def test_boilerplate_in_one_step_or_in_short_sentences_is_none() -> None:
    assert places(structure.PromptBoundaryBoilerplate, step(prompt=f"{SENTENCE}\n" * 3)) == []
    short = [step(f"step-{n}", "Do not edit any file. Hand over.") for n in range(3)]
    assert places(structure.PromptBoundaryBoilerplate, *short) == []


@pytest.mark.parametrize("mark", "!?")
def test_a_repeated_sentence_may_end_in_any_mark(mark: str) -> None:
    steps = [step(f"step-{n}", f"Part {n}{mark} {SENTENCE}{mark}{' Go.' * n}") for n in range(3)]
    assert places(structure.PromptBoundaryBoilerplate, *steps) == ["/steps/0/prompt"]


def test_sentences_shared_by_the_same_steps_are_one_finding() -> None:
    steps = [step(f"step-{n}", f"{SENTENCE}.\n{SENTENCE} one.\nPart {n}") for n in range(3)]
    (found,) = lint(structure.PromptBoundaryBoilerplate, workflow(*steps))
    assert "and 1 other" in found.message
    assert "'step-0', 'step-1', 'step-2'" in found.message


LINES = [f"Line {n}" for n in range(10)]


def test_fragments() -> None:
    fragments = [
        {"id": "aa", "text": "\u00a0"},
        {"id": "bb", "text": "Read on.", "when": WHEN},
        {"id": "cc", "text": ""},
    ]
    made = step(promptFragments=fragments)
    assert places(prompt_parts.FragmentBlank, made) == ["/steps/0/promptFragments/0/text"]
    assert places(prompt_parts.FragmentUnconditional, made) == [
        "/steps/0/promptFragments/0",
        "/steps/0/promptFragments/2",
    ]
    calling = step(prompt=None, templateCall=CALL, promptFragments=fragments)
    assert places(prompt_parts.FragmentBlank, calling) == []
    assert places(prompt_parts.FragmentUnconditional, calling) == []
    assert places(prompt_parts.FragmentOnTemplateCall, calling) == ["/steps/0/promptFragments"]


@pytest.mark.parametrize(
    ("made", "count"),
    [
        (step(guidance=[]), 0),
        (step(guidance=["A."]), 1),
        (step(guidance=[" "]), 1),
        (step(prompt=None, templateCall=CALL, guidance=["A."]), 0),
    ],
)
def test_guidance_is_reported_and_left_where_it_is(made: dict[str, Any], count: int) -> None:
    found = lint(prompt_parts.GuidanceNotDelivered, workflow(made))
    # In a prompt its tokens would be replaced, and its sentences would be read by rules that never saw them.
    assert [finding.fix for finding in found] == [None] * count


def test_every_blank_item_of_guidance_is_named() -> None:
    assert places(prompt_parts.GuidanceBlank, step(guidance=["", "a", "\t"])) == [
        "/steps/0/guidance/0",
        "/steps/0/guidance/2",
    ]


def test_a_word_is_found_in_its_own_text_whatever_stands_before_it() -> None:
    search = Search(("spawn",), r"\bspawn \w+")
    steps = [
        step("one-step", "İİİ Spawn TWO and spawn three"),
        step("two-step", "respawn x"),
        step("six-step", "SPAWN it"),
    ]
    found = [(hit.step.id, hit.phrase.lower()) for hit in prompts(view(workflow(*steps))).hits(search)]
    assert found == [("one-step", "spawn two"), ("one-step", "spawn three"), ("six-step", "spawn it")]


@given(st.lists(st.text(alphabet=st.sampled_from("spawn İ\n."), max_size=20), min_size=1, max_size=5))
def test_hits_are_what_a_plain_search_of_each_text_finds(texts: list[str]) -> None:
    steps = [step(f"step-{n}", text) for n, text in enumerate(texts)]
    hits = prompts(view(workflow(*steps))).hits(Search(("spawn",), "spawn"))
    found = sorted((hit.step.id, hit.start) for hit in hits)
    expected = [
        (f"step-{n}", at)
        for n, text in enumerate(texts)
        for at in range(len(text.lower()))
        if text.lower().startswith("spawn", at)
    ]
    assert found == expected


@given(
    st.text(alphabet=st.sampled_from("ab. !?\n"), max_size=30),
    st.text(alphabet=st.sampled_from("ab. !?\n"), max_size=30),
)
def test_a_sentence_surrounds_its_position(before: str, behind: str) -> None:
    text = f"{before}here{behind}"
    sentence = sentence_at(text, len(before))
    assert "here" in sentence
    assert sentence in text
    assert "\n" not in sentence
    assert not any(mark in sentence for mark in (". ", "! ", "? "))


@given(st.text(max_size=200))
def test_a_quotation_is_one_short_line(text: str) -> None:
    shown = excerpt(text)
    assert shown.isprintable()
    assert shown.startswith("'")


def test_names_that_span_lines_do_not_break_a_message() -> None:
    long = "Do not edit any file in this step, and hand over before the next one starts."
    steps = [step(f"step\n{n}", long) for n in range(3)]
    (found,) = lint(structure.PromptBoundaryBoilerplate, workflow(*steps))
    assert "\n" not in found.message


def test_guidance_of_a_loop_is_for_the_schema_to_refuse() -> None:
    assert lint(prompt_parts.GuidanceNotDelivered, workflow({**loop(), "guidance": ["Prefer evidence."]})) == []

"""Sentences, clauses, negations and examples in delivered text."""

from __future__ import annotations

import json

import pytest
from effort import lines_run, patience
from hypothesis import given
from hypothesis import strategies as st
from lint_probe import view

from workrail_lint import check_text
from workrail_lint.systems.workrail.model.build import step_model
from workrail_lint.systems.workrail.rules.base import Text
from workrail_lint.systems.workrail.rules.delivered_text import Passage, delivered
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, loop, parallel, step, workflow


def passage(text: str) -> Passage:
    return Passage(step_model({}, "/steps/0"), Text(text, "/steps/0/prompt", "prompt"))


@pytest.mark.parametrize(
    ("text", "is_fenced"),
    [
        ("MARK", False),
        ("```\nMARK\n```", True),
        ("```json\nMARK\n```\n", True),
        ("~~~\nMARK\n~~~", True),
        ("   ```\n   MARK\n   ```", True),
        ("> ```\n> MARK\n> ```", True),
        ("```\na\n```\nMARK\n```\nb\n```", False),
        ("```\na\n~~~\nMARK\n```", True),
        ("```\nnever closed MARK", True),
        ("in the middle ``` of a line\nMARK", False),
    ],
)
def test_fenced_blocks(text: str, is_fenced: bool) -> None:
    assert passage(text).is_fenced(text.index("MARK")) is is_fenced


@pytest.mark.parametrize(
    ("text", "is_code"),
    [
        ("say `MARK` now", True),
        ("say ``a ` MARK`` now", True),
        ("say `a` MARK `b`", False),
        ("a lone ` and MARK", False),
        ("a ` open\nMARK ` here", False),
        ("```\n`\n```\nMARK `x`", False),
    ],
)
def test_code_spans(text: str, is_code: bool) -> None:
    assert passage(text).is_code(text.index("MARK")) is is_code


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. Two MARK three. Four.", " two mark three"),
        ("One! Two MARK", " two mark"),
        ("- one\n- two MARK\n- three", "- two mark"),
        ("Use it, e.g. MARK here. Then stop.", "use it, e.g. mark here"),
        ("Version 1.5 MARK", "version 1.5 mark"),
        ("**One.** Two MARK.", "** two mark"),
    ],
)
def test_a_sentence(text: str, sentence: str) -> None:
    found = passage(text)
    start, end = found.sentence(text.index("MARK"), text.index("MARK") + 4)
    assert found.low[start:end] == sentence


@pytest.mark.parametrize(
    ("text", "is_negated"),
    [
        ("MARK", False),
        ("Do not MARK.", True),
        ("Don't MARK.", True),
        ("Don’t ever MARK.", True),
        ("You must never MARK.", True),
        ("Finish without MARK.", True),
        ("Go on instead of MARK.", True),
        ("Do not guess, MARK.", False),
        ("Do not guess. MARK.", False),
        ("If it is not approved, MARK.", False),
        ("Do not guess but MARK.", False),
        ("MARK is not allowed.", True),
        ("MARK must not happen.", True),
        ("MARK. It is not hard.", False),
        ("There is no need to MARK.", True),
        ("Note that you MARK.", False),
    ],
)
def test_negation(text: str, is_negated: bool) -> None:
    at = text.index("MARK")
    assert passage(text).is_negated(at, at + 4) is is_negated


@pytest.mark.parametrize(
    ("text", "is_conditional"),
    [
        ("MARK.", False),
        ("If it fails, MARK.", True),
        ("MARK when it fails.", True),
        ("It fails. MARK.", False),
        ("If it fails:\n- look\n- MARK", True),
        ("**When it fails:**\n- MARK", True),
        ("Then:\n- MARK", False),
        ("If it fails:\n- look\n\nAt the end\n- MARK", False),
        ("Otherwise MARK.", True),
    ],
)
def test_conditions(text: str, is_conditional: bool) -> None:
    at = text.index("MARK")
    assert passage(text).is_conditional(at, at + 4) is is_conditional


def test_what_is_delivered() -> None:
    document = workflow(
        step("plain", "One.", guidance=["Two."], title="Three", agentRole="Four."),
        step("call", None, templateCall={"templateId": "wr.templates.x", "args": {"goal": "Five."}}),
        step("blocks", None, promptBlocks={"goal": "Six.", "procedure": ["Seven."]}),
        step("checked", "Eight.", verification={"prompt": "Nine.", "command": "make ten"}),
        parallel(parallelDelegations=[{"workflowId": "demo.x", "goal": "Eleven."}], synthesis={"prompt": "Twelve."}),
        metaGuidance=["Thirteen."],
    )
    assert [found.text.text for found in delivered(view(document)).passages((".",))] == [
        *("One.", "Five.", "Six.", "Seven.", "Eight.", "Nine.", "Twelve.", "Eleven."),
    ]


# What the rules look for, so that drawn texts come near to it.
_PIECES = (
    *("go back to step 2", "skip the remaining steps", "steps 2-6 are skipped", "exit the loop", "at most 6 rounds"),
    *("step 'x-y'", "`a-b` step", "Phase 3b", "Design (Phase 4)", "`routine-a`", "run the 'Some Name' workflow"),
    *("workflow_next", "complete_step", "wait for user approval", "TODO", "<!--", "[insert name]", "Your role:"),
    *(
        "read docs/a.md",
        "wr.gate_verdict artifact with `verdict` set to `a` or `b`, `c`",
        "dimension `x` of wr.assessment",
    ),
    *('```json\n{"kind": "wr.gate_verdict"}\n```', "```", "~~~", "`", "``", '"kind"', "\n", ". ", ", ", "If ", "not "),
    *("İ", "ß", "ΑΣ", "\u2028", "\0", "\ud800", "(", ")", "{{x}}", "- ", "1. ", ":"),
)
_TEXTS = st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=6)), max_size=30).map("".join)


@given(text=_TEXTS, other=_TEXTS)
def test_no_text_is_too_much(text: str, other: str) -> None:
    contract = {"contractRef": "wr.contracts.gate_verdict"}
    document = workflow(
        step("first", text, outputContract=contract),
        loop(step("inner", other)),
        step("blocks", None, promptBlocks={"goal": text, "procedure": [other, "1. x"], "outputRequired": {"a": text}}),
        name=other[:40] or "A name",
    )
    check_text(json.dumps(document), "workflows/a.json")
    delivered(view(json.dumps(document)))


@pytest.mark.parametrize("piece", _PIECES)
def test_long_texts_come_to_an_end(piece: str) -> None:
    def document(times: int) -> str:
        contract = {"contractRef": "wr.contracts.gate_verdict"}
        made = controlled_loop(step("inner", piece * times), decision())
        return json.dumps(workflow(step("first", piece * times, outputContract=contract), made))

    small, large = 40, 160
    with patience():
        first, second = (lines_run(lambda n=n: check_text(document(n), "workflows/a.json")) for n in (small, large))
    # Four times the text may take four times the effort, and somewhat more; sixteen times would be an explosion.
    assert second < 10 * first + 20_000

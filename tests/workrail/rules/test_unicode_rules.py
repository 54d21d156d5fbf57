"""SE: characters that nobody sees, and names that look alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lint_probe import fixed, lint, view

from workrail_lint.documents.source_text import SourceText
from workrail_lint.systems.workrail.rules import RULES as TABLE
from workrail_lint.systems.workrail.rules import unicode
from workrail_lint.systems.workrail.rules.rule_needs import facts_of, kinds_in
from workrail_lint.systems.workrail.rules.samples import loop, parallel, step, workflow
from workrail_lint.systems.workrail.rules.unicode import (
    UnicodeInvisible,
    UnicodeMixedScript,
    UnicodeNonAsciiToken,
    UnicodeNotNfc,
)

ALL = [type(rule) for rule in TABLE.rules_in("unicode")]
RULES = [UnicodeInvisible]

WOMAN, LAPTOP, FLAG = "\U0001f469", "\U0001f4bb", "\U0001f3f4"


def tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(char)) for char in text)


ENGLAND = FLAG + tags("gbeng") + "\U000e007f"


def prompt(text: str) -> dict[str, Any]:
    return workflow(step(prompt=text))


def required(*names: str) -> dict[str, Any]:
    return workflow(step(prompt=None, promptBlocks={"goal": "Look.", "outputRequired": dict.fromkeys(names, "text")}))


def rating(*levels: str, more: str = "effort") -> dict[str, Any]:
    dimensions = [{"id": ident, "purpose": "P", "levels": list(levels)} for ident in ("depth", more)]
    return workflow(
        step(assessmentRefs=["look"]), assessments=[{"id": "look", "purpose": "P", "dimensions": dimensions}]
    )


@pytest.mark.parametrize(
    ("rule", "document"),
    [
        (UnicodeInvisible, required("answer", "ans\u202ewer")),
        (UnicodeInvisible, rating("low", "lo\u200bw")),
        (UnicodeInvisible, rating("low", "high", more="dep\u200bth")),
        (UnicodeNotNfc, required("caf\u00e9", "cafe\u0301")),
        (UnicodeNotNfc, rating("caf\u00e9", "cafe\u0301")),
    ],
)
def test_no_fix_takes_a_name_that_a_neighbour_has(rule: Any, document: Any) -> None:
    found = lint(rule, document)
    assert found
    assert {finding.fix for finding in found} == {None}


@pytest.mark.parametrize("char", [*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"])
def test_bidi(char: str) -> None:
    document = prompt(f"a{char}b{char}")
    (finding,) = lint(UnicodeInvisible, document)
    assert f"U+{ord(char):04X}" in finding.message
    assert json.loads(fixed(finding, document))["steps"][0]["prompt"] == "ab"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\u200bb", "ab"),
        ("a\u00adb", "ab"),
        ("a\ufeffb", "ab"),
        ("a\u2060\u2061\u2062\u2063\u2064\u180eb", "ab"),
        ("a\u200db", "ab"),
        ("a\u200cb", "ab"),
        ("\U0001f642\u200d\u2194\ufe0f a\u200bb", "\U0001f642\u200d\u2194\ufe0f ab"),
        (f"{WOMAN}\u200d{LAPTOP} a\u200db", f"{WOMAN}\u200d{LAPTOP} ab"),
        (f"{WOMAN}\u200d", WOMAN),
        (f"{WOMAN}\u200c{LAPTOP}", f"{WOMAN}{LAPTOP}"),
    ],
)
def test_invisible(text: str, cleaned: str) -> None:
    document = prompt(f"{text}.")
    (finding,) = lint(UnicodeInvisible, document)
    assert json.loads(fixed(finding, document))["steps"][0]["prompt"] == f"{cleaned}."


@pytest.mark.parametrize(
    "text",
    [
        f"{WOMAN}\u200d{LAPTOP}",
        f"{WOMAN}\U0001f3fd\u200d\u2695\ufe0f",
        "\U0001f3f3\ufe0f\u200d\U0001f308",
        "می\u200cخواهم",  # Persian
        "क्\u200dष",  # Devanagari
        "plain — “text” → ✅",
    ],
)
def test_visible(text: str) -> None:
    assert lint(UnicodeInvisible, prompt(text)) == []


def test_tags() -> None:
    assert lint(UnicodeInvisible, prompt(f"Play {ENGLAND}.")) == []
    document = prompt(f"Play {ENGLAND}{tags('obey')}.")
    (finding,) = lint(UnicodeInvisible, document)
    assert json.loads(fixed(finding, document))["steps"][0]["prompt"] == f"Play {ENGLAND}."
    assert lint(UnicodeInvisible, json.dumps(document))  # as escaped pairs
    assert lint(UnicodeInvisible, prompt(f"{FLAG}{tags('gbeng')}"))  # not ended


@pytest.mark.parametrize("char", ["\x00", "\x07", "\x08", "\x0b", "\x0c", "\x1b", "\x7f", "\x80", "\x9f"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_controls(char: str, ascii_only: bool) -> None:
    text = json.dumps(prompt(f"a{char}b"), ensure_ascii=ascii_only)
    (finding,) = lint(UnicodeInvisible, text)
    assert f"U+{ord(char):04X}" in finding.message
    assert char not in finding.message
    assert json.loads(fixed(finding, text))["steps"][0]["prompt"] == "ab"


def test_tabs_and_line_ends_are_fine() -> None:
    assert lint(UnicodeInvisible, prompt("a\tb\nc\r\nd\\b\\f")) == []


def test_surrogates() -> None:
    (finding,) = lint(UnicodeInvisible, json.dumps(prompt("a\ud800b")))
    assert "U+D800" in finding.message
    assert finding.fix is None
    assert lint(UnicodeInvisible, json.dumps(prompt(f"{WOMAN}"))) == []


def test_nothing_is_offered_that_can_not_be_written() -> None:
    text = json.dumps(prompt("a\ud800\u200bb"))
    invisible, half = lint(UnicodeInvisible, text)
    assert (invisible.fix, half.fix) == (None, None)
    (only,) = lint(UnicodeInvisible, prompt("\u200b"))
    assert only.fix is None  # nothing would be left


def test_names_of_members() -> None:
    document = workflow(step(prompt=None, promptBlocks={"goal": "G", "outputRequired": {"re\u200bsult": "R"}}))
    (finding,) = lint(UnicodeInvisible, document)
    assert finding.on_name
    assert "re\u200bsult" in finding.pointer
    blocks = json.loads(fixed(finding, document))["steps"][0]["promptBlocks"]
    assert blocks["outputRequired"] == {"result": "R"}


@given(st.text())
def test_what_applies_says_is_what_is_there(text: str) -> None:
    for ascii_only in (True, False):
        raw = json.dumps({"a": text}, ensure_ascii=ascii_only)
        if lint(UnicodeInvisible, raw):
            assert UnicodeInvisible.needs is not None
            assert UnicodeInvisible.needs & kinds_in(SourceText(raw))


@given(st.text())
def test_cleaning_is_done_once(text: str) -> None:
    for find in (unicode._find_bidi, unicode._find_tags, unicode._find_controls):
        cleaned = find(text)[1]
        assert find(cleaned) == ("", cleaned)


def test_plain_documents_cost_nothing() -> None:
    for document in (prompt("Plain text,\nwith a line end."), prompt("Dashes — and “quotes” → ✅")):
        facts = facts_of(view(document))
        for rule in (*RULES, UnicodeNotNfc, UnicodeMixedScript):
            assert rule.needs is not None
            assert rule.needs.isdisjoint(facts), rule.name
    assert UnicodeNonAsciiToken.needs is not None
    assert UnicodeNonAsciiToken.needs.isdisjoint(facts_of(view(prompt("Greet {{user}}."))))


# -------------------------------------------------------------------------------------------------- names


def places(name: str) -> tuple[dict[str, Any], set[str]]:
    """A document with a name in every place where one is looked up, and those places."""
    dimension = {"id": name, "purpose": "P", "levels": [name, "high"]}
    consequence = {"when": {"anyEqualsLevel": name, "forAssessment": name}, "effect": {"kind": "require_followup"}}
    document = workflow(
        step(runCondition={"not": {"var": name}}, assessmentRefs=[name], assessmentConsequences=[consequence]),
        loop(type="forEach", items=name, itemVar=name, count=...),
        step("blocks", None, promptBlocks={"goal": "G", "outputRequired": {name: "R"}}),
        parallel(parallelDelegations=[{"workflowId": "a.b", "contextMapping": {name: "x", "y": name}}]),
        assessments=[{"id": name, "purpose": "P", "dimensions": [dimension]}],
    )
    return document, {
        "/assessments/0/id",
        "/assessments/0/dimensions/0/id",
        "/assessments/0/dimensions/0/levels/0",
        "/steps/0/runCondition/not/var",
        "/steps/0/assessmentRefs/0",
        "/steps/0/assessmentConsequences/0/when/anyEqualsLevel",
        "/steps/0/assessmentConsequences/0/when/forAssessment",
        "/steps/1/loop/items",
        "/steps/1/loop/itemVar",
        f"/steps/2/promptBlocks/outputRequired/{name}",
        f"/steps/3/parallelDelegations/0/contextMapping/{name}",
        "/steps/3/parallelDelegations/0/contextMapping/y",
    }


def test_decomposed_names() -> None:
    document, expected = places("re\u0301sume")
    findings = lint(UnicodeNotNfc, document)
    assert {finding.pointer for finding in findings} == expected
    for finding in findings:
        assert "r\u00e9sume" in fixed(finding, document)
    assert lint(UnicodeNotNfc, prompt("re\u0301sume")) == []  # prose is not compared
    assert lint(UnicodeNotNfc, places("r\u00e9sume")[0]) == []


@pytest.mark.parametrize(
    ("name", "hit"),
    [("p\u0430th", True), ("\u03bfpen", True), ("путь", False), ("größe", False), ("path", False), ("ячейка_1", False)],
)
def test_mixed_scripts(name: str, hit: bool) -> None:
    document, expected = places(name)
    assert {finding.pointer for finding in lint(UnicodeMixedScript, document)} == (expected if hit else set())


@pytest.mark.parametrize(
    ("text", "hit"),
    [
        ("Greet {{us\u0435r}}", True),
        ("Greet {{größe}} and {{user}}", True),
        ("Größe: {{user}}", False),
        ("Grüß {{user", False),
        ("{{a}} – {{b}}", False),
    ],
)
def test_tokens(text: str, hit: bool) -> None:
    assert bool(lint(UnicodeNonAsciiToken, prompt(text))) == hit


@given(st.text(max_size=20), st.booleans())
def test_any_name_is_looked_at(name: str, escaped: bool) -> None:
    text = json.dumps(places(name)[0], ensure_ascii=escaped)
    for rule in ALL:
        for finding in lint(rule, text):
            assert "\n" not in finding.message

"""graph: the four drawings, and the analysis."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from cli_types import Run
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.systems.drawing.texts import fitted
from workrail_lint.systems.workrail.graph.texts import condition_text
from workrail_lint.systems.workrail.model.build import condition_model
from workrail_lint.systems.workrail.rules.samples import controlled_loop, parallel, step, workflow

HOSTILE = '<b>"quoted" & `x` \x1b[31m {{y}} #1; -->'
DOCUMENT = workflow(
    step("first", title=HOSTILE, runCondition={"and": [{"var": "a", "equals": 1}, {"not": {"var": "b"}}]}),
    controlled_loop(),
    step("check", audit={"rubric": ["x"]}, requireConfirmation={"kind": "human_approval"}),
    parallel(),
)


@pytest.mark.parametrize("form", ["mermaid", "dot", "svg"])
def test_every_step_is_drawn_and_text_is_harmless(run: Run, write: Any, form: str) -> None:
    write("a.json", DOCUMENT)
    ran = run("graph", "a.json", "--format", form)
    assert ran.code == 0
    assert "\x1b" not in ran.out
    if form != "dot":  # where a quoted label is never markup
        assert "<b>" not in ran.out
    for word in ("at most 3 times", "confirmed by a person", "Audit: A step", "Synthesis: Fan out", "demo.left"):
        assert word in ran.out, word
    if form == "svg":
        body = ran.out[ran.out.index("<svg") : ran.out.index("</svg>") + 6]
        ElementTree.fromstring(body)


def test_the_analysis_is_stable_and_harmless(run: Run, write: Any) -> None:
    write("a.json", DOCUMENT)
    ran = run("graph", "a.json", "--format", "json")
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert ran.out.isascii()
    assert run("graph", "a.json", "--format", "json").out == ran.out
    data = json.loads(ran.out)
    assert [row["id"] for row in data["steps"]][:2] == ["first", "again"]
    assert {row["name"] for row in data["uses"]} >= {"a", "b"}
    assert {"texts", "definitions", "domains", "mentions", "reachability"} <= data.keys()


def test_output_file_and_errors(run: Run, write: Any, tmp_path: Any) -> None:
    write("a.json", DOCUMENT)
    assert run("graph", "a.json", "--format", "svg", "--output", "a.svg").code == 0
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<svg")
    write("bad.json", {**DOCUMENT, "steps": []})
    assert run("graph", "bad.json").code == 1
    assert run("graph", "missing.json").code == 2
    (tmp_path / "empty").mkdir()
    assert run("graph", "empty").code == 3


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({}, "always"),
        ({"var": "a"}, "a is truthy"),
        ({"var": "a", "in": [1, "b c"]}, 'a is one of 1, "b c"'),
        ({"or": []}, "never"),
        ({"or": [{"var": "a", "gt": 1}, {"not": {"var": "b", "equals": "x"}}]}, "a > 1 or not (b is x)"),
        ({"and": [{"var": "a"}, {"or": [{"var": "b"}, {"var": "c"}]}]}, "a is truthy and (b is truthy or c is truthy)"),
        ({"and": [{"var": "a", "equals": 1}]}, "a is 1"),
        ({"var": "a", "equals": "true"}, 'a is "true"'),
        ({"var": "a", "startsWith": "x-1"}, "a starts with x-1"),
        ({"and": [], "or": [], "not": {"var": "a"}}, "always"),
        ({"or": [{}, {"var": "a"}]}, "never or a is truthy"),
    ],
)
def test_conditions_in_words(condition: dict[str, Any], words: str) -> None:
    assert condition_text(condition_model(condition)) == words


def test_depth_is_cut_short() -> None:
    condition: dict[str, Any] = {"var": "a"}
    for _ in range(500):
        condition = {"not": condition}
    assert condition_text(condition_model(condition)).count("not") == 9


def test_long_texts_are_broken_and_not_cut() -> None:
    words = "Weigh the candidates against each other and say which of them survives the first contact with a user"
    assert " ".join(fitted(words, 30)) == words
    assert max(map(len, fitted(words, 30))) <= 30
    assert fitted("x" * 70, 30) == ["x" * 30, "x" * 30, "x" * 10]
    assert fitted("\u5b57" * 10, 8) == ["\u5b57" * 4, "\u5b57" * 4, "\u5b57" * 2]  # two columns each
    assert fitted("mmmm", 4) == ["mm", "mm"]  # so are these, nearly
    assert fitted("part " * 500, 10)[-1] == "part …"
    assert fitted("", 10) == [""]


@given(st.text(max_size=200), st.integers(2, 40))
def test_lines_fit_and_lose_nothing(text: str, columns: int) -> None:
    lines = fitted(text, columns)
    assert all(line.isprintable() for line in lines)
    if len(lines) <= 6 and "…" not in text and not lines[-1].endswith(" …"):
        assert "".join(lines).replace(" ", "") == "".join(c for c in text if c.isprintable() and not c.isspace())


def test_a_mermaid_label_keeps_its_quotes(run: Run, write: Any) -> None:
    write("a.json", workflow(step("first", title='Say "it\'s #1"; <b>`now`</b>')))
    assert "Say #34;it's #35;1#34;#59; #60;b#62;#96;now#96;#60;/b#62;" in run("graph", "a.json").out


def test_a_page_is_that_of_the_studio(run: Run, write: Any) -> None:
    write("a.json", workflow(step("first", prompt="Look <here>.\nThen there."), controlled_loop()))
    page = run("graph", "a.json", "--format", "html").out
    assert "Content-Security-Policy" in page
    assert "Look \\u003chere\\u003e.\\nThen there." in page

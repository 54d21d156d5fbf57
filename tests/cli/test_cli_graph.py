"""graph: the four forms."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from cli_types import Run

from workrail_lint.workrail.graph import condition_text
from workrail_lint.workrail.rules.samples import controlled_loop, parallel, step, workflow

HOSTILE = '<b>"quoted" & `x` \x1b[31m {{y}} #1; -->'
DOCUMENT = workflow(
    step("first", title=HOSTILE, runCondition={"and": [{"var": "a", "equals": 1}, {"not": {"var": "b"}}]}),
    controlled_loop(),
    step("check", audit={"rubric": ["x"]}, requireConfirmation={"kind": "human_approval"}),
    parallel(),
)


@pytest.mark.parametrize("form", ["mermaid", "dot", "svg", "html"])
def test_every_step_is_drawn_and_text_is_harmless(run: Run, write: Any, form: str) -> None:
    write("a.json", DOCUMENT)
    ran = run("graph", "a.json", "--format", form)
    assert ran.code == 0
    assert "\x1b" not in ran.out
    if form != "dot":  # where a quoted label is never markup
        assert "<b>" not in ran.out
    for word in ("at most 3 times", "confirmed by a person", "Audit: A step", "Synthesis: Fan out", "demo.left"):
        assert word in ran.out, word
    if form in ("svg", "html"):
        body = ran.out[ran.out.index("<svg") : ran.out.index("</svg>") + 6]
        ElementTree.fromstring(body)


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
        ({"var": "a"}, "a is set"),
        ({"var": "a", "in": [1, 2]}, "a is one of [1, 2]"),
        ({"or": []}, "never"),
        ({"or": [{"var": "a", "gt": 1}, {"not": {"var": "b", "equals": "x"}}]}, 'a > 1 or not (b is "x")'),
    ],
)
def test_conditions_in_words(condition: dict[str, Any], words: str) -> None:
    assert condition_text(condition) == words

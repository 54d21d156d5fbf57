"""What the language server knows about a place, without an editor."""

from __future__ import annotations

import json
from typing import Any

import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st
from opened import MARK, at_mark, opened

from workrail_lint.cli.server import open_project, parser
from workrail_lint.documents.pointer import encode
from workrail_lint.server.actions import actions, fix_all, format_edit
from workrail_lint.server.completion import completions
from workrail_lint.server.document import OpenDocument
from workrail_lint.server.hover import hover
from workrail_lint.server.names import Name, mentions, name_at, step_at, steps_by_id
from workrail_lint.server.outline import folds, hints, prompt_tokens, symbols
from workrail_lint.server.place import place_at, raw_offsets
from workrail_lint.systems.workrail.rules.samples import controlled_loop, step, workflow

DOCUMENT = workflow(
    step("first", prompt="Set the context variable `size` to one of `small`, `large`."),
    step(
        "small-way",
        prompt="Keep {{size}} small, then see first-check.",
        runCondition={"var": "size", "equals": "small"},
    ),
    step("first-check", prompt="Check.", outputContract={"contractRef": "wr.contracts.review_verdict"}),
    controlled_loop(),
)


def _marked(before: str, after: str) -> tuple[OpenDocument, int]:
    """The sample with a text replaced by one that has the mark."""
    text = json.dumps(DOCUMENT, indent=2)
    assert before in text
    return at_mark(text.replace(before, after, 1))


@pytest.mark.parametrize(
    ("text", "tokens", "is_name", "prefix"),
    [
        ('{"a¦', (), True, "a"),
        ('{"a": "b¦"}', ("a",), False, "b"),
        ('{"a": ¦', ("a",), False, ""),
        ('{"a": 1, ¦', (), True, ""),
        ('{"a": [1, {"b": "x¦', ("a", "1", "b"), False, "x"),
        ('{"a": [¦]}', ("a", "0"), False, ""),
        ('{"a": {"b": 1}, "c": tr¦', ("c",), False, "tr"),
        ('{"a\\"b": {"c": "¦"}}', ('a"b', "c"), False, ""),
        ("¦", (), False, ""),
        ('{"a": "unfinished\n "b¦', (), True, "b"),
    ],
)
def test_a_place_in_a_text_that_need_not_be_valid(text: str, tokens: Any, is_name: bool, prefix: str) -> None:
    place = place_at(text.replace(MARK, ""), text.index(MARK))
    assert (place.tokens, place.is_name, place.prefix) == (tokens, is_name, prefix)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=times(40, deep=320), deadline=None)
@given(_JSON, st.data())
def test_the_place_of_a_value_is_its_pointer(value: Any, data: Any) -> None:
    document = opened(json.dumps({"x": value}, indent=1), "a.json")
    pending: list[tuple[tuple[str, ...], Any]] = [((), {"x": value})]
    while pending:
        tokens, item = pending.pop()
        if isinstance(item, dict):
            pending += [((*tokens, name), each) for name, each in item.items()]
        elif isinstance(item, list):
            pending += [((*tokens, str(n)), each) for n, each in enumerate(item)]
        else:
            node = document.json.node(encode(tokens))
            assert node is not None
            offset = data.draw(st.integers(node.start + 1, max(node.start + 1, node.end - 1)))
            assert place_at(document.text, offset).tokens == tokens


@given(st.text(max_size=30))
def test_offsets_inside_of_a_string(text: str) -> None:
    for ascii_only in (True, False):
        literal = json.dumps(text, ensure_ascii=ascii_only)
        offsets = raw_offsets(literal)
        assert len(offsets) == len(text) + 1
        for at, character in enumerate(text):
            assert json.loads(f'"{literal[offsets[at] : offsets[at + 1]]}"') == character


def _labels(document: OpenDocument, offset: int) -> list[str]:
    return [item.label for item in completions(document, offset)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ('"wr.contracts.review_verdict"', '"¦"', "wr.contracts.loop_control"),
        ('"var": "size"', '"var": "¦"', "size"),
        ('"equals": "small"', '"equals": "¦"', "large"),
        ("Keep {{size}}", "Keep {{¦", "size"),
        ('"title": "A step",', '"title": "A step", "¦"', "requireConfirmation"),
        ('"type": "while"', '"type": "¦"', "until"),
    ],
)
def test_completion(before: str, after: str, expected: str) -> None:
    assert expected in _labels(*_marked(before, after))


def test_members_that_are_there_are_not_offered_again() -> None:
    labels = _labels(*_marked('"title": "A step",', '"title": "A step", "¦": 1,'))
    assert "title" not in labels
    assert "guidance" in labels


def test_a_step_can_be_inserted_whole() -> None:
    document, offset = at_mark('{"id": "demo.x", "steps": [¦]}')
    made = {item.label: item for item in completions(document, offset)}
    assert made["loop with a decision"].is_snippet
    assert "wr.contracts.loop_control" in made["loop with a decision"].insert


def test_completion_follows_the_release_of_the_engine() -> None:
    args = parser().parse_args(["--isolated", "--engine-version", "3.60"])
    assert args is not None
    text = json.dumps({**workflow(), "": ""}, indent=2)
    project = open_project(args, "workflows/a.json")
    document = OpenDocument("workflows/a.json", text, project)
    offered = {item.label for item in completions(document, text.index('""') + 1)}
    assert "assessments" in offered
    assert "metricsProfile" not in offered
    newest = opened(text)
    assert "metricsProfile" in {item.label for item in completions(newest, text.index('""') + 1)}


def test_a_scenario_completes_from_its_schema() -> None:
    document, offset = at_mark('{"workflow": "a.json", "¦"}', "a.scenario.json")
    assert "agent" in _labels(document, offset)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('"var": "size"', '"var": "si¦ze"', ["set in: `first`", "read in: `small-way`", '`"large"`']),
        ("{{size}}", "{{si¦ze}}", ["a context variable"]),
        ('"wr.contracts.review_verdict"', '"wr.con¦tracts.review_verdict"', ["```json", "verdict"]),
        ('"id": "first"', '"id": "fi¦rst"', ["the compiled prompt", "authored"]),
        ('"maxIterations"', '"maxIter¦ations"', ["rounds"]),
    ],
)
def test_hover(before: str, after: str, words: list[str]) -> None:
    document, offset = _marked(before, after)
    found = hover(document, offset)
    assert found is not None
    for word in words:
        assert word in found.text


def test_hover_says_why_a_finding_is_one() -> None:
    broken = opened(json.dumps({**DOCUMENT, "steps": []}))
    finding = broken.checked.findings[0]
    assert finding.span is not None
    said = hover(broken, finding.span.start.offset)
    assert said is not None
    assert finding.code in said.text


@pytest.mark.parametrize(
    ("before", "after", "name", "count"),
    [
        ('"var": "size"', '"var": "si¦ze"', Name("variable", "size"), 3),
        ('"id": "first-check"', '"id": "first-ch¦eck"', Name("step", "first-check"), 2),
    ],
)
def test_a_name_is_found_and_renamed_everywhere(before: str, after: str, name: Name, count: int) -> None:
    document, offset = _marked(before, after)
    assert name_at(document, place_at(document.text, offset), offset) == name
    found = mentions(document, name)
    assert len(found) == count
    assert any(each.is_definition for each in found)
    text = document.text
    for each in reversed(found):
        text = text[: each.start] + "renamed-thing" + text[each.end :]
    assert name.text not in text.replace("small-way", "")
    assert json.loads(text) == json.loads(document.text.replace(name.text, "renamed-thing"))


@pytest.mark.parametrize("wrong", [None, 5, ["a"], {"id": "x"}])
def test_a_symbol_shows_no_value_of_a_wrong_type(wrong: object) -> None:
    steps = [{"id": wrong, "title": "First", "prompt": "Do it."}, {"id": "second", "title": wrong, "prompt": "Do it."}]
    found = symbols(opened({"id": "demo", "name": "Demo", "steps": steps}))
    assert [(each.name, each.detail) for each in found] == [("step", "First"), ("second", "")]


def test_symbols_and_folds() -> None:
    found = symbols(opened(DOCUMENT))
    assert [(symbol.name, symbol.kind) for symbol in found] == [
        ("first", "step"),
        ("small-way", "step"),
        ("first-check", "step"),
        ("again", "loop"),
    ]
    assert [inner.name for inner in found[3].inner] == [each["id"] for each in controlled_loop()["body"]]
    assert len(list(folds(opened(DOCUMENT)))) > 5


@pytest.mark.parametrize("written", [{}, {"type": "lo"}, {"type": None}])
def test_a_loop_keeps_its_body_while_its_type_is_being_written(written: dict[str, object]) -> None:
    whole = controlled_loop()
    loop = {name: value for name, value in whole.items() if name != "type"} | written
    document = opened({"id": "demo", "name": "Demo", "steps": [{"id": "first", "prompt": "Do it."}, loop]})
    first, second = symbols(document)
    assert (first.kind, first.inner, second.name, second.kind) == ("step", (), whole["id"], "loop")
    body = [each["id"] for each in whole["body"]]
    assert [inner.name for inner in second.inner] == body
    assert list(steps_by_id(document)) == ["first", whole["id"], *body]
    assert step_at(document, second.inner[0].start) == body[0]


def test_hints_and_tokens() -> None:
    document = opened(DOCUMENT)
    shown = [hint.text for hint in hints(document, 0, len(document.text))]
    assert "set in first" in shown
    assert any(text.endswith(" bytes") for text in shown)
    assert [document.text[start:end] for start, end, kind in prompt_tokens(document) if kind == "macro"] == ["{{size}}"]
    assert "size" in [document.text[start:end] for start, end, kind in prompt_tokens(document) if kind == "variable"]


def test_fixes_and_suppressions() -> None:
    text = json.dumps(DOCUMENT, indent=2).replace('"title": "A step"', '"tittle": "A step"', 1)
    document = opened(text)
    found = actions(document, 0, len(document.text), lambda _: "")
    assert any("title" in action.title and action.kind == "quickfix" for action in found)
    assert any(action.title.startswith("Suppress ") for action in found)


def test_all_safe_fixes_at_once() -> None:
    text = json.dumps(DOCUMENT, indent=2).replace("\n}", ",\n}")
    edit = fix_all(opened(text))
    assert edit is not None
    assert json.loads(text[: edit.start] + edit.text + text[edit.end :]) == DOCUMENT


def test_formatting_is_one_small_edit() -> None:
    moved = {"steps": DOCUMENT["steps"], **{name: value for name, value in DOCUMENT.items() if name != "steps"}}
    document = opened(moved)
    edit = format_edit(document)
    assert edit is not None
    made = document.text[: edit.start] + edit.text + document.text[edit.end :]
    assert json.loads(made) == moved
    assert format_edit(opened(made)) is None


def test_findings_stay_while_a_text_is_broken_for_a_moment() -> None:
    text = json.dumps({**DOCUMENT, "version": "not a version"}, indent=2)
    good = opened(text)
    codes = {finding.code for finding in good.checked.findings}
    assert codes
    typing = OpenDocument(good.path, text.replace('"steps": [', '"steps": [ {"id": "x', 1), good.project, good)
    stays = {finding.code for finding in typing.checked.stale} | {finding.code for finding in typing.checked.findings}
    assert codes <= stays
    assert typing.known.value is not None

"""Pages, index and fixtures: made from the rules, complete, and up to date in the repository."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import rule_pages as docs
from workrail_lint.rules.base import Rule
from workrail_lint.rules.example_files import as_bytes, as_shown, essentials, fixture_stem, fixtures, shown_files

ROOT = Path(__file__).resolve().parents[2]
HEADINGS = ["What it finds", "Why it is bad", "Example", "Use instead", "Fix", "Origin"]
RULES = docs.rules()
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)


def test_the_repository_is_up_to_date() -> None:
    assert docs.stale(str(ROOT)) == [], "run python -m tools.rule_pages"


@each_rule
def test_a_page_has_the_fixed_headings_and_the_facts(rule: Rule) -> None:
    page = docs.page(rule)
    outside = re.sub(r"^(```+)[\s\S]*?^\1$", "", page, flags=re.MULTILINE)
    assert re.findall("^## (.*)$", outside, re.MULTILINE) == HEADINGS
    assert outside.startswith(f"# {rule.code}: {rule.name}\n")
    for fact in (rule.summary, rule.why, rule.fix):
        assert fact in outside
    # Fences are balanced and nothing but text gets onto a page.
    assert "```" not in outside.replace("`" * 4, "")
    assert page.replace("\n", "").isprintable()
    assert max(map(len, page.split("\n"))) < 1000


@each_rule
def test_a_page_says_where_the_rule_comes_from(rule: Rule) -> None:
    line = docs.origin_line(rule)
    assert line.endswith(".")
    assert rule.origin.split()[0].lower() in line.lower()


def test_the_index_links_every_page_once() -> None:
    links = re.findall(r"^\| \[(\w+)\]\((\w+\.md)\) \|", docs.index(RULES), re.MULTILINE)
    assert sorted(links) == [(rule.code, docs.page_name(rule)) for rule in RULES]


def test_families_stand_in_the_order_of_the_registry() -> None:
    shown = re.findall(r"^## (\w\w):", docs.index(RULES), re.MULTILINE)
    assert shown == [family for family in docs.families() if family in shown]


@each_rule
def test_every_example_has_a_fixture(rule: Rule) -> None:
    files = fixtures(rule)
    for number, example in enumerate(rule.examples(), 1):
        stem = fixture_stem(rule, number)
        data = as_bytes(example.bad)
        if {"missing", "links"} & example.options.keys() or len(data) > 100_000:
            assert not any(path.startswith(f"{stem}.") for path in files)
        else:
            assert data in (files.get(f"{stem}.json"), files.get(f"{stem}/{example.path}"))


def test_essentials_keep_what_differs() -> None:
    for rule in RULES:
        for example in rule.examples():
            short = essentials(example)
            assert (short.bad == short.good) == (example.bad == example.good)
            assert (short.fixed == short.good) == (example.fixed == example.good)


def test_writing_removes_what_is_not_generated_and_is_idempotent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docs, "rules", lambda: RULES[:3])
    old, nested = tmp_path / docs.PAGES / "XX999.md", tmp_path / docs.FIXTURES / "XX999-gone" / "workflows" / "a.json"
    for path in (old, nested):
        path.parent.mkdir(parents=True)
        path.write_text("gone", encoding="utf-8")
    root = str(tmp_path)
    assert f"{docs.PAGES}/XX999.md belongs to no rule" in docs.stale(root)
    assert f"{docs.PAGES}/README.md is missing" in docs.stale(root)
    assert docs.write(root) == len(docs.generated()) + 2
    assert docs.stale(root) == []
    assert not old.exists()
    assert not nested.parent.parent.exists()
    assert docs.write(root) == 0
    (tmp_path / docs.PAGES / "README.md").write_text("x", encoding="utf-8")
    assert docs.stale(root) == [f"{docs.PAGES}/README.md is out of date"]


def test_the_command_checks_or_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(docs, "rules", lambda: RULES[:1])
    monkeypatch.chdir(tmp_path)
    assert docs.main(["--check"]) == 1
    assert "is missing" in capsys.readouterr().err
    assert docs.main([]) == 0
    assert docs.main(["--check"]) == 0
    assert docs.main(["--chekc"]) == 2


def test_generating_twice_gives_the_same_bytes() -> None:
    assert docs.generated() == docs.generated()


# ------------------------------------------------------------------------------------------- how examples are shown


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab"\n ', max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("xy", max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text("xyz", max_size=3), _VALUES, max_size=5))
def test_a_shown_value_is_the_value(value: dict[str, object]) -> None:
    text = as_shown(value).decode()
    assert json.loads(text) == value
    assert list(json.loads(text)) == list(value)


def test_small_parts_stand_on_one_line() -> None:
    event = {"n": 1, "event": "ask"}
    long = {"n": 2, "event": "x" * 110}
    assert as_shown({"a": event, "b": long}).decode().splitlines()[1:4] == [
        '  "a": {"n": 1, "event": "ask"},',
        '  "b": {',
        '    "n": 2,',
    ]
    assert as_shown({"trace": [event] * 9, "mode": "full"}).decode().count('    {"n": 1, "event": "ask"}') == 9
    assert as_shown({"steps": [event]}) == as_bytes({"steps": [event]}), "workflows are laid out as their authors do"


@pytest.mark.parametrize(
    ("code", "fence"),
    [
        ("TC304", "yaml"),
        ("TC410", "markdown"),
        ("TC605", "json"),
        ("BC420", "text"),
        ("TC606", "toml"),
        ("BC603", "json"),
    ],
)
def test_fences_say_what_is_in_them(code: str, fence: str) -> None:
    (rule,) = [rule for rule in RULES if rule.code == code]
    assert f"\n```{fence}\n" in docs.page(rule)


def test_long_prose_beside_an_example_is_named_and_not_shown() -> None:
    (rule,) = [rule for rule in RULES if rule.code == "TC703"]
    (example,) = rule.examples()
    shown, named = shown_files(example)
    assert {path.rpartition("/")[2] for path in named} == {"spec.md", "architecture.md"}
    assert {path.rpartition("/")[2] for path in shown} == {"acceptance.json", "tasks.yaml"}
    assert all(f"`{path}`" in docs.page(rule) for path in (*shown, *named))


def test_rules_of_all_systems_are_shown() -> None:
    every = (*RULES, *docs.further())
    counts = {family: sum(rule.family == family for rule in every) for family in docs.families()}
    assert (counts["TC"], counts["BC"], counts["CF"], counts["AU"]) == (182, 130, 2, 22)
    assert all(counts.values())

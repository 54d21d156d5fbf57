"""Pages, index and picked bad files: made from the rules, complete, and up to date in the repository."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import for_each

from tools import broken_files, rule_pages
from tools.broken_files import PICKED, broken_stem, picked_files
from workrail_lint.report import rule_docs as docs
from workrail_lint.rules.base import Rule
from workrail_lint.rules.example_files import as_bytes, as_shown, shown_files

ROOT = Path(__file__).resolve().parents[2]
HEADINGS = ["What it finds", "Why it is bad", "Example", "Use instead", "Fix", "Origin"]
RULES = docs.rules()
EVERY = (*RULES, *docs.undocumented())
each_rule = for_each("rule", RULES, key=lambda rule: rule.code)


def outside_fences(text: str) -> str:
    return re.sub(r"^(```+)[\s\S]*?^\1$", "", text, flags=re.MULTILINE)


def test_the_repository_is_up_to_date() -> None:
    assert rule_pages.stale(str(ROOT)) == [], "run make schemas"


@each_rule
def test_a_page_has_the_fixed_headings_and_the_facts(rule: Rule) -> None:
    page = docs.page(rule)
    outside = outside_fences(page)
    assert re.findall("^## (.*)$", outside, re.MULTILINE) == HEADINGS
    assert outside.startswith(f"# {rule.code}: {rule.name}\n")
    for fact in (rule.summary, rule.why, rule.fix):
        assert fact in outside
    # Fences are balanced and nothing but text gets onto a page.
    assert "```" not in outside.replace("`" * 4, "")
    assert page.replace("\n", "").isprintable()
    assert max(map(len, page.split("\n"))) < 1000


@for_each("rule", EVERY, key=lambda rule: rule.code)
def test_a_section_says_what_the_page_says(rule: Rule) -> None:
    """But the heading of a section is the only one, so that the outline of a family's page is a list of its rules."""
    section = docs.section(rule)
    outside = outside_fences(section)
    assert outside.startswith(f'<a id="{rule.code.lower()}"></a>\n\n## {rule.code} {rule.name}\n')
    assert len(re.findall("^#+ ", outside, re.MULTILINE)) == 1
    for fact in (rule.summary, rule.why, rule.fix, docs.origin_line(rule)):
        assert fact in outside
    labels = re.findall(r"^\*\*(.*)\*\*$", outside, re.MULTILINE)
    assert labels == re.findall("^## (.*)$", outside_fences(docs.page(rule)), re.MULTILINE)
    assert (labels == HEADINGS) is any(rule.examples())
    assert section.replace("\n", "").isprintable()


def test_further_examples_are_a_command_away() -> None:
    (rule,) = [rule for rule in RULES if rule.code == "LP012"]
    first, *others = rule.examples()
    assert len(others) == 1
    section = docs.section(rule)
    assert section.endswith("1 more example: `workrail-lint rule LP012 --format markdown`.")
    assert as_shown(docs.essentials(first).bad).decode() in section
    assert as_shown(docs.essentials(others[0]).bad).decode() in docs.page(rule)


@each_rule
def test_a_page_says_where_the_rule_comes_from(rule: Rule) -> None:
    line = docs.origin_line(rule)
    assert line.endswith(".")
    assert rule.origin.split()[0].lower() in line.lower()


def test_the_index_leads_to_every_rule_and_every_address_exists() -> None:
    pages = {path.rpartition("/")[2]: data.decode() for path, data in rule_pages.generated().items()}
    links = re.findall(r"^\| \[(\w+)\]\((\w+\.md)#(\w+)\) \|", pages["README.md"], re.MULTILINE)
    assert sorted(code for code, _, _ in links) == sorted(rule.code for rule in EVERY)
    for code, page, anchor in links:
        assert pages[page].count(f'\n<a id="{anchor}"></a>\n\n## {code} ') == 1
        assert f"\n- [{code}](#{anchor}) " in pages[page]


def test_without_pages_beside_it_the_index_has_no_links() -> None:
    assert "](" not in docs.index(EVERY)


def test_families_stand_in_the_order_of_the_registry() -> None:
    shown = re.findall(r"^## (\w\w):", docs.index(RULES), re.MULTILINE)
    assert shown == [family for family in docs.families() if family in shown]


@each_rule
def test_every_example_is_a_file(rule: Rule) -> None:
    files = broken_files.broken_files(rule)
    for number, example in enumerate(rule.examples(), 1):
        stem = broken_stem(rule, number)
        data = as_bytes(example.bad)
        if {"missing", "links"} & example.options.keys() or len(data) > 100_000:
            assert not any(path.startswith(f"{stem}.") for path in files)
        else:
            assert data in (files.get(f"{stem}.json"), files.get(f"{stem}/{example.path}"))


def test_picked_files_are_few_and_each_shows_a_rule() -> None:
    shown = {path.split("/")[2].removesuffix(".json") for path in picked_files()}
    assert shown == set(PICKED)
    assert 5 <= len(PICKED) <= 10


def test_essentials_keep_what_differs() -> None:
    for rule in RULES:
        for example in rule.examples():
            short = docs.essentials(example)
            assert (short.bad == short.good) == (example.bad == example.good)
            assert (short.fixed == short.good) == (example.fixed == example.good)


def test_writing_removes_what_is_not_generated_and_is_idempotent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (rule_pages, broken_files):
        monkeypatch.setattr(module, "rules", lambda: RULES[:3])
    old = tmp_path / rule_pages.PAGES / "XX.md"
    nested = tmp_path / broken_files.FOLDER / "XX999-gone" / "workflows" / "a.json"
    for path in (old, nested):
        path.parent.mkdir(parents=True)
        path.write_text("gone", encoding="utf-8")
    root = str(tmp_path)
    assert f"{rule_pages.PAGES}/XX.md is not generated" in rule_pages.stale(root)
    assert f"{rule_pages.PAGES}/README.md is missing" in rule_pages.stale(root)
    assert rule_pages.write(root) == len(rule_pages.generated()) + 2
    assert rule_pages.stale(root) == []
    assert not old.exists()
    assert not nested.parent.parent.exists()
    assert rule_pages.write(root) == 0
    (tmp_path / rule_pages.PAGES / "README.md").write_text("x", encoding="utf-8")
    assert rule_pages.stale(root) == [f"{rule_pages.PAGES}/README.md is out of date"]


def test_the_command_checks_or_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in (rule_pages, broken_files):
        monkeypatch.setattr(module, "rules", lambda: RULES[:1])
    monkeypatch.chdir(tmp_path)
    assert rule_pages.main(["--check"]) == 1
    assert "is missing" in capsys.readouterr().err
    assert rule_pages.main([]) == 0
    assert rule_pages.main(["--check"]) == 0
    assert rule_pages.main(["--chekc"]) == 2


def test_bad_files_can_be_written_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(broken_files, "rules", lambda: RULES[:3])
    assert broken_files.main([]) == 2
    assert broken_files.main(["--help"]) == 2
    capsys.readouterr()
    assert broken_files.main([str(tmp_path / "bad")]) == 0
    written = {p.relative_to(tmp_path / "bad").as_posix(): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert written == broken_files.all_broken_files()
    assert capsys.readouterr().out == f"{len(written)} files written\n"


def test_generating_twice_gives_the_same_bytes() -> None:
    assert rule_pages.generated() == rule_pages.generated()


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
    example = next(iter(rule.examples()))
    shown, named = shown_files(example)
    assert {path.rpartition("/")[2] for path in named} == {"spec.md", "architecture.md"}
    assert {path.rpartition("/")[2] for path in shown} == {"acceptance.json", "tasks.yaml"}
    assert all(f"`{path}`" in docs.page(rule) for path in (*shown, *named))


def test_rules_of_all_systems_are_shown() -> None:
    counts = {family: sum(rule.family == family for rule in EVERY) for family in docs.families()}
    assert (counts["TC"], counts["BC"], counts["CF"]) == (81, 72, 2)
    assert all(counts.values())

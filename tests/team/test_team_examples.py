"""Every rule of the team contract shows what it is about: bad triggers it, good does not, the fix mends it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tables import for_each
from team_probe import as_bytes, fix, fix_on_disk, lint_paths, lint_text, write_files

from workrail_lint.findings import Finding
from workrail_lint.rules.base import Example
from workrail_lint.rules.example_files import found_at
from workrail_lint.systems.team.rules import RULES as TABLE
from workrail_lint.systems.team.rules.base import DECIDED, FIXED, PRACTICE, TeamRule

RULES = TABLE.rules()
EXAMPLES = [(rule, example) for rule in RULES for example in rule.examples()]
each_example = for_each("rule, example", EXAMPLES, key=lambda row: row[0].code)
FIXABLE = [row for row in EXAMPLES if row[1].fixed is not None]
each_fixable = for_each("rule, example", FIXABLE, key=lambda row: row[0].code)


def options(example: Example) -> dict[str, Any]:
    return {name: value for name, value in example.options.items() if name.startswith("team-")}


def findings(content: Any, example: Example, folder: Path, path: str | None = None) -> list[Finding]:
    """An example alone in memory, or with its further files on disk."""
    where = path or example.path
    if not example.files:
        return lint_text(content, where, options(example))
    write_files(folder, {**example.files, where: content})
    places = {where, found_at(example)}
    return [finding for finding in lint_paths(folder, options=options(example)) if finding.path in places]


@each_example
def test_bad_triggers_and_good_does_not(rule: TeamRule, example: Example, tmp_path: Path) -> None:
    found = findings(example.bad, example, tmp_path / "bad")
    bad = [finding for finding in found if finding.name == rule.name]
    assert bad, found
    for finding in bad:
        assert finding.code == rule.code
        assert finding.path
        assert finding.span is not None or rule.code in ("TC702", "TC416")
        assert finding.message
        assert finding.message.isprintable()
    good_path = example.options.get("good_path")
    found = findings(example.good, example, tmp_path / "good", str(good_path) if good_path else None)
    assert [finding for finding in found if finding.name == rule.name] == []


@each_fixable
def test_the_fix_gives_what_is_shown(rule: TeamRule, example: Example, tmp_path: Path) -> None:
    expected = as_bytes(example.fixed).decode("utf-8", "surrogatepass")
    if example.files:
        write_files(tmp_path, {**example.files, example.path: example.bad})
        assert fix_on_disk(tmp_path, example.path, rule.name) == expected
        write_files(tmp_path, {example.path: example.fixed})
        assert fix_on_disk(tmp_path, example.path, rule.name) == expected
        return
    found = [f for f in lint_text(example.bad, example.path, options(example)) if f.name == rule.name and f.fix]
    assert {f.fix.safety.value for f in found if f.fix} <= set(rule.fix_safety.split(" or "))
    fixed = fix(example.bad, example.path, unsafe=True, options=options(example), only=rule.name)
    assert fixed.text == expected
    again = fix(fixed.text, example.path, unsafe=True, options=options(example), only=rule.name)
    assert again.text == fixed.text
    assert not again.applied


def test_an_unsafe_fix_is_not_applied_by_default() -> None:
    for rule, example in FIXABLE:
        if rule.fix_safety == "unsafe":
            assert not fix(example.bad, example.path, options=options(example), only=rule.name).applied


def test_a_rule_with_a_fix_shows_it() -> None:
    shown = {rule.name for rule, _ in FIXABLE}
    assert {rule.name for rule in RULES if rule.fix_safety} == shown


def test_every_rule_has_all_its_facts() -> None:
    assert len(RULES) == len({rule.code for rule in RULES}) == len({rule.name for rule in RULES})
    for rule in RULES:
        assert rule.family == "TC"
        assert rule.origin in (FIXED, DECIDED, PRACTICE)
        for text in (rule.summary, rule.why):
            assert text.endswith("."), rule.name
            assert text.isprintable()
        assert bool(rule.fix) == bool(rule.fix_safety)


def test_names_are_those_of_no_other_family() -> None:
    from workrail_lint.systems.workrail.rules import RULES as WORKFLOW_RULES

    assert not {rule.name for rule in RULES} & {rule.name for rule in WORKFLOW_RULES.rules()}

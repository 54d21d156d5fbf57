"""Every block rule shows what it is about: its bad example triggers it, the good one does not, the fix mends it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from block_checks import check_folder, fix_once, write
from tables import for_each

from workrail_lint.findings import Finding, Severity
from workrail_lint.rules.base import Example
from workrail_lint.rules.example_files import found_at
from workrail_lint.systems.blocks.rules import RULES as TABLE
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, ENGINES, BlockRule
from workrail_lint.systems.workrail.rules import RULES as WORKFLOW_RULES

RULES = TABLE.rules()
EXAMPLES = [(rule, example) for rule in RULES for example in rule.examples()]
each_example = for_each("rule, example", EXAMPLES, key=lambda row: row[0].code)
FIXABLE = [row for row in EXAMPLES if row[1].fixed is not None]
each_fixable = for_each("rule, example", FIXABLE, key=lambda row: row[0].code)
# What a file that is no document of its own can't have: a place inside.
WITHOUT_PLACE = ("folder-foreign-file", "output-gap", "rejected-present")
MOST_ROUNDS = 10


def options(example: Example) -> dict[str, Any]:
    return {name: value for name, value in example.options.items() if name.startswith("block-")}


def findings(content: Any, example: Example, folder: Path, path: str) -> list[Finding]:
    write(folder, {**example.files, path: content})
    return check_folder(folder, options(example))


@each_example
def test_bad_triggers_and_good_does_not(rule: BlockRule, example: Example, tmp_path: Path) -> None:
    where = found_at(example)
    found = findings(example.bad, example, tmp_path / "bad", example.path)
    bad = [finding for finding in found if finding.name == rule.name and finding.path == where]
    assert bad, found
    for finding in bad:
        assert finding.code == rule.code
        assert finding.message
        assert "\n" not in finding.message
        assert finding.span is not None or rule.name in WITHOUT_PLACE
    good_path = str(example.options.get("good_path", example.path))
    found = findings(example.good, example, tmp_path / "good", good_path)
    assert [finding for finding in found if finding.name == rule.name] == []


@each_example
def test_a_good_example_is_good(rule: BlockRule, example: Example, tmp_path: Path) -> None:
    good_path = str(example.options.get("good_path", example.path))
    found = findings(example.good, example, tmp_path, good_path)
    assert [finding for finding in found if finding.severity is not Severity.INFO] == []


@each_fixable
def test_the_fix_gives_what_is_shown(rule: BlockRule, example: Example, tmp_path: Path) -> None:
    target = tmp_path / example.path
    found = findings(example.bad, example, tmp_path, example.path)
    safeties = set()
    for _ in range(MOST_ROUNDS):
        mine = [f for f in found if f.name == rule.name and f.path == example.path and f.fix is not None]
        if not mine:
            break
        safeties |= {f.fix.safety.value for f in mine if f.fix is not None}
        target.write_bytes(fix_once(target.read_bytes().decode(), mine).encode())
        found = check_folder(tmp_path, options(example))
    else:
        pytest.fail("the fix never comes to an end")
    assert safeties <= set(rule.fix_safety.split(" or "))
    write(tmp_path / "shown", {"document": example.fixed})
    assert target.read_bytes() == (tmp_path / "shown" / "document").read_bytes()


def test_a_rule_with_a_fix_shows_it() -> None:
    shown = {rule.name for rule, _ in FIXABLE}
    assert {rule.name for rule in RULES if rule.fix_safety} == shown


def test_names_are_unique_over_all_families() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert not {*names} & {rule.name for rule in WORKFLOW_RULES.rules()}
    assert all(re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) for name in names)


def test_facts_are_complete() -> None:
    for rule in RULES:
        for fact in (rule.summary, rule.why):
            assert fact.endswith("."), rule.name
            assert fact.isprintable(), rule.name
        assert rule.origin in (CONTRACT, ENGINES, DECIDED), rule.name
        assert bool(rule.fix) == bool(rule.fix_safety), rule.name
        assert rule.fix_safety in ("", "safe", "unsafe", "safe or unsafe")

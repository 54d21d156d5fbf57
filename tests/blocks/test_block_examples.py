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
        assert (finding.span is None) == (rule.name in WITHOUT_PLACE)
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
    assert safeties == {rule.fix_safety}
    write(tmp_path / "shown", {"document": example.fixed})
    assert target.read_bytes() == (tmp_path / "shown" / "document").read_bytes()


def test_a_rule_with_a_fix_shows_it() -> None:
    shown = {rule.name for rule, _ in FIXABLE}
    assert {rule.name for rule in RULES if rule.fix_safety} == shown


def test_every_row_is_there() -> None:
    blocks = [
        range(1, 5),
        range(101, 119),
        range(201, 210),
        range(301, 323),
        range(330, 353),
        range(360, 364),
        range(401, 410),
        range(420, 422),
        range(501, 512),
        range(601, 617),
        range(701, 716),
    ]
    assert [rule.code for rule in RULES] == [f"BC{number:03d}" for block in blocks for number in block]
    assert len(RULES) == 133


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
        assert rule.fix_safety in ("", "safe", "unsafe")


def severities(level: Severity) -> set[str]:
    return {rule.code for rule in RULES if rule.severity is level}


def test_severities_are_those_of_the_contract() -> None:
    assert severities(Severity.INFO) == {"BC115", "BC304", "BC409", "BC611", "BC614"}
    assert severities(Severity.WARNING) == {
        *("BC003", "BC105", "BC107", "BC108", "BC110", "BC111", "BC112", "BC113", "BC114"),
        *("BC203", "BC205", "BC206", "BC207", "BC208"),
        *("BC309", "BC313", "BC317", "BC321", "BC337", "BC339", "BC340", "BC342", "BC344", "BC345", "BC346", "BC349"),
        *("BC350", "BC351", "BC352"),
        *("BC362", "BC363", "BC505", "BC508", "BC509", "BC511"),
        *("BC601", "BC605", "BC606", "BC612", "BC613", "BC615", "BC616"),
    }


def fixes(safety: str) -> set[str]:
    return {rule.code for rule in RULES if rule.fix_safety == safety}


def test_fixes_are_those_of_the_contract() -> None:
    assert fixes("unsafe") == {"BC103", "BC105", "BC107", "BC201", "BC202", "BC608"}
    assert fixes("safe") == {
        *("BC003", "BC101", "BC102", "BC109", "BC110", "BC111", "BC112", "BC204", "BC208"),
        *("BC301", "BC302", "BC332", "BC345", "BC347", "BC402", "BC420", "BC511"),
    }


def origins(origin: str) -> set[str]:
    return {rule.code for rule in RULES if rule.origin == origin}


def test_origins_are_those_of_the_contract() -> None:
    engines = {"BC105", "BC116", "BC209", "BC360", "BC363", "BC610", "BC612", "BC711", "BC712"}
    engines |= {f"BC{n}" for n in (*range(301, 311), *range(312, 319), 322, 331, 341, 342, *range(346, 353))}
    assert origins(ENGINES) == engines
    assert origins(CONTRACT) == {
        *("BC001", "BC004", "BC101", "BC102", "BC103", "BC104", "BC106", "BC108", "BC109", "BC117", "BC118"),
        *("BC201", "BC202", "BC203", "BC204", "BC336", "BC337"),
        *("BC401", "BC402", "BC403", "BC404", "BC405", "BC406", "BC407", "BC420", "BC421"),
        *("BC501", "BC502", "BC503", "BC504", "BC506", "BC507", "BC509", "BC510"),
        *("BC602", "BC603", "BC604", "BC608", "BC609", "BC616"),
        *("BC701", "BC702", "BC703", "BC705", "BC706", "BC707", "BC708", "BC709", "BC710", "BC713", "BC715"),
    }

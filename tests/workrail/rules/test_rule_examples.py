"""Every rule shows what it is about: its bad example triggers it, the good one does not, the fix mends it."""

from __future__ import annotations

from pathlib import Path

from tables import for_each

from workrail_lint import check, testing
from workrail_lint.findings import Finding
from workrail_lint.rules.base import Example
from workrail_lint.rules.example_files import as_bytes
from workrail_lint.systems.builtin import manifests
from workrail_lint.systems.workrail.project_bindings import check_bindings_text
from workrail_lint.systems.workrail.rules import RULES as TABLE
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.system import locate

MANIFEST = next(manifest for manifest in manifests() if manifest.name == "workrail")

RULES = TABLE.rules()
EXAMPLES = [(rule, example) for rule in RULES for example in rule.examples()]
each_example = for_each("rule, example", EXAMPLES, key=lambda row: row[0].code)


def by_hand(rule: WorkflowRule, example: Example, folder: Path) -> list[list[Finding]] | None:
    """What is found in both documents where the check alone can't show it: a missing file, a pinned binding."""
    if example.options.get("missing"):
        return [check([folder / "missing.json"]).findings, []]
    if "pinned" not in example.options:
        return None
    results = []
    for content in (example.bad, example.good):
        document, found = check_bindings_text(as_bytes(content), pinned=example.options["pinned"])  # type: ignore[arg-type]
        locate(found, document, example.path, value=document.value)
        results.append([finding for finding in found if finding.name == rule.name])
    return results


@each_example
def test_bad_triggers_and_good_does_not(rule: WorkflowRule, example: Example, tmp_path: Path) -> None:
    found = by_hand(rule, example, tmp_path)
    if found is None:
        testing.check_example(type(rule), example, tmp_path)
    else:
        assert [finding.code for finding in found[0]] == [rule.code]
        assert found[1] == []


FIXABLE = [row for row in EXAMPLES if row[1].fixed is not None]
each_fixable = for_each("rule, example", FIXABLE, key=lambda row: row[0].code)


@each_fixable
def test_the_fix_gives_what_is_shown(rule: WorkflowRule, example: Example, tmp_path: Path) -> None:
    testing.check_fix(type(rule), example, tmp_path)


def test_a_rule_with_a_fix_shows_it() -> None:
    shown = {rule.name for rule, _ in FIXABLE}
    assert {rule.name for rule in RULES if rule.fix_safety} == shown


def test_facts_are_complete() -> None:
    for rule in RULES:
        assert rule.code[:2] in MANIFEST.families, rule
        assert rule.code[2:].isdigit()
        assert rule.summary.endswith("."), rule.name
        assert rule.why.endswith("."), rule.name
        assert rule.origin
        assert bool(rule.fix) == bool(rule.fix_safety), rule.name
        assert rule.fix_safety in ("", "safe", "unsafe")


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)

"""Every rule shows what it is about: its bad example triggers it, the good one does not, the fix mends it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from tables import for_each

from workrail_lint import check, check_text
from workrail_lint.base.canonical import CanonicalError, canonical_bytes
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Finding, Safety
from workrail_lint.project.fixing import fix_text
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


def arguments(example: Example, rule: WorkflowRule) -> dict[str, Any]:
    """The options of an example as arguments of the check; a rule that is off by default is asked for."""
    given: dict[str, Any] = {} if rule.default_on else {"select": [rule.code]}
    given |= {
        name.replace("-", "_"): value
        for name, value in example.options.items()
        if name not in ("good_path", "links", "missing", "pinned")
    }
    if "new_files" in given:
        given["options"] = {"new-files": given.pop("new_files")}
    return given


def findings(
    rule: WorkflowRule, content: Any, example: Example, folder: Path, path: str | None = None
) -> list[Finding]:
    """Check an example: alone in memory, or with its further files as a project on disk."""
    where = path or example.path
    data = as_bytes(content)
    if "pinned" in example.options:
        document, found = check_bindings_text(data, pinned=example.options["pinned"])  # type: ignore[arg-type]
        locate(found, document, where, value=document.value)
        return found
    links = example.options.get("links", {})
    if not example.files and not links:
        return check_text(data, where, **arguments(example, rule)).findings
    for name, text in {**example.files, where: data}.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(as_bytes(text))
    for name, aim in links.items():  # type: ignore[union-attr]
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(str(aim))
    with contextlib.chdir(folder):
        return [f for f in check(["."], jobs=1, **arguments(example, rule)).findings if f.path == where]


@each_example
def test_bad_triggers_and_good_does_not(rule: WorkflowRule, example: Example, tmp_path: Path) -> None:
    if example.options.get("missing"):
        found = check([tmp_path / "missing.json"]).findings
    else:
        found = findings(rule, example.bad, example, tmp_path / "bad")
    bad = [finding for finding in found if finding.name == rule.name]
    assert bad, found
    for finding in bad:
        assert finding.code == rule.code
        assert finding.span is not None or rule.name in ("file-not-readable", "file-too-large")
        assert finding.message
        assert "\n" not in finding.message
    good_path = example.options.get("good_path")
    found = findings(rule, example.good, example, tmp_path / "good", str(good_path) if good_path else None)
    assert [finding for finding in found if finding.name == rule.name] == []


FIXABLE = [row for row in EXAMPLES if row[1].fixed is not None]
each_fixable = for_each("rule, example", FIXABLE, key=lambda row: row[0].code)


@each_fixable
def test_the_fix_gives_what_is_shown(rule: WorkflowRule, example: Example, tmp_path: Path) -> None:
    text = as_bytes(example.bad).decode("utf-8", "surrogatepass")

    def findings_of(current: str) -> list[Finding]:
        found = findings(rule, current, example, tmp_path)
        return [finding for finding in found if finding.name == rule.name]

    (fix,) = {finding.fix.safety for finding in findings_of(text) if finding.fix is not None}
    assert fix.value == rule.fix_safety
    fixed = fix_text(text, findings_of, unsafe=True)
    assert fixed.applied
    expected = as_bytes(example.fixed).decode("utf-8", "surrogatepass")
    assert fixed.text == expected
    again = fix_text(fixed.text, findings_of, unsafe=True)
    assert again.text == fixed.text
    if fix is Safety.SAFE and (before := canonical(text)) is not None:
        assert canonical(fixed.text) == before


def canonical(text: str) -> bytes | None:
    """The canonical bytes of a text that could be read, None otherwise."""
    document = read_json(text, max_bytes=None)
    if not document.readable or any(p.name not in ("json-duplicate-key", "json-bom") for p in document.problems):
        return None
    try:
        return canonical_bytes(document.value)
    except CanonicalError:
        return None


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

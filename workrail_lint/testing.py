"""Tests for your own rules: what every rule of this package has to pass, too.

from workrail_lint.testing import check_rule, findings
check_rule(VagueDeadline)
assert findings(VagueDeadline, {"steps": [...]}) == []
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workrail_lint.api import check, check_text
from workrail_lint.base.canonical import CanonicalError, canonical_bytes
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Finding, Safety
from workrail_lint.project.fixing import fix_text
from workrail_lint.rules.base import Example, Rule
from workrail_lint.rules.example_files import as_bytes

# Options of an example that say how to write it down, not how to check it.
_OF_FILES = ("good_path", "links")
# Findings about a file that nothing could be read of.
_WITHOUT_PLACE = ("file-not-readable", "file-too-large")


def findings(rule: type[Rule], content: Any, path: str = "workflows/example.json", **options: Any) -> list[Finding]:
    """Return what a rule finds in a document: text, bytes, or a value that is written as JSON.

    `options` are arguments of `check_text`, such as `target="ir"`.
    """
    report = check_text(as_bytes(content), path, **_asked_for(rule), **options)
    return [finding for finding in report.findings if finding.name == rule.name]


def check_rule(rule: type[Rule]) -> None:
    """Raise AssertionError unless the facts of a rule are complete and its examples show it."""
    assert rule.summary.endswith("."), f"{rule.code}: the summary has to be a sentence"
    assert rule.why.endswith("."), f"{rule.code}: why has to be a sentence"
    assert rule.origin, f"{rule.code}: origin is missing"
    examples = list(rule().examples())
    assert examples, f"{rule.code}: no example shows the rule"
    for example in examples:
        with tempfile.TemporaryDirectory() as folder:
            check_example(rule, example, Path(folder))
            if example.fixed is not None:
                check_fix(rule, example, Path(folder))
    has_fix = any(example.fixed is not None for example in examples)
    assert has_fix == bool(rule.fix_safety), f"{rule.code}: an example has to show the fix, if there is one"


def check_example(rule: type[Rule], example: Example, folder: Path) -> None:
    """Raise AssertionError unless a rule finds something in the bad document of an example, and only there."""
    bad = example_findings(rule, example, example.bad, folder / "bad")
    assert bad, f"{rule.code} finds nothing in its bad example"
    for finding in bad:
        assert finding.code == rule.code, f"{rule.code} reports under the code {finding.code}"
        assert finding.message, f"{rule.code} has no message"
        assert "\n" not in finding.message, f"{rule.code}: a message is one line"
        has_place = finding.span is not None or rule.name in _WITHOUT_PLACE
        assert has_place, f"{rule.code}: {finding.pointer!r} is no place of the document"
    path = example.options.get("good_path")
    good = example_findings(rule, example, example.good, folder / "good", str(path) if path else None)
    assert not good, f"{rule.code} finds something in its good example: {good[0].message}"


def check_fix(rule: type[Rule], example: Example, folder: Path) -> None:
    """Raise AssertionError unless the fix of a rule makes of the bad document what the example shows, and no more."""
    text = _text(example.bad)

    def found_in(current: str) -> list[Finding]:
        return example_findings(rule, example, current, folder)

    kinds = {finding.fix.safety for finding in found_in(text) if finding.fix is not None}
    assert len(kinds) == 1, f"{rule.code} has no fix, or safe and unsafe ones: {sorted(kinds)}"
    (safety,) = kinds
    assert safety.value == rule.fix_safety, (
        f"{rule.code}: the fix is {safety.value}, not {rule.fix_safety or 'declared'}"
    )
    fixed = fix_text(text, found_in, unsafe=True)
    assert fixed.applied, f"{rule.code}: the fix changes nothing"
    assert fixed.text == _text(example.fixed), f"{rule.code}: the fix makes something else:\n{fixed.text}"
    again = fix_text(fixed.text, found_in, unsafe=True)
    assert again.text == fixed.text, f"{rule.code}: fixing once more changes something"
    if safety is Safety.SAFE and (before := _canonical(text)) is not None:
        assert _canonical(fixed.text) == before, f"{rule.code}: a safe fix changes the meaning"


def example_findings(
    rule: type[Rule], example: Example, content: Any, folder: Path, path: str | None = None
) -> list[Finding]:
    """Return what a rule finds in a document of an example: alone in memory, or with its other files as a project."""
    where = path or example.path
    options: dict[str, Any] = {
        name.replace("-", "_"): value for name, value in example.options.items() if name not in _OF_FILES
    }
    if "new_files" in options:
        options["options"] = {"new-files": options.pop("new_files")}
    links: Any = example.options.get("links", {})
    if not example.files and not links:
        return findings(rule, content, where, **options)
    with _project(folder, {**example.files, where: content}, links):
        report = check(["."], jobs=1, **_asked_for(rule), **options)
    return [finding for finding in report.findings if finding.name == rule.name and finding.path == where]


@contextlib.contextmanager
def _project(folder: Path, files: dict[str, Any], links: dict[str, Any]) -> Iterator[None]:
    """Write files and links into a folder, and make it the current one."""
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(as_bytes(content))
    for name, aim in links.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(str(aim))
    with contextlib.chdir(folder):
        yield


def _asked_for(rule: type[Rule]) -> dict[str, Any]:
    """Return how to check with a rule: one that is off by default is selected, one of your own is added."""
    selected = {} if rule.default_on else {"select": [rule.code]}
    return selected if rule.__module__.startswith("workrail_lint.") else {**selected, "rules": [rule]}


def _text(content: Any) -> str:
    return as_bytes(content).decode("utf-8", "surrogatepass")


def _canonical(text: str) -> bytes | None:
    """Return the canonical bytes of a text that can be read, None for any other."""
    document = read_json(text, max_bytes=None)
    if not document.readable or any(p.name not in ("json-duplicate-key", "json-bom") for p in document.problems):
        return None
    try:
        return canonical_bytes(document.value)
    except CanonicalError:
        return None

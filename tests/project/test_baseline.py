"""Baselines: what a finding is known by, which findings are new, and how the file is written and read."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from workrail_lint.base.result import Err, Ok
from workrail_lint.findings import Finding, Severity
from workrail_lint.project.baseline import Baseline, baseline_text, fingerprint, parse_baseline


def finding(name: str = "alpha", path: str = "a.json", pointer: str = "/steps/0", **details: Any) -> Finding:
    return Finding(f"AA-{name}", name, Severity.WARNING, "message", pointer, path=path, details=details)


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_finding_is_known_by_rule_file_place_and_value() -> None:
    known = [
        finding(),
        finding("beta"),
        finding(path="b.json"),
        finding(pointer="/steps/1"),
        finding(place="/steps/plan"),
        finding(valueHash="1"),
        finding(valueHash="2"),
    ]
    prints = [fingerprint(each) for each in known]
    assert len(set(prints)) == len(prints)
    assert all(len(each) == 32 and set(each) <= set("0123456789abcdef") for each in prints)


def test_it_is_the_same_after_a_move_and_in_other_words() -> None:
    moved = finding(pointer="/steps/4", place="/steps/plan", valueHash="1")
    assert fingerprint(moved) == fingerprint(finding(pointer="/steps/0", place="/steps/plan", valueHash="1"))
    reworded = Finding("ZZ", "alpha", Severity.ERROR, "other words", "/steps/0", path="a.json")
    assert fingerprint(reworded) == fingerprint(finding())


def test_a_finding_about_the_whole_document_outlives_every_edit() -> None:
    assert fingerprint(finding(pointer="", valueHash="1")) == fingerprint(finding(pointer="", valueHash="2"))


def test_the_file_is_seen_from_the_folder_of_the_baseline(tmp_path: Path) -> None:
    near, far = finding(path="flows/a.json"), finding(path=str(tmp_path / "flows" / "a.json"))
    assert fingerprint(near) == fingerprint(far) == fingerprint(near, str(tmp_path))
    assert fingerprint(near, str(tmp_path / "flows")) == fingerprint(finding(path="a.json"))


def test_a_fingerprint_does_not_change_with_the_version_of_this_program() -> None:
    """Baselines are kept for years."""
    assert fingerprint(finding(valueHash="1")) == "24a138a8455cfcdf7d9c155b26b3ad1c"
    assert fingerprint(finding()) == "107047c758510ebc6e1f183ae81b3245"
    assert fingerprint(finding(pointer="", valueHash="1")) == "115d60aafcad111a855f0fe3c47b47d9"


def test_only_what_is_not_accepted_is_new_and_each_entry_accepts_once() -> None:
    first, again, other = finding(), finding(), finding("beta")
    baseline = Baseline(Counter([fingerprint(first)]))
    new, accepted = baseline.split([first, again, other])
    assert (new, accepted) == ([again, other], [first])
    assert new[0] is again
    assert [each.details.get("baselined") for each in (first, again, other)] == [True, None, None]
    # A baseline can be asked again: a watched check does.
    assert baseline.split([finding()])[0] == []
    assert Baseline(Counter({fingerprint(first): 2})).split([finding(), finding()])[0] == []
    assert Baseline().split([finding()]) == ([finding()], [])


def test_a_baseline_finds_its_own_findings_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = parse_baseline(baseline_text([finding(path="flows/a.json")], str(tmp_path)).encode())
    assert isinstance(read, Ok)
    read.value.root = str(tmp_path)
    (tmp_path / "flows").mkdir()
    monkeypatch.chdir(tmp_path / "flows")
    new, accepted = read.value.split([finding(path="a.json"), finding(path="b.json")])
    assert ([each.path for each in new], [each.path for each in accepted]) == (["b.json"], ["a.json"])


def test_the_file_is_in_a_stable_order_with_words_to_review_it(tmp_path: Path) -> None:
    findings = [
        finding("b", "b.json", "/x"),
        finding("b", "a.json", "/x", valueHash="1"),
        finding("b", "a.json", "/x", valueHash="2"),
        finding("a", "a.json", "/x"),
        finding("c", "a.json", "/y", place="/a/ü"),
    ]
    text = baseline_text(findings)
    assert text == baseline_text(findings[::-1])
    assert text.startswith('{\n  "baselineVersion": 1,\n  "entries": [\n    {\n      "fingerprint": "')
    assert '"/a/ü"' in text
    assert text.endswith("}\n")
    entries = json.loads(text)["entries"]
    assert [(each["path"], each["place"], each["code"], each["name"]) for each in entries] == [
        ("a.json", "/a/ü", "AA-c", "c"),
        ("a.json", "/x", "AA-a", "a"),
        ("a.json", "/x", "AA-b", "b"),
        ("a.json", "/x", "AA-b", "b"),
        ("b.json", "/x", "AA-b", "b"),
    ]
    assert [each["fingerprint"] for each in entries[2:4]] == sorted(fingerprint(each) for each in findings[1:3])
    assert (
        json.loads(baseline_text(findings[:1], str(tmp_path.parent)))["entries"][0]["path"] == f"{tmp_path.name}/b.json"
    )


def test_what_was_written_is_read_back_with_how_often_it_occurs() -> None:
    findings = [finding(), finding(), finding("beta")]
    read = parse_baseline(baseline_text(findings).encode())
    assert isinstance(read, Ok)
    assert read.value.entries == Counter({fingerprint(finding()): 2, fingerprint(finding("beta")): 1})


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "not valid JSON"),
        ('{"baselineVersion": nope,\n"entries": none}', "not valid JSON (line 1, column 21: "),
        ('{"baselineVersion": 1, "entries": [], "entries": []}', "not valid JSON"),
        ("[]", "not a baseline"),
        ("{}", "not a baseline"),
        ('{"baselineVersion": 1, "entries": {}}', "not a baseline"),
        ('{"baselineVersion": 2, "entries": []}', "version 2, but this program supports version 1"),
        ('{"entries": []}', "version None"),
        ('{"baselineVersion": 1, "entries": [{"fingerprint": "x"}, {}]}', "no fingerprint"),
        ('{"baselineVersion": 1, "entries": ["x"]}', "no fingerprint"),
        ('{"baselineVersion": 1, "entries": [{"fingerprint": 1}]}', "no fingerprint"),
    ],
)
def test_what_is_no_baseline_says_why(text: str, part: str) -> None:
    read = parse_baseline(text.encode())
    assert isinstance(read, Err)
    assert part in read.error

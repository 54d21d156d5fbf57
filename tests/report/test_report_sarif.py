"""SARIF 2.1.0: valid, and saying what the other formats say."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from report_samples import RULES, TEXT, checked, finding, fixed, report
from sarif_schema import SCHEMA

from workrail_lint.findings import Edit, Severity
from workrail_lint.report import render
from workrail_lint.report.data import ReportData, Reported
from workrail_lint.report.rule_docs import page, shipped

VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
# What a reference to a file may hold (RFC 3986); anything else has to be percent-encoded.
URI = re.compile(r"(?:[A-Za-z0-9._~/!$&'()*+,;=@:-]|%[0-9A-F]{2})+")


def run_of(data: ReportData) -> dict[str, Any]:
    """The one run of a report, validated."""
    log = json.loads(render("sarif", data))
    VALIDATOR.validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        for location in result["locations"]:
            assert URI.fullmatch(location["physicalLocation"]["artifactLocation"]["uri"])
    assert isinstance(run, dict)
    return run


def test_the_schema_of_this_test_notices_mistakes() -> None:
    log = json.loads(render("sarif", report(fixed("one", Edit(0, 1, "")), rules=RULES)))
    for spoil in (
        lambda run: run.update(columnkind="unicodeCodePoints"),
        lambda run: run["results"][0].pop("message"),
        lambda run: run["results"][0].update(level="info"),
        lambda run: run["results"][0]["fixes"][0].update(artifactChanges=[]),
        lambda run: run["results"][0]["locations"][0]["physicalLocation"]["region"].update(startLine=0),
        lambda run: run["tool"]["driver"]["rules"].append(run["tool"]["driver"]["rules"][0]),
    ):
        spoilt = json.loads(json.dumps(log))
        spoil(spoilt["runs"][0])
        assert not VALIDATOR.is_valid(spoilt)


def test_a_finding() -> None:
    (result,) = run_of(report(finding(details={"place": "/id"})))["results"]
    fingerprint = result.pop("partialFingerprints")
    assert re.fullmatch("[0-9a-f]{32}", fingerprint["workrailLint/v1"])
    assert result == {
        "ruleId": "LP002",
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": "something is wrong"},
        "properties": {"confidence": "high"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "workflows/a.json", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 2, "startColumn": 3, "endLine": 2, "endColumn": 7},
                },
                "logicalLocations": [{"fullyQualifiedName": "/id", "name": "/id"}],
            }
        ],
    }


@pytest.mark.parametrize(
    ("severity", "level"), [(Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "note")]
)
def test_levels(severity: Severity, level: str) -> None:
    (result,) = run_of(report(finding(severity=severity)))["results"]
    assert result["level"] == level


def test_rules_are_described_by_their_classes() -> None:
    items = [finding(name=rule.name, code=rule.code) for rule in RULES.values()]
    run = run_of(report(*items, rules=RULES, load=shipped().rule))
    described = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in described] == sorted(rule.code for rule in RULES.values())
    for shown in described:
        rule = RULES[shown["name"]]
        assert shown["shortDescription"]["text"] == rule.summary
        assert rule.why in shown["fullDescription"]["text"]
        assert shown["help"]["markdown"] == page(shipped().rule(rule))
        assert shown["defaultConfiguration"]["enabled"] is rule.default_on


def test_only_rules_that_occur_are_described() -> None:
    run = run_of(report(finding(), finding("another"), rules=RULES))
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["LP002"]
    assert [result["ruleIndex"] for result in run["results"]] == [0, 0]


def test_a_finding_of_an_unknown_rule_is_still_valid() -> None:
    (result,) = run_of(report(finding(name="no-such-rule", code="ZZ001", at=None, pointer="")))["results"]
    assert "region" not in result["locations"][0]["physicalLocation"]


def test_a_fix_is_a_replacement() -> None:
    (result,) = run_of(report(fixed("one", Edit(4, 8, '"ID"'))))["results"]
    assert result["fixes"] == [
        {
            "description": {"text": "mend it (safe)"},
            "artifactChanges": [
                {
                    "artifactLocation": {"uri": "workflows/a.json", "uriBaseId": "%SRCROOT%"},
                    "replacements": [
                        {
                            "deletedRegion": {"startLine": 2, "startColumn": 3, "endLine": 2, "endColumn": 7},
                            "insertedContent": {"text": '"ID"'},
                        }
                    ],
                }
            ],
        }
    ]


def test_without_a_baseline_nothing_is_said_about_one() -> None:
    (result,) = run_of(report(finding()))["results"]
    assert "baselineState" not in result
    assert "suppressions" not in result


def test_the_baseline_marks_what_is_old() -> None:
    run = run_of(report(finding("new"), accepted=[Reported(finding("old"))]))
    assert [(r["message"]["text"], r["baselineState"]) for r in run["results"]] == [
        ("new", "new"),
        ("old", "unchanged"),
    ]
    (result,) = run_of(report(finding("new"), has_baseline=True))["results"]
    assert result["baselineState"] == "new"


def test_suppressed_findings_are_marked_with_their_reason() -> None:
    covered = [Reported(finding("old"), reason="kept for the old engine"), Reported(finding("bare"))]
    run = run_of(report(finding("new"), suppressed=covered))
    said = {result["message"]["text"]: result["suppressions"] for result in run["results"]}
    assert said == {
        "new": [],
        "old": [{"kind": "external", "status": "accepted", "justification": "kept for the old engine"}],
        "bare": [{"kind": "external", "status": "accepted"}],
    }


def test_equal_findings_have_different_fingerprints() -> None:
    run = run_of(report(finding("one"), finding("two"), finding("three")))
    assert len({result["partialFingerprints"]["workrailLint/v1"] for result in run["results"]}) == 3


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("./a b/ü.json", {"uri": "a%20b/%C3%BC.json", "uriBaseId": "%SRCROOT%"}),
        ("x:y.json", {"uri": "x%3Ay.json", "uriBaseId": "%SRCROOT%"}),
        ("/abs/a.json", {"uri": "file:///abs/a.json"}),
        ("bad\udcff.json", {"uri": "bad%FF.json", "uriBaseId": "%SRCROOT%"}),
        ("lone\ud800.json", {"uri": "lone%ED%A0%80.json", "uriBaseId": "%SRCROOT%"}),
    ],
)
def test_paths_become_references(path: str, location: dict[str, str]) -> None:
    (result,) = run_of(report(finding(path=path)))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == location


def test_a_document_can_not_bring_its_own_links() -> None:
    (result,) = run_of(report(finding("see [this](https://example.com)")))["results"]
    assert result["message"]["text"] == "see [this] (https://example.com)"


def test_a_real_check_is_valid() -> None:
    run = run_of(checked(TEXT.replace("{", "{ // comment", 1)))
    assert {result["ruleId"] for result in run["results"]} >= {"SY007"}
    assert run["columnKind"] == "unicodeCodePoints"


def test_no_findings_is_an_empty_list() -> None:
    run = run_of(report())
    assert run["results"] == []
    assert run["tool"]["driver"] == {
        "name": "workrail-lint",
        "version": "1.2.3",
        "semanticVersion": "1.2.3",
        "rules": [],
    }

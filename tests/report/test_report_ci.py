"""What GitHub, GitLab and JUnit readers make of our reports."""

from __future__ import annotations

import json
import re
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from report_samples import finding, fixed, report

from workrail_lint.findings import Edit, Severity
from workrail_lint.report import render
from workrail_lint.report.data import ReportData


class Command(NamedTuple):
    name: str
    properties: dict[str, str]
    message: str


def commands(text: str) -> list[Command]:
    """Workflow commands as the runner reads them: one a line, decoded in the order the runner decodes."""
    found = []
    for line in text.splitlines():
        match = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
        assert match, line
        pairs = dict(pair.split("=", 1) for pair in match[2].split(","))
        assert all(value and "%" not in re.sub("%(?:25|0D|0A|3A|2C)", "", value) for value in pairs.values())
        found.append(Command(match[1], {name: _decoded(value) for name, value in pairs.items()}, _decoded(match[3])))
    return found


def _decoded(text: str) -> str:
    for escape, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, char)
    return text


def test_github_annotates_the_place() -> None:
    shown = render("github", report(finding("100% wrong", help="do this, not: that")))
    assert shown == (
        "::error file=workflows/a.json,line=2,endLine=2,col=3,endColumn=7,title=LP002 loop-member-missing"
        "::100%25 wrong%0Ado this, not: that\n"
    )


@pytest.mark.parametrize(
    ("severity", "name"), [(Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "notice")]
)
def test_github_commands(severity: Severity, name: str) -> None:
    (command,) = commands(render("github", report(finding(severity=severity))))
    assert command.name == name


def test_github_properties_are_escaped() -> None:
    (command,) = commands(render("github", report(finding(path="a,b:c%d.json"))))
    assert command.properties["file"] == "a,b:c%d.json"
    assert "file=a%2Cb%3Ac%25d.json," in render("github", report(finding(path="a,b:c%d.json")))


def test_github_gives_no_columns_for_several_lines() -> None:
    (command,) = commands(render("github", report(finding(at=(0, 30)))))
    assert command.properties == {
        "file": "workflows/a.json",
        "line": "1",
        "endLine": "3",
        "title": "LP002 loop-member-missing",
    }


def test_github_can_not_be_given_another_command() -> None:
    shown = render("github", report(finding("x\n::set-env name=PATH::evil\r::stop-commands::t")))
    (command,) = commands(shown)
    assert command.message == "x\\u000a::set-env name=PATH::evil\\u000d::stop-commands::t"


def test_github_names_the_fix() -> None:
    (command,) = commands(render("github", report(fixed("one", Edit(0, 1, "")))))
    assert command.message == "one\nFix: mend it"


def test_gitlab_has_what_the_widget_needs() -> None:
    (issue,) = json.loads(render("gitlab", report(finding(at=(4, 30), path="./workflows/a.json"))))
    assert re.fullmatch("[0-9a-f]{32}", issue.pop("fingerprint"))
    assert issue == {
        "description": "LP002: something is wrong",
        "check_name": "loop-member-missing",
        "severity": "critical",
        "location": {"path": "workflows/a.json", "lines": {"begin": 2, "end": 3}},
    }


def test_gitlab_severities_are_those_it_knows() -> None:
    issues = json.loads(render("gitlab", report(*(finding(str(level), severity=level) for level in Severity))))
    assert {issue["severity"] for issue in issues} <= {"info", "minor", "major", "critical", "blocker"}
    assert len({issue["severity"] for issue in issues}) == 3


def test_gitlab_fingerprints_are_stable_and_unique() -> None:
    data = report(finding("one"), finding("two"), finding("three", path="z.json"))
    prints = [issue["fingerprint"] for issue in json.loads(render("gitlab", data))]
    assert len(set(prints)) == 3
    # The same finding on another line is the same finding.
    moved = json.loads(render("gitlab", report(finding("one", at=(30, 31)))))
    assert moved[0]["fingerprint"] == prints[0]


def test_gitlab_without_findings_is_an_empty_report() -> None:
    assert json.loads(render("gitlab", report())) == []


def suites(data: ReportData) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(render("junit", data).encode("ascii"))
    assert root.tag == "testsuites"
    cases = root.findall("testsuite/testcase")
    assert root.get("tests") == str(len(cases))
    assert root.get("failures") == str(len(root.findall("testsuite/testcase/failure")))
    for suite in root:
        assert suite.get("tests") == str(len(suite.findall("testcase")))
        assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
        assert len({case.get("name") for case in suite}) == len(suite)
    return list(root)


def test_junit_has_a_suite_for_each_file_and_a_case_for_each_finding() -> None:
    data = report(finding("one"), finding("two", at=(25, 26)), finding("three", path="b.json", help="do it"))
    first, second = suites(data)
    assert (first.get("name"), second.get("name")) == ("b.json", "workflows/a.json")
    (case,) = first
    assert case.get("name") == "LP002 loop-member-missing at 2:3"
    assert case.get("classname") == "b.json"
    failure = case.find("failure")
    assert failure is not None
    assert failure.attrib == {"message": "three", "type": "error"}
    assert failure.text == "b.json:2:3: error: three\nat: /id\nhelp: do it"
    assert len(second) == 2


def test_junit_fails_where_the_run_fails() -> None:
    items = [finding(str(level), severity=level, at=(n, n + 1)) for n, level in enumerate(Severity)]
    (suite,) = suites(report(*items))
    assert [[child.tag for child in case] for case in suite] == [["failure"], ["system-out"], ["system-out"]]
    (strict,) = suites(report(*items, strict=True))
    assert [[child.tag for child in case] for case in strict] == [["failure"], ["failure"], ["system-out"]]


def test_junit_without_findings_is_one_passing_case() -> None:
    (suite,) = suites(report(files=4))
    (case,) = suite
    assert case.get("name") == "4 files checked"
    assert list(case) == []


def test_junit_escapes_markup() -> None:
    message = "<b>\"bold\"</b> & ]]> 'ü' \x00\ud800\ufffe"
    (suite,) = suites(report(finding(message)))
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "<b>\"bold\"</b> & ]]> 'ü' \\u0000\\ud800\\ufffe"

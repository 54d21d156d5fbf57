"""The shapes that programs read."""

from __future__ import annotations

import json

import pytest
from report_samples import RULES, TEXT, finding, fixed, report

from workrail_lint.documents.json_edit import apply_edit
from workrail_lint.findings import Edit, Safety, Severity
from workrail_lint.report import FORMATS, render, render_statistics


def test_the_shape_is_the_documented_one() -> None:
    shown = json.loads(render("json", report(finding(), files=2, rules=RULES)))
    assert shown == {
        "version": 1,
        "findings": [
            {
                "code": "LP002",
                "name": "loop-member-missing",
                "severity": "error",
                "confidence": "high",
                "message": "something is wrong",
                "path": "workflows/a.json",
                "pointer": "/id",
                "step": None,
                "range": {"start": {"line": 2, "column": 3}, "end": {"line": 2, "column": 7}},
                "fix": None,
                "help": RULES["loop-member-missing"].why,
            }
        ],
        "summary": {
            "files": 2,
            "findings": 1,
            "errors": 1,
            "warnings": 0,
            "infos": 0,
            "fixable": 0,
            "fixableUnsafe": 0,
            "baselined": 0,
            "suppressed": 0,
        },
    }


def test_columns_are_code_points() -> None:
    text = '{"😀é": 1}'
    (found,) = json.loads(render("json", report(finding(at=(7, 8), text=text), text=text)))["findings"]
    assert found["range"] == {"start": {"line": 1, "column": 8}, "end": {"line": 1, "column": 9}}


def test_a_fix_is_edits_with_places() -> None:
    edit = Edit(3, 7, '"ID"')
    (found,) = json.loads(render("json", report(fixed("one", edit, Safety.UNSAFE))))["findings"]
    assert found["fix"] == {
        "title": "mend it",
        "safety": "unsafe",
        "edits": [
            {
                "range": {"start": {"line": 2, "column": 2}, "end": {"line": 2, "column": 6}},
                "text": '"ID"',
            }
        ],
    }
    assert apply_edit(TEXT, edit).startswith('{\n "ID"": "demo.flow"')


def test_a_fix_whose_text_is_gone_is_left_out() -> None:
    for text in (None, "{}"):
        (found,) = json.loads(render("json", report(fixed("one", Edit(3, 7, "x")), text=text)))["findings"]
        assert found["fix"] is None


def test_a_finding_without_a_place_stands_at_the_start() -> None:
    (found,) = json.loads(render("json", report(finding(at=None))))["findings"]
    assert found["range"] == {"start": {"line": 1, "column": 1}, "end": {"line": 1, "column": 1}}


def test_the_advice_of_a_finding_comes_before_the_reason_of_its_rule() -> None:
    own, unknown = finding(help="do this"), finding(name="no-such-rule", at=(5, 6))
    found = json.loads(render("json", report(own, unknown, rules=RULES)))["findings"]
    assert [item["help"] for item in found] == ["do this", ""]


def test_paths_are_written_the_same_way_on_every_system(monkeypatch: pytest.MonkeyPatch) -> None:
    item = finding(path="workflows\\a.json")
    for separator, path in (("\\", "workflows/a.json"), ("/", "workflows\\a.json")):
        monkeypatch.setattr("workrail_lint.report.data.os.sep", separator)
        assert json.loads(render("json", report(item)))["findings"][0]["path"] == path


def test_jsonl_is_the_same_findings_one_a_line() -> None:
    data = report(finding("one"), fixed("two", Edit(0, 1, "")), rules=RULES)
    lines = render("jsonl", data).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(render("json", data))["findings"]
    assert render("jsonl", report()) == ""


def test_equal_reports_are_equal_texts() -> None:
    one, two = finding("one"), finding("two")
    for name in FORMATS:
        assert render(name, report(one, two, rules=RULES)) == render(name, report(two, one, rules=RULES))


MANY = [
    finding("1", severity=Severity.WARNING, code="AA002", name="aa-two"),
    finding("2", severity=Severity.WARNING, code="AA001", name="aa-one"),
    fixed("3", Edit(0, 1, ""), code="BB001", name="bb"),
    fixed("4", Edit(0, 1, ""), Safety.UNSAFE, code="BB001", name="bb"),
    fixed("5", Edit(0, 1, ""), Safety.UNSAFE, code="CC001", name="cc", severity=Severity.INFO),
]


def test_statistics_put_the_most_frequent_first() -> None:
    assert render_statistics("text", report(*MANY)) == (
        "2  BB001  error    [*]  bb\n"
        "1  AA001  warning  [ ]  aa-one\n"
        "1  AA002  warning  [ ]  aa-two\n"
        "1  CC001  info     [-]  cc\n"
        "\n"
        "Found 2 errors, 2 warnings and 1 info in 1 file.\n"
        "Fixable: 1 with --fix [*] and 2 with --fix --unsafe-fixes [-].\n"
    )
    assert render_statistics("text", report()) == "No findings in 1 file.\n"


def test_statistics_say_when_only_some_findings_of_a_rule_are_fixable() -> None:
    items = [finding("1"), fixed("2", Edit(0, 1, ""), Safety.UNSAFE), fixed("3", Edit(0, 1, ""), Safety.UNSAFE)]
    first, _, *closing = render_statistics("text", report(*items)).splitlines()
    assert first.endswith(" (2 of them fixable)")
    assert "[-]" in first
    assert closing[-1] == "Fixable: 2 with --fix --unsafe-fixes [-]."
    concise = render("concise", report(*items))
    assert concise.count(" [-]\n") == 2
    assert concise.splitlines()[-1] == closing[-1]


def test_statistics_as_json() -> None:
    shown = json.loads(render_statistics("json", report(*MANY)))
    assert shown[0] == {
        "code": "BB001",
        "name": "bb",
        "severity": "error",
        "count": 2,
        "fixable": 1,
        "fixableUnsafe": 1,
    }
    assert [row["count"] for row in shown] == [2, 1, 1, 1]


def test_a_rule_whose_severity_was_changed_for_some_files_counts_apart() -> None:
    items = [fixed("1", Edit(0, 1, "")), finding("2", severity=Severity.INFO)]
    shown = json.loads(render_statistics("jsonl", report(*items)))
    assert [(row["severity"], row["count"], row["fixable"]) for row in shown] == [("error", 1, 1), ("info", 1, 0)]


@pytest.mark.parametrize(
    ("place", "step"),
    [
        ("/steps/plan/prompt", "plan"),
        ("/steps/again/body/decide", "decide"),
        ("/steps/0", None),
        ("/assessments/quality", None),
        ("", None),
        ("#damaged", None),
    ],
)
def test_a_finding_names_the_step_it_is_about(place: str, step: str | None) -> None:
    made = finding()
    made.details["place"] = place
    assert json.loads(render("json", report(made, rules=RULES)))["findings"][0]["step"] == step

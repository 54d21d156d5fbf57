"""The report for people, as it really looks."""

from __future__ import annotations

import json
import re

import pytest
from report_samples import TEXT, checked, finding, fixed, report

from workrail_lint.findings import Confidence, Edit, Safety, Severity
from workrail_lint.report import render
from workrail_lint.report import text as text_report
from workrail_lint.systems.workrail.rules import samples

# The loop has no bound, a member is misspelt, and somebody left a comment.
BROKEN = """\
{
  "id": "demo.again",
  "name": "Again",
  "description": "Does it again.",
  "version": "1.0.0", // bump me
  "about": "A loop.",
  "examples": ["Do it again"],
  "steps": [
    {
      "id": "again",
      "type": "loop",
      "title": "Again",
      "loop": {
        "type": "for",
        "count": 2
      },
      "body": [
        {
          "id": "work",
          "title": "Work",
          "promt": "Do the next piece."
        }
      ]
    }
  ]
}
"""


def only(text: str, *codes: str) -> str:
    """The blocks of some rules: other rules may have more to say about the document, now or later."""
    return "\n\n".join(block for block in text.split("\n\n") if any(f"[{code} " in block for code in codes))


def test_a_real_report() -> None:
    shown = only(render("text", checked(BROKEN, "workflows/again.json")), "SY007", "LP002", "SC001")
    assert shown == EXPECTED


EXPECTED = """\
error[SY007 json-comment]: JSON does not allow comments
 --> workflows/again.json:5:23
  |
5 |   "version": "1.0.0", // bump me
  |                       ^^^^^^^^^^
  = why: JSON has no comments; the engine rejects the whole file.
  = fix: remove it (safe; --fix)

error[LP002 loop-member-missing]: loop 'again': loop.maxIterations is missing; set it to a \
number from 1 to 1000
  --> workflows/again.json:13:15 (/steps/again/loop)
   |
13 |       "loop": {
   |               ^ to line 16
14 |         "type": "for",
15 |         "count": 2
   = why: Every loop needs a limit. There is no default, so the engine rejects the workflow.

error[SC001 schema-unknown-member]: step 'work' (in loop 'again'): unknown field 'promt'; did you mean 'prompt'?
  --> workflows/again.json:21:11 (/steps/again/body/work/promt)
   |
21 |           "promt": "Do the next piece."
   |           ^^^^^^^
   = why: The engine rejects unknown members, because a misspelled one would otherwise be ignored silently.
   = fix: rename it to 'prompt' (unsafe; --fix --unsafe-fixes)"""


def test_a_reason_is_told_once() -> None:
    loops = [samples.loop(ident=ident, maxIterations=...) for ident in ("first-loop", "second-loop")]
    shown = only(render("text", checked(json.dumps(samples.workflow(*loops), indent=2))), "LP002")
    assert shown.count("loop-member-missing]") == 2
    assert shown.count("= why:") == 1


def test_the_end_counts_and_says_what_can_be_done() -> None:
    items = [
        fixed("one", Edit(0, 1, "")),
        fixed("two", Edit(0, 1, ""), Safety.UNSAFE, severity=Severity.WARNING),
        fixed("three", Edit(0, 1, ""), Safety.UNSAFE, severity=Severity.WARNING),
        finding("four", severity=Severity.INFO),
    ]
    shown = render("text", report(*items, files=7, accepted=[fixed("old", Edit(0, 1, ""))]))
    assert shown.endswith(
        "Found 1 error, 2 warnings and 1 info in 7 files.\n"
        "Fixable: 1 with --fix and 2 with --fix --unsafe-fixes.\n"
        "Not shown: 1 in the baseline.\n"
    )
    assert "old" not in shown


def test_nothing_found() -> None:
    assert render("text", report(files=3)) == "No findings in 3 files.\n"
    assert render("concise", report(files=1)) == "No findings in 1 file.\n"


def test_a_finding_without_a_place_has_no_frame() -> None:
    shown = render("text", report(finding("can't be read", at=None, pointer="")))
    assert shown.splitlines()[:2] == [
        "error[LP002 loop-member-missing]: can't be read",
        " --> workflows/a.json",
    ]
    assert "|" not in shown


def test_a_text_that_is_gone_or_shorter_now_has_no_frame() -> None:
    far = finding(at=(300, 301), text="\n" * 400)
    for text in (None, TEXT):
        shown = render("text", report(far, text=text))
        assert " --> workflows/a.json:301:1 (/id)" in shown
        assert " |" not in shown


def test_advice_of_a_finding_is_shown() -> None:
    assert "  = help: try the other one\n" in render("text", report(finding(help="try the other one")))


def test_concise_is_one_line_each() -> None:
    shown = render(
        "concise", report(finding("one"), fixed("two", Edit(0, 1, ""), at=(25, 27), code="AA001", name="aa"))
    )
    assert shown == (
        "workflows/a.json:2:3: error LP002 loop-member-missing: one\n"
        "workflows/a.json:3:3: error AA001 aa: two [*]\n"
        "Found 2 errors in 1 file.\n"
        "Fixable: 1 with --fix [*].\n"
    )


def test_findings_come_by_path_position_and_code() -> None:
    items = [
        finding("5", path="b.json", at=None),
        finding("4", path="a.json", at=(25, 27)),
        finding("3", path="a.json", code="ZZ001", name="zz"),
        finding("2", path="a.json", code="AA001", name="aa"),
        finding("1", path="a.json", at=None),
    ]
    lines = render("concise", report(*items)).splitlines()[:5]
    assert [line[-1] for line in lines] == ["1", "2", "3", "4", "5"]


ESCAPES = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b]*\x1b\\")


def test_colours_and_links_only_decorate() -> None:
    plain = checked(BROKEN)
    decorated = checked(BROKEN, colour=True, link=lambda path, line: f"file:///there/{path}#{line}")
    for name in ("text", "concise"):
        shown = render(name, decorated)
        assert "\x1b[31;1m" in shown
        assert "\x1b]8;;file:///there/workflows/a.json#5\x1b\\workflows/a.json:5:23\x1b]8;;\x1b\\" in shown
        assert ESCAPES.sub("", shown) == render(name, plain)


@pytest.mark.parametrize("name", ["text", "grouped"])
@pytest.mark.parametrize("width", [60, 100])
def test_a_terminal_breaks_sentences_between_words(name: str, width: int) -> None:
    whole, broken = checked(BROKEN), checked(BROKEN, wrap=width, width=width)
    lines = render(name, broken).splitlines()
    assert [line for line in lines if len(line) > width and "-->" not in line and "Fixable" not in line] == []
    assert len(lines) > len(render(name, whole).splitlines())
    assert " ".join(" ".join(lines).split()) == " ".join(render(name, whole).split())


def test_without_a_terminal_there_is_no_escape_sequence() -> None:
    for name in ("text", "concise"):
        assert "\x1b" not in render(name, checked(BROKEN))


def test_doubt_is_shown_and_can_be_left_out() -> None:
    sure, unsure = finding(), finding()
    unsure.confidence = Confidence.MEDIUM
    both = report(sure, unsure)
    assert render("text", both).count("(medium confidence)") == 1
    assert render("concise", both).count("(medium confidence)") == 1
    only = report(sure, unsure, confidence=Confidence.HIGH)
    text = render("concise", only)
    assert "medium confidence" not in text
    assert "1 error hidden; show them with --confidence low" in text
    assert [each["confidence"] for each in json.loads(render("json", only))["findings"]] == ["high", "medium"]


def test_grouped_lists_the_findings_of_each_file_in_columns() -> None:
    items = [
        finding("one"),
        fixed("two", Edit(0, 1, ""), Safety.UNSAFE, severity=Severity.WARNING, name="a-longer-name"),
    ]
    lines = render("grouped", report(*items)).splitlines()
    head, first, second, _, *closing = lines
    assert head.endswith(".json:")
    assert first.index("one") == second.index("two"), "in columns"
    assert second.endswith("  two [-]")
    assert closing[-1] == "Fixable: 1 with --fix --unsafe-fixes [-]."
    assert render("grouped", report()) == render("concise", report())


def test_a_short_fix_is_shown_below_its_finding() -> None:
    data = checked(BROKEN)
    plain = render("text", data)
    data.shows_fixes = True
    lines = render("text", data).splitlines()
    added = [line.strip() for line in lines if line not in plain.splitlines()]
    assert '-          "promt": "Do the next piece."' in added
    assert '+          "prompt": "Do the next piece."' in added
    at = added.index('-  "version": "1.0.0", // bump me')
    assert added[at + 1].rstrip() == '+  "version": "1.0.0",'
    assert [line for line in lines if line.strip() not in added] == plain.splitlines()


def test_a_long_fix_is_left_to_the_diff() -> None:
    text = "\n".join(f"line {number}" for number in range(20))
    assert text_report._fix_diff((Edit(0, len(text), "short"),), text) == []
    assert text_report._fix_diff((Edit(7, 13, "changed"),), text) == ["-line 1", "+changed"]
    assert text_report._fix_diff((Edit(7, 14, ""),), text) == ["-line 1"]
    assert text_report._fix_diff((), text) == []

"""Nothing a document holds breaks a report or speaks to whoever reads it."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import jsonschema
import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import RULES, finding, report
from sarif_schema import SCHEMA
from test_report_ci import commands

from workrail_lint.base.terminal import LOG_COMMAND
from workrail_lint.findings import Edit, Finding, Fix, Safety, Severity
from workrail_lint.report import FORMATS, render, render_statistics
from workrail_lint.report.data import ReportData, Reported

NASTY = (
    "\x1b[2J\x1b]8;;http://example.com\x1b\\ \x9b31m \x07 \x00 \r\n::error::x\n::stop-commands::y ##[error]z "
    "##vso[task.complete]w ##teamcity[x] <script>alert(1)</script> ]]> \ud800 \udcff \u202e \u2028 \ufeff %0A %25 , : "
)
pieces = st.sampled_from(
    [
        "\x1b[31m",
        "\n",
        "\r",
        "::error::",
        "##[",
        "##vso[",
        "<b>",
        "]]>",
        "&amp;",
        "%0A",
        "\x00",
        "\ud800",
        "\u202e",
        "é",
    ]
)
texts = st.lists(pieces | st.text(st.characters(), max_size=8), max_size=6).map("".join)


def assert_harmless(name: str, shown: str) -> None:
    """What holds for every format, whatever it was given."""
    shown.encode("utf-8")
    assert shown == "" or shown.endswith("\n")
    assert LOG_COMMAND.search(shown) is None or name == "github"
    for line in shown.split("\n"):
        assert line.isprintable()
        assert name == "github" or not line.lstrip().startswith("::")
    match FORMATS[name].syntax:
        case "json":
            json.loads(shown)
        case "jsonl":
            for line in shown.splitlines():
                json.loads(line)
        case "xml":
            ElementTree.fromstring(shown.encode("ascii"))
    if name == "sarif":
        jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(shown))
    if name == "github":
        commands(shown)
    if FORMATS[name].syntax in ("json", "jsonl"):
        assert shown.isascii()
        assert not set("<>&") & set(shown)


@pytest.mark.parametrize("name", FORMATS)
def test_the_worst_we_can_think_of(name: str) -> None:
    item = finding(NASTY, path=NASTY, pointer=NASTY, help=NASTY, text=NASTY, at=(0, 30))
    hostile = Finding(NASTY, NASTY, Severity.ERROR, NASTY, NASTY, path=f"::error::{NASTY}", details={"place": NASTY})
    data = report(item, hostile, text=NASTY, suppressed=[Reported(item, reason=NASTY)])
    assert_harmless(name, render(name, data))


@st.composite
def reports(draw: st.DrawFn) -> ReportData:
    source = draw(texts)
    items = []
    for _ in range(draw(st.integers(0, 3))):
        start, end = sorted(draw(st.tuples(*[st.integers(0, len(source))] * 2)))
        own = draw(st.sampled_from(list(RULES.values())[:5]))
        item = finding(
            draw(texts),
            at=draw(st.sampled_from([None, (start, end)])),
            text=source,
            code=own.code,
            name=own.name,
            severity=draw(st.sampled_from(list(Severity))),
            path=draw(texts),
            pointer=draw(texts),
            help=draw(st.none() | texts),
            details={"place": draw(texts)},
        )
        if draw(st.booleans()):
            item.fix = Fix(draw(texts), draw(st.sampled_from(list(Safety))), ())
            items.append(Reported(item, (Edit(start, end, draw(texts)),), draw(texts)))
        else:
            items.append(Reported(item))
    kept = draw(st.integers(0, len(items)))
    return report(*items[:kept], text=source, rules=RULES, suppressed=items[kept:], strict=draw(st.booleans()))


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=times(30, deep=240))
@given(data=reports())
def test_any_text_is_harmless(name: str, data: ReportData) -> None:
    assert_harmless(name, render(name, data))


@given(data=reports())
def test_statistics_are_harmless(data: ReportData) -> None:
    assert_harmless("text", render_statistics("text", data))
    assert_harmless("json", render_statistics("json", data))


@given(message=texts)
def test_json_keeps_what_json_can_hold(message: str) -> None:
    (found,) = json.loads(render("json", report(finding(message))))["findings"]
    assert found["message"] == message.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def test_a_very_long_message_is_cut_where_people_read_it() -> None:
    data = report(finding("x" * 1_000_000))
    for name in ("text", "concise", "github", "gitlab", "junit"):
        assert len(render(name, data)) < 20_000
    assert len(json.loads(render("json", data))["findings"][0]["message"]) == 1_000_000

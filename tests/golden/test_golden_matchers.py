"""Matchers of goldens: members whose value differs from run to run, and what each may be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_workrail import api
from pytest_workrail.golden.document import folded_golden
from pytest_workrail.golden.encoding import encode_file, loads
from pytest_workrail.run.result import (
    Matcher,
    Matching,
    NoSuchMember,
    any_number,
    any_text,
    any_timestamp,
    any_uuid,
    any_value,
    path,
)

pytest_plugins = ["pytester"]

WORKFLOW = {
    "id": "demo.started",
    "name": "Started",
    "description": "Shows when it was started.",
    "version": "1.0.0",
    "steps": [
        {"id": "report", "title": "Report", "prompt": "Started at {{startedAt}}.\nBy {{by}}.", "notesOptional": True}
    ],
}
TEST = """
import os
import pytest

def test_report(workrail):
    run = workrail.run("started.json", context={"startedAt": os.environ["STARTED"], "by": "me"})
    run.match_golden(MATCHERS)
"""
MATCHED = 'matchers=[workrail.path("**/startedAt", workrail.any_timestamp)]'


def golden(context: dict[str, Any], *matchers: Matcher) -> dict[str, Any]:
    run = api.run(WORKFLOW, context=context)
    value: dict[str, Any] = loads(encode_file(folded_golden(run.transcript, matchers))).value
    return value


def test_a_value_of_the_kind_is_a_symbol_wherever_it_comes_up() -> None:
    one, other = (
        golden({"startedAt": moment, "by": "me"}, path("final/context/startedAt", any_timestamp))
        for moment in ("2026-01-02T03:04:05Z", "2031-12-31T23:59:59+02:00")
    )
    assert one["transcript"] == other["transcript"]
    assert one["final"] == other["final"]
    assert one["final"]["context"]["startedAt"] == "«ANY timestamp»"
    assert one["transcript"][0]["request"]["initialContext"]["startedAt"] == "«ANY timestamp»"
    prompt = "".join(one["transcript"][0]["response"]["pending"]["prompt"])
    assert prompt.startswith("Started at «ANY timestamp».\nBy me.")


def test_a_value_of_another_kind_stays() -> None:
    made = golden({"startedAt": "yesterday", "by": "me"}, path("**/startedAt", any_timestamp))
    assert made["final"]["context"]["startedAt"] == "yesterday"


def test_text_that_looks_like_a_symbol_is_no_symbol() -> None:
    real = golden({"startedAt": "2026-01-02T03:04:05Z", "by": "me"}, path("**/startedAt", any_timestamp))
    forged = golden({"startedAt": "«ANY timestamp»", "by": "me"})
    assert forged["final"]["context"]["startedAt"] == "«\\ANY timestamp»"
    assert real["final"] != forged["final"]


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("final/context/at", ["final/context/at"]),
        ("/final/context/at", ["final/context/at"]),
        ("final/*/at", ["final/context/at"]),
        ("*/at", []),
        ("**/at", ["final/context/at", "transcript/0/request/at", "transcript/1/request/at"]),
        ("transcript/*/**", ["transcript/0/request/at", "transcript/1/request/at"]),
        ("transcript/1/request/at", ["transcript/1/request/at"]),
        ("**", ["final/context/at", "transcript/0/request/at", "transcript/1/request/at"]),
    ],
)
def test_paths(pattern: str, fits: list[str]) -> None:
    request = {"request": {"at": 1}}
    value = {"workflow": "at", "transcript": [request, request], "final": {"context": {"at": 1}}}
    matching = Matching((path(pattern, any_number),))
    if not fits:
        with pytest.raises(NoSuchMember, match="no member of this run is at"):
            matching.apply(value)
        return
    made = matching.apply(value)
    places = {
        "final/context/at": made["final"]["context"]["at"],
        "transcript/0/request/at": made["transcript"][0]["request"]["at"],
        "transcript/1/request/at": made["transcript"][1]["request"]["at"],
    }
    assert [place for place, found in places.items() if found == "«ANY number»"] == fits
    assert made["workflow"] == "at"
    assert value["final"] == {"context": {"at": 1}}, "what is given stays as it is"


def test_only_whole_words_are_replaced_elsewhere_and_the_longest_first() -> None:
    value = {"final": {"id": "ab", "longer": "ab-c", "text": "ab, ab-c, abc and xab"}}
    matchers = (path("final/id", any_text(name="id")), path("final/longer", any_text(name="long")))
    made = Matching(matchers).apply(value)
    assert made["final"]["text"] == "«ANY id», «ANY long», abc and xab"


@pytest.mark.parametrize(
    ("kind", "accepted", "refused"),
    [
        (any_timestamp, ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123+01:00"], ["2026-01-02", "T", "now", 5, None]),
        (any_number, [0, 1.5, -3], [True, "1", None]),
        (any_uuid, ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567", "g23e4567-e89b-12d3-a456-426614174000", 1]),
        (any_text(), ["", "x"], [1, None, []]),
        (any_text("[a-f]+", "letters"), ["abc"], ["abcg", ""]),
        (any_value("even", lambda value: value % 2 == 0), [2], [3]),
    ],
)
def test_kinds(kind: Any, accepted: list[Any], refused: list[Any]) -> None:
    assert [kind.accepts(value) for value in accepted] == [True] * len(accepted)
    assert [kind.accepts(value) for value in refused] == [False] * len(refused)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: path("", any_number), "must be names of members"),
        (lambda: path("a", "number"), "needs a kind of value such as any_timestamp, not 'number'"),  # type: ignore[arg-type]
        (lambda: any_value("«X»", bool), "must be up to 40 lower-case letters"),
        (lambda: api.run(WORKFLOW, context={"startedAt": "x", "by": "x"}).match_golden(), "use the fixture"),
    ],
)
def test_misuse(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError, RuntimeError), match=message):
        make()


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    pytester.path.joinpath("started.json").write_text(json.dumps(WORKFLOW), encoding="utf-8")
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STARTED", "2026-01-02T03:04:05Z")
    return pytester


def _run(project: pytest.Pytester, matchers: str, *options: str) -> pytest.RunResult:
    project.makepyfile(test_report=TEST.replace("MATCHERS", matchers))
    return project.runpytest_inprocess("-p", "no:cacheprovider", *options)


def _golden(project: pytest.Pytester) -> Path:
    (found,) = project.path.rglob("*.golden.json")
    return found


def test_a_golden_with_matchers_fits_a_later_run(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    _run(project, MATCHED, "--workrail-golden=new").assert_outcomes(passed=1)
    text = _golden(project).read_text(encoding="utf-8")
    assert "2026" not in text
    assert text.count("«ANY timestamp»") == 3, "the request, the prompt and the end"
    monkeypatch.setenv("STARTED", "2027-06-07T08:09:10Z")
    _run(project, MATCHED).assert_outcomes(passed=1)
    assert _golden(project).read_text(encoding="utf-8") == text


def test_a_value_of_another_kind_is_a_change_that_is_shown(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(project, MATCHED, "--workrail-golden=new").assert_outcomes(passed=1)
    monkeypatch.setenv("STARTED", "yesterday")
    result = _run(project, MATCHED)
    result.assert_outcomes(failed=1)
    shown = result.stdout.str()
    assert "ANY" in shown
    assert "yesterday" in shown
    assert list(project.path.rglob("*.golden.json.pending")), "it can be reviewed"


def test_a_matcher_that_is_taken_away_is_a_change(project: pytest.Pytester) -> None:
    _run(project, MATCHED, "--workrail-golden=new").assert_outcomes(passed=1)
    _run(project, "").assert_outcomes(failed=1)
    _run(project, "", "--workrail-golden=update").assert_outcomes(passed=1)
    assert "2026-01-02T03:04:05Z" in _golden(project).read_text(encoding="utf-8")


def test_a_path_that_leads_nowhere_is_told(project: pytest.Pytester) -> None:
    result = _run(project, 'matchers=[workrail.path("**/startdAt", workrail.any_timestamp)]', "--workrail-golden=new")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["golden can't be compared: no member of this run is at '[*][*]/startdAt'"])
    assert not list(project.path.rglob("*.golden.json"))


def test_what_is_no_matcher_is_refused(project: pytest.Pytester) -> None:
    result = _run(project, 'matchers=["**/startedAt"]')
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*TypeError: matchers must be a list of path(...), not *"])

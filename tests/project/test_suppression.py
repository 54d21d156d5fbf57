"""Suppressions: what an entry must say, what it covers, until when, and what is said about the entries themselves."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from workrail_lint.base.result import Err, Ok
from workrail_lint.findings import Finding, Severity
from workrail_lint.project.selection import KnownRules, Selection
from workrail_lint.project.suppression import (
    Suppression,
    Suppressions,
    parse_suppressions,
)
from workrail_lint.rules.base import Rule

TODAY = "2026-03-01"
ENTRY = {"place": "a.json#/steps/plan", "codes": ["AA001"], "reason": "meant"}


class Alpha(Rule):
    code = "AA001"
    name = "alpha-one"
    severity = Severity.WARNING


def selection(**options: Any) -> Selection:
    return Selection(KnownRules([], [Alpha()]), **options)


def finding(path: Path | str = "a.json", pointer: str = "/steps/0") -> Finding:
    return Finding("AA001", "alpha-one", Severity.WARNING, "message", pointer, path=str(path))


def entry(place: str = "a.json#/steps/plan", reason: str = "meant", expires: str | None = None) -> Suppression:
    return Suppression(place, ["AA001"], reason, expires)


def at(folder: Path, *entries: Suppression) -> Suppressions:
    return Suppressions(list(entries), TODAY, str(folder / "workrail-lint.toml"))


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("expires", "is_live"),
    [(None, True), ("2026-02-28", False), ("2026-03-01", True), ("2026-03-02", True), ("2027-01-01", True)],
)
def test_a_suppression_holds_up_to_and_on_the_day_it_expires(
    tmp_path: Path, expires: str | None, is_live: bool
) -> None:
    entries = at(tmp_path, entry(expires=expires))
    assert (len(entries.live), len(entries.expired)) == ((1, 0) if is_live else (0, 1))
    assert entries.reason(finding(), "/steps/plan/prompt") == ("meant" if is_live else None)
    assert [remark.name for remark in entries.findings(None, selection())] == (
        [] if is_live else ["suppression-expired"]
    )


def test_there_are_suppressions_when_one_is_live_or_expired(tmp_path: Path) -> None:
    assert at(tmp_path, entry())
    assert at(tmp_path, entry(expires="2001-01-01"))
    assert not at(tmp_path)


@pytest.mark.parametrize(
    ("path", "pointer", "is_covered"),
    [
        ("a.json", "/steps/plan", True),
        ("a.json", "/steps/plan/prompt", True),
        ("a.json", "/steps/planning", False),
        ("a.json", "/steps", False),
        ("b.json", "/steps/plan", False),
    ],
)
def test_an_entry_covers_its_place_and_what_is_below_it(
    tmp_path: Path, path: str, pointer: str, is_covered: bool
) -> None:
    assert (at(tmp_path, entry()).reason(finding(path), pointer) is not None) is is_covered
    # The place is seen from the configuration, wherever the file is named from.
    assert (at(tmp_path, entry()).reason(finding(tmp_path / path), pointer) is not None) is is_covered


def test_an_entry_covers_only_the_rules_it_names(tmp_path: Path) -> None:
    other = Finding("BB001", "other", Severity.WARNING, "message", "/steps/0", path="a.json")
    assert at(tmp_path, entry()).reason(other, "/steps/plan") is None


def test_the_first_of_several_entries_gives_the_reason_and_none_of_them_is_idle(tmp_path: Path) -> None:
    entries = at(tmp_path, entry(reason="first"), entry("a.json", "second"), entry("b.json", "third"))
    assert entries.reason(finding(), "/steps/plan") == "first"
    assert [item.used for item in entries.live] == [True, True, False]


def test_an_entry_that_covers_nothing_is_told_where_its_file_was_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a.json").touch()
    (tmp_path / "b.json").touch()
    entries = at(
        tmp_path, entry(), entry("b.json#/steps/plan"), entry("EXTRA.json"), entry("none-*.json"), entry("old/b.json")
    )
    (remark, *others) = entries.findings(["a.json", str(tmp_path / "c.json")], selection())
    assert (remark.code, remark.name, remark.severity) == ("CF001", "suppression-unused", Severity.WARNING)
    assert (remark.path, remark.pointer) == ("workrail-lint.toml", "")
    assert "a.json#/steps/plan" in remark.message
    # A file that is gone can't be looked at; one that is there and was not asked for may still need its entry.
    assert ["EXTRA.json" in others[0].message, "old/b.json" in others[1].message] == [True, True]
    assert len(others) == 2
    assert entries.findings(None, selection()) == []


def test_an_entry_that_was_of_use_is_not_told(tmp_path: Path) -> None:
    entries = at(tmp_path, entry())
    entries.reason(finding(), "/steps/plan")
    assert entries.findings(["a.json"], selection()) == []


def test_an_entry_of_a_rule_that_is_off_is_not_judged(tmp_path: Path) -> None:
    assert at(tmp_path, entry()).findings(["a.json"], selection(ignore=["AA001"])) == []
    assert len(at(tmp_path, entry()).findings(["a.json"], selection(select=["AA001"]))) == 1


def test_an_expired_entry_is_told_with_its_date_and_before_the_idle_ones(tmp_path: Path) -> None:
    remarks = at(tmp_path, entry("b.json"), entry(expires="2026-02-28")).findings(["a.json"], selection())
    assert [(remark.code, remark.name) for remark in remarks] == [
        ("CF002", "suppression-expired"),
        ("CF001", "suppression-unused"),
    ]
    assert "2026-02-28" in remarks[0].message
    assert "a.json#/steps/plan" in remarks[0].message
    assert remarks[0].severity is Severity.WARNING


def test_remarks_can_be_ignored_and_have_the_severity_of_the_project(tmp_path: Path) -> None:
    entries = at(tmp_path, entry(expires="2026-02-28"))
    assert entries.findings(None, selection(ignore=["CF002"])) == []
    (remark,) = entries.findings(None, selection(severity={"suppression-expired": "error"}))
    assert remark.severity is Severity.ERROR


def test_the_configuration_may_stand_in_another_folder(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    entries = at(tmp_path / "project", entry(expires="2026-02-28"), entry(), entry("project/b.json"))
    assert entries.reason(finding("project/a.json"), "/steps/plan") == "meant"
    assert entries.reason(finding("project/b.json"), "/steps/plan") is None
    assert entries.findings(None, selection())[0].path.replace("\\", "/") == "project/workrail-lint.toml"


def test_entries_are_read_in_order_with_all_they_say() -> None:
    read = parse_suppressions([ENTRY, {**ENTRY, "expires": "2027-01-31"}, {**ENTRY, "expires": date(2027, 1, 31)}])
    assert isinstance(read, Ok)
    assert [(item.place, item.codes, item.reason, item.expires, item.used) for item in read.value] == [
        ("a.json#/steps/plan", ["AA001"], "meant", None, False),
        ("a.json#/steps/plan", ["AA001"], "meant", "2027-01-31", False),
        ("a.json#/steps/plan", ["AA001"], "meant", "2027-01-31", False),
    ]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"file": "x", "until": 1}, "unknown key 'file'; known keys are codes, expires, place, reason"),
        ({"place": None}, "'place'"),
        ({"place": ""}, "'place'"),
        ({"codes": None}, "'codes'"),
        ({"codes": []}, "'codes'"),
        ({"codes": "AA001"}, "'codes'"),
        ({"codes": ["AA001", 1]}, "'codes'"),
        ({"reason": None}, "'reason'"),
        ({"reason": " \t"}, "'reason'"),
        ({"expires": "soon"}, "'expires'"),
        ({"expires": "2027-1-31"}, "'expires'"),
        ({"expires": "2027-01-31 or later"}, "'expires'"),
        ({"expires": None}, "'expires'"),
    ],
    ids=str,
)
def test_an_entry_that_can_not_be_understood_is_named_by_its_number(change: dict[str, Any], named: str) -> None:
    read = parse_suppressions([ENTRY, {**ENTRY, **change}])
    assert isinstance(read, Err)
    assert read.error.startswith(f"suppress entry 2: {named}")


@pytest.mark.parametrize("member", ["place", "codes", "reason"])
def test_a_member_an_entry_needs_is_missed(member: str) -> None:
    read = parse_suppressions([{name: value for name, value in ENTRY.items() if name != member}])
    assert isinstance(read, Err)
    assert read.error.startswith(f"suppress entry 1: '{member}'")

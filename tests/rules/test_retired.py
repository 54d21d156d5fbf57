"""Retired rules: their codes stay known in configurations, suppressions and baselines, and name their successors."""

from __future__ import annotations

from collections import Counter

import pytest

from workrail_lint.findings import Confidence, Finding, Severity
from workrail_lint.project.baseline import Baseline, baseline_text, parse_baseline
from workrail_lint.project.selection import KnownRules, Selection
from workrail_lint.project.suppression import Suppression
from workrail_lint.rules import table
from workrail_lint.rules.base import Rule
from workrail_lint.rules.table import RetiredRule


class Successor(Rule):
    code = "AA001"
    name = "alpha-one"
    severity = Severity.WARNING
    confidence = Confidence.MEDIUM


MERGED = RetiredRule("AA002", "alpha-two", "AA001", "says the same")
GONE = RetiredRule("AA003", "alpha-three", "", "nobody wrote it")
RENAMED = RetiredRule("AA001", "alpha-first", "AA001", "renamed")


@pytest.fixture(autouse=True)
def _retired(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "retired_rules", lambda: (MERGED, GONE, RENAMED))
    words = {"AA002": MERGED, "alpha-two": MERGED, "AA003": GONE, "alpha-three": GONE, "alpha-first": RENAMED}
    monkeypatch.setattr(table, "_by_word", lambda: words)


def selection(**options: list[str]) -> Selection:
    return Selection(KnownRules([], [Successor()]), **options)  # type: ignore[arg-type]


def finding() -> Finding:
    return Finding("AA001", "alpha-one", Severity.WARNING, "message", "/id", path="a.json")


def test_selecting_a_merged_rule_selects_its_successor() -> None:
    chosen = selection(select=["AA002"])
    assert not chosen.problems()
    assert chosen.applies(finding())
    assert chosen.remarks == ["AA002 (alpha-two) is part of AA001 now; write AA001 instead"]


def test_selecting_only_what_is_gone_selects_nothing() -> None:
    chosen = selection(select=["alpha-three"])
    assert not chosen.problems()
    assert not chosen.applies(finding())
    assert chosen.remarks == ["AA003 (alpha-three) no longer exists and has no effect: nobody wrote it"]


@pytest.mark.parametrize("word", ["AA002", "alpha-two", "alpha-first"])
def test_ignoring_a_former_code_or_name_ignores_the_successor(word: str) -> None:
    assert not selection(ignore=[word]).applies(finding())
    assert selection(per_file_ignores={"*.json": [word]}).remarks  # type: ignore[arg-type]


def test_a_severity_for_a_former_code_is_that_of_the_successor() -> None:
    chosen = selection(severity={"AA002": "error"})  # type: ignore[arg-type]
    assert chosen.adjusted(finding()).severity is Severity.ERROR


def test_current_codes_need_no_remark() -> None:
    assert selection(select=["AA001"]).remarks == []
    assert selection().remarks == []


def test_a_suppression_of_a_former_code_covers_the_successor() -> None:
    entry = Suppression("a.json#/id", ["AA002"], "meant", None)
    assert entry.covers(finding(), "a.json", "/id")


def test_a_baseline_from_before_the_merge_still_accepts_what_it_accepted() -> None:
    before = Finding("AA002", "alpha-two", Severity.WARNING, "message", "/id", path="a.json")
    parsed = parse_baseline(baseline_text([before]).encode())
    accepting = parsed.value
    assert isinstance(accepting, Baseline)
    new, accepted = accepting.split([finding(), finding()])
    assert (len(new), len(accepted)) == (1, 1)
    assert not Baseline(Counter()).split([finding()])[1]

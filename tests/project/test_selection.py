"""Which rules a project turns on, what it makes of their severity, and what it can't change."""

from __future__ import annotations

from typing import Any

import pytest

from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.project.selection import KnownRules, Selection, unknown_patterns
from workrail_lint.rules.base import Rule
from workrail_lint.rules.table import RuleInfo


def rule(code_: str, name_: str, on: bool = True) -> Rule:
    class Made(Rule):
        code = code_
        name = name_
        default_on = on
        severity = Severity.ERROR
        origin = summary = why = "made for this test"

    return Made()


ALPHA, BETA, SHY = rule("AA001", "alpha-one"), rule("AA002", "beta-two"), rule("BB001", "shy-one", on=False)
OTHER = rule("BB002", "other-two")
RULES = [ALPHA, BETA, SHY, OTHER]


def chosen(**options: Any) -> Selection:
    return Selection(KnownRules([], RULES), **options)


def found(
    of: Rule = ALPHA,
    severity: Severity = Severity.ERROR,
    phase: Phase = Phase.LINT,
    path: str = "a.json",
    **details: Any,
) -> Finding:
    return Finding(of.code, of.name, severity, "message", phase=phase, path=path, details=details)


@pytest.mark.parametrize(
    ("options", "active"),
    [
        ({}, ["alpha-one", "beta-two", "other-two"]),
        ({"select": []}, ["alpha-one", "beta-two", "other-two"]),
        ({"select": ["ALL"]}, ["alpha-one", "beta-two", "other-two"]),
        ({"select": ["AA"]}, ["alpha-one", "beta-two"]),
        ({"select": ["AA001"]}, ["alpha-one"]),
        ({"select": ["beta-two"]}, ["beta-two"]),
        ({"select": ["BB"]}, ["other-two"]),
        ({"select": ["BB001"]}, ["shy-one"]),
        ({"select": ["shy-one"]}, ["shy-one"]),
        ({"select": ["ALL", "shy-one"]}, ["alpha-one", "beta-two", "shy-one", "other-two"]),
        ({"extend_select": ["shy-one"]}, ["alpha-one", "beta-two", "shy-one", "other-two"]),
        ({"extend_select": ["BB"]}, ["alpha-one", "beta-two", "shy-one", "other-two"]),
        ({"select": ["AA001"], "extend_select": ["AA002"]}, ["alpha-one", "beta-two"]),
        ({"ignore": ["AA"]}, ["other-two"]),
        ({"ignore": ["ALL"]}, []),
        ({"select": ["shy-one"], "extend_select": ["alpha-one"], "ignore": ["shy-one"]}, ["alpha-one"]),
        ({"select": ["alpha"]}, []),
        ({"select": ["aa"]}, []),
    ],
    ids=str,
)
def test_which_rules_are_on(options: dict[str, Any], active: list[str]) -> None:
    assert chosen(**options).active & {each.name for each in RULES} == set(active)


def test_rules_are_loaded_when_something_has_to_be_decided_and_once() -> None:
    loads: list[str] = []

    class Counted(KnownRules):
        def __call__(self) -> list[RuleInfo]:
            loads.append("loaded")
            return super().__call__()

    known = Counted([], RULES)
    selection = Selection(known, severity={"AA": "info"})
    assert selection.is_default
    assert Selection(known).problems() == []
    assert loads == []
    assert selection.active
    assert selection.severities
    assert loads == ["loaded"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, True),
        ({"select": ["ALL"]}, True),
        ({"severity": {"AA": "info"}}, True),
        ({"select": ["AA"]}, False),
        ({"ignore": ["AA"]}, False),
        ({"extend_select": ["BB001"]}, False),
    ],
    ids=str,
)
def test_whether_anything_in_particular_was_asked_for(options: dict[str, Any], expected: bool) -> None:
    assert chosen(**options).is_default is expected


@pytest.mark.parametrize("phase", [Phase.READ, Phase.SCHEMA])
def test_the_severity_of_an_unreadable_or_misshapen_document_can_not_be_lowered(phase: Phase) -> None:
    for level in ("warning", "info"):
        selection = chosen(severity={"alpha-one": level})
        assert selection.adjusted(found(phase=phase)).severity is Severity.ERROR


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase not in (Phase.READ, Phase.SCHEMA)])
def test_the_severity_of_every_other_error_is_up_to_the_project(phase: Phase) -> None:
    selection = chosen(severity={"alpha-one": "info"})
    assert selection.adjusted(found(phase=phase)).severity is Severity.INFO
    assert selection.adjusted(found(BETA, phase=phase)).severity is Severity.ERROR


def test_what_is_no_error_of_the_schema_can_be_raised_or_lowered() -> None:
    for level in Severity:
        selection = chosen(severity={"AA": level.value})
        for phase in Phase:
            assert selection.adjusted(found(BETA, Severity.WARNING, phase)).severity is level


def test_what_the_engine_accepts_is_not_raised_to_an_error() -> None:
    selection = chosen(severity={"alpha-one": "error", "beta-two": "info"})
    assert selection.adjusted(found(severity=Severity.INFO)).severity is Severity.ERROR
    assert selection.adjusted(found(severity=Severity.INFO, atMost="warning")).severity is Severity.WARNING
    assert selection.adjusted(found(BETA, Severity.WARNING, atMost="warning")).severity is Severity.INFO


def test_a_later_pattern_decides_about_the_severity() -> None:
    assert chosen(severity={"AA": "info", "alpha-one": "error"}).severities == {
        "alpha-one": Severity.ERROR,
        "beta-two": Severity.INFO,
    }


def test_only_findings_of_rules_that_are_on_are_reported() -> None:
    selection = chosen(select=["AA001"])
    assert selection.applies(found(ALPHA))
    assert not selection.applies(found(BETA))


def test_a_text_that_can_not_be_read_is_always_reported() -> None:
    selection = chosen(select=["AA001"], per_file_ignores={"*": ["ALL"]})
    assert selection.applies(found(BETA, Severity.ERROR, Phase.READ))
    assert not selection.applies(found(BETA, Severity.WARNING, Phase.READ))
    assert not selection.applies(found(BETA, Severity.ERROR, Phase.SCHEMA))


def test_rules_are_ignored_in_the_files_of_a_pattern_only() -> None:
    ignores = {"old/*": ["AA001"], "workflows/b.json": ["beta-two", "BB"]}
    selection = chosen(per_file_ignores=ignores, root="/project")
    applies = {
        (name, of.name)
        for name in ("old/a.json", "workflows/b.json", "c.json")
        for of in (ALPHA, BETA, OTHER)
        if selection.applies(found(of, path=f"/project/{name}"))
    }
    assert applies == {
        ("old/a.json", "beta-two"),
        ("old/a.json", "other-two"),
        ("workflows/b.json", "alpha-one"),
        ("c.json", "alpha-one"),
        ("c.json", "beta-two"),
        ("c.json", "other-two"),
    }


def test_a_remark_on_the_configuration_is_ignored_by_code_name_or_all() -> None:
    for pattern in ("AA001", "AA", "alpha-one", "ALL"):
        assert chosen(ignore=[pattern]).ignores(found())
    for options in ({}, {"ignore": ["AA002", "alpha"]}, {"select": ["BB"]}):
        assert not chosen(**options).ignores(found())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "patterns", "expected"),
    [
        ({}, ["shy-one"], True),
        ({"select": ["AA"]}, ["AA001", "beta-two"], True),
        ({"select": ["AA"]}, ["AA001", "other-two"], False),
        ({"select": ["AA", "BB002"]}, ["BB"], True),
        ({"ignore": ["AA001"]}, ["AA"], False),
        ({"ignore": ["AA001"]}, ["AA002"], True),
    ],
    ids=str,
)
def test_whether_all_rules_of_a_pattern_are_looked_for(
    options: dict[str, Any], patterns: list[str], expected: bool
) -> None:
    assert chosen(**options).runs_all(patterns) is expected


def test_every_pattern_that_names_no_rule_is_a_problem() -> None:
    selection = chosen(
        select=["ALL", "XX1"],
        extend_select=["XX2"],
        ignore=["XX3"],
        per_file_ignores={"a": ["XX4", "AA"], "b": ["XX5"]},
        severity={"XX6": "info"},
    )
    assert [problem.split("'")[1] for problem in selection.problems()] == ["XX1", "XX2", "XX3", "XX6", "XX4", "XX5"]
    assert chosen(select=["AA", "ALL"], ignore=["shy-one"], severity={"BB002": "info"}).problems() == []


def test_a_severity_that_does_not_exist_is_a_problem() -> None:
    (problem,) = chosen(severity={"AA": "fatal", "BB": "warning"}).problems()
    for part in ("'AA'", "'fatal'", "error, warning, info"):
        assert part in problem


def test_an_unknown_pattern_comes_with_the_rule_that_may_be_meant() -> None:
    meant = {"alpha-on": "alpha-one", "aa001": "AA001"}
    for problem, (pattern, name) in zip(unknown_patterns(RULES, meant), meant.items(), strict=True):
        assert problem.startswith(f"no rule matches {pattern!r}; ")
        assert f"did you mean {name!r}" in problem
    (problem,) = unknown_patterns(iter(RULES), ["something-else"])
    assert "did you mean" not in problem
    assert unknown_patterns(RULES, ["ALL", "AA", "BB001", "beta-two"]) == []

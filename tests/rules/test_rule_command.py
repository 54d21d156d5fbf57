"""`workrail-lint rule`: one rule or all of them, by code or name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tables import for_each

from workrail_lint.cli import main
from workrail_lint.report.rule_docs import families, index, page, rules, undocumented

RULES = tuple(sorted((*rules(), *undocumented()), key=lambda rule: rule.code))


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("WORKRAIL_LINT_DEBUG", "1")


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["rule", *arguments]) == 0
    return capsys.readouterr().out


def test_a_rule_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "SY008")
    assert text.startswith("SY008 json-trailing-comma (error)\nFamily: Syntax and JSON\n\nWhat it finds\n  A comma")
    for heading in ("Why it is bad", "Fix", "Origin", "Example (workflows/example.json)", "Use instead"):
        assert f"\n{heading}" in text
    assert "Remove the comma. Safe, applied with --fix." in text
    assert "`" not in text


@pytest.mark.parametrize("asked", ["SY008", "sy008", "json-trailing-comma", "JSON-trailing-comma"])
def test_by_code_or_name(capsys: pytest.CaptureFixture[str], asked: str) -> None:
    assert shown(capsys, asked).startswith("SY008 json-trailing-comma")


@for_each("rule", RULES, key=lambda rule: rule.code)
def test_every_rule_can_be_explained(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rule: object
) -> None:
    monkeypatch.chdir(tmp_path)  # otherwise each of these runs reads the configuration of this project
    code = str(rule.code)  # type: ignore[attr-defined]
    text = shown(capsys, code)
    assert text.replace("\n", "").isprintable()
    assert len(text) < 20_000
    assert shown(capsys, code, "--format", "markdown") == page(rule)  # type: ignore[arg-type]


def test_a_rule_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    shape = json.loads(shown(capsys, "json-trailing-comma", "--format", "json"))
    rule = next(rule for rule in RULES if rule.name == "json-trailing-comma")
    assert shape == {
        "code": "SY008",
        "name": "json-trailing-comma",
        "family": {"code": "SY", "title": "Syntax and JSON"},
        "severity": "error",
        "confidence": "high",
        "origin": "load",
        "summary": rule.summary,
        "why": rule.why,
        "fix": {"text": rule.fix, "safety": "safe"},
        "default": True,
    }


def test_all_rules(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys)
    for rule in RULES:
        assert f"\n{rule.code}  {rule.name} " in text
    for letters, title in families().items():
        assert f"{letters}  {title}\n" in text or not any(rule.family == letters for rule in RULES)
    listed = json.loads(shown(capsys, "--format", "json"))
    assert listed["version"] == 1
    assert sorted(rule["code"] for rule in listed["rules"]) == [rule.code for rule in RULES]
    assert sorted(shown(capsys, "--format", "markdown")) == sorted(index(RULES))


def test_a_rule_about_the_configuration_has_no_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Example" not in shown(capsys, "CF001")
    for rule in undocumented():
        assert rule.default_on
        assert all(text.endswith(".") and text.isprintable() for text in (rule.summary, rule.why))


def test_a_family(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "sy")
    assert text.startswith("SY  Syntax and JSON\nSY001  file-not-readable")
    assert "\nLP0" not in text


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("json-trailing-coma", "did you mean 'json-trailing-comma'?"),
        ("SY08", "unknown rule 'SY08'"),
        ("\x1b[31mx", "unknown rule '\\u001b[31mx'"),
    ],
)
def test_an_unknown_rule(capsys: pytest.CaptureFixture[str], asked: str, hint: str) -> None:
    assert main(["rule", asked]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert hint in captured.err
    assert "\x1b" not in captured.err


def test_explain_is_another_name(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["SY008"], ["sy008", "--json"], ["LP"], []):
        expected = shown(capsys, *arguments)
        assert main(["explain", *arguments]) == 0
        assert capsys.readouterr().out == expected
    assert main(["explain", "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: workrail-lint explain ")

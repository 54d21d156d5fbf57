"""Findings lead to the page of their rule, where a project says that it serves these docs."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path

import pytest

from workrail_lint.cli import main
from workrail_lint.report.data import ReportData, Sources, rule_address
from workrail_lint.report.rule_docs import shipped
from workrail_lint.report.text import render
from workrail_lint.rules.table import info_of

BROKEN = {"id": "demo.one", "name": "One", "description": "One.", "version": "1.0.0", "tittle": "x"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workrail-lint.toml").write_text('docs-url = "https://docs.example/lint"\n', encoding="utf-8")
    (tmp_path / "one.json").write_text(json.dumps(BROKEN), encoding="utf-8")
    return tmp_path


def test_sarif_links_each_rule_to_its_page(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "--no-cache", "--format", "sarif", "one.json"])
    rules = json.loads(capsys.readouterr().out)["runs"][0]["tool"]["driver"]["rules"]
    assert {rule["helpUri"] for rule in rules} == {
        f"https://docs.example/lint/rules/{rule['id']}.html" for rule in rules
    }
    (project / "workrail-lint.toml").unlink()
    main(["check", "--no-cache", "--format", "sarif", "one.json"])
    rules = json.loads(capsys.readouterr().out)["runs"][0]["tool"]["driver"]["rules"]
    assert rules
    assert not any("helpUri" in rule for rule in rules)


def test_only_an_address_of_the_web_is_accepted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "workrail-lint.toml").write_text('docs-url = "javascript:alert(1)"\n', encoding="utf-8")
    assert main(["check", "one.json"]) == 2
    assert "'docs-url' must begin with https:// or http://" in capsys.readouterr().err
    for hostile in (r"https://x\u001b]0;y", "https://x y", r"https://x\"y", r"https://x\\y", "https://"):
        (project / "workrail-lint.toml").write_text(f'docs-url = "{hostile}"\n', encoding="utf-8")
        assert main(["check", "one.json"]) == 2
        assert "'docs-url' must begin with https:// or http://, with spaces" in capsys.readouterr().err


def test_rules_of_plugins_have_no_page_of_ours() -> None:
    rule = next(iter(shipped()()))
    assert rule_address("https://docs.example/", rule) == f"https://docs.example/rules/{rule.code}.html"
    assert rule_address("", rule) is None
    plugin = info_of(shipped().rule(rule))
    assert rule_address("https://docs.example/", plugin) is None


def test_a_terminal_gets_links(project: Path) -> None:
    from workrail_lint.findings import Finding, Severity

    rule = next(info for info in shipped()() if info.code == "SC001")
    finding = Finding("SC001", rule.name, Severity.ERROR, "a message", path="one.json")
    sources = Sources()

    def shown(docs_url: str, *, is_terminal: bool) -> str:
        link = (lambda path, line: f"file:///{path}#{line}") if is_terminal else None
        items = sources.reported([finding])
        data = ReportData(
            items, sources=sources, rules={rule.name: rule}, files=1, version="1", link=link, docs_url=docs_url
        )
        return render(data)

    assert "\x1b]8;;https://docs.example/rules/SC001.html\x1b\\SC001" in shown("https://docs.example", is_terminal=True)
    assert "docs.example" not in shown("https://docs.example", is_terminal=False)


def test_open_shows_the_page_on_the_site_or_as_a_file(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: not opened.append(address))
    assert main(["rule", "CD023", "--open"]) == 0
    assert opened == ["https://docs.example/lint/rules/CD023.html"]
    (project / "workrail-lint.toml").unlink()
    assert main(["rule", "variable-never-set", "--open"]) == 0
    html = Path(opened[1].removeprefix("file://")).read_text(encoding="utf-8")
    assert "<h1>CD023: variable-never-set</h1>" in html
    assert "<h2>Use instead</h2>" in html
    assert "&quot;var&quot;: &quot;impactlevel&quot;" in html
    assert capsys.readouterr().out.split() == opened
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    assert main(["rule", "CD023", "--open"]) == 2
    assert "no browser was found" in capsys.readouterr().err

"""What is said about suppressions points at their entry in the configuration file and says what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workrail_lint.cli import main
from workrail_lint.systems.workrail.rules.samples import step, workflow

UNUSED = (
    "this suppression of workflows/example.json#/steps/first matches no finding of LP018 and LP019; remove the entry"
)
EXPIRED = "was due for review on 2020-01-01 and no longer applies; fix the place and remove the entry, or set a later"


@pytest.fixture
def findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Check a project with a configuration; gives path, line, column and message of what is said about that."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "example.json").write_text(json.dumps(workflow(step("first"))))

    def check(name: str, config: str) -> list[tuple[str, int, int, str]]:
        (tmp_path / name).write_text(config, encoding="utf-8")
        main(["check", "--format", "json", "--no-cache"])
        found = json.loads(capsys.readouterr().out)["findings"]
        return [
            (item["path"], item["range"]["start"]["line"], item["range"]["start"]["column"], item["message"])
            for item in found
            if item["code"] in ("CF001", "CF002")
        ]

    return check


def test_entries_in_a_file_of_our_own(findings: Any) -> None:
    config = """# [[suppress]]
strict = true

[[suppress]]
place = "workflows/example.json#/steps/first"
codes = ["LP018", "LP019"]
reason = '''
[[suppress]]
'''

[[suppress]]
place = "workflows/example.json"
codes = ["LP"]
reason = "later"
expires = 2020-01-01
"""
    (unused, expired) = findings("workrail-lint.toml", config)
    assert unused == (
        "workrail-lint.toml",
        4,
        1,
        UNUSED,
    )
    assert expired[:3] == ("workrail-lint.toml", 11, 1)
    assert expired[3].startswith(f"this suppression of workflows/example.json {EXPIRED}")


HEADERS = """[project]
name = "x"
[[tool.workrail-lint.suppress]]
place = "workflows/example.json"
codes = ["LP018"]
reason = "r"
"""
INLINE = """[tool.other]
suppress = [{place = "x"}]
[tool.workrail-lint]
suppress = [
  {place = "workflows/example.json", codes = ["LP018"], reason = "a"},
  {place = "workflows/example.json", codes = ["LP019"], reason = "b", expires = 2020-01-01},
]
"""


@pytest.mark.parametrize(("config", "lines"), [(HEADERS, [3]), (INLINE, [5, 6])], ids=["headers", "inline"])
def test_entries_in_a_shared_file(findings: Any, config: str, lines: list[int]) -> None:
    found = findings("pyproject.toml", config)
    assert [(path, line) for path, line, _, _ in found] == [("pyproject.toml", line) for line in lines]


def test_people_see_the_entry(findings: Any, capsys: pytest.CaptureFixture[str]) -> None:
    findings("workrail-lint.toml", '\n[[suppress]]\nplace = "gone.json"\ncodes = ["LP018"]\nreason = "r"\n')
    main(["check", "--no-cache"])
    shown = capsys.readouterr().out
    assert "--> workrail-lint.toml:2:1" in shown
    assert "2 | [[suppress]]" in shown

"""What users read is plain English: rules, the messages that their examples give, help, errors, and guides."""

from __future__ import annotations

from pathlib import Path

import pytest
from tables import for_each

from tools import wording
from workrail_lint.report.rule_docs import rules
from workrail_lint.rules.base import Rule

ROOT = Path(__file__).resolve().parents[2]
CHECKED = wording.checked_rules()
DOCUMENTED = rules()
SHOWN = [rule for rule in CHECKED if rule in DOCUMENTED]


@for_each("rule", CHECKED, key=lambda rule: rule.code)
def test_a_rule_reads_well(rule: Rule) -> None:
    assert wording.text_problems(rule) == []


@for_each("rule", SHOWN, key=lambda rule: rule.code)
def test_its_messages_read_well(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKRAIL_LINT_DEBUG", "1")
    assert wording.example_problems(rule) == []


def test_every_rule_shows_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that sees no message finds nothing wrong with it; one rule of each module is enough to know."""
    monkeypatch.setenv("WORKRAIL_LINT_DEBUG", "1")
    by_module: dict[str, list[Rule]] = {}
    for rule in SHOWN:
        by_module.setdefault(type(rule).__module__, []).append(rule)
    silent = [name for name, members in by_module.items() if not any(map(wording.example_messages, members))]
    assert silent == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("A lane is no node.", "has 'is no'"),
        ("What is wrong is told with its place.", "has 'is told'"),
        ("Nobody reads it.", "has 'Nobody'"),
        ("The work was done by somebody else.", "has 'somebody'"),
        ("It stands at the end of its body.", "has 'stands'"),
        ("The step must hand in a summary.", "has 'hand in'"),
        ("The text is cut without a word.", "has 'without a word'"),
        ("The value must be a text.", "has 'a text'"),
        ("The run goes on.", "has 'goes on'"),
        ("The transitions lead in a circle.", "has 'in a circle'"),
        ("The file has  two blanks.", "has blanks or characters"),
        ("a lane names an unknown node.", "does not start with a capital"),
        ("A lane names an unknown node", "does not end with a full stop"),
        ("A long sentence " + "that never ends " * 10 + "ends.", "more than 105"),
        ("The field known_issues is missing.", "names known_issues without backticks"),
        ("The file status.json is missing.", "names status.json without backticks"),
        ("The status is not 'done'.", "in single quotes; use backticks"),
    ],
)
def test_a_sentence_that_does_not_read_well(text: str, problem: str) -> None:
    assert any(problem in found for found in wording.sentence_problems(text, wording.LONGEST_SUMMARY))


@pytest.mark.parametrize(
    "text",
    [
        "`status.json` lacks a field that its state requires.",
        "There is no repository to mount, so no block can start.",
        "These fields are no longer read, and the two can't be told apart.",
        "The answer is neither `yes` nor `no`.",
    ],
)
def test_a_sentence_that_reads_well(text: str) -> None:
    assert wording.sentence_problems(text, wording.LONGEST_SUMMARY) == []


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("The id is missing", "starts with The"),
        ("the id is missing.", "ends with a full stop"),
        ('unknown state "x"', "in double quotes; use single quotes"),
        ("'x' is no state", "has 'is no'"),
        ("x" * (wording.LONGEST_MESSAGE + 1), f"more than {wording.LONGEST_MESSAGE}"),
    ],
)
def test_a_message_that_does_not_read_well(message: str, problem: str) -> None:
    assert any(problem in found for found in wording.message_problems(message))


@pytest.mark.parametrize(
    "message",
    [
        "unknown state 'x'; did you mean 'y'?",
        "'nobody stands in a circle' is too long",
        "Reviewer can't report NEEDS_INFO; only Researcher can",
        "UD-1 is pending, but answer is set",
        'wrap them in `{"and": [...]}` to show them up front',
    ],
)
def test_a_message_that_reads_well(message: str) -> None:
    assert wording.message_problems(message) == []


def test_messages_and_guides_read_well() -> None:
    files = wording.user_texts(ROOT)
    named = {path.relative_to(ROOT).as_posix() for path in files}
    assert named >= {
        "README.md",
        "docs/cli.md",
        "workrail_lint/cli/check.py",
        "pytest_workrail/plugin/options.py",
    }
    assert [problem for path in files for problem in wording.file_problems(path)] == []


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.py", 'option(help="the file that is told")', ["a.py:1 has 'is told'"]),
        ("a.py", 'x = 1\nerr(f"{path} is no module")', ["a.py:2 has 'is no'"]),
        ("a.py", 'def f():\n    """Nobody reads it."""\n    return "nobody"', []),
        ("a.md", "Plain.\n\nIt is\nno module.\n- Nobody\n", ["a.md:3 has 'is no'", "a.md:5 has 'Nobody'"]),
        ("a.md", "```text\nnobody\n```\n\nSee `nobody`.\n", []),
    ],
)
def test_a_signal_in_code_or_in_a_guide(tmp_path: Path, name: str, content: str, found: list[str]) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert [problem.partition(";")[0] for problem in wording.file_problems(tmp_path / name)] == found

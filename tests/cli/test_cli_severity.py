"""`check --severity`: what is shown, what is hidden and counted, and what never changes."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from cli_types import Run

from workrail_lint.systems.workrail.rules.samples import step, workflow

SHOWN = {"error": 1, "warning": 2, "info": 4}


@pytest.fixture(autouse=True)
def mixed(write: Any) -> None:
    """One error, one warning and two infos."""
    loop = {
        "id": "again",
        "type": "loop",
        "title": "Again",
        "loop": {"type": "while", "condition": {"var": "open", "equals": True}},
        "body": [step("inner-step", "Set `open` in the context.")],
    }
    write("workflows/example.json", workflow(step("first", "Set `open`."), loop, about=..., examples=...))
    write("workrail-lint.toml", 'select = ["LP002", "LP018", "LC015", "LC015"]\n')


def levels(run: Run, *arguments: str) -> list[str]:
    found = json.loads(run("check", "--format", "json", *arguments).out)["findings"]
    return sorted(item["severity"] for item in found)


def count(run: Run, output: str, *arguments: str) -> int:
    """How many findings a format shows."""
    out = run("check", "--format", output, *arguments).out
    match output:
        case "text":
            return out.count("--> ")
        case "concise":
            return sum(line.startswith("workflows/") for line in out.splitlines())
        case "github":
            return len(out.splitlines())
        case "gitlab":
            return len(json.loads(out))
        case "sarif":
            return len(json.loads(out)["runs"][0]["results"])
        case "junit":
            return len(list(ElementTree.fromstring(out).iter("testcase")))
        case _:
            raise AssertionError(output)


@pytest.mark.parametrize("output", ["text", "concise", "github", "gitlab", "sarif", "junit"])
def test_the_least_severity_that_is_shown(run: Run, output: str) -> None:
    for severity, number in SHOWN.items():
        assert count(run, output, "--severity", severity) == number
    assert count(run, output) == SHOWN["warning"]


def test_what_is_hidden_is_counted(run: Run) -> None:
    for output in ("text", "concise"):
        summary = "Found 1 error, 1 warning and 2 infos in 1 file"
        shown = run("check", "--format", output)
        assert f"{summary} (2 infos hidden; show them with --severity info).\n" in shown.out
        assert shown.err == ""
        assert (
            f"{summary} (1 warning and 2 infos hidden; show them with --severity info).\n"
            in run("check", "--format", output, "--severity", "error").out
        )
        assert f"{summary}.\n" in run("check", "--format", output, "--severity", "info").out
    for output in ("github", "gitlab", "sarif", "junit"):
        hidden = run("check", "--format", output).err
        assert hidden == "workrail-lint: 2 infos hidden; show them with --severity info\n"
        assert run("check", "--format", output, "--severity", "info").err == ""


def test_a_run_with_nothing_but_infos_says_so(run: Run) -> None:
    ran = run("check", "--select", "LC015", "--severity", "warning")
    assert (ran.code, ran.out) == (0, "Found 2 infos in 1 file (2 infos hidden; show them with --severity info).\n")


def test_rules_that_are_asked_for_are_shown(run: Run) -> None:
    assert run("check", "--select", "LC015").out.startswith("info[LC015 ")


@pytest.mark.parametrize("severity", SHOWN)
def test_programs_get_everything(run: Run, severity: str) -> None:
    assert levels(run, "--severity", severity) == ["error", "info", "info", "warning"]
    lines = run("check", "--format", "jsonl", "--severity", severity).out.splitlines()
    assert len(lines) == SHOWN["info"]


@pytest.mark.parametrize("severity", SHOWN)
def test_counts_baselines_and_exit_codes_are_about_all_findings(run: Run, severity: str, tmp_path: Any) -> None:
    options = ("--severity", severity)
    assert run("check", *options).code == 1
    assert run("check", "--select", "LP018", *options).code == 0
    assert run("check", "--select", "LP018", "--strict", *options).code == 1
    counts = run("check", "--statistics", *options).out
    assert counts == run("check", "--statistics", "--severity", "info").out
    assert "LC015" in counts
    assert "hidden" not in counts
    run("check", "--write-baseline", "accepted.json", *options)
    assert run("check", "--baseline", "accepted.json", *options).code == 0
    assert levels(run, "--baseline", "accepted.json", *options) == []


def test_the_table_of_severities_is_another_thing(run: Run, write: Any) -> None:
    write("workrail-lint.toml", 'select = ["LC015"]\n[severity]\nLC016 = "warning"\n')
    assert "LC015" in run("check", "--format", "concise").out
    assert "LC015" not in run("check", "--format", "concise", "--severity", "error").out


def test_an_unknown_severity_is_a_usage_error(run: Run) -> None:
    ran = run("check", "--severity", "none")
    assert ran.code == 2
    assert "invalid choice: 'none'" in ran.err

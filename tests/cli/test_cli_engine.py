"""`workrail-lint engine`, and `--engine-version` wherever workflows are judged or compiled."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_types import Run

from workrail_lint.systems.workrail.catalog.engine_digests import ENGINE_VERSION
from workrail_lint.systems.workrail.rules.samples import step, workflow

Write = Callable[[str, Any], Path]
NEWER = workflow(step(prompt="Find the cause of the failing build."), metricsProfile="coding")


def test_the_releases_are_listed(run: Run) -> None:
    listed = run("engine", "list")
    assert listed.code == 0
    assert "3.117.0  2026-06-01  schema\n" in listed.out
    assert "3.61.0" not in listed.out
    assert "3.61.0" in run("engine", "list", "--all").out
    releases = json.loads(run("engine", "list", "--json").out)["releases"]
    assert releases[-1] == {"version": ENGINE_VERSION, "date": "2026-07-23", "changed": ""}


def test_a_release_is_shown(run: Run) -> None:
    shown = run("engine", "show", "3.88").out
    assert shown.startswith("engine 3.88.0, 2026-05-14\n3.87.0 -> 3.88.0\n")
    assert "contracts added:\n  wr.contracts.gate_verdict\n" in shown
    data = json.loads(run("engine", "show", "3.88", "--json").out)
    assert data["brought"]["builtins"] == {"added": {"contracts": ["wr.contracts.gate_verdict"]}}
    assert "wr.contracts.gate_verdict" in data["knows"]["contracts"]
    assert "the oldest release that is known" in run("engine", "show", "1.4").out


def test_two_releases_are_compared_in_either_direction(run: Run) -> None:
    forward = json.loads(run("engine", "diff", "3.14", "3.18", "--json").out)
    assert {"shape": "Consequence trigger", "member": "anyEqualsLevel", "change": "added"} in forward["schema"]
    assert forward["checks"] == {"added": [], "removed": ["consequence-dimension"]}
    back = json.loads(run("engine", "diff", "3.18", "3.14", "--json").out)
    assert {"shape": "Consequence trigger", "member": "anyEqualsLevel", "change": "removed"} in back["schema"]
    assert back["checks"] == {"added": ["consequence-dimension"], "removed": []}
    text = run("engine", "diff", "3.88", "3.89").out
    assert "Standard step `assessmentConsequences`: maxItems 1 -> 10\n" in text
    assert run("engine", "diff", "3.119.0", "3.120").out == (
        "3.119.0 -> 3.120.0\nnothing that a workflow could notice\n"
    )
    assert "pinned steps:\n  resolved, with their blocks -> resolved\n" in run("engine", "diff", "1.15", "1.17").out


@pytest.mark.parametrize("arguments", [("show", "9.9"), ("diff", "3.60", "x"), ("diff", "3.999", "3.60")])
def test_an_unknown_release_is_a_usage_error(run: Run, arguments: tuple[str, ...]) -> None:
    refused = run("engine", *arguments)
    assert (refused.code, refused.out) == (2, "")
    assert "is not" in refused.err


def test_the_version_comes_from_the_command_line_or_the_configuration(run: Run, write: Write) -> None:
    write("workflows/a.json", NEWER)
    assert run("check", "workflows").code == 0
    asked = run("check", "workflows", "--engine-version", "3.60")
    assert asked.code == 1
    assert "`metricsProfile` needs engine 3.66; this project targets 3.60.1" in asked.out
    write("workrail-lint.toml", 'engine-version = "3.60"\n')
    assert run("check", "workflows").code == 1
    assert run("check", "workflows", "--engine-version", "3.66").code == 0  # the command line decides
    refused = run("check", "workflows", "--engine-version", "3.999")
    assert (refused.code, refused.err) == (
        2,
        "workrail-lint: --engine-version: engine 3.999 is not known; the newest known is 3.121\n",
    )
    write("workrail-lint.toml", 'engine-version = "newest"\n')
    assert run("check", "workflows").err.startswith("workrail-lint: engine-version: 'newest' is not a version")


def test_what_was_found_for_one_release_is_not_told_for_another(run: Run, write: Write) -> None:
    """The cache knows the release."""
    write("workflows/a.json", NEWER)
    write("workrail-lint.toml", 'cache-dir = ".cache"\n')
    codes = [run("check", "workflows", *version).code for version in ((), ("--engine-version", "3.60"), ())]
    assert codes == [0, 1, 0]


def test_compiling_for_a_release(run: Run, write: Write) -> None:
    write("a.json", NEWER)
    refused = run("compile", "a.json", "--target", "engine", "--engine-version", "3.60")
    assert refused.code == 1
    assert "needs engine 3.66" in refused.err + refused.out
    newest = run("compile", "a.json", "--target", "engine", "--emit", "hash")
    assert run("compile", "a.json", "--target", "engine", "--emit", "hash", "--engine-version", "3.66") == newest


def test_the_schema_of_a_release(run: Run) -> None:
    schema = json.loads(run("schema", "workflow", "--engine-version", "3.60").out)
    assert "metricsProfile" not in schema["definitions"]["Workflow"]["properties"]
    assert "ParallelStep" not in schema["definitions"]
    contracts = schema["definitions"]["OutputContract"]["properties"]["contractRef"]["enum"]
    assert "wr.contracts.review_verdict" in contracts
    assert "wr.contracts.gate_verdict" not in contracts
    oldest = json.loads(run("schema", "workflow", "--engine-version", "1.4").out)
    assert "features" not in oldest["definitions"]["Workflow"]["properties"]


def test_the_lockfile_names_the_release_and_notices_another(run: Run, write: Write) -> None:
    write("workflows/a.json", NEWER)
    assert run("lock", "--update", "--engine-version", "3.66").code == 0
    written = json.loads(Path("workrail.lock.json").read_text(encoding="utf-8"))
    assert written["engineVersion"] == "3.66.0"
    assert run("lock", "--check", "--engine-version", "3.66").code == 0
    changed = run("lock", "--check")
    assert changed.code == 1
    assert f"engine: changed from 3.66.0 to {ENGINE_VERSION}\n" in changed.out
    older = run("lock", "--check", "--engine-version", "3.60")
    assert "workflows/a.json: only the engine hash changed" in older.out
    del written["engineVersion"]  # as it was written before
    write("workrail.lock.json", written)
    assert "engine: changed" not in run("lock", "--check").out


def test_the_studio_judges_for_the_release_that_is_asked_for(run: Run, write: Write, tmp_path: Path) -> None:
    write("workflows/a.json", NEWER)
    page = tmp_path / "page.json"
    assert run("studio", "workflows", "--format", "json", "--output", str(page), "--engine-version", "3.60").code == 0
    (shown,) = json.loads(page.read_text(encoding="utf-8"))["workflows"]
    assert "`metricsProfile` needs engine 3.66; this project targets 3.60" in json.dumps(shown["findings"])

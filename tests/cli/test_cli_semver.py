"""semver, and versions in lock."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cli_types import Run

from workrail_lint.systems.workrail.rules.samples import step, workflow

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def _git(folder: Path, *arguments: str) -> None:
    name = ("-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def committed(write: Any, tmp_path: Path) -> dict[str, Any]:
    """A repository with two workflows of version 1.4.2, pinned and committed."""
    one = workflow(step("first"), step("second"), id="demo.one", version="1.4.2")
    write("workflows/one.json", one)
    write("workflows/two.json", workflow(step("only"), id="demo.two", version="0.3.1"))
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-qm", "first")
    return one


def _without_second(one: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {**one, "steps": one["steps"][:1], **members}


def test_nothing_changed(run: Run, committed: Any) -> None:
    ran = run("semver", "--check")
    assert (ran.code, ran.out) == (0, "every version says what changed\n")


def test_a_version_that_is_too_low(run: Run, write: Any, committed: Any) -> None:
    write("workflows/one.json", _without_second(committed))
    ran = run("semver", "--check")
    assert ran.code == 1
    assert "workflows/one.json: version is still 1.4.2, but this is a major change: write 2.0.0" in ran.out
    assert "  major: step 'second': the step is gone" in ran.out
    assert "two.json" not in ran.out
    assert "1 version too low" in ran.err
    assert run("semver").code == 0  # a report, not a verdict


@pytest.mark.parametrize(
    ("place", "facet", "value"),
    [
        ("workflow", "", 1),
        ("workflow", "preconditions", 5),
        ("workflow", "assessments", {"a": 1}),
        ("workflow", "a-later-one", "x"),
        ("workflow", "contract x", {}),
        ("workflow", "contract x", {"schema": {"required": 5}}),
        ("step", "", 1),
        ("step", "notes", []),
        ("step", "loop.maxIterations", "many"),
        ("step", "output.assessments", {"refs": 5}),
        ("step", "prompt", {"sha256": 1}),
    ],
)
def test_a_lockfile_with_a_facet_that_no_workflow_has(
    place: str, facet: str, value: Any, run: Run, write: Any, committed: Any, tmp_path: Path
) -> None:
    assert run("lock", "--update", "--file", "pinned.json", "workflows").code == 0
    pinned = json.loads((tmp_path / "pinned.json").read_text())
    outline = pinned["workflows"]["workflows/one.json"]["outline"]
    (outline["workflow"] if place == "workflow" else outline["steps"][0]["facets"])[facet] = value
    write("pinned.json", pinned)
    ran = run("semver", "--base", "pinned.json")
    assert ran.code == 2
    assert f"the entry of workflows/one.json is damaged ('{facet}')" in ran.err


def test_json_has_every_workflow(run: Run, write: Any, committed: Any) -> None:
    write("workflows/one.json", _without_second(committed, version="1.5.0"))
    printed = json.loads(run("semver", "--base", "HEAD", "--json").out)
    one, two = printed["workflows"]
    assert list(printed) == ["workflows"]
    assert list(one) == ["workflowId", "declared", "required", "ok", "reasons"]
    assert list(one["reasons"][0]) == ["kind", "step", "text"]
    assert (one["workflowId"], one["declared"], one["required"], one["ok"]) == ("demo.one", "1.5.0", "major", False)
    assert one["reasons"][0]["kind"] == "step-removed"
    assert one["reasons"][0]["step"] == "second"
    assert (two["required"], two["ok"], two["reasons"]) == ("none", True, [])


def test_fix_writes_the_least_version_and_nothing_else(run: Run, write: Any, committed: Any) -> None:
    changed = _without_second(committed)
    path = write("workflows/one.json", changed)
    ran = run("semver", "--fix")
    assert (ran.code, ran.out) == (0, "workflows/one.json: version 1.4.2 -> 2.0.0 (major)\n")
    assert path.read_text("utf-8") == json.dumps({**changed, "version": "2.0.0"}, indent=2) + "\n"
    assert run("semver", "--check").code == 0


def test_a_version_before_1_0_rises_by_one_part_less(run: Run, write: Any, committed: Any) -> None:
    write("workflows/two.json", workflow(step("other"), step("another"), id="demo.two", version="0.4.0"))
    assert run("semver", "--check").code == 0


def test_a_renamed_file_is_found_by_its_id(run: Run, write: Any, committed: Any, tmp_path: Path) -> None:
    (tmp_path / "workflows/one.json").unlink()
    write("workflows/uno.json", _without_second(committed))
    ran = run("semver", "--check")
    assert ran.code == 1
    assert "workflows/uno.json: version is still 1.4.2" in ran.out


def test_a_new_workflow_and_one_that_did_not_compile(run: Run, write: Any, committed: Any, tmp_path: Path) -> None:
    write("workflows/two.json", '{"id": "demo.two"}')
    _git(tmp_path, "commit", "-qam", "broken")
    write("workflows/two.json", workflow(step("only"), id="demo.two", version="0.3.1"))
    write("workflows/three.json", workflow(step("only"), id="demo.three", version="1.0.0"))
    ran = run("semver")
    assert ran.code == 0
    assert "workflows/three.json: new since HEAD" in ran.out
    assert "workflows/two.json: does not compile in HEAD" in ran.out


def test_a_workflow_that_does_not_compile_is_no_success(run: Run, write: Any, committed: Any) -> None:
    write("workflows/one.json", '{"id": "demo.one"}')
    ran = run("semver", "--check")
    assert ran.code == 2
    assert "workflows/one.json" in ran.err


def test_the_base_can_be_a_lockfile(run: Run, write: Any, committed: Any) -> None:
    assert run("lock", "--update").code == 0
    write("workflows/one.json", _without_second(committed))
    ran = run("semver", "--base", "workrail.lock.json", "--check")
    assert ran.code == 1
    assert "write 2.0.0" in ran.out


@pytest.mark.parametrize("base", ["nowhere", "-x"])
def test_a_base_that_is_none(run: Run, committed: Any, base: str) -> None:
    ran = run("semver", f"--base={base}")
    assert ran.code == 2
    assert "not a revision" in ran.err


@pytest.mark.parametrize(
    ("setting", "update", "remark"), [("off", 0, False), ("warn", 0, True), ("error", 1, True), (None, 0, True)]
)
def test_lock_looks_at_versions(
    run: Run, write: Any, committed: Any, tmp_path: Path, setting: str | None, update: int, remark: bool
) -> None:
    assert run("lock", "--update").code == 0
    pinned = (tmp_path / "workrail.lock.json").read_bytes()
    write("workrail-lint.toml", f'semver = "{setting}"\n' if setting else "")
    write("workflows/one.json", _without_second(committed))
    ran = run("lock", "--check")
    assert ran.code == 1
    assert ("workflows/one.json: version is still 1.4.2, but this is a major change: write 2.0.0" in ran.err) is remark
    assert run("lock", "--update").code == update
    assert ((tmp_path / "workrail.lock.json").read_bytes() == pinned) is bool(update)


def test_lock_is_content_with_a_version_that_rose(run: Run, write: Any, committed: Any) -> None:
    run("lock", "--update")
    write("workflows/one.json", _without_second(committed, version="2.0.0"))
    assert "version" not in run("lock", "--check").err

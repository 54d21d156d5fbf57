"""Locks that the static side has to keep as well: versions, budgets, closed sets, caches and what findings say."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_workrail.locks.evidence import LockRecord, load_record
from pytest_workrail.locks.registry import REGISTRY_FILE, read_registry
from workrail_lint import check_text, compile_workflow
from workrail_lint.base.result import Err, Ok
from workrail_lint.cli import main
from workrail_lint.project.baseline import baseline_text, parse_baseline
from workrail_lint.report import FORMATS
from workrail_lint.systems.workrail.compiler.prompt_blocks import MAX_INJECTED_BYTES
from workrail_lint.systems.workrail.lockfile import Lockfile, parse_lockfile


def workflow(*steps: dict[str, Any], **members: Any) -> dict[str, Any]:
    named = {"id": "demo.locks", "name": "Locks", "description": "d", "version": "1.0.0"}
    return {**named, "steps": list(steps) or [step("only")], **members}


def step(step_id: str, **members: Any) -> dict[str, Any]:
    return {"id": step_id, "title": "T", "prompt": "Do it.", **members}


@pytest.fixture
def project(broken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with workflows that have something to say about them."""
    for path in sorted(broken.glob("P*.json"))[:12]:
        shutil.copy(path, tmp_path / path.name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """What a check prints."""
    assert main(["check", "--isolated", "--jobs", "1", *options, "."]) == 1
    return capsys.readouterr().out


def test_the_cache_changes_no_answer(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """@enforces projection-cache-rebuildable"""
    home = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    cold = said(capsys, "--format", "json")
    assert json.loads(cold)["findings"]
    kept = sorted(home.rglob("*.json"))
    assert kept, "a run leaves a cache"
    assert said(capsys, "--format", "json") == cold
    for damage in (b"", b"{", b'{"format": 99, "entries": {}}'):
        for path in kept:
            path.write_bytes(damage)
        assert said(capsys, "--format", "json") == cold
    shutil.rmtree(home)
    assert said(capsys, "--format", "json") == cold


@pytest.mark.parametrize("format_", FORMATS)
def test_reports_hold_no_absolute_path(project: Path, capsys: pytest.CaptureFixture[str], format_: str) -> None:
    """@enforces paths-relative-only"""
    text = said(capsys, "--no-cache", "--format", format_)
    assert str(project) not in text
    assert sorted(project.glob("*.json"))[0].name in text


def test_lockfiles_and_baselines_hold_no_absolute_path(project: Path) -> None:
    """@enforces paths-relative-only"""
    (project / "sound.json").write_text(json.dumps(workflow()), encoding="utf-8")
    assert main(["lock", "--update", "--isolated", str(project / "sound.json")]) == 0
    main(["check", "--isolated", "--no-cache", "--write-baseline", "base.json", "."])
    for name in ("workrail.lock.json", "base.json"):
        assert str(project) not in (project / name).read_text("utf-8")


# What is written or shipped, and the member that says of which version it is.
VERSIONED: dict[str, tuple[Callable[[], str], str]] = {
    "lockfile": (lambda: Lockfile({}, {}).text(), "lockfileVersion"),
    "baseline": (lambda: baseline_text([]), "baselineVersion"),
    "registry": (lambda: REGISTRY_FILE.read_text("utf-8"), "lockRegistryVersion"),
    "record": (lambda: LockRecord({}).to_text(), "lockRecordVersion"),
    "IR": (lambda: json.dumps(compile_workflow(workflow()).value.ir), "format"),
}


@pytest.mark.parametrize("name", VERSIONED)
def test_what_is_written_says_its_version(name: str) -> None:
    """@enforces schema-versioned"""
    text, member = VERSIONED[name]
    assert json.loads(text())[member] in (1, "workrail.ir/1")


def test_a_report_says_its_version(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """@enforces schema-versioned"""
    assert json.loads(said(capsys, "--no-cache", "--format", "json"))["version"] == 1
    assert json.loads(said(capsys, "--no-cache", "--format", "sarif"))["version"] == "2.1.0"


def read_record(data: bytes, folder: Path) -> Ok[LockRecord] | Err[str]:
    (folder / "r.json").write_bytes(data)
    return load_record(folder / "r.json")


READERS: dict[str, Callable[[bytes, Path], Any]] = {
    "lockfile": lambda data, _: parse_lockfile(data),
    "baseline": lambda data, _: parse_baseline(data),
    "registry": lambda data, _: read_registry(data),
    "record": read_record,
}


@pytest.mark.parametrize("name", READERS)
def test_a_later_version_is_refused(name: str, tmp_path: Path) -> None:
    """@enforces schema-unknown-version-fail-fast"""
    text, member = VERSIONED[name]
    written = json.loads(text())
    if name == "lockfile":
        written["catalog"] = {"id": "core", "version": "1", "digest": "d"}
    assert isinstance(READERS[name](json.dumps(written).encode(), tmp_path), Ok)
    assert isinstance(READERS[name](json.dumps({**written, member: 2}).encode(), tmp_path), Err)


def test_every_finding_says_what_to_do(
    broken: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """@enforces error-self-correcting"""
    monkeypatch.chdir(broken)
    findings = json.loads(said(capsys, "--no-cache", "--select", "ALL", "--format", "json"))["findings"]
    assert len({finding["code"] for finding in findings}) > 300
    silent = {finding["code"] for finding in findings if not (finding["message"] or "").strip() or not finding["help"]}
    assert silent == set()


def test_a_budget_finding_gives_measure_and_maximum() -> None:
    """@enforces error-budget-details
    @enforces budget-enforcement
    """
    part = [{"kind": "ref", "refId": "wr.refs.synthesis_under_disagreement"}]
    step = {"id": "only", "title": "T", "promptBlocks": {"goal": "Go.", "constraints": [part] * 40}}
    (error,) = [finding for finding in compile_workflow(workflow(step)).error if finding.name == "prompt-refs-budget"]
    numbers = [int(word.strip(",;.")) for word in error.message.split() if word.strip(",;.").isdigit()]
    assert MAX_INJECTED_BYTES in numbers
    assert [number for number in numbers if number > MAX_INJECTED_BYTES], error.message
    assert "bytes" in error.message


@pytest.mark.parametrize(
    ("preferences", "is_known"),
    [
        ({"recommendedAutonomy": "guided"}, True),
        ({"recommendedAutonomy": "full_auto_stop_on_user_deps"}, True),
        ({"recommendedAutonomy": "full_auto_never_stop"}, True),
        ({"recommendedAutonomy": "full_auto"}, False),
        ({"recommendedRiskPolicy": "conservative"}, True),
        ({"recommendedRiskPolicy": "balanced"}, True),
        ({"recommendedRiskPolicy": "aggressive"}, True),
        ({"recommendedRiskPolicy": "reckless"}, False),
    ],
)
def test_recommended_preferences_are_of_a_closed_set(preferences: dict[str, str], is_known: bool) -> None:
    """@enforces autonomy-closed-set
    @enforces risk-policy-closed-set
    """
    assert compile_workflow(workflow(recommendedPreferences=preferences)).is_ok is is_known


@pytest.mark.parametrize("delimiter", ["@", "/", ":"])
def test_ids_of_steps_hold_no_delimiter(delimiter: str) -> None:
    """@enforces step-instance-key-delimiter-safe"""
    report = check_text(json.dumps(workflow(step(f"a{delimiter}b"))), filename="a.json")
    assert "/steps/0/id" in {finding.pointer for finding in report.findings if finding.severity.value == "error"}
    assert not check_text(json.dumps(workflow(step("a-b"))), filename="a.json").errors

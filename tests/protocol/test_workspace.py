"""The workspace on disk: repositories in their usual shapes, bindings, references."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from protocol_bench import Bench, compiled, quiet, workflow

from pytest_workrail.engine.projections.session_facts import Workspace as WorkspaceFacts
from pytest_workrail.engine.protocol.ports import GitEnd
from pytest_workrail.mcp.workspace import DiskWorkspace
from workrail_lint.base.canonical import digest

SHA = "0123456789abcdef0123456789abcdef01234567"


def repository(root: Path, head: str, **files: str) -> Path:
    git = root / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text(head + "\n")
    for name, content in files.items():
        path = git / name.replace("__", "/").replace("_", "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


def facts(root: Path, branch: str | None, sha: str | None) -> WorkspaceFacts:
    return WorkspaceFacts(branch, sha, digest(root.as_posix().encode()), root.as_posix())


@pytest.mark.parametrize(
    ("head", "files", "branch", "sha"),
    [
        ("ref: refs/heads/main", {"refs__heads__main": SHA + "\n"}, "main", SHA),
        ("ref: refs/heads/main", {"packed_refs": f"# pack\n{SHA} refs/heads/main\n"}, "main", SHA),
        ("ref: refs/heads/a/b", {"refs__heads__a__b": SHA}, "a/b", SHA),
        ("ref: refs/heads/new", {}, "new", None),
        (SHA, {}, None, SHA),
        ("", {}, None, None),
        ("ref: refs/heads/main", {"refs__heads__main": "nonsense"}, "main", None),
    ],
)
def test_a_repository(tmp_path: Path, head: str, files: dict[str, str], branch: str | None, sha: str | None) -> None:
    root = repository(tmp_path / "repo", head, **files)
    (root / "inner").mkdir()
    for folder in (root, root / "inner"):
        assert DiskWorkspace().facts(str(folder)) == facts(root, branch, sha)
    assert DiskWorkspace().end(str(root)) == GitEnd(sha)


def test_a_worktree(tmp_path: Path) -> None:
    main = repository(tmp_path / "main", "ref: refs/heads/main", refs__heads__side=SHA)
    data = main / ".git" / "worktrees" / "side"
    data.mkdir(parents=True)
    (data / "HEAD").write_text("ref: refs/heads/side\n")
    (data / "commondir").write_text("../..\n")
    side = tmp_path / "side"
    side.mkdir()
    (side / ".git").write_text(f"gitdir: {data}\n")
    assert DiskWorkspace().facts(str(side)) == facts(side, "side", SHA)


def test_no_repository(tmp_path: Path) -> None:
    assert DiskWorkspace().facts(str(tmp_path / "nowhere")) == WorkspaceFacts()
    assert DiskWorkspace().end(None) == GitEnd()
    (tmp_path / ".git").write_text("nonsense")
    assert DiskWorkspace().facts(str(tmp_path)) == facts(tmp_path, None, None)


REFERENCE = {"id": "guide", "title": "Guide", "source": "docs/guide.md", "purpose": "How to", "authoritative": True}


def test_references(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text("x")
    workspace = DiskWorkspace()
    assert workspace.resolve(REFERENCE, str(tmp_path)) == str(tmp_path / "docs" / "guide.md")
    assert workspace.resolve(REFERENCE | {"source": "../out.md"}, str(tmp_path)) is None
    assert workspace.resolve(REFERENCE, None) is None
    packaged = REFERENCE | {"resolveFrom": "package"}
    assert workspace.resolve(packaged, str(tmp_path)) is None
    assert DiskWorkspace(str(tmp_path)).resolve(packaged, None) == str(tmp_path / "docs" / "guide.md")


def test_bindings(tmp_path: Path) -> None:
    workspace = DiskWorkspace()
    assert workspace.overrides("flow", None) is None
    assert workspace.overrides("flow", str(tmp_path)) == {}
    (tmp_path / ".workrail").mkdir()
    file = tmp_path / ".workrail" / "bindings.json"
    file.write_text("{")
    assert workspace.overrides("flow", str(tmp_path)) is None
    file.write_text(json.dumps({"flow": {"slot": "value"}}))
    assert workspace.overrides("flow", str(tmp_path)) == {"slot": "value"}


def test_a_run_in_a_workspace(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", "ref: refs/heads/main", refs__heads__main=SHA)
    ir = compiled(workflow("drifting", quiet("one"), quiet("two")))
    ir["bindings"] = {"resolved": {"a": "1", "b": "2", "c": "3"}, "overrides": {"a": "1", "b": "2"}}
    (root / ".workrail").mkdir()
    file = root / ".workrail" / "bindings.json"
    file.write_text(json.dumps({"drifting": {"a": "1", "b": "2"}}))
    bench = Bench(ir, workspace=DiskWorkspace())
    bench.start(workspacePath=str(root))
    assert "warnings" not in bench.go("CT1")
    file.write_text(json.dumps({"drifting": {"a": "changed", "c": "new"}}))
    shown = bench.go("CT1", intent="rehydrate", workspacePath=str(root))
    assert shown["warnings"] == [
        {"code": "BINDING_DRIFT", "slotId": "a", "pinnedValue": "1", "currentValue": "changed"},
        {"code": "BINDING_DRIFT", "slotId": "b", "pinnedValue": "2", "currentValue": "default"},
    ]
    assert bench.reply is not None
    text = bench.reply.text[0]
    assert "> **⚠ Binding Drift Detected**" in text
    assert "> - `b`: was `2`, now `default`" in text
    # The workspace of a session is on record, so a bare look at it knows where to compare.
    assert bench.go("CT1")["warnings"] == shown["warnings"]
    assert "warnings" not in bench.advance("CT1")


def test_the_end_of_a_run_is_noted(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", "ref: refs/heads/main", refs__heads__main=SHA)
    bench = Bench(workflow("short", quiet("one")), workspace=DiskWorkspace())
    bench.start(workspacePath=str(root))
    later = SHA[::-1]
    (root / ".git" / "refs" / "heads" / "main").write_text(later)
    assert bench.advance("CT1")["isComplete"] is True
    (completed,) = (event for event in bench.events if event.kind == "run_completed")
    duration = bench.events[8].timestamp_ms - bench.events[0].timestamp_ms
    assert completed.data.to_wire() == {  # type: ignore[union-attr]
        "startGitSha": SHA,
        "endGitSha": later,
        "gitBranch": "main",
        "agentCommitShas": [],
        "captureConfidence": "none",
        "durationMs": duration,
    }

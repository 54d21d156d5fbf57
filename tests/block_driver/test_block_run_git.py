"""Real git on a repository of some size: twenty lanes, every strategy, one lane killed half way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from block_runs import data, edge, group, node, run, workflow

from pytest_workrail.systems.blocks import ScenarioInvalid
from pytest_workrail.systems.blocks.block_run import BlockRun
from pytest_workrail.systems.blocks.workspaces import Repository
from pytest_workrail.systems.kernel.run import remove_tree

LANES = [f"lane{number:02}" for number in range(20)]
FILES = {f"src/part{number % 40:02}/file{number:04}.py": f"value = {number}\n" for number in range(1000)}
SHARED = "src/part00/file0000.py"
DOOMED = LANES[7]
FIRST = LANES[6]  # one of the ten that start at once
# Writes one file after the other until it is killed.
SLOW = """
import pathlib, sys, time
for number in range(1000):
    pathlib.Path(f"half{number}.py").write_text("half")
    print(number, flush=True)
    time.sleep(0.01)
"""


def definition(strategy: str) -> dict[str, Any]:
    lanes = [node(name, "coding") for name in LANES]
    edges = [edge(name, "after") for name in LANES]
    return workflow(*lanes, node("after"), edges=edges, parallelGroups=[group(*LANES, mergeStrategy=strategy)])


def doomed(workspace: Path, **_: Any) -> dict[str, Any]:
    """A process that is really killed while it is at work."""
    command = [sys.executable, "-c", SLOW]
    with subprocess.Popen(command, cwd=workspace, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.wait()
    (workspace / SHARED).write_text("half of it")
    return {"ticks": 2, "exit": 128 - process.returncode, "output": "none"}


def look_around(workspace: Path, **_: Any) -> dict[str, Any]:
    """What the block behind the group sees of what the lanes left to clean up."""
    trees = Repository(str(workspace)).worktrees()
    beside = sorted(path.name for path in workspace.parent.iterdir())
    summary = f"{len(trees)} worktree, {', '.join(beside)}, {len(list((workspace / '.git').glob('worktrees/*')))} left"
    return {"output": {"summary": summary}}


def big(strategy: str) -> BlockRun:
    replies = {
        name: {
            "ticks": 1 if name == FIRST else 30 + at,
            "write": {SHARED: f"by {name}\n", f"new/{name}.py": f"{name}\n"},
        }
        for at, name in enumerate(LANES)
        if name != DOOMED
    }
    choices = {SHARED: LANES[3]} if strategy == "fail-on-conflict" else {}
    return run(
        definition(strategy),
        {DOOMED: doomed, "after": look_around},
        repo={"files": FILES, "git": "clean"},
        replies=replies,
        conflicts=choices,
    )


@cache
def once(strategy: str) -> BlockRun:
    return big(strategy)


@pytest.mark.parametrize(
    "strategy",
    ["workspace", *(pytest.param(name, marks=pytest.mark.deep) for name in ("concatenate", "fail-on-conflict"))],
)
def test_twenty_lanes(strategy: str) -> None:
    made = once(strategy)
    winner = {"concatenate": None, "workspace": FIRST, "fail-on-conflict": LANES[3]}[strategy]
    alive = [name for name in LANES if name != DOOMED]
    expected = dict(FILES)
    if winner is not None:
        expected |= {SHARED: f"by {winner}\n", **{f"new/{name}.py": f"{name}\n" for name in alive}}
    assert made.files == expected
    assert made.golden["outputFolder"] == ["block-after.json", *(f"block-{name}.json" for name in LANES)]
    assert {name: made.nodes[name].value for name in LANES} == {**dict.fromkeys(alive, "completed"), DOOMED: "failed"}
    [merged] = made.fan_ins
    assert merged["isolation"] == "git-worktree"
    [conflict] = merged["result"]["conflicts"] or [{"lanes": None}]
    assert conflict["lanes"] == ([name for name in merged["completionOrder"] if name != DOOMED] if winner else None)
    assert len(data(made, "lane:conflict-detected")) == (1 if strategy == "workspace" else 0)
    assert [each["pointer"] for each in made.blockers] == [{"kind": "block", "nodeId": DOOMED}]
    steps = {step["node"]: step for step in made.steps}
    assert steps[DOOMED]["output"]["summary"] == f"Block {DOOMED} ended with exit code 137."
    assert {SHARED, "half0.py"} <= set(steps[DOOMED]["detected"])
    assert steps["after"]["output"]["summary"] == "1 worktree, workspace, 0 left"


@pytest.mark.deep
def test_the_result_is_the_same_every_time() -> None:
    def settled(made: BlockRun) -> dict[str, Any]:
        # How far the process came before it was killed is up to the machine.
        steps = [{**step, "detected": None} if step["node"] == DOOMED else step for step in made.steps]
        return {**made.golden, "steps": steps}

    assert settled(big("workspace")) == settled(once("workspace"))


# ------------------------------------------------------------------------------------------------------ repository


def test_commits_do_not_depend_on_who_makes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heads = []
    for name, zone in (("one", "Asia/Tokyo"), ("two", "UTC")):
        monkeypatch.setenv("TZ", zone)
        monkeypatch.setenv("GIT_AUTHOR_NAME", name)
        monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.py").write_text("a\n")
        Repository(str(folder)).create(with_files=True)
        heads.append((folder / ".git" / "refs" / "heads" / "main").read_text())
    assert heads[0] == heads[1]
    assert not (tmp_path / "elsewhere").exists()


def test_what_git_is_told_by_the_machine_is_not_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    marker = tmp_path / "hook-ran"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    hook = hooks / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch '{marker}'\n")
    hook.chmod(0o755)
    (home / ".gitconfig").write_text(f"[core]\n\thooksPath = {hooks}\n[user]\n\tuseConfigOnly = true\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(hooks))
    folder = tmp_path / "repository"
    folder.mkdir()
    repository = Repository(str(folder))
    repository.create(with_files=True)
    repository.add_worktree(str(tmp_path / "tree"))
    assert repository.worktrees() == [str(folder), str(tmp_path / "tree")]
    assert not marker.exists()
    remove_tree(str(tmp_path / "tree"))
    repository.forget_worktrees()
    assert repository.worktrees() == [str(folder)]


def test_a_worktree_that_was_damaged_is_removed_too(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "a.py").write_text("a\n")
    repository = Repository(str(folder))
    repository.create(with_files=True)
    tree = tmp_path / "tree"
    repository.add_worktree(str(tree))
    (tree / ".git").unlink()
    (tree / "locked").mkdir()
    (tree / "locked" / "x").write_text("x")
    os.chmod(tree / "locked", 0)
    remove_tree(str(tree))
    repository.forget_worktrees()
    assert not tree.exists()
    assert repository.worktrees() == [str(folder)]


def test_without_git_a_run_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ScenarioInvalid, match="a dirty repository needs git, which is not installed"):
        run(workflow(node("a")), repo={"git": "dirty"})
    assert run(workflow(node("a"))).execution_status == "completed"


def two_groups() -> dict[str, Any]:
    first, second = group("a", "b", ident="g1"), group("c", "d", ident="g2")
    edges = [edge("a", "c"), edge("b", "d")]
    return workflow(*(node(name, "coding") for name in "abcd"), edges=edges, parallelGroups=[first, second])


def test_a_worktree_that_a_lane_locked_is_gone_too(tmp_path: Path) -> None:
    def locks(workspace: Path, **_: Any) -> None:
        subprocess.run(["git", "worktree", "lock", str(workspace)], cwd=workspace, check=True)
        (workspace / "a.py").write_text("a")

    # Nothing is committed between the groups, so only the first one has worktrees.
    made = run(two_groups(), {"a": locks}, repo={"files": {"x.py": "x"}, "git": "clean"}, keep=tmp_path / "kept")
    assert [fan_in["isolation"] for fan_in in made.fan_ins] == ["git-worktree", "temp-copy"]
    assert Repository(str(tmp_path / "kept")).worktrees() == [str(tmp_path / "kept")]


def test_a_worktree_that_an_agent_made_for_itself_is_not_ours_to_remove(tmp_path: Path) -> None:
    mine = tmp_path / "mine"

    def adds(workspace: Path, **_: Any) -> None:
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(mine)], cwd=workspace, check=True)

    run(two_groups(), {"a": adds}, repo={"files": {"x.py": "x"}, "git": "clean"})
    assert (mine / "x.py").read_text() == "x"


def test_lanes_see_what_git_ignores() -> None:
    """A worktree of the head commit would hide what an earlier block built."""
    seen: list[str] = []

    def looks(workspace: Path, **_: Any) -> None:
        seen.append((workspace / "build" / "made.txt").read_text())

    flow = workflow(
        node("p", "coding"),
        *(node(name, "coding") for name in "ab"),
        edges=[edge("p", "a"), edge("p", "b")],
        parallelGroups=[group("a", "b")],
    )
    repo = {"files": {".gitignore": "build/\n.output/\n"}, "git": "clean"}
    made = run(flow, {"a": looks}, repo=repo, replies={"p": {"write": {"build/made.txt": "made"}}})
    assert seen == ["made"]
    assert made.fan_ins[0]["isolation"] == "temp-copy"
    idle = run(flow, repo=repo)
    assert idle.fan_ins[0]["isolation"] == "git-worktree"


def sequel() -> dict[str, Any]:
    """A block, p, then a group of a and b."""
    lanes = [node(name, "coding") for name in "ab"]
    edges = [edge("p", "a"), edge("p", "b")]
    return workflow(node("p", "coding"), *lanes, edges=edges, parallelGroups=[group("a", "b")])


def test_lanes_see_what_lies_in_submodules() -> None:
    """A worktree has an empty folder in their place."""
    seen: list[str] = []

    def adds(workspace: Path, **_: Any) -> None:
        inner = workspace / "part"
        inner.mkdir()
        (inner / "f.py").write_text("f\n")
        Repository(str(inner)).create(with_files=True)
        who = ["-c", "user.name=x", "-c", "user.email=x@example.invalid"]
        for command in (["add", "part"], [*who, "commit", "--quiet", "--message=part"]):
            subprocess.run(["git", *command], cwd=workspace, check=True, capture_output=True)

    def looks(workspace: Path, **_: Any) -> None:
        seen.append((workspace / "part" / "f.py").read_text())

    made = run(sequel(), {"p": adds, "a": looks}, repo={"files": {"x.py": "x\n"}, "git": "clean"})
    assert seen == ["f\n"]
    assert made.fan_ins[0]["isolation"] == "temp-copy"


def test_lanes_have_the_very_bytes_of_the_workspace() -> None:
    """Whatever a repository tells git to make of its files on their way to a worktree."""
    attributes = "*.bat text eol=crlf\n*.id ident\n*.wide text working-tree-encoding=UTF-16\n*.f filter=f\n"
    files = {".gitattributes": attributes, "a.bat": "a\n", "b.id": "$Id$\n", "c.wide": "c\n", "d.f": "d\n"}
    seen: dict[str, str] = {}

    def looks(workspace: Path, **_: Any) -> None:
        seen.update({path: (workspace / path).read_bytes().decode() for path in files})

    made = run(sequel(), {"a": looks}, repo={"files": files, "git": "clean"})
    assert made.fan_ins[0]["isolation"] == "git-worktree"
    assert seen == files


@pytest.mark.parametrize("files", [{}, {"x.py": "x\n"}])
def test_a_dirty_repository_is_dirty_even_without_files(files: dict[str, str]) -> None:
    made = run(sequel(), repo={"files": files, "git": "dirty"})
    assert made.fan_ins[0]["isolation"] == "temp-copy"
    assert made.files == files


@pytest.mark.parametrize("leads_to", ["nothing", "a file", "a link"])
def test_a_repository_that_an_agent_took_away_is_not_replaced_by_another_one(
    leads_to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git would look for one in the folders above, or wherever it is sent, and add its worktrees there."""
    other = Repository(str(tmp_path))
    (tmp_path / "theirs.py").write_text("theirs\n")
    other.create(with_files=True)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    seen: list[str] = []

    def takes(workspace: Path, **_: Any) -> None:
        remove_tree(str(workspace / ".git"))
        (workspace / "theirs.py").write_text("theirs\n")
        if leads_to == "a file":
            (workspace / ".git").write_text(f"gitdir: {tmp_path / '.git'}\n")
        elif leads_to == "a link":
            (workspace / ".git").symlink_to(tmp_path / ".git")
        else:
            (workspace / "theirs.py").unlink()

    def looks(workspace: Path, **_: Any) -> None:
        seen.extend(other.worktrees())

    made = run(sequel(), {"p": takes, "a": looks}, repo={"git": "clean"})
    assert made.fan_ins[0]["isolation"] == "temp-copy"
    assert seen == [str(tmp_path)]


@pytest.mark.parametrize("state", ["clean", "none"])
def test_a_script_stays_one(state: str, tmp_path: Path) -> None:
    def writes(workspace: Path, **_: Any) -> None:
        for name in ("new.sh", "old.sh"):
            (workspace / name).write_text("#!/bin/sh\n")
            (workspace / name).chmod(0o755)

    lanes = workflow(*(node(name, "coding") for name in "ab"), parallelGroups=[group("a", "b")])
    run(lanes, {"a": writes}, repo={"files": {"old.sh": "", "x.py": ""}, "git": state}, keep=tmp_path)
    assert [os.access(tmp_path / name, os.X_OK) for name in ("new.sh", "old.sh", "x.py")] == [True, True, False]

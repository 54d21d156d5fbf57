"""Agents and scenarios that mean harm: clear words, nothing outside the workspace, and no hanging."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from block_runs import chain, data, edge, lanes_of, node, run
from effort import patience, times
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail.systems.blocks import Reply, ScenarioInvalid
from pytest_workrail.systems.blocks.block_run import BlockRun
from pytest_workrail.systems.blocks.workspaces import Workspace
from workrail_lint.systems.blocks.paths import is_agents_path

ESCAPES = [
    "../out.txt",
    "/etc/out.txt",
    "a/../../out.txt",
    "C:/out.txt",
    "a\\..\\out.txt",
    "a//b",
    "",
    ".",
    ".git/config",
    "src/.GIT/hooks/x",
    ".git ./x",
    "git~1",
    "src/GIT~1/x",
    ".git::$INDEX_ALLOCATION/x",
    ".git:x",
    ".run/trace.json",
    "nul\0byte",
]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that no run has any business with."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("secret\n")
    return folder


def coder(agent: Callable[..., Any] | None = None, **block: Any) -> BlockRun:
    return run(chain(node("a", "coding")), {"a": agent} if agent else None, **block)


# -------------------------------------------------------------------------------------------------------- scenarios


@pytest.mark.parametrize("path", ESCAPES)
def test_paths_of_a_scenario_stay_inside(path: str) -> None:
    for block in ({"repo": {"files": {path: "x"}}}, {"replies": {"a": {"write": {path: "x"}}}}):
        with pytest.raises(ScenarioInvalid) as problem:
            coder(**block)
        assert [finding.name for finding in problem.value.findings] == ["scenario-path-outside"]


@pytest.mark.parametrize("files", [{"a": "x", "a/b": "y"}, {"x" * 300: "x"}, {"\ud800": "x"}, {".output/a": "x"}])
def test_files_that_can_not_be_there_are_an_error_of_the_scenario(files: dict[str, str]) -> None:
    with pytest.raises(ScenarioInvalid):
        coder(repo={"files": files})


@given(st.text(alphabet=st.sampled_from("ab./\\.gitGIT :\0\ud800~-"), max_size=12))
@settings(max_examples=times(150, deep=1_200), deadline=None)
def test_no_text_is_a_way_out(text: str) -> None:
    if is_agents_path(text):
        place = os.path.normpath(os.path.join("/somewhere/below", *text.split("/")))
        assert place.startswith("/somewhere/below/")
        assert not [name for name in text.lower().split("/") if name.rstrip(" .") == ".git"]


# ----------------------------------------------------------------------------------------------------------- agents


@pytest.mark.parametrize("path", ESCAPES)
def test_writes_of_an_agent_in_python_stay_inside(path: str, tmp_path: Path) -> None:
    made = coder(lambda **_: Reply(write={path: "x", "src/ok.py": "ok\n"}))
    assert made.files == {"src/ok.py": "ok\n"}
    assert len(data(made, "write_blocked")) == 1
    assert "/etc" not in made.golden_bytes.decode()


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "a\\b", "C:/x"])
def test_a_claim_to_have_edited_something_elsewhere_is_rejected(path: str) -> None:
    made = coder(replies={"a": {"output": {"filesModified": [path]}}})
    assert made.steps[0]["synthetic"] == "malformed"
    assert made.blockers[0]["pointer"]["path"] == "/filesModified/0"


@pytest.mark.parametrize("git", ["clean", "none"])
def test_a_link_is_no_way_out_of_a_lane(git: str, outside: Path) -> None:
    def agent(workspace: Path, **_: Any) -> dict[str, Any]:
        (workspace / "link").symlink_to(outside)
        (workspace / "file").symlink_to(outside / "secret.txt")
        return {"write": {"link/new.txt": "x", "file": "x"}, "output": {"filesModified": ["link/secret.txt"]}}

    lanes = lanes_of(node("a", "coding"), node("b", "coding"))
    made = run(lanes, {"a": agent}, repo={"files": {"x.py": "x\n"}, "git": git})
    assert [each["path"] for each in data(made, "write_blocked")] == ["link/new.txt", "file"]
    assert made.steps[0]["synthetic"] == "malformed"
    told = [each.message for each in made.findings if each.code == "BC109"]
    assert len(told) == 3
    assert all("is a link" in message for message in told)
    assert made.files == {"x.py": "x\n"}
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"secret.txt": "secret\n"}


@pytest.mark.parametrize("git", ["clean", "none"])
def test_a_claim_about_files_of_git_is_a_lie_and_nothing_more(git: str) -> None:
    """They are not there for a lane, so that the main workspace should have none either; but they are not its own."""
    claim = {"a": {"output": {"filesModified": [".git/config"]}}}
    made = run(lanes_of(node("a", "coding"), node("b")), replies=claim, repo={"files": {"z": ""}, "git": git})
    assert made.codes == ["BC616"]


def test_a_link_in_the_main_workspace_is_replaced_and_not_followed(outside: Path) -> None:
    def linker(workspace: Path, **_: Any) -> dict[str, Any]:
        (workspace / "src").symlink_to(outside)
        return {"output": {"filesModified": [], "filesCreated": []}}

    def lane(workspace: Path, **_: Any) -> None:
        (workspace / "src").unlink()
        (workspace / "src").mkdir()
        (workspace / "src" / "secret.txt").write_text("mine\n")

    nodes = chain(node("s", "coding"), node("a", "coding"), node("b", "coding"))
    definition = {**nodes, "parallelGroups": lanes_of(node("a"), node("b"))["parallelGroups"]}
    definition["transitions"] = [{**nodes["transitions"][0]}]
    made = run(definition, {"s": linker, "a": lane})
    assert made.files == {"src/secret.txt": "mine\n"}
    assert (outside / "secret.txt").read_text() == "secret\n"


def link_output(workspace: Path, outside: Path) -> None:
    (workspace / ".output" / "block-a.json").symlink_to(outside / "secret.txt")


def folder_output(workspace: Path, outside: Path) -> None:
    (workspace / ".output" / "block-a.json").mkdir()


def pipe_output(workspace: Path, outside: Path) -> None:
    os.mkfifo(workspace / ".output" / "block-a.json")


def huge_output(workspace: Path, outside: Path) -> None:
    with open(workspace / ".output" / "block-a.json", "wb") as file:
        file.truncate(50_000_000)


def utf16_output(workspace: Path, outside: Path) -> None:
    (workspace / ".output" / "block-a.json").write_text('{"blockId": "a"}', encoding="utf-16")


def deep_output(workspace: Path, outside: Path) -> None:
    (workspace / ".output" / "block-a.json").write_text("[" * 200_000)


@pytest.mark.parametrize(
    "harm",
    [link_output, folder_output, pipe_output, huge_output, utf16_output, deep_output],
    ids=lambda harm: harm.__name__,
)
def test_whatever_stands_in_for_an_output_is_rejected(
    harm: Callable[[Path, Path], None], outside: Path, tmp_path: Path
) -> None:
    keep = tmp_path / "kept"
    with patience():
        made = coder(lambda workspace, **_: harm(workspace, outside), keep=keep)
    assert made.steps[0]["synthetic"] == "malformed"
    assert made.blockers[0]["code"] == "BLOCK_OUTPUT_INVALID"
    assert (keep / ".output" / "block-a.json").is_file()
    assert not (keep / ".output" / "block-a.json").is_symlink()
    assert (outside / "secret.txt").read_text() == "secret\n"


@given(st.text(max_size=40) | st.sampled_from(['{"blockId":"a"}', "null", "1e999", '"\\ud800"']))
@settings(max_examples=30, deadline=None)
def test_any_text_can_stand_in_an_output(raw: str) -> None:
    made = coder(replies={"a": {"raw": raw}})
    assert made.steps[0]["synthetic"] == "malformed"
    assert made.golden["outputFolder"] == ["block-a.json", "block-a.json.rejected"]
    assert not [code for code in made.codes if code.startswith("BC7")]


def test_an_output_folder_that_is_a_link_is_not_written_through(outside: Path) -> None:
    def agent(workspace: Path, **_: Any) -> None:
        (workspace / ".output").rmdir()
        (workspace / ".output").symlink_to(outside)

    made = coder(agent)
    assert made.golden["outputFolder"] == ["block-a.json"]
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]


def test_an_agent_that_removes_everything_leaves_a_run_that_says_so() -> None:
    def agent(workspace: Path, **_: Any) -> dict[str, Any]:
        import shutil

        shutil.rmtree(workspace)
        return {"output": "none"}

    definition = chain(node("a", "coding"), node("b"))
    made = run(definition, {"a": agent}, repo={"files": {"x.py": "x\n"}, "git": "clean"})
    assert made.files == {}
    assert made.steps[0]["detected"] == ["x.py"]
    assert made.golden["outputFolder"] == ["block-a.json", "block-b.json"]


def test_files_that_nobody_may_read_do_not_stop_a_run() -> None:
    seen: list[Path] = []

    def agent(workspace: Path, **_: Any) -> None:
        seen.append(workspace)
        (workspace / "locked").mkdir()
        (workspace / "locked" / "x.py").write_text("x")
        os.chmod(workspace / "locked" / "x.py", 0)
        os.chmod(workspace / "locked", 0o500)

    lanes = lanes_of(node("a", "coding"), node("b", "coding"))
    made = run(lanes, {"a": agent}, repo={"files": {"y.py": "y\n"}, "git": "clean"})
    assert made.execution_status == "completed"
    assert not seen[0].exists()


# -------------------------------------------------------------------------------------------------------- workspace


def test_a_second_name_of_a_file_outside_is_no_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next block, and a merge, write a file of their own in its place."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # one file system, or there can be no second name
    monkeypatch.setattr(tempfile, "tempdir", None)
    kept = tmp_path / "kept.txt"
    kept.write_text("kept")

    def ties(workspace: Path, **_: Any) -> None:
        for name in ("next.py", "merged.py"):
            os.link(kept, workspace / name)

    flow = lanes_of(node("b", "coding"), node("c", "coding"))
    flow["nodes"] += [node("a", "coding"), node("n", "coding")]
    flow["transitions"] += [edge("a", "n"), edge("n", "b"), edge("n", "c")]
    written = {"n": {"write": {"next.py": "n"}}, "b": {"write": {"merged.py": "b"}}}
    made = run(flow, {"a": ties}, replies=written)
    assert made.files == {"next.py": "n", "merged.py": "b"}
    assert kept.read_text() == "kept"


@pytest.mark.parametrize("place", ["pipe", ".output/pipe"])
def test_a_pipe_is_copied_to_no_lane(place: str, tmp_path: Path) -> None:
    """It has no content; opening it would wait for somebody who never writes."""

    def leaves(workspace: Path, **_: Any) -> None:
        os.mkfifo(workspace / place)
        (workspace / "a.py").write_text("a")

    flow = lanes_of(node("b", "coding"), node("c", "coding"))
    flow["nodes"].append(node("a", "coding"))
    flow["transitions"] += [edge("a", "b"), edge("a", "c")]
    made = run(flow, {"a": leaves}, keep=tmp_path / "kept")
    assert made.execution_status == "completed"
    assert made.files["a.py"] == "a"
    assert not (tmp_path / "kept" / place).exists()


def test_a_workspace_refuses_to_leave_itself(tmp_path: Path, outside: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(outside)
    (root / "file").write_text("file")
    workspace = Workspace(str(root))
    for path in (*ESCAPES, "link/x", "link", "file/x", "x" * 300):
        assert not workspace.write(path, b"x"), path
    workspace.drop("link/secret.txt")
    workspace.put("link/secret.txt", b"inside")
    assert (outside / "secret.txt").read_text() == "secret\n"
    assert (root / "link" / "secret.txt").read_bytes() == b"inside"


def test_a_name_that_is_no_text_is_a_name_all_the_same() -> None:
    def agent(workspace: Path, **_: Any) -> None:
        with open(os.path.join(os.fsencode(workspace), b"\xff.py"), "wb") as file:
            file.write(b"x\n")

    lanes = lanes_of(node("a", "coding"), node("b", "coding"))
    made = run(lanes, {"a": agent}, repo={"files": {"src/.run/y.py": "y\n"}})
    assert made.steps[0]["output"]["filesCreated"] == ["\udcff.py"]
    assert made.files == {"src/.run/y.py": "y\n", "\udcff.py": "x\n"}

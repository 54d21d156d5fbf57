"""A home for sessions: where it lies, what it holds, and which sessions can be resumed from it.

@enforces data-dir-workrail-owned
"""

from __future__ import annotations

from pathlib import Path

import pytest
from sample_sessions import Story, long_story, tell_short

from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.disk import SystemClock, SystemEntropy, data_root, on_disk
from pytest_workrail.engine.store.filesystem import Holder, on_files
from pytest_workrail.engine.store.gate import healthy_summaries
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, TreeFiles, in_memory
from workrail_lint.base.result import Ok

HOME = Path("/home/somebody")


def test_where_the_data_lives():
    assert data_root({}, HOME) == Ok(HOME / ".local/share/workrail-lint")
    assert data_root({"XDG_DATA_HOME": "/data"}, HOME) == Ok(Path("/data/workrail-lint"))
    assert data_root({"WORKRAIL_DATA_DIR": "/own", "XDG_DATA_HOME": "/data"}, HOME) == Ok(Path("/own"))
    assert data_root({"WORKRAIL_DATA_DIR": "/own"}, HOME, override=Path("/given")) == Ok(Path("/given"))


@pytest.mark.parametrize("root", ["/repo/workflows", "/repo/workflows/.data", "/repo/workflows/a/b"])
def test_data_never_lies_among_workflows(root):
    folders = [Path("/repo/workflows"), Path("/other")]
    assert "holds workflows" in data_root({}, HOME, override=Path(root), workflow_folders=folders).error
    assert data_root({}, HOME, override=Path("/repo/data"), workflow_folders=folders).is_ok


def test_a_home_on_disk_makes_its_folders(tmp_path):
    root = tmp_path / "a" / "b"
    home = on_disk(root, SystemClock(), SystemEntropy()).value
    assert sorted(path.name for path in root.iterdir()) == ["keys", "sessions", "snapshots", "workflows"]
    story = tell_short(Story(home))
    again = on_disk(root, SystemClock(), SystemEntropy()).value
    assert again.stores.sessions.load(story.session_id).value == story.truth
    assert again.keyring.load() == home.keyring.load()


def test_a_home_that_can_not_be_made_is_a_value(tmp_path):
    (tmp_path / "file").write_text("")
    assert "can't be used" in on_disk(tmp_path / "file" / "home", FixedClock(), SeededEntropy("x")).error


def test_two_homes_with_the_same_seed_are_the_same():
    stories = [long_story(in_memory(FixedClock(), SeededEntropy("same"))) for _ in range(2)]
    assert stories[0].truth == stories[1].truth


def test_time_and_chance():
    clock = FixedClock(5, step_ms=2)
    assert [clock.now_ms(), clock.now_ms()] == [5, 7]
    assert SystemClock().now_ms() > 1_600_000_000_000
    entropy = SeededEntropy("x")
    first = entropy.generate(100)
    assert len(first) == 100
    assert entropy.generate(100) != first
    assert SeededEntropy("x").generate(100) == first
    assert len(SystemEntropy().generate(16)) == 16


def test_healthy_sessions_are_summarised_and_others_passed_over():
    files = TreeFiles()
    home = on_files(files, FixedClock(), SeededEntropy("x"), Holder(1, "main", "one"))
    open_one, ended, broken, empty = Story(home), Story(home), Story(home), Story(home)
    open_one.start("first task")
    tell_short(ended)
    broken.start()
    files.contents[layout.manifest(broken.session_id)] = b"{"
    files.contents[layout.lock(empty.session_id)] = b""
    summaries = healthy_summaries(home.stores).value
    assert [summary.session_id for summary in summaries] == [ended.session_id, open_one.session_id]
    last, first = summaries
    assert (first.title, first.pending_step_id, first.is_complete) == ("first task", "step-0", False)
    assert (last.pending_step_id, last.is_complete) == (None, True)
    assert last.modified_ms is not None


def test_a_session_whose_snapshot_is_lost_is_still_listed():
    files = TreeFiles()
    home = on_files(files, FixedClock(), SeededEntropy("x"), Holder(1, "main", "one"))
    story = Story(home)
    story.start()
    del files.contents[layout.snapshot(story.run.nodes[story.root].snapshot_ref)]
    (summary,) = healthy_summaries(home.stores).value
    assert (summary.pending_step_id, summary.is_complete) == (None, False)

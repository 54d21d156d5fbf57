"""Real processes: killed while they write, and competing for one session.

@enforces single-writer-per-session
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sample_sessions import Story

from pytest_workrail.engine.model.events import PreferencesChanged
from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.disk import on_disk
from pytest_workrail.engine.store.gate import Home
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy

WRITER = Path(__file__).with_name("writer_process.py")


@pytest.fixture
def story(tmp_path: Path) -> Story:
    home = on_disk(tmp_path, FixedClock(), SeededEntropy("processes")).value
    story = Story(home)
    story.start()
    return story


def writer(root: Path, story: Story, name: str, count: int) -> subprocess.Popen[str]:
    arguments = [str(root), story.session_id, story.run_id, story.root, name, str(count)]
    return subprocess.Popen([sys.executable, str(WRITER), *arguments], stdout=subprocess.PIPE, text=True)


def changes(home: Home, story: Story) -> list[str]:
    events = home.stores.sessions.load(story.session_id).value.events
    return [event.data.change_id for event in events if isinstance(event, PreferencesChanged)]


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_nothing_acknowledged_is_lost_when_a_writer_is_killed(tmp_path: Path, story: Story):
    acknowledged: list[str] = []
    for life, patience in enumerate((1, 7, 16, 29)):
        (tmp_path / "somebody-is-inside").unlink(missing_ok=True)
        process = writer(tmp_path, story, f"life-{life}", 10_000)
        assert process.stdout is not None
        acknowledged += [process.stdout.readline().strip() for _ in range(patience)]
        process.send_signal(signal.SIGKILL)
        acknowledged += process.stdout.read().split()
        process.wait()
        process.stdout.close()
        stored = changes(story.home, story)[1:]
        # Each life may have finished one append that it had no time to tell about.
        assert [change for change in stored if change in acknowledged] == acknowledged
        assert len(stored) <= len(acknowledged) + life + 1
    assert len(acknowledged) >= 53


def test_competing_writers_take_turns(tmp_path: Path, story: Story):
    # A lock whose owner is dead waits for them, so that they compete for taking it over as well.
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    lock = f'{{"v":1,"pid":{dead.pid},"workerId":"main","instanceId":"gone"}}'
    (tmp_path / layout.lock(story.session_id)).write_text(lock)
    writers = [writer(tmp_path, story, f"writer-{number}", 20) for number in range(3)]
    told = [process.communicate()[0].split() for process in writers]
    expected = [[f"writer-{number}-{turn}" for turn in range(20)] for number in range(3)]
    assert told == expected
    stored = changes(story.home, story)[1:]
    assert sorted(stored) == sorted(change for each in expected for change in each)
    # Each writer's own changes are in the order it made them.
    assert [[change for change in stored if change.startswith(f"writer-{n}-")] for n in range(3)] == expected
    assert not (tmp_path / layout.lock(story.session_id)).exists()

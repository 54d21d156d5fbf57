"""Runs that are killed at any moment: nothing is lost, nothing is half-written, and the next run leaves nothing behind.

The deep ring kills each kind of run often; the usual number only shows that the tests work.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from effort import times

from workrail_lint.systems.workrail.rules.samples import step, workflow

KILLS = times(2, deep=75)
pytestmark = [
    pytest.mark.promise("Writes stay", "runs killed at any moment"),
    pytest.mark.search,
    pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL"),
]
ROOT = Path(__file__).resolve().parents[2]
LINT = [sys.executable, "-m", "workrail_lint"]
FIXABLE = json.dumps(workflow(step("first"), step("second")), indent=2).replace("\n  ]", ",\n  ]")


def killed(command: list[str], folder: Path, after: float) -> bool:
    """Start a command and kill it after a while; whether it was still running."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def duration(command: list[str], folder: Path) -> float:
    start = time.monotonic()
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return time.monotonic() - start


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and ".pytest_cache" not in path.parts
    }


def kill_often(command: list[str], before: Path, tmp_path: Path) -> None:
    """Every file is as it was before or as a whole run makes it, and a whole run afterwards makes it right."""
    whole = tmp_path / "whole"
    shutil.copytree(before, whole)
    takes = duration(command, whole)
    old, new = contents(before), contents(whole)
    assert old != new
    drawn = random.Random(command[-1])
    for turn in range(KILLS):
        folder = tmp_path / f"turn-{turn}"
        shutil.copytree(before, folder)
        killed(command, folder, takes * drawn.uniform(0.4, 1.1))
        for name, data in contents(folder).items():
            # A temporary file may be left by now, under a name of its own.
            assert data in (old.get(name), new.get(name)) or Path(name).name.startswith(".workrail-"), name
        subprocess.run(command, cwd=folder, capture_output=True, check=False)
        assert contents(folder) == new
        shutil.rmtree(folder)


def test_kills_while_fixing(tmp_path: Path) -> None:
    before = tmp_path / "before"
    before.mkdir()
    for number in range(30):
        (before / f"w{number}.json").write_text(FIXABLE.replace("first", f"first-{number}"))
    kill_often([*LINT, "check", "--isolated", "--no-cache", "--fix", "."], before, tmp_path)


def test_kills_while_pinning(tmp_path: Path) -> None:
    before = tmp_path / "before"
    before.mkdir()
    for number in range(10):
        flow = {**workflow(step("first"), step("second")), "id": f"demo.w{number}"}
        (before / f"w{number}.json").write_text(json.dumps(flow))
    subprocess.run([*LINT, "lock", "--isolated", "--update", "w1.json"], cwd=before, capture_output=True, check=True)
    kill_often([*LINT, "lock", "--isolated", "--update", "."], before, tmp_path)


def test_kills_while_goldens_are_written(tmp_path: Path) -> None:
    before = tmp_path / "before"
    before.mkdir()
    (before / "pytest.ini").write_text("[pytest]\n")
    (before / "a.json").write_text(json.dumps(workflow(step("first"), step("second"))))
    source = "def test_{n}(workrail):\n    workrail.run('a.json').match_golden()\n\n"
    (before / "test_it.py").write_text("".join(source.format(n=n) for n in range(12)))
    options = ["-q", "-p", "no:cacheprovider", "--workrail-golden=update"]
    # What Python compiles goes elsewhere, and is kept: pytest's plugins take longer to compile than the tests to run.
    compiled = sys.pycache_prefix or tmp_path / "compiled"
    kill_often([sys.executable, "-X", f"pycache_prefix={compiled}", "-m", "pytest", *options], before, tmp_path)


def test_kills_while_a_session_is_written(tmp_path: Path) -> None:
    """A writer that is killed between any two appends: what it acknowledged is there, and the next one goes on."""
    script = ROOT / "tests" / "store" / "kill_writer.py"
    acknowledged: list[str] = []
    for turn in range(KILLS):
        command = [sys.executable, str(script), str(tmp_path / "home"), f"turn-{turn}"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        acknowledged += [process.stdout.readline().strip() for _ in range(turn % 7 + 1)]
        process.send_signal(signal.SIGKILL)
        acknowledged += process.stdout.read().split()
        process.wait()
        process.stdout.close()
    shown = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "home")], capture_output=True, text=True, check=True
    )
    stored = shown.stdout.split()
    assert [change for change in stored if change in set(acknowledged)] == acknowledged
    assert len(stored) <= len(acknowledged) + KILLS
    assert [path for path in (tmp_path / "home").rglob("*") if path.name.endswith((".tmp", ".lock"))] == []

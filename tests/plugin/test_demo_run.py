"""The part of the demo that runs a workflow tells its story: a blocker, the fix, a changed prompt, the way on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STORY = [
    "scenarios/review.scenario.json:7:26: blocker 1: expected none, found MISSING_REQUIRED_OUTPUT",
    "blocked at give-verdict: MISSING_REQUIRED_OUTPUT",
    "1 failed",
    "1 written:",
    "1 passed",
    "golden differs: prompt of 'read-change': 2 words",
    "[-Read-]{+Skim+} the[- whole-] change.",
    "1 failed",
    "$ workrail-test golden diff",
    "prompt of 'read-change': 2 words, in 1 run",
    "$ workrail-test golden accept --all",
    "accepted [",
    "demo.code_review    3/3",
    "1 passed",
]


def test_the_story_is_told(tmp_path: Path) -> None:
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", str(ROOT / "scripts" / "demo-run.sh")],
        cwd=tmp_path,
        env={**os.environ, "PATH": programs, "CI": "true"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    position = 0
    for line in STORY:
        position = done.stdout.find(line, position)
        assert position >= 0, f"{line}\nis not told in\n{done.stdout}"
    assert list(tmp_path.iterdir()) == []

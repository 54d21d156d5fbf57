"""The same bytes whatever the hash seed, the time zone, the folder and the temporary folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail.golden.encoding import dumps
from pytest_workrail.systems.blocks.workspaces import is_git_installed

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "fixtures" / "scenarios" / "blocks"
NAMES = ("first-to-finish-wins", "edits-nobody-committed", "release-train", "broken-output")
PLAY = """
import sys
from pytest_workrail.systems import blocks
for name in sys.argv[1:]:
    sys.stdout.buffer.write(blocks.run(name).golden_bytes)
"""


def played(folder: Path, **environment: str) -> bytes:
    paths = [os.path.relpath(SCENARIOS / f"{name}.scenario.json", folder) for name in NAMES]
    inherited = {name: value for name, value in os.environ.items() if name not in ("TZ", "PYTHONHASHSEED", "TMPDIR")}
    made = subprocess.run(
        [sys.executable, "-c", PLAY, *paths],
        cwd=folder,
        env={**inherited, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        check=True,
    )
    return made.stdout


@pytest.mark.skipif(not is_git_installed(), reason="git is not installed")
def test_runs_are_the_same_everywhere(tmp_path: Path) -> None:
    scratch = tmp_path / "a folder for scratch"
    scratch.mkdir()
    one = played(ROOT, PYTHONHASHSEED="0", TZ="UTC")
    other = played(tmp_path, PYTHONHASHSEED="4711", TZ="Pacific/Chatham", TMPDIR=str(scratch), LC_ALL="C")
    assert one == other
    assert b"blocks-" not in one
    assert str(tmp_path).encode() not in other
    assert list(scratch.iterdir()) == []


@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner), max_leaves=8)
)
@settings(max_examples=times(25, deep=200))
def test_any_text_has_a_golden(value: object) -> None:
    import json

    data = dumps({"member": value}, sort_keys=True)
    assert data.endswith(b"\n")
    assert json.loads(data) == {"member": value}

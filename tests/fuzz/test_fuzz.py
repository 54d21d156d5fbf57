"""The targets of the fuzzer hold on what it starts from, on simple damage to it, and on all that it ever found."""

from __future__ import annotations

import importlib.util
import random
import subprocess
import sys
from pathlib import Path

import pytest
from effort import times

from tests.fuzz.damage import damaged_json
from tests.fuzz.targets import TARGETS

pytestmark = pytest.mark.promise("Reads are bounded", "any bytes at all")

FOUND = Path(__file__).with_name("found")


@pytest.mark.search
@pytest.mark.parametrize("name", TARGETS)
def test_a_target_takes_its_seeds_and_damaged_ones(name: str) -> None:
    target = TARGETS[name]
    assert target.seeds
    drawn = random.Random(name)
    for seed in (b"", b"\xff", b"[" * 5_000, *target.seeds):
        target.run(seed)
        for _ in range(times(2, deep=100)):
            damaged = bytearray(seed[:4_000])
            for _ in range(drawn.randrange(1, 6)):
                at = drawn.randrange(len(damaged) + 1)
                damaged[at : at + drawn.randrange(3)] = drawn.randbytes(drawn.randrange(3))
            target.run(bytes(damaged))
            target.run(damaged_json(seed, drawn) or b"")


@pytest.mark.parametrize("path", sorted(FOUND.iterdir()) if FOUND.is_dir() else [], ids=lambda path: path.name)
def test_what_was_found_is_mended(path: Path) -> None:
    TARGETS[path.name.rpartition("-")[0]].run(path.read_bytes())


@pytest.mark.deep
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed: pip install atheris")
def test_the_fuzzer_runs() -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--blind", "--seconds", "1", "lockfile"]
    ran = subprocess.run(command, cwd=FOUND.parents[2], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr  # which includes that it began with its seeds
    assert "lockfile: " in ran.stdout

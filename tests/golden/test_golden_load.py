"""Thousands of pending goldens: the work for each one is the same, however many there are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from effort import lines_run
from golden_made_up import made_up

from pytest_workrail.cli import main
from pytest_workrail.golden import files
from pytest_workrail.golden.document import golden_bytes
from pytest_workrail.golden.pending import pending_bytes

OLD = golden_bytes(made_up("One.", "Two."))


def _pending(folder: Path, count: int, text: Callable[[int], str]) -> None:
    goldens = folder / "__goldens__" / "test_it"
    goldens.mkdir(parents=True)
    for number in range(count):
        (goldens / f"t[{number}].golden.json").write_bytes(OLD)
        new = golden_bytes(made_up("One.", text(number)))
        (goldens / f"t[{number}].golden.json.pending").write_bytes(pending_bytes(f"test_it.py::t[{number}]", OLD, new))


@pytest.mark.parametrize("text", [lambda number: f"Two and {number}.", lambda number: "Both."], ids=["own", "shared"])
@pytest.mark.parametrize("command", [["list"], ["list", "--json"], ["accept", "--all"]], ids=" ".join)
def test_four_times_the_goldens_are_four_times_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], text: Callable[[int], str]
) -> None:
    monkeypatch.setenv("CI", "")
    lines = {}
    for count in (1, 30, 120):  # the first one loads what is loaded once
        folder = tmp_path / str(count)
        _pending(folder, count, text)
        monkeypatch.chdir(folder)
        lines[count] = lines_run(lambda: main(["golden", *command]))
    assert lines[120] < 4.2 * lines[30]


def test_a_folder_is_listed_and_synced_once_for_all_its_goldens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    listdir, fsync = os.listdir, os.fsync
    monkeypatch.setattr(os, "listdir", lambda *where: (calls.append("listed"), listdir(*where))[1])
    monkeypatch.setattr(os, "fsync", lambda handle: (calls.append("synced"), fsync(handle))[1])
    counts = []
    for count in (5, 20):
        calls.clear()
        written = files.write_all({tmp_path / f"{count}.{number}": b"{}" for number in range(count)})
        assert written.is_ok
        counts.append((calls.count("listed"), calls.count("synced") - count))
    assert counts[0] == counts[1] == (2, 1)  # listed once to sweep, once for the names of all others

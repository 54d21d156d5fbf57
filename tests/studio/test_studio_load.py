"""A page of thousands of workflows is made of one at a time."""

from __future__ import annotations

import gc
import json
import tracemalloc
from pathlib import Path

import pytest

from workrail_lint.cli import main
from workrail_lint.systems.workrail.rules.samples import step, workflow

LIMIT = 30_000  # bytes of memory; unpacked, what the page shows of it takes twice as much


def test_a_workflow_more_is_what_the_page_shows_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peaks = {}
    for count in (1, 40, 160):  # the first one loads what is loaded once
        folder = tmp_path / str(count)
        folder.mkdir()
        monkeypatch.chdir(folder)
        for number in range(count):
            steps = [step(f"step-{each}") for each in range(3)]
            (folder / f"w{number}.json").write_text(json.dumps(workflow(*steps, id=f"w-{number}")))
        gc.collect()
        tracemalloc.start()
        assert main(["studio", "--output", "page.html"]) == 0
        peaks[count] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (peaks[160] - peaks[40]) / 120 < LIMIT

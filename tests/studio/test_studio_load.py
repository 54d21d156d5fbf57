"""A page of thousands of workflows is made of one at a time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from effort import peak_memory

from workrail_lint.cli import main
from workrail_lint.systems.workrail.rules.samples import step, workflow

LIMIT = 12_000  # bytes of memory; unpacked, what the page shows of it takes twice as much


def test_a_workflow_more_is_what_the_page_shows_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peaks = {}
    for count in (1, 10, 40):  # the first one loads what is loaded once
        folder = tmp_path / str(count)
        folder.mkdir()
        monkeypatch.chdir(folder)
        for number in range(count):
            steps = [step(f"step-{each}") for each in range(3)]
            (folder / f"w{number}.json").write_text(json.dumps(workflow(*steps, id=f"w-{number}")))
        peaks[count] = peak_memory(lambda: main(["studio", "--output", "page.html"]))
        assert (folder / "page.html").exists()
    assert (peaks[40] - peaks[10]) / 30 < LIMIT, peaks

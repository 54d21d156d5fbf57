"""Work grows with the input, not with its square: lines of Python that run, counted for what once was worst."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest

from benchmarks.__main__ import MODULES
from benchmarks.growth import COMMANDS, INPUTS, text_of
from tests.effort import lines_run
from workrail_lint import check_text
from workrail_lint.documents.source_text import SourceText

# Four times the input may take 1.2 times as much for each piece of it; a square would take four times as much.
_SMALL, _LARGE = 40, 160
_MOST = 4**1.2


@pytest.mark.parametrize("name", ["run conditions", "variables", "loops", "steps that set one variable", "findings"])
def test_checking_grows_with_the_workflow(name: str) -> None:
    def cost(size: int) -> int:
        text = text_of(INPUTS[name](size))
        return lines_run(lambda: check_text(text, "workflows/large.json"))

    cost(4)  # what is imported, compiled and read once
    assert cost(_LARGE) < _MOST * cost(_SMALL)


@pytest.mark.parametrize("name", ["check: suppressions", "diff: steps", "lock --check: entries"])
def test_commands_grow_with_what_they_are_given(name: str, tmp_path: Path) -> None:
    def cost(size: int) -> int:
        folder = tmp_path / str(size)
        folder.mkdir()
        return lines_run(COMMANDS[name](folder, size))

    before = os.getcwd()
    cost(4)
    assert cost(_LARGE) < _MOST * cost(_SMALL)
    assert os.getcwd() == before


def test_a_place_is_found_without_reading_all_that_is_before_it() -> None:
    text = SourceText("é\r\nab\n" * 30_000)
    for offset in (0, 1, 2, 3, 4_095, 4_096, 4_097, len(text.text) - 1, len(text.text)):
        place = text.position(offset)
        assert place.byte_offset == len(text.text[:offset].encode())
        before = text.text[:offset].replace("\r\n", "\n")
        assert place.line == before.count("\n") + 1


@pytest.mark.parametrize("name", MODULES)
def test_every_benchmark_can_be_run(name: str) -> None:
    assert callable(importlib.import_module(f"benchmarks.{name}").run)

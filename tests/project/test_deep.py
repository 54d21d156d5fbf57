"""The deep ring keeps to its time, and never lists as passed what did not run."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest

from tools import deep
from tools.deep import Part


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def outcomes(
    parts: list[Part], minutes: float, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[str]]:
    def fixed(seed: str) -> Iterator[Part]:
        yield from parts

    monkeypatch.setattr(deep, "parts", fixed)
    code = deep.main(["--minutes", str(minutes), "--seed", "x"])
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("==")]
    figures = re.compile(r", \d+\.\d minutes, \d+ s of processor time$")
    assert all("left out" in line or figures.search(line) for line in lines)
    return code, [figures.sub("", line) for line in lines]


def test_a_part_passes_fails_or_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    short, long = Part("short", 0, python("")), Part("long", 600, python("raise SystemExit(1)"))
    assert outcomes([short, long], 60, monkeypatch, capsys) == (0, ["short: passed", "long: left out"])
    failing = Part("failing", 0, python("raise SystemExit(1)"))
    assert outcomes([failing, short], 60, monkeypatch, capsys) == (1, ["failing: failed", "short: passed"])


def test_a_part_that_takes_too_long_is_stopped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    endless = Part("endless", 0, python("import time; time.sleep(600)"))
    assert outcomes([endless], 0.001, monkeypatch, capsys) == (0, ["endless: stopped"])


def test_a_part_starts_when_half_of_its_time_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise the last part of a night never runs, because no part takes exactly its usual time."""
    parts = [Part("fits", 1.9, python("")), Part("does not fit", 2.1, python(""))]
    assert outcomes(parts, 1, monkeypatch, capsys) == (0, ["fits: passed", "does not fit: left out"])


def test_the_parts_of_a_night_fit_into_an_hour(capsys: pytest.CaptureFixture[str]) -> None:
    assert sum(part.minutes for part in deep.parts("x")) <= 60
    assert deep.main(["--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(list(deep.parts("x")))

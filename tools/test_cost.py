"""A plugin of pytest that measures what each test costs: `-p tools.test_cost --cost FILE`.

FILE gets one line per test, dearest first: its processor time, how long it took, and its name; with workers each writes
FILE.WORKER. Processor time is that of the process and of all processes it started, those included that still run (on
Linux). A test that took much longer than that on a quiet machine waits for something.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_TICKS = os.sysconf("SC_CLK_TCK")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cost", metavar="FILE", help="write the processor time of each test to FILE")


def pytest_configure(config: pytest.Config) -> None:
    target = config.getoption("cost")
    if target is not None:
        worker = os.environ.get("PYTEST_XDIST_WORKER")
        config.pluginmanager.register(_Cost(Path(f"{target}.{worker}" if worker else target)))


class _Cost:
    def __init__(self, target: Path) -> None:
        self._target = target
        self._costs: dict[str, tuple[float, float]] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before, started = _processor_seconds(), time.monotonic()
        result = yield
        self._costs[item.nodeid] = _processor_seconds() - before, time.monotonic() - started
        return result

    def pytest_sessionfinish(self) -> None:
        ranked = sorted(self._costs.items(), key=lambda each: each[1], reverse=True)
        lines = (f"{seconds:8.3f} {elapsed:8.3f} {test}\n" for test, (seconds, elapsed) in ranked)
        self._target.write_text("".join(lines), encoding="utf-8")


def _processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used) + _of_children(os.getpid())


def _of_children(process: int) -> float:
    """Return the processor time of processes that still run, and of those that they waited for."""
    seconds = 0.0
    for listed in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = [int(child) for child in listed.read_text().split()]
            for child in children:
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                seconds += sum(map(int, fields[11:15])) / _TICKS + _of_children(child)
        except OSError:
            continue  # it has just ended
    return seconds

"""A plugin of pytest that measures the processor time of each test: `-p tools.test_cost --cost FILE`.

Time of a test is that of its process and of all processes it started, those included that still run (on Linux). FILE
gets one line per test, dearest first; with workers each writes FILE.WORKER.
"""

from __future__ import annotations

import os
import resource
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
        self._seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = _processor_seconds()
        result = yield
        self._seconds[item.nodeid] = _processor_seconds() - before
        return result

    def pytest_sessionfinish(self) -> None:
        ranked = sorted(self._seconds.items(), key=lambda each: -each[1])
        self._target.write_text("".join(f"{seconds:8.3f} {test}\n" for test, seconds in ranked), encoding="utf-8")


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

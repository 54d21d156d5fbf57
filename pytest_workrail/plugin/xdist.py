"""Messages between the processes of a parallel run. Registered only if xdist is active."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_workrail.golden.plugin import goldens_of
from pytest_workrail.run.pytest_session import DESELECTED, GOLDENS, WORKER_CRASHED

_KEY = "workrail"


class Worker:
    """A process that runs tests: at the end it sends what it has seen."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        output: dict[str, Any] = self._config.workeroutput  # type: ignore[attr-defined]  # xdist's own
        goldens = self._config.pluginmanager.get_plugin(GOLDENS)
        output[_KEY] = {
            "goldens": None if goldens is None else goldens.session.worker_state(),
            "deselected": self._config.stash.get(DESELECTED, 0),
        }


class Controller:
    """The process that distributes tests and is the only one to write: it collects what the workers have seen."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        reported = getattr(node, "workeroutput", {}).get(_KEY)
        if reported is None:
            self._config.stash[WORKER_CRASHED] = True
            return
        if reported["goldens"] is not None:
            goldens_of(self._config).session.merge(reported["goldens"])
        # Every worker collects the same tests, so the largest number is that of all.
        self._config.stash[DESELECTED] = max(self._config.stash.get(DESELECTED, 0), reported["deselected"])

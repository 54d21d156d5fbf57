"""What all tests share: pytest's own bench for plugins, a plain environment, and property tests that draw the same
on every run.

WORKRAIL_SEARCH=1 lets hypothesis draw anew each time, to look for what the usual draws do not show.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from pytest_workrail.golden.modes import BUILD_MACHINE

pytest_plugins = ["pytester"]

settings.register_profile("workrail", deadline=None, derandomize="WORKRAIL_SEARCH" not in os.environ, print_blob=True)
settings.load_profile("workrail")


@pytest.fixture(autouse=True)
def _own_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests act as a person at their own machine, wherever the suite itself runs: goldens are not written in CI."""
    for variable in (*BUILD_MACHINE, "PYTEST_ADDOPTS"):
        monkeypatch.delenv(variable, raising=False)

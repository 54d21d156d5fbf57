"""A folder of goldens as pytest sees it: there may be thousands in it, and none of them is a test."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_workrail.golden.keys import ENDING, PENDING
from pytest_workrail.run.pytest_session import AUTO_WORKFLOWS


class GoldenFolder(pytest.Directory):
    """A folder in which there is nothing to collect."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        return ()


def golden_folder(path: Path, parent: pytest.Collector) -> GoldenFolder | None:
    """The folder as one without tests, if it holds only goldens and nothing in it was asked for by name."""
    if parent.config.getini(AUTO_WORKFLOWS) or parent.session.isinitpath(path, with_parents=True):
        return None
    for at, folders, files in os.walk(path):
        if not all(name.endswith((ENDING, ENDING + PENDING)) for name in files):
            return None
        if any(os.path.islink(os.path.join(at, folder)) for folder in folders):
            return None  # pytest would follow it
    return GoldenFolder.from_parent(parent, path=path)

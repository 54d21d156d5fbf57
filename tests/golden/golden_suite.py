"""A small test suite with goldens, in a folder of its own, run by pytest's own bench."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import golden_made_up
import pytest
from forks import run_pytest, run_pytest_here

# Runs in this process forget what they imported; what is imported here, they find already there.
PRELOADED = golden_made_up
# Tests that are marked need not ask for the fixture, whose engine takes a while to load.
CONFTEST = """
import pytest
from golden_made_up import made_up
from pytest_workrail.golden.plugin import check_golden

def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker("workrail")

@pytest.fixture
def golden(request):
    return lambda *prompts, name=None: check_golden(request.config, request.node.nodeid, made_up(*prompts), name)
"""
# The plugin by its module, whether it is installed or not; hypothesis would be imported anew by every run.
OPTIONS = "-p no:workrail -p pytest_workrail.plugin -p no:cacheprovider -p no:hypothesispytest"
ENDING = ".golden.json"
# Parallel updates: how many goldens, workers and rounds. The deep ring looks for what happens now and then.
PARALLEL = [(40, 2, 1), pytest.param(400, 4, 10, marks=pytest.mark.deep)]


class Suite:
    """Tests, their goldens, and runs of them."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        pytester.makeconftest(CONFTEST)
        pytester.makeini(f"[pytest]\naddopts = {OPTIONS}\n")

    def tests(self, **modules: str) -> None:
        """Write test modules; those that are there already are replaced."""
        self.pytester.makepyfile(**modules)

    def run(self, *arguments: str, mode: str | None = None) -> pytest.RunResult:
        """Run all of it, or what the arguments say."""
        chosen = [] if mode is None else [f"--workrail-golden={mode}"]
        return run_pytest_here(self.pytester, "-q", *chosen, *arguments)

    def run_apart(self, *arguments: str, mode: str | None = None) -> pytest.RunResult:
        """The same in a process of its own, as workers of xdist need it."""
        chosen = [] if mode is None else [f"--workrail-golden={mode}"]
        return run_pytest(self.pytester, "-q", *chosen, *arguments)

    def outcomes(self, *arguments: str, mode: str | None = None) -> dict[str, int]:
        return self.run(*arguments, mode=mode).parseoutcomes()

    def golden(self, name: str, module: str = "test_it") -> Path:
        """The file of a golden."""
        return self.path / "__goldens__" / module / f"{name}{ENDING}"

    def files(self) -> dict[str, bytes]:
        """All goldens and whatever lies beside them, by path."""
        found = (path for path in self.path.rglob("__goldens__/**/*") if path.is_file())
        return {path.relative_to(self.path).as_posix(): path.read_bytes() for path in found}

    def names(self) -> list[str]:
        """The names of all files in folders of goldens."""
        return sorted(Path(path).name.removesuffix(ENDING) for path in self.files())


def environment() -> dict[str, Any]:
    """The environment for processes of their own."""
    here = str(Path(__file__).parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))}

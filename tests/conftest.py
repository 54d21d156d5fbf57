"""What all tests share: pytest's own bench for plugins, a plain environment, and property tests that draw the same
few examples on every run. `make test-deep` draws many, anew each time (`--hypothesis-profile=deep`).
"""

from __future__ import annotations

import gc
import os
import pkgutil
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from shutil import which

import pytest
from effort import FEW
from hypothesis import HealthCheck, settings

import pytest_workrail
import workrail_lint
from pytest_workrail.golden.golden_records import BUILD_MACHINE

pytest_plugins = ["pytester"]

# A busy machine must not make a test fail: neither how long an example takes counts, nor how long it takes to draw it.
settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("few", settings.get_profile("any"), derandomize=True, max_examples=FEW)
settings.register_profile("deep", settings.get_profile("any"), max_examples=40 * FEW)
settings.load_profile("few")


class _Optional:
    """Skips a test that needs git or Node where that is not installed, whether the test starts it or our code does.

    A plugin and not two hooks of this file, which would not hear of the scenarios in `fixtures/`.
    """

    @contextmanager
    def _skipping(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            for program in ("git", "node", "npm"):
                started = isinstance(error, FileNotFoundError) and error.filename == program
                if (started or re.search(rf"{program}(, which)? is not installed", str(error))) and not which(program):
                    pytest.skip(f"{program} is not installed")
            raise

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        with self._skipping():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        with self._skipping():
            return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Let an interrupt interrupt, also where a shell started the suite in the background, which ignores it.

    The garbage collector comes round less often: tests make many objects and keep few. With the usual thresholds a
    tenth of all time is spent on looking at them, while tests are collected and while they run.
    """
    gc.set_threshold(50_000, 20, 50)
    config.pluginmanager.register(_Optional())
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Keep what was collected out of every round of the garbage collector."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where Python may not keep what it compiled, the processes that tests start share it in a temporary folder.

    Otherwise pytest rewrites its plugins anew at each start, which takes three times as long as everything else.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        if sys.dont_write_bytecode:
            patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
            patch.setenv("PYTHONPYCACHEPREFIX", str(shared / "pycache"))
        yield


@pytest.fixture(scope="session")
def user_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache folder of the person that the tests act as."""
    return tmp_path_factory.mktemp("user-cache")


@pytest.fixture(autouse=True)
def _own_machine(monkeypatch: pytest.MonkeyPatch, user_cache: Path) -> None:
    """Tests act as a person at their own machine, wherever the suite itself runs: goldens are not written in CI."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(user_cache))
    for variable in BUILD_MACHINE:
        monkeypatch.delenv(variable, raising=False)
    # Runs of pytest inside tests use none of these plugins, and importing them takes half of such a run.
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:anyio")


@pytest.fixture(scope="session")
def _all_of_us() -> None:
    """Every module of ours, loaded."""
    for package in (workrail_lint, pytest_workrail):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)


@pytest.fixture
def pytester(_all_of_us: None, pytester: pytest.Pytester) -> pytest.Pytester:
    """pytest's bench. What a run inside this process is the first to import is forgotten after it, and imported
    again would be there twice: two classes of one name, of which a later test sees either.
    """
    return pytester


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `fixtures/broken` of a new root, with the bad examples of all rules. Tests only read it."""
    from tools.broken_files import write_broken

    folder = tmp_path_factory.mktemp("root") / "fixtures" / "broken"
    write_broken(folder)
    return folder

"""The pytest plugin: only hooks. Everything else is imported when it is needed."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_workrail.plugin.options import add_options, configure
from pytest_workrail.run.pytest_session import DESELECTED

if TYPE_CHECKING:
    from pytest_workrail.plugin.fixture import Workrail

_SCENARIO = ".scenario.json"


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    configure(config)


# A folder may contain items directly, so this need not return a collector.
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | pytest.Item | None:
    name = file_path.name
    if name.endswith((".json", ".jsonl")) and file_path.is_symlink() and _leads_out(file_path, parent):
        return None
    if name.endswith(_SCENARIO):
        from pytest_workrail.scenarios.collection import scenario_node

        return scenario_node(file_path, parent)
    if name.endswith((".session.json", "manifest.jsonl")) and parent.config.getini("workrail_sessions"):
        from pytest_workrail.sessions.collection import session_file

        return session_file(file_path, parent)
    if name.endswith(".json") and parent.config.getini("workrail_auto"):
        from pytest_workrail.scenarios.collection import workflow_file

        return workflow_file(file_path, parent)
    return None


def _leads_out(path: Path, parent: pytest.Collector) -> bool:
    """Return whether a link that nobody named leads out of the project. What it leads to is none of its tests."""
    from workrail_lint.base.files import is_below, output_root

    root = str(parent.config.rootpath)
    if parent.session.isinitpath(path) or is_below(str(path), (root, output_root(root))):
        return False
    if path.name.endswith(_SCENARIO):
        message = f"{path.name} is not read: it is a symbolic link that leads out of the project"
        parent.warn(pytest.PytestCollectionWarning(ascii(message)[1:-1]))
    return True


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if path.name != "__goldens__":
        return None
    from pytest_workrail.golden.plugin import golden_folder

    return golden_folder(path, parent)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        item.config.stash[DESELECTED] = item.config.stash.get(DESELECTED, 0) + 1


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Goldens need to know how every test ends, so they start before the first test if any test may have one."""
    config = session.config
    if config.getoption("collectonly"):
        return
    uses = any(
        "workrail" in getattr(item, "fixturenames", ()) or item.get_closest_marker("workrail") for item in session.items
    )
    if uses and any(item.path.name.endswith(_SCENARIO) for item in session.items):
        from pytest_workrail.scenarios.collection import show_folders

        show_folders(config)
    if uses or config.getoption("workrail_golden") != "check":
        from pytest_workrail.golden.plugin import goldens_of

        goldens_of(config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure of a test of ours shows text of documents."""
    report = yield
    if report.longrepr is not None and (
        "workrail" in getattr(item, "fixturenames", ()) or item.get_closest_marker("workrail")
    ):
        from pytest_workrail.plugin.reports import neutralise

        neutralise(report)
    return report


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: object, right: object) -> list[str] | None:
    """Return why a run is not what a test says it is."""
    run = getattr(left, "run", None) or getattr(right, "run", None)
    if run is None:
        return None
    from pytest_workrail.plugin.reports import explanation

    return explanation(run, op, left, right, config.getoption("verbose") > 1)


@pytest.fixture
def workrail(request: pytest.FixtureRequest) -> Workrail:
    """Runs workflows against simulated agents: `run`, `script`, `auto`, `compare`, `compile`."""
    from pytest_workrail.plugin.fixture import Workrail

    return Workrail(request)

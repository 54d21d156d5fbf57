"""The options and ini values of the plugin, and the plugins they need.

Imported at every start of pytest, so everything else is imported only if an option needs it.
"""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

from pytest_workrail.golden.golden_records import add_options as golden_options
from pytest_workrail.run.pytest_session import (
    AUTO_WORKFLOWS,
    SESSION_WORKFLOWS,
    SESSIONS,
)

MARKER = "workrail: a scenario, a workflow from workrail_auto or a session from workrail_sessions"

LOCKS_MARKER = "enforces(*lock_ids): this test fails if one of these design locks is broken"
# Options that need a lock registry.
_ABOUT_A_REGISTRY = (
    "--workrail-locks-check",
    "--workrail-locks-fail-under",
    "--workrail-locks-proven-fail-under",
    "--workrail-lock-report",
    "--workrail-locks-verify",
    "--workrail-lock-record",
    "--workrail-locks-prove",
    "--workrail-locks-accept",
)


def add_options(parser: pytest.Parser) -> None:
    """Everything that starts with `workrail`."""
    group = parser.getgroup("workrail", "agent workflows: scenarios, goldens, coverage, locks")
    golden_options(group)
    group.addoption(
        "--workrail-record",
        metavar="DIR",
        dest="workrail_record",
        help="Write to this folder what this machine saw of goldens, coverage and locks, for workrail-test combine.",
    )
    _add_workflow_options(group)
    _add_lock_options(group)
    parser.addini(
        AUTO_WORKFLOWS,
        "glob patterns of workflow files to run with the automatic agent, under both profiles",
        type="args",
        default=[],
    )
    parser.addini(SESSIONS, "folders with recorded sessions, each of which is replayed as a test", "args", [])
    parser.addini(
        SESSION_WORKFLOWS,
        "workflow files, or folders with them, that the recorded sessions are replayed on (default: the project's)",
        type="args",
        default=[],
    )


def configure(config: pytest.Config) -> None:
    """Register the markers and the plugins that the options need."""
    config.addinivalue_line("markers", MARKER)
    _configure_coverage(config)
    if config.getini(SESSIONS):
        from pytest_workrail.sessions.collection import add_to_arguments

        add_to_arguments(config)
    if hasattr(config, "workerinput"):
        from pytest_workrail.golden.plugin import Worker

        config.pluginmanager.register(Worker(config), "workrail-worker")
        return
    if config.getoption("workrail_record") is not None and not config.getoption("collectonly"):
        from pytest_workrail.plugin.suite_records import Recorder

        config.pluginmanager.register(Recorder(config), "workrail-recorder")
    if config.getoption("workrail_html") is not None and not config.getoption("collectonly"):
        from pytest_workrail.plugin.suite_records import StudioPage

        config.pluginmanager.register(StudioPage(config), "workrail-studio")
    if config.getini(AUTO_WORKFLOWS):
        from pytest_workrail.scenarios.collection import warn_of_unused_patterns

        warn_of_unused_patterns(config)
    if config.pluginmanager.hasplugin("xdist") and config.getoption("dist", "no") != "no":
        from pytest_workrail.golden.plugin import Controller

        config.pluginmanager.register(Controller(config), "workrail-controller")


def _coverage_view(text: str) -> str:
    if text in ("table", "missing"):
        return text

    # A path after the option would be parsed as its value, which is never meant.
    raise ArgumentTypeError(
        f"{text!r} is neither 'table' nor 'missing'; put paths before --workrail-cov, or write --workrail-cov=table"
    )


def percentage(text: str) -> float:
    """Return a number from 0 to 100; any other number would always pass or always fail."""
    number = float(text)
    if not 0 <= number <= 100:
        raise ValueError(text)
    return number


def _add_workflow_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--workrail-cov",
        nargs="?",
        const="table",
        type=_coverage_view,
        metavar="missing",
        dest="workrail_cov",
        help="Show how much of each workflow the passing tests cover; `missing` also lists what they don't cover.",
    )
    group.addoption(
        "--workrail-cov-strong",
        action="store_true",
        dest="workrail_cov_strong",
        help="Also count which member of a condition decides, the order of neighbours, and dimensions left out.",
    )
    group.addoption(
        "--workrail-cov-json",
        metavar="FILE",
        dest="workrail_cov_json",
        help="Write the workflow coverage to this file, with the tests that cover each point.",
    )
    group.addoption(
        "--workrail-cov-fail-under",
        metavar="PERCENT",
        type=percentage,
        dest="workrail_cov_fail_under",
        help="Fail if the workflow coverage is lower than this.",
    )
    group.addoption(
        "--workrail-cov-source",
        metavar="PATH",
        action="append",
        default=[],
        dest="workrail_cov_source",
        help="Also count the workflows in this file or folder that no test runs.",
    )

    group.addoption(
        "--workrail-runs-json",
        metavar="FILE",
        dest="workrail_runs_json",
        help="Write every run of a workflow to this file: each call with its answer, branch, parent and round.",
    )
    group.addoption(
        "--workrail-html",
        metavar="FILE",
        dest="workrail_html",
        help="Write a page of the project to this file: every workflow with its coverage, runs and golden changes.",
    )


def _add_lock_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--workrail-locks",
        metavar="REGISTRY",
        dest="workrail_locks",
        help="Report which design locks of this registry the tests enforce.",
    )
    group.addoption(
        "--workrail-locks-fail-under",
        metavar="PERCENT",
        type=percentage,
        dest="workrail_locks_fail_under",
        help="Fail if fewer locks than this are enforced.",
    )
    group.addoption(
        "--workrail-locks-check",
        action="store_true",
        dest="workrail_locks_check",
        help="Fail if any lock is not enforced.",
    )
    group.addoption(
        "--workrail-locks-proven-fail-under",
        metavar="PERCENT",
        type=percentage,
        dest="workrail_locks_proven_fail_under",
        help="Fail if fewer locks than this are proven.",
    )
    group.addoption(
        "--workrail-lock-report",
        metavar="FOLDER",
        dest="workrail_lock_report",
        help="Write lock-coverage.json, lock-coverage.md and lock-closure-plan.md to this folder.",
    )
    group.addoption(
        "--workrail-locks-verify",
        action="store_true",
        dest="workrail_locks_verify",
        help="Write no reports; fail if those in the report folder are out of date.",
    )
    group.addoption(
        "--workrail-lock-record",
        metavar="FILE",
        dest="workrail_lock_record",
        help="The lock record, with reviewed locks and proofs (default: `*.record.json` beside the registry).",
    )
    group.addoption(
        "--workrail-locks-prove",
        action="store_true",
        dest="workrail_locks_prove",
        help="Run only the tests that claim locks, then try every sabotage on them, and record what they notice.",
    )
    group.addoption(
        "--workrail-locks-accept",
        metavar="LOCK",
        action="append",
        default=[],
        dest="workrail_locks_accept",
        help="Record that the tests of this lock fit its changed text; `all` for every lock.",
    )
    group.addoption(
        "--workrail-sabotages",
        metavar="MODULE",
        action="append",
        default=[],
        dest="workrail_sabotages",
        help="The sabotages: a module name, a file, or a folder of files.",
    )
    group.addoption(
        "--workrail-sabotage",
        metavar="NAME",
        dest="workrail_sabotage",
        help="Run the tests with this sabotage turned on, to see which ones fail.",
    )


def _configure_coverage(config: pytest.Config) -> None:
    """Register the marker, and what the options ask for."""
    config.addinivalue_line("markers", LOCKS_MARKER)
    option = config.getoption
    if option("collectonly"):
        return  # nothing will run, so there is nothing to measure, to require or to write
    if not option("workrail_locks"):
        _require_registry(config)
    if option("workrail_sabotage") or option("workrail_locks_prove"):
        from pytest_workrail.locks.plugin import prepare

        prepare(config)
    asked = (
        option("workrail_cov"),
        option("workrail_cov_json"),
        option("workrail_cov_fail_under"),
        option("workrail_record"),
        option("workrail_html"),
    )
    if option("workrail_cov_source") or option("workrail_cov_strong") or any(each is not None for each in asked):
        from pytest_workrail.coverage.plugin import CoveragePlugin

        config.pluginmanager.register(CoveragePlugin(config), "workrail-coverage")
    if option("workrail_runs_json") is not None or option("workrail_html") is not None:
        from pytest_workrail.plugin.suite_records import RunsPlugin

        config.pluginmanager.register(RunsPlugin(config), "workrail-runs")
    if option("workrail_locks"):
        from pytest_workrail.locks.plugin import LockPlugin, lock_settings

        config.pluginmanager.register(LockPlugin(config, lock_settings(config)), "workrail-locks")


def _require_registry(config: pytest.Config) -> None:
    """Reject options that need a registry if there is none: a threshold without locks would always hold."""
    for name in _ABOUT_A_REGISTRY:
        value = config.getoption(name)
        if value is not None and value is not False and value != []:
            raise pytest.UsageError(f"{name} needs --workrail-locks=REGISTRY")

"""The options and ini values of the plugin. Loaded at every start of pytest, so they import nothing else."""

from __future__ import annotations

import pytest

from pytest_workrail.run.pytest_session import AUTO_WORKFLOWS, SESSION_WORKFLOWS, SESSIONS

MARKER = "workrail: a scenario, a workflow from workrail_auto or a session from workrail_sessions"


def add_options(parser: pytest.Parser) -> None:
    """Everything that starts with `workrail`."""
    from pytest_workrail.golden.records import add_options as golden_options
    from pytest_workrail.plugin.coverage_options import add_options as coverage_options

    group = parser.getgroup("workrail", "agent workflows: scenarios, goldens, coverage, locks")
    golden_options(group)
    group.addoption(
        "--workrail-record",
        metavar="DIR",
        dest="workrail_record",
        help="Write to this folder what this machine saw of goldens, coverage and locks, for workrail-test combine.",
    )
    coverage_options(group)
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
    from pytest_workrail.plugin.coverage_options import configure as configure_coverage

    config.addinivalue_line("markers", MARKER)
    configure_coverage(config)
    if config.getini(SESSIONS):
        from pytest_workrail.sessions.collection import add_to_arguments

        add_to_arguments(config)
    if hasattr(config, "workerinput"):
        from pytest_workrail.plugin.xdist import Worker

        config.pluginmanager.register(Worker(config), "workrail-worker")
        return
    if config.getoption("workrail_record") is not None and not config.getoption("collectonly"):
        from pytest_workrail.plugin.records import Recorder

        config.pluginmanager.register(Recorder(config), "workrail-recorder")
    if config.getoption("workrail_html") is not None and not config.getoption("collectonly"):
        from pytest_workrail.plugin.studio_page import StudioPage

        config.pluginmanager.register(StudioPage(config), "workrail-studio")
    if config.getini(AUTO_WORKFLOWS):
        from pytest_workrail.scenarios.auto_workflows import warn_of_unused_patterns

        warn_of_unused_patterns(config)
    if config.pluginmanager.hasplugin("xdist") and config.getoption("dist", "no") != "no":
        from pytest_workrail.plugin.xdist import Controller

        config.pluginmanager.register(Controller(config), "workrail-controller")

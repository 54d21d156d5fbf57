"""The options and ini values of the plugin. Read at every start of pytest, so nothing else is imported for them."""

from __future__ import annotations

import pytest

from pytest_workrail.run.pytest_session import AUTO_WORKFLOWS

MARKER = "workrail: a scenario, or a workflow that is run by itself"


def add_options(parser: pytest.Parser) -> None:
    """Everything that starts with `workrail`."""
    from pytest_workrail.golden.modes import add_options as golden_options
    from pytest_workrail.plugin.coverage_options import add_options as coverage_options

    group = parser.getgroup("workrail", "agent workflows: scenarios, goldens, coverage, locks")
    golden_options(group)
    coverage_options(group)
    parser.addini(
        AUTO_WORKFLOWS,
        "workflow files to run with the automatic agent under both profiles, as glob patterns",
        type="args",
        default=[],
    )


def configure(config: pytest.Config) -> None:
    """Make the marks known and register what the options call for."""
    from pytest_workrail.plugin.coverage_options import configure as configure_coverage

    config.addinivalue_line("markers", MARKER)
    configure_coverage(config)
    if hasattr(config, "workerinput"):
        from pytest_workrail.plugin.xdist import Worker

        config.pluginmanager.register(Worker(config), "workrail-worker")
        return
    if config.getini(AUTO_WORKFLOWS):
        from pytest_workrail.scenarios.auto_workflows import warn_of_unused_patterns

        warn_of_unused_patterns(config)
    if config.pluginmanager.hasplugin("xdist") and config.getoption("dist", "no") != "no":
        from pytest_workrail.plugin.xdist import Controller

        config.pluginmanager.register(Controller(config), "workrail-controller")

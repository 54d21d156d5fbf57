"""Coverage: of workflows by runs, and of design locks by tests.

A plugin that carries this one calls `options.add_options` and `options.configure`, and `record_run` for every run.
"""

from __future__ import annotations

import pytest

from pytest_workrail.agents.agent import Transcript

# The plugins that follow the runs of a session, each registered only when an option asks for it.
_FOLLOWERS = ("workrail-coverage", "workrail-runs")


def record_run(config: pytest.Config, test: str, transcript: Transcript) -> None:
    """Count a run that a test made, and keep it, if this session measures coverage or writes its runs."""
    for name in _FOLLOWERS:
        plugin = config.pluginmanager.get_plugin(name)
        if plugin is not None:
            plugin.session.record(test, transcript)

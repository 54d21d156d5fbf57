"""Coverage: of workflows by runs, and of design locks by tests.

A plugin that carries this one calls `options.add_options` and `options.configure`, and `record_run` for every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from pytest_workrail.agents.transcript import Transcript


def record_run(config: pytest.Config, test: str, transcript: Transcript) -> None:
    """Count a run that a test made, if this session measures workflow coverage."""
    plugin = config.pluginmanager.get_plugin("workrail-coverage")
    if plugin is not None:
        plugin.session.record(test, transcript)

"""The command line options of the goldens, and the plugin behind them. Imported at every start of pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_workrail.golden.modes import add_options

if TYPE_CHECKING:
    import pytest

__all__ = ["add_options", "configure"]


def configure(config: pytest.Config) -> None:
    """Register the goldens of this session."""
    from pytest_workrail.golden.plugin import GoldenPlugin

    config.pluginmanager.register(GoldenPlugin(config), "workrail-goldens")

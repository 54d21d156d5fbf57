"""Runs in which the code is broken on purpose."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from pytest_workrail.coverage.locks.settings import chosen_sabotages


def prepare(config: pytest.Config) -> None:
    """Turn on the sabotage that was asked for, and keep what fails because of it from being remembered."""
    name = config.getoption("workrail_sabotage")
    if name is not None:
        _switch_on(config, name)
    if config.pluginmanager.hasplugin("hypothesispytest"):
        _forget_examples()


def _switch_on(config: pytest.Config, name: str) -> None:
    sabotages = {sabotage.name: sabotage for sabotage in chosen_sabotages(config)}
    if name not in sabotages:
        known = ", ".join(sorted(sabotages)) or "none, name some with --workrail-sabotages"
        raise pytest.UsageError(f"--workrail-sabotage: there is no {name}; known are {known}")
    stack = ExitStack()
    try:
        stack.enter_context(sabotages[name].applied())
    except LookupError as error:
        raise pytest.UsageError(f"--workrail-sabotage: {error}") from error
    config.add_cleanup(stack.close)


def _forget_examples() -> None:
    """Let hypothesis neither store nor shrink what it finds in broken code, and draw the same each time."""
    import hypothesis

    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("workrail-sabotage", database=None, derandomize=True, phases=phases)
    hypothesis.settings.load_profile("workrail-sabotage")

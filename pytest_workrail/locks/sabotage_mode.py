"""Runs in which the code is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest

from pytest_workrail.locks.settings import chosen_sabotages


def prepare(config: pytest.Config) -> None:
    """Turn on the sabotage that was asked for, and keep what fails because of it from being remembered."""
    name = config.getoption("workrail_sabotage")
    if name is not None:
        _switch_on(config, name)
    if config.pluginmanager.hasplugin("hypothesispytest"):
        config.add_cleanup(_forget_examples())


def _switch_on(config: pytest.Config, name: str) -> None:
    sabotages = {sabotage.name: sabotage for sabotage in chosen_sabotages(config)}
    if name not in sabotages:
        known = ", ".join(sorted(sabotages)) or "none; name their modules with --workrail-sabotages"
        raise pytest.UsageError(f"--workrail-sabotage: unknown sabotage {name} (known: {known})")
    stack = ExitStack()
    try:
        stack.enter_context(sabotages[name].applied())
    except LookupError as error:
        raise pytest.UsageError(f"--workrail-sabotage: {error}") from error
    except Exception as error:
        # A sabotage is the project's own code, so anything can go wrong in it.
        said = f"{type(error).__name__}: {error}"
        raise pytest.UsageError(f"--workrail-sabotage: {name} can't be turned on: {said}") from error
    config.add_cleanup(stack.close)


def _forget_examples() -> Callable[[], None]:
    """Make hypothesis deterministic and patient, and keep it from storing or shrinking what it finds in broken code.

    Returns a function that restores its settings.
    """
    import hypothesis

    usual = hypothesis.settings.get_current_profile_name()

    hypothesis.settings.register_profile(
        "workrail-sabotage",
        database=None,
        derandomize=True,
        deadline=None,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("workrail-sabotage")
    return lambda: hypothesis.settings.load_profile(usual)

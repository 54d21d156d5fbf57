"""What a project gives to its workflows: the catalog, routines and bindings of its configuration."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from workrail_lint.base.result import Err, Ok
from workrail_lint.project.config import find_config
from workrail_lint.systems.builtin import scenario_system
from workrail_lint.systems.scenario.system import ScenarioSystem
from workrail_lint.systems.workrail.scenario_check import Sources


@lru_cache(maxsize=256)
def project_sources(folder: str) -> Ok[Sources] | Err[str]:
    """Return what the configuration above a folder gives to its workflows: the same as on the command line."""
    config = find_config(folder)
    if isinstance(config, Err):
        return config
    catalog, routines, bindings = (_file(config.value.file(name)) for name in ("catalog", "routines", "bindings"))
    return Ok(Sources(catalog, routines, bindings))


def _file(path: str | None) -> Path | None:
    return None if path is None else Path(path)


@lru_cache(maxsize=256)
def project_scenarios(folder: str) -> Ok[ScenarioSystem] | Err[str]:
    """Return the kinds of scenarios that a project can have: ours, and those of the plugins in its configuration."""
    config = find_config(folder)
    if isinstance(config, Err):
        return config
    plugins = config.value.strings("plugins")
    if not plugins:
        return Ok(scenario_system())
    from workrail_lint.project.plugins import load_plugins

    loaded = load_plugins(plugins)
    return Err(loaded.problems[0]) if loaded.problems else Ok(scenario_system(tuple(loaded.systems)))

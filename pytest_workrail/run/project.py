"""Settings that the configuration of a project gives to its workflows."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from pytest_workrail.engine.core.profiles import ProfileName
from workrail_lint.base.result import Err, Ok
from workrail_lint.project.config import find_config
from workrail_lint.systems.workrail.scenario_check import Sources


@lru_cache(maxsize=256)
def project_sources(folder: str) -> Ok[Sources] | Err[str]:
    """Return what the configuration above a folder gives to its workflows: the same as on the command line."""
    config = find_config(folder)
    if isinstance(config, Err):
        return config
    catalog, routines, bindings = (_file(config.value.file(name)) for name in ("catalog", "routines", "bindings"))
    return Ok(Sources(catalog, routines, bindings))


@lru_cache(maxsize=256)
def project_profile(folder: str) -> ProfileName:
    """Return the profile of the project around a folder; `reference` unless its configuration says another one."""
    config = find_config(folder)
    return "locked" if isinstance(config, Ok) and config.value.text("profile") == "locked" else "reference"


def _file(path: str | None) -> Path | None:
    return None if path is None else Path(path)

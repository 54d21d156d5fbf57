"""The document systems that come with the product, each imported when it is first asked for."""

from __future__ import annotations

from functools import cache

from workrail_lint.project.systems import System

# Module and class of each system; the order is the order in which files are offered to them.
_SYSTEMS = (("workrail_lint.workrail.system", "WorkRailSystem"),)


def builtin_systems() -> list[System]:
    """A fresh instance of every system."""
    from importlib import import_module

    return [getattr(import_module(module), name)() for module, name in _SYSTEMS]


@cache
def known_systems() -> tuple[System, ...]:
    """Shared instances, for those who only ask for rules."""
    return tuple(builtin_systems())

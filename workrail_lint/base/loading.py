"""Modules by name, imported when they are needed."""

from __future__ import annotations

import sys
from types import ModuleType


def load_module(name: str) -> ModuleType:
    """The module of a full name, as `importlib.import_module` finds it, which would have to be imported first."""
    __import__(name)
    return sys.modules[name]

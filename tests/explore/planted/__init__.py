"""Bugs planted in the engine, to find out whether the search for broken promises finds them.

Each is a patch of one or two functions, in force while its context is open. The engine on disk stays sound.
"""

from __future__ import annotations

from planted import answers, branches, calls, steps
from planted.bug import GUIDED, NEVER, STOPS, Planted
from planted.workflows import WORKFLOWS, compiled

__all__ = ["GUIDED", "NEVER", "PLANTED", "STOPS", "WORKFLOWS", "Planted", "compiled"]

PLANTED = tuple(
    each for module in (steps, calls, branches, answers) for each in vars(module).values() if isinstance(each, Planted)
)

"""Which values make conditions come out as wanted, or the proof that none do.

One exact answer for all its users: the analysis, the automatic agent, coverage goals, scenario generation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workrail_lint.systems.workrail.solver.expression import (
    IMPOSSIBLE,
    POSSIBLE,
    UNKNOWN,
    UNSET,
    Answer,
    Comparison,
    Expression,
    Unset,
    Values,
    comparisons_in,
    read,
)

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.solver.search import Solver, Wish

__all__ = [
    "IMPOSSIBLE",
    "POSSIBLE",
    "UNKNOWN",
    "UNSET",
    "Answer",
    "Comparison",
    "Expression",
    "Solver",
    "Unset",
    "Values",
    "Wish",
    "comparisons_in",
    "read",
]


def __getattr__(name: str) -> object:
    # A check seldom needs the search, and its modules take longer to import than it takes to check a small file.
    if name not in ("Solver", "Wish"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from workrail_lint.systems.workrail.solver import search

    return getattr(search, name)

"""Which values make conditions come out as wanted, or the proof that none do.

One exact answer for everybody who asks: the analysis, the automatic agent, coverage goals, scenario generation.
"""

from __future__ import annotations

from workrail_lint.systems.workrail.solver.candidates import UNSET, Unset, Values
from workrail_lint.systems.workrail.solver.expression import Comparison, Expression, comparisons_in, read
from workrail_lint.systems.workrail.solver.search import IMPOSSIBLE, POSSIBLE, UNKNOWN, Answer, Solver, Wish

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

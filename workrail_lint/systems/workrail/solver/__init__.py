"""Which values make conditions come out as wanted, or the proof that none do.

One exact answer for all its users: the analysis, the automatic agent, coverage goals, scenario generation.
"""

from __future__ import annotations

from typing import TypeAlias

from workrail_lint.systems.workrail.model.workflow import Condition

# A condition, and whether it is to hold.
Wish: TypeAlias = "tuple[Condition | None, bool]"

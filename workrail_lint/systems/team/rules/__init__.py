"""The rules of the team contract, one module for each group of codes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workrail_lint.rules.table import RuleTable

if TYPE_CHECKING:
    from workrail_lint.systems.team.rules.base import TeamRule

RULES: RuleTable[TeamRule] = RuleTable(__name__, os.path.dirname(__file__))

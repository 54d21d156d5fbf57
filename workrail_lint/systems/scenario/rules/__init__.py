"""The rules about scenario files."""

from __future__ import annotations

import os

from workrail_lint.rules.base import Rule
from workrail_lint.rules.table import RuleTable

RULES: RuleTable[Rule] = RuleTable(__name__, os.path.dirname(__file__))

"""The rules about workflows, one module for each subject; each rule is a class that says everything about itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workrail_lint.rules.table import RuleTable

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.rules.base import WorkflowRule

RULES: RuleTable[WorkflowRule] = RuleTable(__name__, os.path.dirname(__file__))

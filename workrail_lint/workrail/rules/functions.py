"""Rules of one family."""

from __future__ import annotations

from workrail_lint.workrail.rules.base import WorkflowRule

RULES: tuple[type[WorkflowRule], ...] = ()

"""The rules of redaction that the options of a command ask for."""

from __future__ import annotations

import argparse

from workrail_lint.base.redaction import Rule, chosen_rules
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import printable
from workrail_lint.cli import UsageError


def redaction_rules(args: argparse.Namespace) -> list[Rule]:
    """Return the rules that the options ask for."""
    rules = chosen_rules(args.redact, args.keep)
    if isinstance(rules, Err):
        raise UsageError(printable(rules.error))
    return rules.value

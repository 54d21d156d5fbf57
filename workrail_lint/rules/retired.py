"""Rules that are gone. Their codes stay known, so that no configuration breaks, and are never given to another rule."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from workrail_lint.base.files import read_shipped
from workrail_lint.documents.scanner import loads


class RetiredRule(NamedTuple):
    """A rule that was merged into another one (`successor` is its code), or given up (`successor` is "").

    A rule that took in others may have got another name; then its former name is listed with its own code as successor.
    """

    code: str
    name: str
    successor: str
    reason: str

    @property
    def remark(self) -> str:
        """Return what a user of the code should know."""
        if self.successor:
            return f"{self.code} ({self.name}) is part of {self.successor} now; write {self.successor} instead"
        return f"{self.code} ({self.name}) no longer exists and has no effect: {self.reason}"


@cache
def retired_rules() -> tuple[RetiredRule, ...]:
    """Return the retired rules by code, from the file beside this module."""
    rows = loads(read_shipped(os.path.join(os.path.dirname(__file__), "retired.json")))
    return tuple(RetiredRule(*row) for row in rows)


@cache
def _by_word() -> dict[str, RetiredRule]:
    words = {rule.name: rule for rule in retired_rules()}
    return words | {rule.code: rule for rule in retired_rules() if rule.code != rule.successor}


def retired_rule(pattern: str) -> RetiredRule | None:
    """Return the retired rule that a code or name stands for."""
    return _by_word().get(pattern)


def current_pattern(pattern: str) -> str:
    """Return the pattern that names the successor of a retired rule; any other one is returned unchanged."""
    rule = retired_rule(pattern)
    return pattern if rule is None or not rule.successor else rule.successor


def remarks(patterns: Iterable[str]) -> list[str]:
    """Return a sentence for each retired rule that the patterns name."""
    rules = (retired_rule(pattern) for pattern in patterns)
    return list(dict.fromkeys(rule.remark for rule in rules if rule is not None))


def former_names(code: str) -> list[str]:
    """Return the names of the rules that were merged into the one with this code."""
    return [rule.name for rule in retired_rules() if rule.successor == code]

"""How a violation of a schema finds the rule that speaks about it."""

from __future__ import annotations

from typing import Any

import pytest

from workrail_lint.documents.schema.engine import Violation
from workrail_lint.rules.base import Rule
from workrail_lint.rules.describing import ANY, Describers, Description


def _rule(key: tuple[str, ...], declines: bool = False) -> Rule:
    class Describing(Rule):
        name = " ".join(key) + (" declines" if declines else "")
        describes = (key,)

        def describe(self, violation: Violation, place: Any) -> Description | None:
            return None if declines else Description(f"{self.name}: {place}")

    return Describing()


KEYS = [("S", "type", "m"), (ANY, "type", "m"), ("S", "type"), ("S",), (ANY, "type"), (ANY,)]


def _name(rules: list[Rule], violation: Violation) -> str | None:
    by_name = {rule.name: rule for rule in rules}
    described = Describers(rules, by_name.__getitem__).describe(violation, "here")
    if described is None:
        return None
    rule, description = described
    assert description.message == f"{rule.name}: here"
    return rule.name


@pytest.mark.parametrize("at", range(len(KEYS)))
def test_the_most_specific_rule_is_asked_first(at: int) -> None:
    violation = Violation("/m", "type", ("string",), "S", 1, {})
    assert _name([_rule(key) for key in reversed(KEYS[at:])], violation) == " ".join(KEYS[at])


def test_a_rule_that_declines_leaves_a_violation_to_the_next_one() -> None:
    violation = Violation("/m", "type", ("string",), "S", 1, {})
    assert _name([_rule(("S", "type"), declines=True), _rule(("S", "type")), _rule((ANY,))], violation) == "S type"
    assert _name([_rule(("S", "type"), declines=True)], violation) is None
    assert _name([_rule(("S", "enum")), _rule(("T", "type"))], violation) is None

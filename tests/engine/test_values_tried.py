"""Which values are tried for a variable that conditions compare: as kept in `expected/values.txt`.

python tests/engine/test_values_tried.py     # writes it anew
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import tables

from pytest_workrail.engine.core.smallest_set import ConditionSolver, values_for
from workrail_lint.base.canonical import digest

FILE = Path(__file__).parent / "expected" / "values.txt"
OPERATORS = ("equals", "not_equals", "gt", "gte", "lt", "lte", "contains", "startsWith", "endsWith", "matches", "in")
OPERANDS: tuple[Any, ...] = (
    *(0, -1, 2, 2.5, 2**53, 1e308, "3", "0x10", "", " Full ", "großß", "^v[0-9]+$"),
    *(True, False, None, [1, "a"], [], {"a": 1}),
)
# Whole conditions, where a value has to be found between or beyond others.
FOUND: tuple[list[dict[str, Any]], ...] = (
    [{"gt": 2}, {"lt": 3}],
    [{"gt": 2}, {"lt": 3}, {"not_equals": 2.5}],
    [{"gt": 0}, {"lt": 1}, {"not_equals": 0.5}, {"not_equals": 0.25}],
    [{"gt": 3}, {"not": "4"}],
    [{"gt": 3}, {"not": "4"}, {"not": "5"}],
    [{"lt": 3}, {"not": "2"}],
    [{"lt": 3}, {"not": "2"}, {"not": "1"}],
    [{"gt": -1}, {"lt": 1}, {"not": "0"}],
    [{"gte": 2**53}, {"not_equals": 2**53}],
    [{"contains": "a"}, {"contains": "b"}, {"endsWith": "c"}],
    [{"startsWith": "ab"}, {"endsWith": "bc"}, {"not": "abc"}],
    [{"matches": "^a+$"}, {"not_equals": "a"}],
    [{"in": ["a", "b"]}, {"not_equals": "a"}],
)


def lines() -> Iterator[str]:
    comparisons = [{"var": "x", operator: operand} for operator, operand in product(OPERATORS, OPERANDS)]
    for each in comparisons:
        yield f"{json.dumps(each)}: {json.dumps(values_for('x', [each]))}"
    pairs = list(combinations(comparisons, 2))[:: len(comparisons) // 3]
    for pair in pairs:
        yield f"{json.dumps(pair)}: {digest(json.dumps(values_for('x', pair)).encode())[7:15]}"
    yield f"metrics_outcome: {json.dumps(values_for('metrics_outcome', comparisons))}"
    for members in FOUND:
        parts = [
            {"not": {"var": "x", "contains": each["not"]}} if "not" in each else {"var": "x", **each}
            for each in members
        ]
        for is_met in (True, False):
            yield f"{json.dumps(members)} {is_met}: {ConditionSolver({'and': parts}).smallest(is_met, {})}"


def test_the_values_that_are_tried_are_as_expected() -> None:
    tables.compare_with_file(lines(), FILE)


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")

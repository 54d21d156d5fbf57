"""Every condition the reference engine was asked, and its answer."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import read_jsonl, requires_oracle

from pytest_workrail.engine.core.conditions import evaluate, unsupported_operators

pytestmark = requires_oracle


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in read_jsonl("conditions.jsonl")])
def test_condition(row: dict[str, Any]) -> None:
    assert evaluate(row["condition"], row["context"]) is row["result"]
    unknown = unsupported_operators(row["condition"])
    verdict = f"Unsupported condition operators: {', '.join(unknown)}" if unknown else "ok"
    assert verdict == row["validateCondition"]

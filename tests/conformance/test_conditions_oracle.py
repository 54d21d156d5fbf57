"""Every condition the reference engine was asked, and its answer."""

from __future__ import annotations

from typing import Any

from oracle import read_jsonl, requires_oracle
from tables import for_each

from pytest_workrail.engine.core.conditions import evaluate

pytestmark = requires_oracle


@for_each("row", read_jsonl("conditions.jsonl"), key=lambda row: row["id"], least=0)
def test_condition(row: dict[str, Any]) -> None:
    assert evaluate(row["condition"], row["context"]) is row["result"]

"""What the tests of a run had to do with goldens, in a form that travels from a worker to the controller."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from workrail_lint.base.js import Json


class GoldenStatus(StrEnum):
    """How a run compares with its golden."""

    SAME = "same"
    DIFFERS = "differs"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class GoldenRecord:
    """One golden and what a test found. `new` is what it would become; empty where not even its metadata change."""

    path: str
    status: GoldenStatus
    new: bytes = b""


@dataclass(slots=True)
class TestRecord:
    """One test: whether all of it passed, and the goldens it claimed."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    passed: bool = False
    records: dict[str, GoldenRecord] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        records: list[Json] = [[each.path, each.status.value, each.new.decode()] for each in self.records.values()]
        return {"passed": self.passed, "records": records}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TestRecord:
        records = (GoldenRecord(path, GoldenStatus(status), new.encode()) for path, status, new in data["records"])
        return cls(data["passed"], {record.path: record for record in records})

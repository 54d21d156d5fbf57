"""What the tests of a run had to do with goldens, in a form that travels from a worker to the controller."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from pytest_workrail.records import Record
from workrail_lint.base.js import Json
from workrail_lint.base.typed import Enum, NamedTuple


class GoldenStatus(str, Enum):
    """How a run compares with its golden."""

    SAME = "same"
    DIFFERS = "differs"
    MISSING = "missing"


class GoldenRecord(Record):
    """One golden and what a test found. `new` is what it would become; empty where not even its metadata change."""

    path: str
    status: GoldenStatus
    new: bytes = b""


class Span(NamedTuple):
    """A stretch of a source file: lines from 1, columns in bytes of UTF-8, as syntax trees count them."""

    line: int
    column: int
    end_line: int
    end_column: int


class InlineRecord(Record):
    """One call of `run.match` in one test. `new` is the source text that would make it fit; empty where it fits."""

    path: str
    span: Span
    status: GoldenStatus
    digest: str  # of the source that the span is of
    new: str = ""

    def to_json(self) -> Json:
        return [self.path, list(self.span), self.status.value, self.digest, self.new]

    @classmethod
    def from_json(cls, data: list[Any]) -> InlineRecord:
        path, span, status, digest, new = data
        return cls(path, Span(*span), GoldenStatus(status), digest, new)


class TestRecord(Record, frozen=False):
    """One test: whether all of it passed, and the goldens it claimed."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    passed: bool = False
    records: dict[str, GoldenRecord] = field(default_factory=dict)
    inline: list[InlineRecord] = field(default_factory=list)

    def to_json(self) -> dict[str, Json]:
        records: list[Json] = [[each.path, each.status.value, each.new.decode()] for each in self.records.values()]
        return {"passed": self.passed, "records": records, "inline": [each.to_json() for each in self.inline]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TestRecord:
        records = (GoldenRecord(path, GoldenStatus(status), new.encode()) for path, status, new in data["records"])
        inline = [InlineRecord.from_json(each) for each in data["inline"]]
        return cls(data["passed"], {record.path: record for record in records}, inline)

"""Why a scenario failed, with the location in its file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_workrail.run.expectation import ExpectationFailure
from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.findings import Finding

if TYPE_CHECKING:
    from pytest_workrail.run.result import Run


class Place(NamedTuple):
    """A line and a column of the file, both from 1."""

    line: int
    column: int


class Fault(NamedTuple):
    """One difference from the scenario. `place` is set if the pointer can't be located."""

    message: str
    pointer: str
    place: Place | None = None


def fault_of(finding: Finding, document: JsonDocument) -> Fault:
    """What a check finds, at the place where it says so: about a member, its name."""
    span = finding.span or document.locate(finding.pointer, finding.on_name)
    return Fault(finding.message, finding.pointer, None if span is None else Place(span.start.line, span.start.column))


def place_of(document: JsonDocument, pointer: str) -> Place:
    """Where a pointer leads, or the nearest place above it that exists."""
    while True:
        span = document.locate(pointer)
        if span is not None:
            return Place(span.start.line, span.start.column)
        if not pointer:
            return Place(1, 1)
        pointer = pointer.rpartition("/")[0]


class ScenarioFailure(ExpectationFailure):
    """A scenario that failed: every fault with its location, then what happened."""

    def __init__(
        self, file: str, document: JsonDocument, faults: Sequence[Fault], happened: Sequence[str] = (), turn: str = ""
    ) -> None:
        super().__init__(file)
        self.file = file
        self.document = document
        self.faults = tuple(faults)
        self.happened = tuple(happened)  # the run so far, a line each
        self.turn = turn  # the last one that was played

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def reason(self) -> tuple[str, tuple[str, int]]:
        """The first fault, and the line of the file it is in."""
        fault = self.faults[0]
        return fault.message, (self.file, self._place(fault).line)

    def _place(self, fault: Fault) -> Place:
        return fault.place or place_of(self.document, fault.pointer)

    def lines(self) -> Iterator[str]:
        for fault in self.faults:
            line, column = self._place(fault)
            yield f"{self.file}:{line}:{column}: {fault.message} ({fault.pointer or '/'})"
        if self.turn:
            line, column = place_of(self.document, self.turn)
            yield f"last turn: {self.turn} ({self.file}:{line}:{column})"
        yield from self.happened


def transcript_lines(run: Run) -> Sequence[str]:
    """The transcript of the run so far, and why it ended."""
    from pytest_workrail.run.summary import exchange_lines

    transcript = run.transcript
    head = f"transcript so far ({transcript.workflow_id}, profile {transcript.profile}, mode {transcript.mode}):"
    return [head, *(f"  {line}" for line in exchange_lines(transcript)), f"  the run ended: {run.ending.why}"]

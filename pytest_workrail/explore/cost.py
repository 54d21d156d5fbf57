"""What runs cost: calls, bytes and estimated tokens that an agent reads and must write."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low

from pytest_workrail.agents.transcript import Transcript
from pytest_workrail.records import Record
from workrail_lint.base.js import Json, json_text

# English text and JSON hold about four bytes in a token; the real number depends on the model.
BYTES_PER_TOKEN = 4
_DEAREST = 5


class RunCost(Record):
    """One run. `steps` are the bytes that each step made the agent read and write."""

    name: str
    calls: int
    read: int
    written: int
    steps: dict[str, int]

    def to_json(self) -> dict[str, Json]:
        return {
            "scenario": self.name,
            "calls": self.calls,
            "bytesRead": self.read,
            "bytesWritten": self.written,
            "tokensRead": tokens(self.read),
            "tokensWritten": tokens(self.written),
        }


def tokens(size: int) -> int:
    """An estimate, rounded up."""
    return -(-size // BYTES_PER_TOKEN)


def run_cost(name: str, transcript: Transcript) -> RunCost:
    """What one run costs. A call counts for the step that was pending when it was made."""
    steps: dict[str, int] = {}
    read = written = 0
    pending = ""
    for exchange in transcript.exchanges:
        sent, got = _size(exchange.request), _size(exchange.response)
        read, written = read + got, written + sent
        shown = exchange.response.get("pending")
        following = str(shown["stepId"]) if isinstance(shown, dict) else pending
        # What is written belongs to the step it answers, what is read to the step it shows.
        for step, size in ((pending, sent), (following, got)):
            if step:
                steps[step] = steps.get(step, 0) + size
        pending = following
    return RunCost(name, len(transcript.exchanges), read, written, steps)


def _size(value: dict[str, Json]) -> int:
    return len(json_text(value).encode("utf-8", "surrogatepass"))


def costs(runs: Sequence[RunCost]) -> dict[str, Json]:
    """The shortest, the typical and the longest run, and the dearest steps."""
    if not runs:
        return {}
    ordered = sorted(runs, key=lambda each: (each.calls, each.read + each.written, each.name))
    middle = median_low(range(len(ordered)))
    most: dict[str, int] = {}
    for run in runs:
        for step, size in run.steps.items():
            most[step] = max(most.get(step, 0), size)
    dearest = sorted(most.items(), key=lambda each: (-each[1], each[0]))[:_DEAREST]
    return {
        "shortest": ordered[0].to_json(),
        "typical": ordered[middle].to_json(),
        "longest": ordered[-1].to_json(),
        "dearestSteps": [{"step": step, "bytes": size, "tokens": tokens(size)} for step, size in dearest],
    }

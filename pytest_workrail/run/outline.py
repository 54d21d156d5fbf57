"""A run in a few lines: the steps as they were done, what stopped them, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_workrail.agents.transcript import Transcript, Visit
from workrail_lint.base.terminal import printable


def outline(transcript: Transcript) -> str:
    """One line for each attempt at a step, and one for the end. Nothing in it depends on wording."""
    return "\n".join([*(printable(_line(visit)) for visit in transcript.visits), f"-> {transcript.final['status']}"])


def _line(visit: Visit) -> str:
    return ": ".join(filter(None, (_where(visit), ", ".join(_happened(visit)))))


def _where(visit: Visit) -> str:
    passes = ", ".join(f"{loop} {iteration + 1}" for loop, iteration in visit.loop_path)
    return f"{visit.step_id} ({passes})" if passes else visit.step_id


def _happened(visit: Visit) -> Iterator[str]:
    if visit.outcome != "advanced":
        yield f"{visit.outcome} by {' and '.join(visit.blockers)}" if visit.blockers else visit.outcome
    yield from (f"gap {gap}" for gap in visit.gaps)

"""The workflow coverage of a test session: runs are kept until their test ends, and count if it passed."""

from __future__ import annotations

from typing import Any

from pytest_workrail.agents.transcript import Transcript
from pytest_workrail.coverage.points import Point
from pytest_workrail.coverage.tally import Tally, WorkflowTally
from workrail_lint.base.js import Json


class CoverageSession:
    """Collects runs. Under xdist every worker has one, and the controller merges them."""

    def __init__(self, *, strong: bool = False) -> None:
        self._strong = strong
        self.tally = Tally()
        self._held: dict[str, list[tuple[WorkflowTally, frozenset[Point]]]] = {}

    def record(self, test: str, transcript: Transcript) -> None:
        """A run that a test made."""
        from pytest_workrail.coverage.goals import goals
        from pytest_workrail.coverage.observe import observe
        from pytest_workrail.engine.core.profiles import PROFILES

        workflow = self.tally.workflow(transcript.workflow_id, transcript.workflow_hash)
        if transcript.profile not in workflow.profiles:
            profile = PROFILES[transcript.profile]  # type: ignore[index]
            workflow.expect(transcript.profile, goals(transcript.ir, profile, strong=self._strong))
        self._held.setdefault(test, []).append((workflow, observe(transcript, strong=self._strong)))

    def test_finished(self, test: str, passed: bool) -> None:
        """A test ended. Its runs count only if it passed."""
        for workflow, points in self._held.pop(test, ()):
            if passed:
                workflow.cover(points, test)

    def worker_state(self) -> list[Json]:
        """What a worker sends to the controller."""
        return self.tally.to_json()

    def merge(self, state: list[dict[str, Any]]) -> None:
        """Take in what a worker found."""
        self.tally.merge(state)

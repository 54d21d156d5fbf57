"""One test session's locks: claims are read at collection, tests are watched, and what they did is kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from pytest_workrail.locks.claims import ClaimReader
from pytest_workrail.locks.evidence import Evidence, evidence_from_json, merged, not_yet_run
from pytest_workrail.records import replace
from pytest_workrail.run.pytest_session import ItemOutcome
from workrail_lint.base.js import Json


class LockSession:
    """Collects evidence. Under xdist every worker has one, and the controller merges them."""

    def __init__(self) -> None:
        self._reader = ClaimReader()
        self._evidence: dict[str, Evidence] = {}
        self._collected: set[str] = set()
        self._asserted: set[str] = set()
        self._problems: set[str] = set()

    def collected(self, item: pytest.Item) -> bool:
        """A test was selected. True when it claims a lock."""
        read = self._reader.read(item)
        if not read.claims and not read.problems:
            return False
        evidence = not_yet_run(item, read.claims)
        self._problems.update(f"{evidence.place} {problem}" for problem in read.problems)
        if read.claims:
            self._evidence[item.nodeid] = evidence
            self._collected.add(item.nodeid)
        return bool(read.claims)

    def is_claiming(self, test: str) -> bool:
        return test in self._evidence

    def asserted(self, test: str) -> None:
        """A test has asserted something."""
        self._asserted.add(test)

    def test_finished(self, test: str, ending: ItemOutcome) -> None:
        """A test is over. The controller of xdist hears of it too, but only the worker knows whether it asserted."""
        if test in self._collected:
            self._evidence[test] = replace(self._evidence[test], ending=ending, asserted=test in self._asserted)
        self._asserted.discard(test)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What every claiming test did, by name."""
        return tuple(self._evidence[test] for test in sorted(self._evidence))

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(sorted(self._problems))

    def worker_state(self) -> dict[str, Json]:
        """What a worker hands to the controller."""
        return {"evidence": [piece.to_json() for piece in self.evidence], "problems": list[Json](self.problems)}

    def merge(self, state: dict[str, Any]) -> None:
        """Take in what a worker found."""
        pieces: Iterable[Evidence] = map(evidence_from_json, state["evidence"])
        self._evidence = merged([*self.evidence, *pieces])
        self._problems.update(state["problems"])

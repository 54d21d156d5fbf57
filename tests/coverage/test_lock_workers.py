"""What the controller of xdist makes of its workers, in whatever order they come to their end."""

from __future__ import annotations

from itertools import permutations

import msgspec
import pytest
from msgspec.structs import replace

from pytest_workrail.locks.evidence import Claim, Evidence
from pytest_workrail.locks.plugin import LockSession
from pytest_workrail.run.pytest_session import ItemOutcome

BEGUN = Evidence("test_a.py::test_it", "test_a.py:1", "sha256:0", (Claim("first", None),))
DONE = replace(BEGUN, ending=ItemOutcome.PASSED, asserted=True)


def heard(controller: LockSession, word: Evidence | ItemOutcome) -> None:
    """A worker went down with what it knows, or the report of a test came in."""
    if isinstance(word, Evidence):
        controller.merge({"evidence": [msgspec.to_builtins(word)], "problems": []})
    else:
        controller.test_finished(BEGUN.test, word)


@pytest.mark.parametrize("order", list(permutations((BEGUN, ItemOutcome.PASSED, DONE))))
def test_the_worker_that_ran_a_test_has_the_word(order: tuple[Evidence | ItemOutcome, ...]) -> None:
    controller = LockSession()
    for word in order:
        heard(controller, word)
    assert [piece.counts for piece in controller.evidence] == [True]

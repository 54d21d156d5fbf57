"""Evidence: what one test did for the locks it claims, in this run."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable
from typing import Any

import pytest

from pytest_workrail.locks.claims import Claim
from pytest_workrail.records import Record, replace
from pytest_workrail.run.pytest_session import ItemOutcome
from workrail_lint.base.files import read_bytes
from workrail_lint.base.js import Json

_OWN_DECORATOR = "@pytest.mark.enforces("


class Evidence(Record):
    """A test and its claims, how it ended and whether it asserted anything."""

    test: str
    place: str
    digest: str
    claims: tuple[Claim, ...]
    ending: ItemOutcome = ItemOutcome.UNFINISHED
    asserted: bool = False

    @property
    def counts(self) -> bool:
        """Whether the test enforced its locks."""
        return self.ending is ItemOutcome.PASSED and self.asserted

    @property
    def flaw(self) -> str | None:
        """Why it did not."""
        if self.ending is not ItemOutcome.PASSED:
            return str(self.ending.value)
        return None if self.asserted else "asserted nothing"

    def claim(self, lock_id: str) -> Claim | None:
        """What it says about a lock."""
        return next((claim for claim in self.claims if claim.lock_id == lock_id), None)

    @property
    def file(self) -> str:
        return self.test.partition("::")[0]

    @property
    def name(self) -> str:
        """The test without its parameters."""
        file, separator, rest = self.test.partition("::")
        return file + separator + rest.partition("[")[0]

    def to_json(self) -> list[Json]:
        claims: list[Json] = [list(claim) for claim in self.claims]
        return [self.test, self.place, self.digest, claims, self.ending.value, self.asserted]


def evidence_from_json(value: list[Any]) -> Evidence:
    """Evidence that another process gathered."""
    test, place, digest, claims, ending, asserted = value
    return Evidence(test, place, digest, tuple(Claim(*claim) for claim in claims), ItemOutcome(ending), asserted)


def merged(evidence: Iterable[Evidence]) -> dict[str, Evidence]:
    """One piece of evidence for each test. Where several processes ran it, the worst counts."""
    found: dict[str, Evidence] = {}
    for piece in evidence:
        known = found.get(piece.test)
        if known is None or known.ending is ItemOutcome.UNFINISHED:
            found[piece.test] = piece
        elif piece.ending is not ItemOutcome.UNFINISHED:
            worse = known if not known.counts else piece
            found[piece.test] = replace(worse, asserted=known.asserted and piece.asserted)
    return {test: found[test] for test in sorted(found)}


def not_yet_run(item: pytest.Item, claims: tuple[Claim, ...]) -> Evidence:
    """The evidence of a test that was collected and has not run yet."""
    file, line, _ = item.location
    place = file.replace("\\", "/") + (f":{line + 1}" if line is not None else "")
    return Evidence(item.nodeid, place, _digest(item), claims)


def _digest(item: pytest.Item) -> str:
    """A digest of what the test is made of; what it claims is no part of that."""
    if isinstance(item, pytest.Function):
        try:
            lines = inspect.getsource(item.function).splitlines()
        except (OSError, TypeError):
            lines = []
        content = "\n".join(line for line in lines if not line.lstrip().startswith(_OWN_DECORATOR)).encode()
    else:
        content = read_bytes(str(item.path)) if item.path.is_file() else b""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"

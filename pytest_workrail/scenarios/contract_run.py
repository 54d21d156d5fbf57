"""A scenario of another contract than WorkRail's, played: what every contract hands back to the test that it is."""

from __future__ import annotations

from typing import NamedTuple

from pytest_workrail.scenarios.failures import Fault
from workrail_lint.documents.json_reader import JsonDocument


class PackRun(NamedTuple):
    """What came of it. `told` is what happened, a line each; `golden` is None where the scenario wants none."""

    document: JsonDocument
    faults: tuple[Fault, ...]
    told: tuple[str, ...]
    golden: bytes | None

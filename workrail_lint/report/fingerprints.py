"""The identity of a finding across runs, for services that follow findings over time."""

from __future__ import annotations

from collections import Counter

from workrail_lint.base.canonical import canonical_hash
from workrail_lint.project.baseline import fingerprint
from workrail_lint.report.data import Reported


def unique_fingerprint(item: Reported, seen: Counter[str]) -> str:
    """As in a baseline, except that several findings of one rule at one place differ: services keep only one
    finding for each fingerprint. `seen` counts those of the run so far."""
    own = fingerprint(item.finding)
    seen[own] += 1
    return own if seen[own] == 1 else canonical_hash([own, seen[own]])[7:39]

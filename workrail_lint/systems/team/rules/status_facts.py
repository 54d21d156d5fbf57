"""Places in status.json that several rules read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.systems.team.pointer_patterns import places
from workrail_lint.systems.team.vocabulary import members_of

GATE = "/gate_tracking/APPROVE_DESIGN"


def timestamps(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The places of status.json that hold a time, and their values; null is left out."""
    patterns = (
        "/last_update",
        "/runtime_flags/copilot_checked_at",
        f"{GATE}/last_correction_dispatch/at",
        "/user_decisions/*/asked_at",
        "/user_decisions/*/resolved_at",
    )
    for pattern in patterns:
        for pointer, found in places(value, pattern):
            if found is not None:
                yield pointer, found


def gate_of(value: dict[str, Any]) -> dict[str, Any]:
    """What is tracked about APPROVE_DESIGN."""
    return members_of(members_of(value.get("gate_tracking")).get("APPROVE_DESIGN"))

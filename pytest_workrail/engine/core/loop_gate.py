"""The gate of a loop: the step that the compiler adds where no authored step decides whether the loop continues."""

from __future__ import annotations

from typing import Any

from pytest_workrail.engine.core.profiles import LoopGate, Profile

_MARK = "#gate"


def is_gate(step: dict[str, Any]) -> bool:
    """Whether the compiler added the step as the gate of its loop."""
    provenance: dict[str, str] = step["provenance"]
    return provenance["source"] == "virtual" and provenance.get("origin", "").endswith(_MARK)


def body_of(loop: dict[str, Any], profile: Profile) -> list[dict[str, Any]]:
    """The steps that a loop runs under a profile. The public engine has no gates."""
    body: list[dict[str, Any]] = loop["body"]
    match profile.loop_gate:
        case LoopGate.RUN:
            return body
        case LoopGate.LEAVE_OUT:
            return [step for step in body if not is_gate(step)]

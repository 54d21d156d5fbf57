"""Goldens of earlier formats, brought into the format of today without running anything."""

from __future__ import annotations

from typing import Any

from pytest_workrail.golden.encoding import EARLIER_FORMATS, FORMAT, METADATA, encode, parse
from workrail_lint.base.result import Err, Ok


def migrated(data: bytes) -> Ok[bytes | None] | Err[str]:
    """A golden of an earlier format in today's; None where there is nothing to do."""
    parsed = parse(data)
    if isinstance(parsed, Err):
        return parsed
    golden = parsed.value
    if golden.get("format") not in EARLIER_FORMATS:
        return Ok(None)
    return Ok(encode(_from_1(golden)))


def _from_1(golden: dict[str, Any]) -> dict[str, Any]:
    """The hash moves to the metadata; the layout of the file does the rest."""
    made = {**golden, "format": FORMAT, METADATA: {"workflowHash": golden.get("workflowHash")}}
    order = ("pending", "format", "workflow", "profile", "mode", METADATA)
    others = [name for name in made if name not in order and name != "workflowHash"]
    return {name: made[name] for name in (*order, *others) if name in made}

"""The documents a workflow refers to, as an agent is told about them."""

from __future__ import annotations

from typing import Any

from pytest_workrail.engine.protocol.ports import Workspace
from pytest_workrail.engine.protocol.responses import Reference


def references_of(ir: dict[str, Any], workspace: Workspace, workspace_path: str | None) -> tuple[Reference, ...]:
    """Every declared reference with where it leads, in declared order."""
    return tuple(
        Reference(
            declared["id"],
            declared["title"],
            declared["source"],
            declared["purpose"],
            declared["authoritative"],
            declared.get("resolveFrom", "workspace"),
            workspace.resolve(declared, workspace_path),
        )
        for declared in ir["references"]
    )

"""Pending changes as plain JSON data, for other programs and for the studio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_workrail.golden.causes import Group, headline
from pytest_workrail.golden.decisions import PendingChanges
from pytest_workrail.golden.pending import Proposal


def pending_data(changes: PendingChanges, groups: Sequence[Group]) -> dict[str, Any]:
    """The groups, and every golden with all that differs about it."""
    pending = [
        {**about(changes, each), "differences": [one.to_json() for one in changes.differences(each.name)]}
        for each in changes.proposals
    ]
    return {"groups": [_group(group) for group in groups], "pending": pending}


def about(changes: PendingChanges, each: Proposal) -> dict[str, Any]:
    """A golden that has a proposal."""
    found: dict[str, Any] = {"golden": each.name, "pending": each.path.as_posix(), "state": each.state}
    if each.pending is not None:
        found["test"] = each.pending.test
    if each.problem:
        found["problem"] = each.problem
    found["groups"] = [group.key.id for group in changes.groups if each.name in group.goldens]
    return found


def _group(group: Group) -> dict[str, Any]:
    shown = {"id": group.key.id, "title": headline(group.difference), "workflow": group.key.workflow}
    return {**shown, "runs": len(group.goldens), "goldens": group.goldens, **group.difference.to_json()}

"""Gaps: what the run went on without. Never edited; a later gap may resolve an earlier one."""

from __future__ import annotations

from msgspec import Struct

from pytest_workrail.engine.model.events import GapRecorded, Log
from pytest_workrail.engine.model.ids import NodeId, RunId
from pytest_workrail.engine.model.reasons import GapRecordedData, Resolves
from pytest_workrail.engine.projections.index import of_kind


class Gap(Struct, frozen=True):
    """A gap and where it was recorded."""

    event_index: int
    run_id: RunId
    node_id: NodeId
    data: GapRecordedData


class Gaps(Struct, frozen=True):
    """The gaps of a session."""

    by_id: dict[str, Gap]
    resolved: frozenset[str]

    def of_run(self, run_id: RunId) -> list[Gap]:
        """The gaps of a run by place in the log."""
        found = [gap for gap in self.by_id.values() if gap.run_id == run_id]
        return sorted(found, key=lambda gap: (gap.event_index, gap.data.gap_id))

    def unresolved_critical(self, run_id: RunId) -> list[Gap]:
        """What a reader of a run's results has to know."""
        return [
            gap
            for gap in self.of_run(run_id)
            if gap.data.severity == "critical"
            and gap.data.resolution.kind == "unresolved"
            and gap.data.gap_id not in self.resolved
        ]


def project_gaps(events: Log) -> Gaps:
    """The gaps of a session. Of two with the same id the later one counts."""
    by_id: dict[str, Gap] = {}
    resolved: set[str] = set()
    for event in of_kind(events, GapRecorded):
        by_id[event.data.gap_id] = Gap(event.event_index, event.scope.run_id, event.scope.node_id, event.data)
        if isinstance(event.data.resolution, Resolves):
            resolved.add(event.data.resolution.resolves_gap_id)
    return Gaps(by_id, frozenset(resolved))

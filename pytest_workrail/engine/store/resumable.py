"""Summaries of the sessions that can be resumed. Made here, because `protocol.resume` must not reach a store."""

from __future__ import annotations

from pytest_workrail.engine.core.profiles import RewindContext
from pytest_workrail.engine.projections.ranking import MAX_SESSIONS_TO_SCAN
from pytest_workrail.engine.projections.resume import SessionSummary, summarize, with_snapshot
from pytest_workrail.engine.store.ports import StoreError, Stores
from workrail_lint.base.result import Err, Ok


def healthy_summaries(
    stores: Stores, *, rewind_context: RewindContext = RewindContext.RUN
) -> Ok[list[SessionSummary]] | Err[StoreError]:
    """The most recent healthy sessions. One that can't be read is passed over, not an error."""
    entries = stores.sessions.list_sessions()
    if isinstance(entries, Err):
        return entries
    summaries: list[SessionSummary] = []
    for entry in entries.value[:MAX_SESSIONS_TO_SCAN]:
        loaded = stores.sessions.load(entry.session_id)
        if isinstance(loaded, Err):
            continue
        summary = summarize(
            entry.session_id,
            loaded.value.events,
            modified_ms=entry.modified_ms,
            rewind_context=rewind_context,
        )
        if summary is None:
            continue
        snapshot = stores.snapshots.get(summary.tip_snapshot)
        if isinstance(snapshot, Ok) and snapshot.value is not None:
            summary = with_snapshot(summary, snapshot.value)
        summaries.append(summary)
    return Ok(summaries)

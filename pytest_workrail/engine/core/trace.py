"""The decision trace: how the next step was chosen, in sentences, within a budget."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_workrail.engine.model.events import TraceEntry, TraceRef
from pytest_workrail.engine.model.places import truncate_marked
from pytest_workrail.engine.model.words import (
    MAX_TRACE_ENTRIES,
    MAX_TRACE_SUMMARY_BYTES,
    MAX_TRACE_TOTAL_BYTES,
    TraceKind,
)
from workrail_lint.base import js

# Less than this would be hardly more than the truncation marker itself.
_MIN_CUT_BYTES = 24
# A character takes at most four bytes, so this many summaries of this length fit without measuring.
_SHORT = MAX_TRACE_SUMMARY_BYTES // 4
_FEW = MAX_TRACE_TOTAL_BYTES // MAX_TRACE_SUMMARY_BYTES


def within_budget(entries: Sequence[TraceEntry]) -> tuple[TraceEntry, ...]:
    """The entries that fit, the last one cut if need be."""
    if len(entries) <= _FEW and all(len(entry.summary) <= _SHORT for entry in entries):
        return tuple(entries)
    kept: list[TraceEntry] = []
    left = MAX_TRACE_TOTAL_BYTES
    for entry in entries:
        if len(kept) == MAX_TRACE_ENTRIES:
            break
        summary = truncate_marked(entry.summary, MAX_TRACE_SUMMARY_BYTES)
        size = js.u8_length(summary)
        if size > left:
            if left >= _MIN_CUT_BYTES:
                kept.append(entry.replaced(summary=truncate_marked(summary, left)))
            break
        kept.append(entry if summary is entry.summary else entry.replaced(summary=summary))
        left -= size
    return tuple(kept)


class Tracer:
    """Collects entries and stops when no more can count, so a long search costs no memory."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[TraceEntry] = []

    @property
    def is_full(self) -> bool:
        """True when whatever comes is beyond the budget."""
        return len(self._entries) >= MAX_TRACE_ENTRIES

    def add(self, entry: TraceEntry) -> None:
        if not self.is_full:
            self._entries.append(entry)

    def record(self, kind: TraceKind, summary: str, *refs: TraceRef) -> None:
        self.add(TraceEntry(kind, summary, refs))

    def entries(self) -> tuple[TraceEntry, ...]:
        """The trace within its budget."""
        return within_budget(self._entries)

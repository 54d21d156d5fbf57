"""All sessions of a folder, each in one line; what has not changed since the last time comes from the user's cache.

A list of known sessions must not wait for the engine, so what reads a log is imported for the first new session.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from pytest_workrail.sessions.data_folder import DataFolder
from workrail_lint.base.version import VERSION
from workrail_lint.project.cache import Cache
from workrail_lint.systems.base import FileResult

if TYPE_CHECKING:
    from pytest_workrail.sessions.session_log import Snapshots

_FORMAT = 2
Status: TypeAlias = Literal[
    "complete", "complete_with_gaps", "in_progress", "blocked", "gate", "empty", "damaged", "unknown"
]
STATUSES: tuple[Status, ...] = get_args(Status)


class Summary(NamedTuple):
    """The line of `list` for a session. Counts cover all its runs; the rest is about the latest one."""

    session: str
    workflow_id: str
    status: Status
    step: str | None  # what is pending
    steps: int  # accepted submissions
    blocks: int
    gaps: int
    forks: int
    checkpoints: int
    events: int
    unknown: int
    runs: int
    started_ms: int
    ended_ms: int
    title: str
    damage: str | None

    def to_json(self) -> dict[str, Any]:
        return {
            "session": self.session,
            "workflowId": self.workflow_id,
            "status": self.status,
            "pending": self.step,
            "steps": self.steps,
            "blocks": self.blocks,
            "gaps": self.gaps,
            "forks": self.forks,
            "checkpoints": self.checkpoints,
            "events": self.events,
            "unknownEvents": self.unknown,
            "runs": self.runs,
            "startedMs": self.started_ms,
            "endedMs": self.ended_ms,
            "goal": self.title,
            "damage": self.damage,
        }


def summaries(folder: DataFolder, *, use_cache: bool = True) -> list[Summary]:
    """Return every session, the newest first. The cache lies in the user's cache folder, never in the data folder."""
    cache = Cache(folder.root if use_cache else None, f"sessions {_FORMAT} {VERSION}")
    known = [each.session_id for each in folder.sessions()]
    listed = list(_summaries(folder, known, cache))
    gone = [name for name in cache.entries if name not in set(known)]
    for name in gone:
        del cache.entries[name]
    cache.changed = cache.changed or bool(gone)
    cache.save()
    return sorted(listed, key=lambda each: (-each.ended_ms, each.session))


def _summaries(folder: DataFolder, sessions: list[str], cache: Cache) -> Iterator[Summary]:
    snapshots: Snapshots | None = None
    for session_id in sessions:
        fingerprint = "" if cache.path is None else folder.fingerprint(session_id)
        kept = cache.get(session_id, fingerprint)
        summary = None if kept is None else _kept(kept.result.record)
        if summary is None:
            from pytest_workrail.sessions.session_log import Snapshots, read_log, summarise  # not if all are kept

            snapshots = snapshots or Snapshots(folder)
            summary = summarise(read_log(folder, session_id), snapshots)
            cache.put(session_id, fingerprint, FileResult([], summary._asdict()))
        yield summary


def _kept(record: Any) -> Summary | None:
    try:
        return Summary(**record)
    except TypeError:
        return None


def duration(milliseconds: int) -> str:
    """How long something took, in the largest unit that says enough."""
    seconds = max(0, milliseconds) // 1000
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"

"""All sessions of a folder, each in one line; what has not changed since the last time comes from the user's cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_workrail.sessions.data_folder import DataFolder, FoundSession
from pytest_workrail.sessions.session_log import Snapshots, read_log
from pytest_workrail.sessions.summary import Summary, summarise
from workrail_lint.base.version import VERSION
from workrail_lint.project.cache import Cache
from workrail_lint.systems.base import FileResult

_FORMAT = 1


def summaries(folder: DataFolder, *, use_cache: bool = True) -> list[Summary]:
    """Every session, the newest first. The cache lies in the user's cache folder, never in the data folder."""
    found = folder.sessions()
    cache = Cache(folder.root if use_cache else None, f"sessions {_FORMAT} {VERSION}")
    listed = list(_summaries(folder, found, cache))
    known = {each.session_id for each in found}
    gone = [name for name in cache.entries if name not in known]
    for name in gone:
        del cache.entries[name]
    cache.changed = cache.changed or bool(gone)
    cache.save()
    return sorted(listed, key=lambda each: (-each.ended_ms, each.session))


def _summaries(folder: DataFolder, found: list[FoundSession], cache: Cache) -> Iterator[Summary]:
    states = Snapshots(folder)
    for each in found:
        kept = cache.get(each.session_id, each.fingerprint)
        summary = None if kept is None else _kept(kept.result.record)
        if summary is None:
            summary = summarise(folder, read_log(folder, each.session_id), states)
            cache.put(each.session_id, each.fingerprint, FileResult([], summary.record()))
        yield summary


def _kept(record: Any) -> Summary | None:
    try:
        return Summary(**record)
    except TypeError:
        return None

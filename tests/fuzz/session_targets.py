"""Recorded sessions: whatever a log, a snapshot, a pin or a bundle holds is shown, counted and replayed.

Digests keep damage away from what reads the files, so here a damaged file is attested anew: that is what somebody does
who forges one.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_workrail.sessions.data_folder import DataFolder, decoded
from pytest_workrail.sessions.recorded_session import replay_session
from pytest_workrail.sessions.recording import scenario_of
from pytest_workrail.sessions.replay import recorded_runs
from pytest_workrail.sessions.session_log import Snapshots, read_log, summarise
from pytest_workrail.sessions.stats import count_sessions
from pytest_workrail.sessions.story import stories, story_json
from pytest_workrail.sessions.story_text import story_lines, story_mermaid
from pytest_workrail.sessions.versions import Version, bundle_folder
from tests.fuzz.engines import exported, resealed
from tests.fuzz.target import BETWEEN, Target
from tests.sessions.session_files import Played, Session, step, workflow
from workrail_lint import compile_workflow
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.redaction import Redactor
from workrail_lint.base.result import Err, Ok

_WORKFLOW = workflow(
    step("first"),
    step("second", validationCriteria=[{"type": "contains", "value": "x", "message": "m"}]),
    step("third", runCondition={"var": "size", "equals": "large"}),
)


class _Forged(DataFolder):
    """A session whose files are whatever the fuzzer says, with a manifest that attests them."""

    def __init__(self, session_id: str, manifest: bytes | None, segment: bytes, snapshot: bytes, pin: bytes) -> None:
        super().__init__("data")
        self._manifest = manifest if manifest is not None else _manifest(session_id, segment)
        self._segment, self._snapshot, self._pin = segment, snapshot, pin

    def read_of_session(self, session_id: str, name: str) -> bytes | None:
        return self._manifest if name == "manifest.jsonl" else self._segment

    def has_events(self, session_id: str) -> bool:
        return True

    def snapshot(self, ref: str) -> Ok[dict[str, Any]] | Err[str]:
        return _content(self._snapshot, ref)

    def pinned_workflow(self, workflow_hash: str) -> Ok[dict[str, Any]] | Err[str]:
        return _content(self._pin, workflow_hash)


def _content(data: bytes, name: str) -> Ok[dict[str, Any]] | Err[str]:
    """The one content of a file, or the one of many that has the name."""
    value = decoded(data)
    if isinstance(value, dict) and isinstance(value.get(name), dict):
        value = value[name]
    return Ok(value) if isinstance(value, dict) else Err("it is not JSON")


def _manifest(session_id: str, segment: bytes) -> bytes:
    last = max(0, segment.count(b"\n") - 1)
    record = {"v": 1, "manifestIndex": 0, "sessionId": session_id, "kind": "segment_closed"}
    record |= {"firstEventIndex": 0, "lastEventIndex": last, "segmentRelPath": f"events/{0:08}-{last:08}.jsonl"}
    record |= {"sha256": f"sha256:{sha256(segment).hexdigest()}", "bytes": len(segment)}
    return json.dumps(record).encode() + b"\n"


def _read_everything(folder: DataFolder, session_id: str) -> None:
    """All that the commands about sessions do."""
    log = read_log(folder, session_id)
    summarise(log, Snapshots(folder)).to_json()
    found = stories(folder, session_id, log)
    for story in found:
        list(story_lines(story, full=True))
        story_mermaid(story)
        json.dumps(story_json(story))
    statistics = count_sessions(folder, [session_id])
    statistics.to_json()
    replay_session(folder, session_id, _VERSIONS)
    runs = recorded_runs(folder, session_id)
    for run in runs.value if isinstance(runs, Ok) else ():
        scenario_of(run, "a.json", Redactor())


def _logs(data: bytes) -> None:
    """Events, a snapshot, a pinned workflow, a manifest; what is missing is what an engine wrote."""
    parts = data.split(BETWEEN)
    events, snapshots, pin = (*parts[:3], *_WRITTEN[len(parts[:3]) :])
    manifest = parts[3] if len(parts) > 3 else None
    _read_everything(_Forged(_PLAYED.session_id, manifest, events, snapshots, pin), _PLAYED.session_id)


def _bundles(data: bytes) -> None:
    for raw in (data, resealed(data)):
        opened = bundle_folder(raw, "a.session.json")
        if isinstance(opened, Ok):
            [found] = opened.value.sessions()
            _read_everything(opened.value, found.session_id)


def _redaction(data: bytes) -> None:
    """Notes are as long as an agent likes: the patterns must not take longer than the text deserves."""
    Redactor().text(data.decode("utf-8", "replace"))


def _played() -> Played:
    session = Session(_WORKFLOW, size="large")
    session.submit("one")
    session.submit("no").submit("x", context={"size": "small"})
    return session.played()


_PLAYED = _played()
_VERSIONS = {"demo.plain": Version(Path("a.json"), "demo.plain", compile_workflow(_WORKFLOW).value)}
_WRITTEN = (
    b"".join(canonical_bytes(event) + b"\n" for event in _PLAYED.events),
    canonical_bytes(_PLAYED.snapshots),
    canonical_bytes(_PLAYED.pin),
)


TARGETS = {
    "session-logs": Target(
        _logs,
        (
            _WRITTEN[0],
            BETWEEN.join(_WRITTEN),
            BETWEEN.join((*_WRITTEN, _manifest(_PLAYED.session_id, _WRITTEN[0]))),
            BETWEEN.join((_WRITTEN[0], canonical_bytes(next(iter(_PLAYED.snapshots.values()))))),
        ),
    ),
    "session-bundles": Target(_bundles, (exported(),)),
    "redaction": Target(
        _redaction,
        (
            b"see /home/a/b/c.txt, password=hunter2hunter2, bearer abcdefghijklmnop",
            b"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
            b"C:\\Users\\a b\\c.txt " + b"0123456789abcdef0123456789abcdef01234567",
        ),
    ),
}

"""Where recorded sessions come from: a data folder, one session of it, or a bundle that was exported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pytest_workrail.sessions.data_folder import MAX_FILE_BYTES, SESSION_NAME, SESSIONS, DataFolder, FoundSession
from pytest_workrail.sessions.session_log import SessionLog, trusted_log
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.files import read_bytes
from workrail_lint.base.result import Err, Ok

BUNDLE_ENDING = ".session.json"


class BundleFolder(DataFolder):
    """The one session of a bundle, read like a data folder."""

    def __init__(self, path: str, log: SessionLog, snapshots: dict[str, Any], workflows: dict[str, Any]) -> None:
        super().__init__(path)
        self._log = log
        self._snapshots = snapshots
        self._workflows = workflows

    @property
    def exists(self) -> bool:
        return True

    def sessions(self) -> list[FoundSession]:
        return [FoundSession(self._log.session_id, 0, "")]

    def log(self, session_id: str) -> SessionLog | None:
        return self._log

    def snapshot(self, ref: str) -> Ok[bytes] | Err[str]:
        found = self._snapshots.get(ref)
        return Err("the snapshot is missing") if found is None else Ok(canonical_bytes(found))

    def pinned_workflow(self, workflow_hash: str) -> Ok[dict[str, Any]] | Err[str]:
        found = self._workflows.get(workflow_hash)
        return Err("the pinned workflow is missing") if found is None else Ok(found)


def open_bundle(path: str) -> Ok[BundleFolder] | Err[str]:
    """A bundle in a file, if everything in it is what its digests say."""
    try:
        raw = read_bytes(path, MAX_FILE_BYTES)
    except OSError as problem:
        return Err(f"it can't be read ({problem.strerror})")
    return bundle_folder(raw, path)


def bundle_folder(raw: bytes, path: str) -> Ok[BundleFolder] | Err[str]:
    """A bundle, if everything in it is what its digests say; `path` is where it is from."""
    from pytest_workrail.engine.store.bundle import check

    checked = check(raw)
    if isinstance(checked, Err):
        return Err(f"it is not an intact bundle ({checked.error.code}: {checked.error.message})")
    bundle = checked.value
    log = trusted_log(bundle.session_id, bundle.events, bundle.manifest)
    snapshots: dict[str, Any] = {str(ref): content for ref, content in bundle.snapshots.items()}
    workflows: dict[str, Any] = {str(name): content for name, content in bundle.pinned_workflows.items()}
    return Ok(BundleFolder(path, log, snapshots, workflows))


def open_source(path: str) -> Ok[tuple[DataFolder, list[str]]] | Err[str]:
    """The folder to read from and the sessions that a path names."""
    if os.path.isfile(path):
        bundle = open_bundle(path)
        return bundle if isinstance(bundle, Err) else Ok((bundle.value, [bundle.value.sessions()[0].session_id]))
    name = os.path.basename(os.path.normpath(path))
    parent = Path(os.path.normpath(path)).parent
    if SESSION_NAME.fullmatch(name) and parent.name == SESSIONS and os.path.isdir(path):
        return Ok((DataFolder(os.fspath(parent.parent)), [name]))
    folder = DataFolder(path)
    if not folder.exists:
        return Err("there is no session: name a data folder of the engine, a session in it, or an exported session")
    return Ok((folder, [each.session_id for each in folder.sessions()]))

"""The paths of sessions, snapshots, workflows and keys, relative to the data folder."""

from __future__ import annotations

from pytest_workrail.engine.model.ids import SessionId, SnapshotRef, WorkflowHash
from workrail_lint.base.patterns import Pattern

SESSIONS = "sessions"
SNAPSHOTS = "snapshots"
PINNED_WORKFLOWS = "workflows/pinned"
COMPILED_WORKFLOWS = "workflows/compiled"  # ours: the public engine does not look there
KEYS = "keys"
KEYRING = f"{KEYS}/keyring.json"
TOKEN_INDEX = f"{KEYS}/token-index.jsonl"
EVENTS = "events"  # below the folder of a session
ASIDE = ".tmp"  # how the name of a file ends while it is written

SESSION_NAME = Pattern(r"sess_[A-Za-z0-9_]+")
_UNSAFE = Pattern(r"[^A-Za-z0-9._-]")


def session_dir(session_id: SessionId) -> str:
    """The folder of a session."""
    return f"{SESSIONS}/{session_id}"


def manifest(session_id: SessionId) -> str:
    """The manifest of a session."""
    return f"{SESSIONS}/{session_id}/manifest.jsonl"


def lock(session_id: SessionId) -> str:
    """The lock file of a session."""
    return f"{SESSIONS}/{session_id}/.lock"


def snapshot(ref: SnapshotRef) -> str:
    """The file of a snapshot."""
    return f"{SNAPSHOTS}/{_file_name(ref)}"


def pinned_workflow(workflow_hash: WorkflowHash) -> str:
    """The file of a pinned workflow."""
    return f"{PINNED_WORKFLOWS}/{_file_name(workflow_hash)}"


def compiled_workflow(workflow_hash: WorkflowHash) -> str:
    """The file of the IR that belongs to a workflow which the public engine can run too."""
    return f"{COMPILED_WORKFLOWS}/{_file_name(workflow_hash)}"


def _file_name(digest: str) -> str:
    return f"{_UNSAFE.sub('_', digest)}.json"

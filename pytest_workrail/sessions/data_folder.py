"""A data folder of the public engine, to read from. Nothing in this module opens a file for writing."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.base.files import MAX_FILE_BYTES, read_bytes
from workrail_lint.base.result import Err, Ok

if TYPE_CHECKING:
    from pytest_workrail.sessions.session_log import SessionLog

ENVIRONMENT_VARIABLE = "WORKRAIL_DATA_DIR"
SESSIONS = "sessions"
SESSION_NAME = re.compile(r"sess_[A-Za-z0-9_]{1,80}")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def usual_place(environ: Mapping[str, str] = os.environ) -> str:
    """Where the public engine keeps its data: where the environment says, else below the home folder."""
    named = environ.get(ENVIRONMENT_VARIABLE)
    return named or os.path.join(os.path.expanduser("~"), ".workrail", "data")


class FoundSession(NamedTuple):
    """A session, and when its manifest was last written."""

    session_id: str
    modified_ms: int


class DataFolder:
    """The sessions, snapshots and pinned workflows of an engine."""

    def __init__(self, root: str) -> None:
        self.root = root

    @property
    def exists(self) -> bool:
        return os.path.isdir(os.path.join(self.root, SESSIONS))

    def sessions(self) -> list[FoundSession]:
        """Every session, the one that changed last first. A link is listed, but what it leads to is never read."""
        try:
            entries = list(os.scandir(os.path.join(self.root, SESSIONS)))
        except OSError:
            return []
        sessions = [
            FoundSession(entry.name, _modified(entry.path))
            for entry in entries
            if SESSION_NAME.fullmatch(entry.name) and (entry.is_symlink() or entry.is_dir())
        ]
        return sorted(sessions, key=lambda each: (-each.modified_ms, each.session_id))

    def fingerprint(self, session_id: str) -> str:
        """Return a digest of the sizes of all files of a session, and of their times, which no program can set back."""
        path = os.path.join(self.root, SESSIONS, session_id)
        parts = [(0, 0, 0)]
        try:
            if not _is_folder(path):
                raise NotADirectoryError
            parts.append(_state(os.lstat(f"{path}/manifest.jsonl")))
            with os.scandir(f"{path}/events") as segments:
                parts += [_state(segment.stat(follow_symlinks=False)) for segment in segments]
        except OSError:
            parts.append((-1, -1, -1))
        return sha256(repr(sorted(parts)).encode()).hexdigest()[:32]

    def log(self, session_id: str) -> SessionLog | None:
        """The log, where it is known without reading files."""
        return None

    def read_of_session(self, session_id: str, name: str) -> bytes | None:
        """A file of a session; None when there is none. Raises OSError for anything but a readable regular file."""
        return self._read(f"{self.root}/{SESSIONS}/{session_id}/{name}")

    def has_folder(self, session_id: str, name: str = "") -> bool:
        """Whether a session, or something of it, is a folder of its own, not a link to one."""
        return _is_folder(os.path.join(self.root, SESSIONS, session_id, name).rstrip("/"))

    def segments(self, session_id: str) -> int:
        """How many files with events a session has, whether or not a manifest attests them."""
        try:
            names = os.listdir(os.path.join(self.root, SESSIONS, session_id, "events"))
        except OSError:
            return 0
        return sum(name.endswith(".jsonl") for name in names)

    def snapshot(self, ref: str) -> Ok[bytes] | Err[str]:
        """The content of a snapshot, if it is what its name says."""
        return self._content("snapshots", ref, "snapshot")

    def pinned_workflow(self, workflow_hash: str) -> Ok[dict[str, Any]] | Err[str]:
        """A pinned workflow, if it is what its name says."""
        content = self._content(os.path.join("workflows", "pinned"), workflow_hash, "pinned workflow")
        if isinstance(content, Err):
            return content
        value = decoded(content.value)
        return Ok(value) if isinstance(value, dict) else Err("the pinned workflow is not JSON")

    def _content(self, folder: str, ref: str, noun: str) -> Ok[bytes] | Err[str]:
        if not DIGEST.fullmatch(ref):
            return Err(f"the {noun} has no valid name")
        try:
            raw = self._read(os.path.join(self.root, folder, f"{ref.replace(':', '_')}.json"))
        except OSError as problem:
            return Err(f"the {noun} can't be read ({problem.strerror})")
        if raw is None:
            return Err(f"the {noun} is missing")
        if f"sha256:{sha256(raw).hexdigest()}" != ref:
            return Err(f"the {noun} differs from what was written")
        return Ok(raw)

    def _read(self, path: str) -> bytes | None:
        try:
            return read_bytes(path, MAX_FILE_BYTES, follow=False)
        except (FileNotFoundError, NotADirectoryError):
            return None


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _modified(path: str) -> int:
    """When the manifest of a session was last written, in milliseconds; 0 for a link, and without a manifest."""
    try:
        return os.lstat(f"{path}/manifest.jsonl").st_mtime_ns // 1_000_000 if _is_folder(path) else 0
    except OSError:
        return 0


def _state(info: os.stat_result) -> tuple[int, int, int]:
    return info.st_size, info.st_ctime_ns, info.st_mtime_ns


def _refuse(lexeme: str) -> float:
    raise ValueError(f"{lexeme} is not JSON")


# Made once: making one costs more than decoding a line does.
_decode = json.JSONDecoder(parse_constant=_refuse).decode


def decoded(raw: bytes) -> Any:
    """The JSON value in some bytes; None when there is none. Never raises, whatever the bytes are."""
    try:
        return _decode(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None

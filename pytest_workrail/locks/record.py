"""The record: which lock texts the tests were written for, and which sabotages they have noticed.

It is committed with the code. A lock whose text is no longer the recorded one is suspect until someone accepts the
new text; a proof holds as long as the lock, the sabotage and the test are the ones it was made with.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_workrail.locks.registry import Lock
from pytest_workrail.records import Record
from workrail_lint.base.files import read_bytes
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok

VERSION = 1
_WAY_OUT = "Restore it, or delete it and run --workrail-locks-prove again."


@dataclass(frozen=True, slots=True, order=True)
class Proof:
    """A sabotage that made a test fail."""

    sabotage: str
    sabotage_digest: str
    test: str
    test_digest: str

    def to_json(self) -> dict[str, Json]:
        return {
            "sabotage": self.sabotage,
            "sabotageDigest": self.sabotage_digest,
            "test": self.test,
            "testDigest": self.test_digest,
        }


class LockEntry(Record):
    """What is on record about one lock."""

    text: str
    revision: int
    proofs: tuple[Proof, ...] = ()


class LockRecord(Record, frozen=False):
    """The entries by lock id."""

    entries: dict[str, LockEntry] = field(default_factory=dict)

    def to_text(self) -> str:
        locks: dict[str, Json] = {
            lock_id: {
                "text": entry.text,
                "revision": entry.revision,
                "proofs": [proof.to_json() for proof in sorted(entry.proofs)],
            }
            for lock_id, entry in sorted(self.entries.items())
        }
        return json.dumps({"lockRecordVersion": VERSION, "locks": locks}, indent=2) + "\n"


def text_digest(lock: Lock) -> str:
    """The digest of what a lock says."""
    return f"sha256:{hashlib.sha256(lock.summary.encode()).hexdigest()}"


def load_record(path: Path) -> Ok[LockRecord] | Err[str]:
    """A record from its file; an empty one when there is none yet."""
    if not path.exists():
        return Ok(LockRecord())
    try:
        value: Any = json.loads(read_bytes(str(path)))
        if value["lockRecordVersion"] != VERSION:
            found = value["lockRecordVersion"]
            return Err(f"{path.name} has the unknown lock record version {found}; this program reads {VERSION}")
        return Ok(LockRecord({lock_id: _entry(entry) for lock_id, entry in value["locks"].items()}))
    except OSError as problem:
        return Err(f"{path.name} can't be read: {problem.strerror}")
    except ValueError as problem:
        return Err(f"{path.name} can't be used as a lock record, because it is not JSON: {problem}. {_WAY_OUT}")
    except (KeyError, TypeError, AttributeError):
        return Err(f"{path.name} can't be used as a lock record, because members are missing or wrong. {_WAY_OUT}")


def _entry(value: dict[str, Any]) -> LockEntry:
    proofs = tuple(
        Proof(*(_text(proof[name]) for name in ("sabotage", "sabotageDigest", "test", "testDigest")))
        for proof in value["proofs"]
    )
    if not isinstance(value["revision"], int):
        raise TypeError("revision")
    return LockEntry(_text(value["text"]), value["revision"], proofs)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("text")
    return value

"""Pending changes: what a golden would become, kept beside it until somebody decides.

A pending file is the new golden and, before it, which test wants it and which golden it saw. A proposal outlives a
change of branch, so it is taken only while that golden still is the one on disk.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pytest_workrail.golden import files
from pytest_workrail.golden.encoding import encode, loads, plain_text
from pytest_workrail.golden.keys import PENDING
from workrail_lint.base.canonical import digest
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.typed import NamedTuple

State = Literal["changed", "settled", "stale", "damaged"]


class Pending(NamedTuple):
    """A proposal: the goldens it can replace, by their fingerprints, and the golden it offers.

    `skipped` are the changes, by their ids, that somebody looked at in a review and left for later.
    """

    test: str
    seen: tuple[str, ...]
    skipped: tuple[str, ...]
    golden: dict[str, Any]

    def file(self) -> bytes:
        """The bytes of the pending file."""
        about: dict[str, Any] = {"test": self.test, "seen": list(self.seen)}
        if self.skipped:
            about["skipped"] = list(self.skipped)
        return encode({"pending": about, **self.golden})


class Proposal(NamedTuple):
    """A pending file as it stands beside its golden now. `problem` says why it can't be taken."""

    path: Path
    state: State
    old: bytes | None
    pending: Pending | None
    problem: str

    @property
    def golden_path(self) -> Path:
        return golden_of(self.path)

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self.golden_path.as_posix()

    @property
    def new(self) -> bytes:
        """The bytes of the golden that is offered."""
        return b"" if self.pending is None else encode(self.pending.golden)


def pending_of(golden: Path) -> Path:
    """Where the pending change of a golden is kept."""
    return golden.with_name(golden.name + PENDING)


def golden_of(pending: Path) -> Path:
    """The golden that a pending file is about."""
    return pending.with_name(pending.name.removesuffix(PENDING))


def fingerprint(data: bytes) -> str:
    """What a golden says, in short: the same after a checkout with other line ends, or a reformatting."""
    golden = loads(data)
    return digest(plain_text(golden.value).encode() if isinstance(golden, Ok) else data)


def pending_bytes(test: str, old: bytes, new: bytes) -> bytes:
    """The file of a proposal."""
    return Pending(test, (fingerprint(old),), (), loads(new).value).file()


def proposal(path: Path) -> Proposal:
    """A pending file, held against its golden."""
    try:
        old = files.read(golden_of(path))
        data = files.read(path) or b""
    except OSError as problem:
        return Proposal(path, "damaged", None, None, (problem.strerror or "unreadable").lower())
    made = _read(data)
    if isinstance(made, Err):
        return Proposal(path, "damaged", old, None, made.error)
    pending = made.value
    if old is None:
        return Proposal(path, "stale", None, pending, "the golden is gone")
    seen = fingerprint(old)
    if seen == digest(plain_text(pending.golden).encode()):
        return Proposal(path, "settled", old, pending, "")
    if seen not in pending.seen:
        return Proposal(path, "stale", old, pending, "the golden has changed since the test ran")
    return Proposal(path, "changed", old, pending, "")


def _read(data: bytes) -> Ok[Pending] | Err[str]:
    golden = loads(data)
    if isinstance(golden, Err):
        return golden
    members = dict(golden.value)
    about = members.pop("pending", None)
    if not isinstance(about, dict) or not isinstance(about.get("test"), str) or not _are_texts(about.get("seen")):
        return Err("not a pending change: nothing says which test made it")
    skipped = about.get("skipped", [])
    return Ok(Pending(about["test"], tuple(about["seen"]), tuple(skipped) if _are_texts(skipped) else (), members))


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)

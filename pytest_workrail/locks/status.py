"""How each lock of a registry stands after a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from pytest_workrail.locks.evidence import Evidence
from pytest_workrail.locks.record import LockEntry, LockRecord, Proof, text_digest
from pytest_workrail.locks.registry import Lock, Registry
from pytest_workrail.locks.sabotage import Sabotage
from pytest_workrail.records import Record
from workrail_lint.base.suggest import nearest_id


class LockStatus(Record):
    """One lock: the tests that claim it, whether one of them enforced it, and what proves that it would notice.

    A suspect lock counts as not enforced: its tests were written for another text. `stale` are proofs that no longer
    hold, because the sabotage or the test changed since.
    """

    lock: Lock
    claims: tuple[Evidence, ...]
    is_suspect: bool
    proofs: tuple[Proof, ...]
    stale: tuple[Proof, ...]

    @property
    def enforcing(self) -> tuple[Evidence, ...]:
        return tuple(evidence for evidence in self.claims if evidence.counts)

    @property
    def is_enforced(self) -> bool:
        return bool(self.enforcing) and not self.is_suspect

    @property
    def is_proven(self) -> bool:
        return self.is_enforced and bool(self.proofs)

    @property
    def files(self) -> list[str]:
        """The files of the tests that enforce it."""
        return sorted({evidence.file for evidence in self.enforcing})


class LockCoverage(Record):
    """All locks that count, and what is wrong with claims, sabotages or the record."""

    registry: Registry
    locks: tuple[LockStatus, ...]
    problems: tuple[str, ...]

    @property
    def enforced(self) -> list[LockStatus]:
        return [status for status in self.locks if status.is_enforced]

    @property
    def open(self) -> list[LockStatus]:
        return [status for status in self.locks if not status.is_enforced]

    @property
    def proven(self) -> list[LockStatus]:
        return [status for status in self.locks if status.is_proven]

    @property
    def suspect(self) -> list[LockStatus]:
        return [status for status in self.locks if status.is_suspect]

    def share(self, part: Sequence[LockStatus]) -> Fraction:
        """A part of all locks, in percent. Of no locks, nothing is missing."""
        return Fraction(100 * len(part), len(self.locks)) if self.locks else Fraction(100)


def rounded(percent: Fraction) -> int:
    """A percentage as a whole number, half a point up."""
    return int(percent + Fraction(1, 2))


def lock_coverage(
    registry: Registry,
    evidence: Iterable[Evidence],
    record: LockRecord,
    sabotages: Sequence[Sabotage],
    problems: Iterable[str] = (),
) -> LockCoverage:
    """How the locks stand, given what the tests of a run did."""
    found = list(problems)
    known = {lock.id: lock for lock in registry.locks}
    claimed: dict[str, list[Evidence]] = {lock.id: [] for lock in registry.counting()}
    for piece in evidence:
        for claim in piece.claims:
            lock = known.get(claim.lock_id)
            flaw = _claim_flaw(lock, claim.lock_id, claim.revision, known)
            if flaw is not None:
                found.append(f"{flaw} in {piece.place}")
            elif lock is not None:
                claimed[lock.id].append(piece)
    found += _sabotage_flaws(sabotages, known)
    locks = tuple(
        _status(known[lock_id], tuple(pieces), record, sabotages) for lock_id, pieces in sorted(claimed.items())
    )
    return LockCoverage(registry, locks, tuple(sorted(set(found))))


def _claim_flaw(lock: Lock | None, lock_id: str, revision: int | None, known: dict[str, Lock]) -> str | None:
    if lock is None:
        meant = nearest_id(lock_id, known)
        return f'Unknown lock ID "{lock_id}"' + (f' (did you mean "{meant}"?)' if meant else "")
    if lock.obsolete:
        return f'Outdated lock ID "{lock_id}": the lock is obsolete'
    if not lock.counts:
        return f'Lock ID "{lock_id}" does not apply: {lock.reason}'
    if revision is not None and revision != lock.revision:
        return f'Outdated lock ID "{lock_id}@{revision}": the lock is at revision {lock.revision}'
    return None


def _sabotage_flaws(sabotages: Sequence[Sabotage], known: dict[str, Lock]) -> list[str]:
    return [
        f'Unknown lock ID "{lock_id}" in sabotage {sabotage.name}'
        for sabotage in sabotages
        for lock_id in sabotage.locks
        if lock_id not in known
    ]


def _status(lock: Lock, claims: tuple[Evidence, ...], record: LockRecord, sabotages: Sequence[Sabotage]) -> LockStatus:
    entry = record.entries.get(lock.id)
    if entry is None:
        return LockStatus(lock, claims, False, (), ())
    is_suspect = entry.text != text_digest(lock) and not _reviewed(lock, entry, claims)
    switches = {sabotage.name: sabotage.digest for sabotage in sabotages if lock.id in sabotage.locks}
    tests = {(evidence.name, evidence.digest) for evidence in claims if evidence.counts}
    holding = tuple(
        proof
        for proof in sorted(entry.proofs)
        if switches.get(proof.sabotage) == proof.sabotage_digest and (proof.test, proof.test_digest) in tests
    )
    stale = tuple(proof for proof in sorted(entry.proofs) if proof not in holding)
    return LockStatus(lock, claims, is_suspect, () if is_suspect else holding, stale)


def _reviewed(lock: Lock, entry: LockEntry, claims: tuple[Evidence, ...]) -> bool:
    """Whether an enforcing test names the new revision, and so says that it was written for the new text."""
    pinned = any(
        claim.lock_id == lock.id and claim.revision == lock.revision
        for evidence in claims
        if evidence.counts
        for claim in evidence.claims
    )
    return pinned and lock.revision > entry.revision

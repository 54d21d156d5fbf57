"""The end of a run with locks: what goes into the record and the reports, and whether it is enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pytest_workrail.locks.evidence import Evidence
from pytest_workrail.locks.prover import AttemptResult
from pytest_workrail.locks.record import LockEntry, LockRecord, Proof, text_digest
from pytest_workrail.locks.report import reports
from pytest_workrail.locks.settings import LockSettings
from pytest_workrail.locks.status import LockCoverage, LockStatus, lock_coverage, rounded
from pytest_workrail.records import Record, replace
from workrail_lint.base.files import read_bytes, write_atomically

_SHOWN = 10


class LockSummary(Record):
    """What is said at the end, and what makes the run fail."""

    lines: tuple[str, ...]
    failures: tuple[str, ...]


def close(
    settings: LockSettings,
    evidence: Sequence[Evidence],
    problems: Iterable[str],
    findings: Sequence[AttemptResult],
    is_green: bool,
) -> LockSummary:
    """Judge a run. The record and the reports are written only when asked for, the record only by a green run."""
    record = settings.record
    failures: list[str] = []
    if settings.proves or settings.accepted:
        if is_green:
            record = updated(settings, evidence, findings)
            failures += _save(settings.record_path, record.to_text())
        else:
            failures.append("The lock record was not written, because not all tests passed.")
    remarks = (*settings.warnings, *settings.problems, *problems)
    coverage = lock_coverage(settings.registry, evidence, record, settings.sabotages, remarks)
    failures += [problem for problem in coverage.problems if problem not in settings.warnings]
    failures += _shortfall("enforced", coverage, coverage.enforced, settings.fail_under)
    failures += _shortfall("proven", coverage, coverage.proven, settings.proven_fail_under)
    if settings.report_folder is not None:
        for name, text in reports(coverage).items():
            path = settings.report_folder / name
            failures += _compare(path, text) if settings.verifies else _save(path, text)
    lines = (*_summary(coverage, findings), *_warnings(settings.warnings))
    return LockSummary(lines, tuple(failures))


def updated(settings: LockSettings, evidence: Sequence[Evidence], findings: Sequence[AttemptResult]) -> LockRecord:
    """The record after a run that proved locks or accepted new texts."""
    coverage = lock_coverage(settings.registry, evidence, settings.record, settings.sabotages)
    tests = {piece.test: (piece.name, piece.digest) for piece in evidence}
    entries = dict(settings.record.entries)
    for status in coverage.locks:
        lock, known = status.lock, entries.get(status.lock.id)
        is_written_for_text = settings.proves if known is None else not status.is_suspect
        if status.enforcing and (is_written_for_text or settings.accepts(lock.id)):
            known = LockEntry(text_digest(lock), lock.revision, () if known is None else known.proofs)
        if known is not None:
            entries[lock.id] = replace(known, proofs=_proofs(lock.id, known, settings, tests, findings))
    return LockRecord(entries)


def _proofs(
    lock_id: str,
    entry: LockEntry,
    settings: LockSettings,
    tests: dict[str, tuple[str, str]],
    findings: Sequence[AttemptResult],
) -> tuple[Proof, ...]:
    """What was tried now replaces what was tried before; what was not tried stays, while its sabotage exists."""
    if not settings.proves:
        return entry.proofs
    try_sabotage = {finding.sabotage: finding for finding in findings if finding.lock_id == lock_id}
    existing = {sabotage.name: sabotage.digest for sabotage in settings.sabotages if lock_id in sabotage.locks}
    kept = [proof for proof in entry.proofs if proof.sabotage in existing.keys() - try_sabotage.keys()]
    found = [
        Proof(finding.sabotage, existing[finding.sabotage], *tests[finding.test])
        for finding in try_sabotage.values()
        if finding.test is not None
    ]
    return tuple(sorted((*kept, *found)))


def _save(path: Path, text: str) -> Iterator[str]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(str(path), text.encode())
    except OSError as problem:
        yield f"{path.name} can't be written: {problem.strerror}"


def _compare(path: Path, text: str) -> Iterator[str]:
    if not path.is_file() or read_bytes(str(path)) != text.encode():
        yield f"{path.name} is out of date. Run again without --workrail-locks-verify and review the changes."


def _shortfall(what: str, coverage: LockCoverage, part: Sequence[LockStatus], percent: float | None) -> Iterator[str]:
    if percent is None or coverage.share(part) >= percent:
        return
    yield f"{len(part)} of {len(coverage.locks)} locks are {what}; {percent:g}% are required."
    lacking = [status for status in coverage.locks if status not in part]
    for status in lacking[:_SHOWN]:
        yield f"  {status.lock.id}: {_shortcoming(status)}"
    if len(lacking) > _SHOWN:
        yield f"  and {len(lacking) - _SHOWN} more"


def _shortcoming(status: LockStatus) -> str:
    """The shortest answer to why a lock is not enforced, or not proven."""
    if status.is_suspect:
        return "suspect: its text changed after its tests were written"
    if status.is_enforced:
        return "no longer proven: its test or sabotage changed" if status.stale else "no sabotage of it is noticed"
    if not status.claims:
        return f"no test claims it ({status.lock.summary})"
    flaws = sorted({f"{evidence.name} {evidence.flaw}" for evidence in status.claims})
    return "; ".join(flaws)


def _warnings(warnings: Sequence[str]) -> Iterator[str]:
    for warning in warnings[:_SHOWN]:
        yield f"warning: {warning}"
    if len(warnings) > _SHOWN:
        yield f"warning: {len(warnings) - _SHOWN} more sources do not exist"


def _summary(coverage: LockCoverage, findings: Sequence[AttemptResult]) -> Iterator[str]:
    enforced, proven = coverage.enforced, coverage.proven
    yield (
        f"{len(enforced)} of {len(coverage.locks)} locks enforced ({rounded(coverage.share(enforced))}%), "
        f"{len(proven)} proven ({rounded(coverage.share(proven))}%), {len(coverage.suspect)} suspect"
    )
    unnoticed = [finding for finding in findings if finding.test is None]
    if findings:
        yield f"{len(findings) - len(unnoticed)} of {len(findings)} sabotages noticed"
    for finding in unnoticed:
        yield f"  {finding.sabotage} ({finding.lock_id}) is not noticed: {finding.why}"

"""Design locks in a pytest session: settings, what tests did, and what is reported at the end."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from pytest_workrail.locks.assertion_watch import AssertionWatch
from pytest_workrail.locks.evidence import (
    ClaimReader,
    Evidence,
    LockCoverage,
    LockEntry,
    LockRecord,
    LockState,
    LockStatus,
    Proof,
    load_record,
    lock_coverage,
    merged,
    not_yet_run,
    rounded,
    text_digest,
)
from pytest_workrail.locks.registry import Registry, load_registry, missing_citations, missing_sources
from pytest_workrail.locks.report import reports
from pytest_workrail.locks.sabotage import Attempt, AttemptResult, Prover, Sabotage, can_prove, load_sabotages
from pytest_workrail.run.pytest_session import ItemOutcome, Outcomes
from workrail_lint.base.files import output_root, read_bytes, write_atomically
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import neutral

_SHOWN = 10
_WORKER_KEY = "workrail_locks"


@dataclass(frozen=True, slots=True)
class LockSettings:
    """The registry, the record, the sabotages, and what is to be done with them."""

    registry: Registry
    record: LockRecord
    record_path: Path
    sabotages: tuple[Sabotage, ...]
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    report_folder: Path | None
    verifies: bool
    proves: bool
    accepted: frozenset[str]
    fail_under: float | None
    proven_fail_under: float | None

    def accepts(self, lock_id: str) -> bool:
        """Return whether the new text of a lock was declared to be what its tests enforce."""
        return bool(self.accepted & {lock_id, "all"})


def lock_settings(config: pytest.Config) -> LockSettings:
    """Return the settings of a run. Raises UsageError when they can't be met."""
    path = _of_project(config, config.getoption("workrail_locks"))
    registry = load_registry(path)
    if isinstance(registry, Err):
        problems = "\n".join(f"  {problem.pointer or '/'}: {problem.message}" for problem in registry.error)
        raise pytest.UsageError(neutral(f"the lock registry {path.name} can't be used:\n{problems}"))
    record_option = config.getoption("workrail_lock_record")
    record_path = _of_project(config, record_option) if record_option else path.with_suffix(".record.json")
    record = load_record(record_path)
    if isinstance(record, Err):
        raise pytest.UsageError(neutral(record.error))
    report_folder = config.getoption("workrail_lock_report")
    verifies = config.getoption("workrail_locks_verify")
    if verifies and report_folder is None:
        raise pytest.UsageError("--workrail-locks-verify needs --workrail-lock-report=FOLDER")
    accepted = frozenset(config.getoption("workrail_locks_accept"))
    unknown = accepted - {lock.id for lock in registry.value.locks} - {"all"}
    if unknown:
        raise pytest.UsageError(f"--workrail-locks-accept: unknown lock: {', '.join(sorted(unknown))}")
    fail_under = config.getoption("workrail_locks_fail_under")
    return LockSettings(
        registry.value,
        record.value,
        record_path,
        chosen_sabotages(config),
        tuple(
            f"{path.name}{problem.pointer}: {problem.message}"
            for problem in missing_sources(registry.value, config.rootpath)
        ),
        tuple(f"{path.name}: {warning}" for warning in missing_citations(registry.value, config.rootpath, path.parent)),
        None if report_folder is None else _of_project(config, report_folder),
        verifies,
        config.getoption("workrail_locks_prove"),
        accepted,
        100.0 if config.getoption("workrail_locks_check") else fail_under,
        config.getoption("workrail_locks_proven_fail_under"),
    )


def _of_project(config: pytest.Config, path: str) -> Path:
    """Return a path that is relative to the project, from wherever pytest was started."""
    here = config.invocation_params.dir / path
    return here if here.exists() else config.rootpath / path


def chosen_sabotages(config: pytest.Config) -> tuple[Sabotage, ...]:
    """Return the sabotages of the modules that were named. Raises UsageError."""
    try:
        return tuple(load_sabotages(config.getoption("workrail_sabotages"), config.invocation_params.dir))
    except LookupError as error:
        raise pytest.UsageError(f"--workrail-sabotages: {error}") from error


def prepare(config: pytest.Config) -> None:
    """Turn on the sabotage that was asked for, and keep what fails because of it from being remembered."""
    name = config.getoption("workrail_sabotage")
    if name is not None:
        _switch_on(config, name)
    if config.pluginmanager.hasplugin("hypothesispytest"):
        config.add_cleanup(_forget_examples())


def _switch_on(config: pytest.Config, name: str) -> None:
    sabotages = {sabotage.name: sabotage for sabotage in chosen_sabotages(config)}
    if name not in sabotages:
        known = ", ".join(sorted(sabotages)) or "none; name their modules with --workrail-sabotages"
        raise pytest.UsageError(f"--workrail-sabotage: unknown sabotage {name} (known: {known})")
    stack = ExitStack()
    try:
        stack.enter_context(sabotages[name].applied())
    except LookupError as error:
        raise pytest.UsageError(f"--workrail-sabotage: {error}") from error
    except Exception as error:
        # A sabotage is the project's own code, so anything can go wrong in it.
        reason = f"{type(error).__name__}: {error}"
        raise pytest.UsageError(f"--workrail-sabotage: {name} can't be turned on: {reason}") from error
    config.add_cleanup(stack.close)


def _forget_examples() -> Callable[[], None]:
    """Make hypothesis deterministic and patient, and keep it from storing or shrinking what it finds in broken code.

    Returns a function that restores its settings.
    """
    import hypothesis  # of the tests; slow to import

    usual = hypothesis.settings.get_current_profile_name()

    hypothesis.settings.register_profile(
        "workrail-sabotage",
        database=None,
        derandomize=True,
        deadline=None,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("workrail-sabotage")
    return lambda: hypothesis.settings.load_profile(usual)


class LockSession:
    """Collects evidence. Under xdist every worker has one, and the controller merges them."""

    def __init__(self) -> None:
        self._reader = ClaimReader()
        self._evidence: dict[str, Evidence] = {}
        self._collected: set[str] = set()
        self._asserted: set[str] = set()
        self._problems: set[str] = set()

    def collected(self, item: pytest.Item) -> bool:
        """Note a selected test. Return True when it claims a lock."""
        read = self._reader.read(item)
        if not read.claims and not read.problems:
            return False
        self._problems.update(read.problems)
        if read.claims:
            self._evidence[item.nodeid] = not_yet_run(item, read.claims)
            self._collected.add(item.nodeid)
        return bool(read.claims)

    def is_claiming(self, test: str) -> bool:
        return test in self._evidence

    def asserted(self, test: str) -> None:
        """A test has asserted something."""
        self._asserted.add(test)

    def test_finished(self, test: str, ending: ItemOutcome) -> None:
        """A test is over. The controller of xdist hears of it too, but only the worker knows whether it asserted."""
        if test in self._collected:
            self._evidence[test] = replace(self._evidence[test], ending=ending, asserted=test in self._asserted)
        self._asserted.discard(test)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The evidence of each claiming test, by name."""
        return tuple(self._evidence[test] for test in sorted(self._evidence))

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(sorted(self._problems))

    def worker_state(self) -> dict[str, Json]:
        """Return what a worker hands to the controller."""
        state: dict[str, Json] = msgspec.to_builtins(LockState(self.evidence, self.problems))
        return state

    def merge(self, state: Any) -> None:
        """Take in what a worker found."""
        added = msgspec.convert(state, LockState)
        self._evidence = merged([*self.evidence, *added.evidence])
        self._problems.update(added.problems)


@dataclass(frozen=True, slots=True)
class LockSummary:
    """The summary at the end, and the failures of the run."""

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
    """Return the record after a run that proved locks or accepted new texts."""
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
    """Return what was tried now replaces what was tried before; what was not tried stays, while its sabotage exists."""
    if not settings.proves:
        return entry.proofs
    try_sabotage = {finding.sabotage: finding for finding in findings if finding.lock_id == lock_id}
    existing = {sabotage.name: sabotage.digest for sabotage in settings.sabotages if lock_id in sabotage.locks}
    kept = [proof for proof in entry.proofs if proof.sabotage in existing.keys() - try_sabotage.keys()]
    fresh = [
        Proof(finding.sabotage, existing[finding.sabotage], *tests[finding.test])
        for finding in try_sabotage.values()
        if finding.test is not None
    ]
    return tuple(sorted((*kept, *fresh)))


def _save(path: Path, text: str) -> Iterator[str]:
    try:
        write_atomically(str(path), text.encode(), output_root(str(path.parent)), parents=True)
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


class LockPlugin:
    """Connects a lock session to the hooks."""

    def __init__(self, config: pytest.Config, settings: LockSettings) -> None:
        self._config = config
        self._settings = settings
        self.session = LockSession()
        self._outcomes = Outcomes()
        self._watch = AssertionWatch(config)
        self._findings: list[AttemptResult] = []
        self._closing = LockSummary((), ())
        if settings.proves and not can_prove():
            raise pytest.UsageError("--workrail-locks-prove needs a platform with os.fork")
        if settings.proves and config.getoption("numprocesses", None):
            raise pytest.UsageError("--workrail-locks-prove can't be combined with -n: it starts its own processes")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        claiming = {item for item in items if self.session.collected(item)}
        if self._settings.proves:
            others = [item for item in items if item not in claiming]
            if others:
                config.hook.pytest_deselected(items=others)
            items[:] = [item for item in items if item in claiming]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        if not self.session.is_claiming(item.nodeid):
            return (yield)
        with self._watch.watching(item) as tally:
            result = yield
        if tally.asserted:
            self.session.asserted(item.nodeid)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        ending = self._outcomes.add(report)
        if ending is not None:
            self.session.test_finished(report.nodeid, ending)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        if not self._settings.proves or session.config.option.collectonly:
            return (yield)
        prover = Prover(session.items, self._settings.sabotages)
        result = yield
        if session.testsfailed:
            prover.skip()
        else:
            self._findings = prover.prove(list(self._attempts(session.items)))
        return result

    def _attempts(self, items: list[pytest.Item]) -> Generator[Attempt, None, None]:
        """Yield each sabotage with the tests of each lock it breaks, those first that claim the lock themselves."""
        for sabotage in self._settings.sabotages:
            for lock_id in sabotage.locks:
                claims = {
                    piece.test: claim
                    for piece in self.session.evidence
                    if piece.counts and (claim := piece.claim(lock_id)) is not None
                }
                tests = [item.nodeid for item in items if item.nodeid in claims]
                if tests:
                    ordered = sorted(tests, key=lambda test: not claims[test].is_own)
                    yield Attempt(sabotage.name, lock_id, tuple(ordered))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of xdist is done."""
        state = getattr(node, "workeroutput", {}).get(_WORKER_KEY)
        if state is not None:
            self.session.merge(state)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_WORKER_KEY] = self.session.worker_state()
            return
        is_green = exitstatus == pytest.ExitCode.OK
        self._closing = close(self._settings, self.session.evidence, self.session.problems, self._findings, is_green)
        if self._closing.failures and is_green:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("locks")
        for line in self._closing.lines:
            terminalreporter.line(neutral(line))
        for failure in self._closing.failures:
            text = failure if failure.startswith(" ") else f"FAIL: {failure}"
            terminalreporter.line(neutral(text), red=True)

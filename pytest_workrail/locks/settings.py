"""What the lock options of a run ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_workrail.locks.record import LockRecord, load_record
from pytest_workrail.locks.registry import Registry, load_registry, missing_citations, missing_sources
from pytest_workrail.locks.sabotage import Sabotage, load_sabotages
from pytest_workrail.records import Record
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import neutral


class LockSettings(Record):
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
        """Whether the new text of a lock was declared to be what its tests enforce."""
        return bool(self.accepted & {lock_id, "all"})


def lock_settings(config: pytest.Config) -> LockSettings:
    """The settings of a run. Raises UsageError when they can't be met."""
    folder = config.invocation_params.dir
    path = folder / config.getoption("workrail_locks")
    registry = load_registry(path)
    if isinstance(registry, Err):
        problems = "\n".join(f"  {problem.pointer or '/'}: {problem.message}" for problem in registry.error)
        raise pytest.UsageError(neutral(f"the lock registry {path.name} can't be used:\n{problems}"))
    record_path = folder / (config.getoption("workrail_lock_record") or path.with_suffix(".record.json"))
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
        None if report_folder is None else folder / report_folder,
        verifies,
        config.getoption("workrail_locks_prove"),
        accepted,
        100.0 if config.getoption("workrail_locks_check") else fail_under,
        config.getoption("workrail_locks_proven_fail_under"),
    )


def chosen_sabotages(config: pytest.Config) -> tuple[Sabotage, ...]:
    """The sabotages of the modules that were named. Raises UsageError."""
    try:
        return tuple(load_sabotages(config.getoption("workrail_sabotages"), config.invocation_params.dir))
    except LookupError as error:
        raise pytest.UsageError(f"--workrail-sabotages: {error}") from error

"""A scenario file of any kind, read and checked against its schema, before its driver runs it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_workrail.golden.files import SCENARIO_ENDING
from pytest_workrail.records import Record
from pytest_workrail.run.project_sources import project_scenarios
from pytest_workrail.scenarios.failures import Fault, ScenarioFailure, fault_of
from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.findings import Finding, Severity


class ScenarioDocument(Record):
    """A scenario whose shape is right, and the members that all kinds have. `file` is its name in messages."""

    path: Path
    file: str
    document: JsonDocument
    driver: str = ""  # what plays its kind

    @property
    def value(self) -> dict[str, Any]:
        value = self.document.value
        return value if isinstance(value, dict) else {}

    @property
    def folder(self) -> str:
        """Where the paths in the file start."""
        return os.fspath(self.path.parent)

    @property
    def name(self) -> str:
        return str(self.value.get("name") or self.path.name.removesuffix(SCENARIO_ENDING))

    @property
    def locks(self) -> tuple[str, ...]:
        """The locks that the scenario claims to enforce."""
        return tuple(self.value.get("enforces", ()))

    @property
    def wants_golden(self) -> bool:
        return self.value.get("golden") is not False

    def invalid(self, findings: Iterable[Finding]) -> Err[ScenarioFailure]:
        """The failure of a scenario that can't be played."""
        return Err(ScenarioFailure(self.file, self.document, [fault_of(each, self.document) for each in findings]))


def open_scenario(path: Path, file: str) -> Ok[ScenarioDocument] | Err[ScenarioFailure]:
    """Read a scenario file. `file` is what it is called in messages."""
    found_file = read_file(os.fspath(path))
    if isinstance(found_file, Err):
        return Err(ScenarioFailure(file, JsonDocument(""), [Fault(found_file.error.message, "")]))
    system = project_scenarios(os.fspath(path.parent))
    if isinstance(system, Err):
        return Err(ScenarioFailure(file, JsonDocument(""), [Fault(system.error, "")]))
    read = system.value.read(found_file.value)
    scenario = ScenarioDocument(path, file, read.document, system.value.kind_of(read.value).driver)
    return scenario.invalid(read.findings) if read.findings else Ok(scenario)


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that keep a scenario from being played; warnings are for the linter to show."""
    return [finding for finding in findings if finding.severity is Severity.ERROR]

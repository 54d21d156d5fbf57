"""From a scenario file to something that can be played, or to what is wrong with it and where."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_workrail.run.project_sources import project_sources
from pytest_workrail.scenarios.failures import Fault, ScenarioFailure, fault_of
from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.findings import Finding, Severity
from workrail_lint.systems.builtin import scenario_system
from workrail_lint.systems.workrail.scenario import Scenario
from workrail_lint.systems.workrail.scenario_check import (
    UNREADABLE,
    compile_scenario,
    member_for,
    own_findings,
    workflow_findings,
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A scenario that holds together, and its workflow."""

    file: str
    document: JsonDocument
    scenario: Scenario
    ir: dict[str, Any]


def load_scenario(path: Path, file: str) -> Ok[Loaded] | Err[ScenarioFailure]:
    """Read a scenario and compile its workflow. `file` is what the scenario is called in messages."""
    found_file = read_file(os.fspath(path))
    if isinstance(found_file, Err):
        return Err(ScenarioFailure(file, JsonDocument(""), [Fault(found_file.error.message, "")]))
    read = scenario_system().read(found_file.value)
    document = read.document

    def failed(*faults: Fault) -> Err[ScenarioFailure]:
        return Err(ScenarioFailure(file, document, faults))

    found = read.findings or [each for each in own_findings(read.value) if each.severity is Severity.ERROR]
    if found:
        return failed(*(fault_of(each, document) for each in found))
    sources = project_sources(os.fspath(path.parent))
    if isinstance(sources, Err):
        return failed(Fault(sources.error, ""))
    compiled = compile_scenario(read.value, os.fspath(path.parent), sources.value)
    if isinstance(compiled, Err):
        return failed(*(_compile_fault(error, read.value, path.parent) for error in compiled.error))
    ir = compiled.value.ir
    unknown = list(workflow_findings(read.value, ir))
    if unknown:
        return failed(*(fault_of(each, document) for each in unknown))
    return Ok(Loaded(file, document, Scenario.model_validate(read.value), ir))


def _compile_fault(finding: Finding, value: dict[str, Any], folder: Path) -> Fault:
    """What is wrong with the workflow or what it is compiled with, said where the scenario names it."""
    member = member_for(finding.path, value, os.fspath(folder))
    if finding.name in UNREADABLE:
        reason = finding.message.removeprefix(finding.path).strip()
        return Fault(f"the {member} {os.path.relpath(finding.path, folder)} {reason}", f"/{member}")
    at = "" if finding.span is None else f":{finding.span.start.line}:{finding.span.start.column}"
    where = f"{os.path.relpath(finding.path, folder)}{at}" if finding.path else "it"
    verdict = "does not compile" if member == "workflow" else "can't be used"
    return Fault(f"the {member} {verdict}: {where}: {finding.message} ({finding.pointer or '/'})", f"/{member}")

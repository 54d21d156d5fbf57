"""A scenario file of a block run, played: what the test that it is needs to know."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pytest_workrail.scenarios.contract_run import PackRun
from pytest_workrail.scenarios.failures import Fault, ScenarioFailure, fault_of
from pytest_workrail.systems.blocks.block_run import play as play_setup
from pytest_workrail.systems.blocks.event_log import told
from pytest_workrail.systems.blocks.expectations import unmet
from pytest_workrail.systems.blocks.golden import golden_text
from pytest_workrail.systems.blocks.loading import setup_of, without_git
from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.findings import Severity
from workrail_lint.systems.blocks.scenario_check import content_findings, load_definitions
from workrail_lint.systems.builtin import scenario_system

_ENDING = ".scenario.json"


def play(path: Path, file: str) -> Ok[PackRun] | Err[ScenarioFailure]:
    """Run a scenario and hold it against what it expects. `file` is what it is called in messages."""
    data = read_file(os.fspath(path))
    if isinstance(data, Err):
        return Err(ScenarioFailure(file, JsonDocument(""), [Fault(data.error.message, "")]))
    read = scenario_system().read(data.value)
    if read.findings:
        return Err(
            ScenarioFailure(file, read.document, [fault_of(finding, read.document) for finding in read.findings])
        )
    value = read.value
    definitions = load_definitions(value["block"], os.fspath(path.parent))
    if isinstance(definitions, Err):
        return Err(
            ScenarioFailure(file, read.document, [fault_of(finding, read.document) for finding in definitions.error])
        )
    wrong = [each for each in content_findings(value, definitions.value) if each.severity is Severity.ERROR]
    faults = [fault_of(finding, read.document) for finding in [*wrong, *without_git(value["block"])]]
    if faults:
        return Err(ScenarioFailure(file, read.document, faults))
    run = play_setup(setup_of(value["block"], definitions.value), scenario_name(value, path))
    claimed = [lock for lock in run.golden["locks"] if lock in value.get("enforces", ())]
    golden = None if value.get("golden") is False else golden_text({**run.golden, "locks": claimed})
    return Ok(PackRun(read.document, tuple(unmet(value, run)), told(run.events), golden))


def scenario_name(value: dict[str, Any], path: Path) -> str:
    """What goldens call a scenario."""
    return str(value.get("name", path.name.removesuffix(_ENDING)))

"""The scenario files about a workflow, read and ready to be sent to another machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_workrail.cli.searches import SearchedWorkflow, shown_path
from pytest_workrail.golden.files import SCENARIO_ENDING
from pytest_workrail.records import Record
from pytest_workrail.scenarios.loading import ScenarioDocument, open_scenario
from pytest_workrail.scenarios.workflow_driver import load
from workrail_lint.base.result import Err

_SKIPPED = ("node_modules", "__pycache__", "venv")
_WORKFLOW_DRIVER = "workflow_driver"


class FoundScenario(Record):
    """A scenario about a workflow; `problem` says why it can't be played, if it can't."""

    name: str
    value: dict[str, Any]
    ir: dict[str, Any] | None = None  # only where it is not the workflow's, because the scenario has its own bindings
    problem: str | None = None

    def to_json(self) -> dict[str, Any]:
        made: dict[str, Any] = {"name": self.name, "value": self.value}
        more = {"ir": self.ir, "problem": self.problem}
        return made | {name: value for name, value in more.items() if value is not None}


def scenarios_about(workflow: SearchedWorkflow, folder: str) -> Iterator[FoundScenario]:
    """The scenarios below a folder that run a workflow, in order; those that are skipped don't count."""
    target = os.path.realpath(workflow.path)
    for path in scenario_files(folder):
        name = shown_path(os.path.relpath(path, folder))
        opened = open_scenario(Path(path), name)
        value: Any = opened.error.document.value if isinstance(opened, Err) else opened.value.value
        named = value.get("workflow") if isinstance(value, dict) else None
        if not isinstance(named, str) or os.path.realpath(os.path.join(os.path.dirname(path), named)) != target:
            continue
        if isinstance(opened, Err):
            yield FoundScenario(name, value, problem=str(opened.error).splitlines()[0])
        elif _WORKFLOW_DRIVER in opened.value.driver and not _is_left_out(value):
            yield _loaded(opened.value, workflow)


def _is_left_out(value: dict[str, Any]) -> bool:
    return bool(value.get("skip") or (value.get("expect") or {}).get("promise"))


def _loaded(scenario: ScenarioDocument, workflow: SearchedWorkflow) -> FoundScenario:
    loaded = load(scenario)
    if isinstance(loaded, Err):
        return FoundScenario(scenario.file, scenario.value, problem=str(loaded.error).splitlines()[0])
    ir = loaded.value.ir
    return FoundScenario(scenario.file, scenario.value, None if ir == workflow.compiled.ir else ir)


def scenario_files(folder: str) -> Iterator[str]:
    """Every scenario file below a folder, in order."""
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        yield from (os.path.join(root, name) for name in sorted(files) if name.endswith(SCENARIO_ENDING))

"""The scenarios of a workflow: those that judge its mutants, and those that are still missing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pytest_workrail.cli.searches import SearchedWorkflow, shown_path
from pytest_workrail.explore.mutation_report import sentence
from pytest_workrail.golden.keys import SCENARIO_ENDING
from pytest_workrail.scenarios.loading import open_scenario
from pytest_workrail.scenarios.workflow_driver import load
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import printable
from workrail_lint.cli import UsageError
from workrail_lint.cli.output import write_output
from workrail_lint.systems.workrail.scenario import Scenario

_SKIPPED = ("node_modules", "__pycache__", "venv")
_WORKFLOW_DRIVER = "workflow_driver"


def workflow_scenarios(workflow: SearchedWorkflow, folder: str) -> list[dict[str, Any]]:
    """The scenarios below a folder that run a workflow, ready to be sent to another machine."""
    found: list[dict[str, Any]] = []
    for path in scenario_files(folder):
        name = shown_path(os.path.relpath(path, folder))
        opened = open_scenario(Path(path), name)
        if isinstance(opened, Err):
            if _mentions(path, workflow):
                raise UsageError(printable(str(opened.error).splitlines()[0]))
            continue
        value = opened.value.value
        named = value.get("workflow")
        if not isinstance(named, str) or _WORKFLOW_DRIVER not in opened.value.driver:
            continue
        if os.path.realpath(os.path.join(os.path.dirname(path), named)) != os.path.realpath(workflow.path):
            continue
        if value.get("skip") or (value.get("expect") or {}).get("promise"):
            continue
        loaded = load(opened.value)
        if isinstance(loaded, Err):
            raise UsageError(printable(str(loaded.error).splitlines()[0]))
        made: dict[str, Any] = {"name": name, "value": value}
        if loaded.value.ir != workflow.compiled.ir:
            made["ir"] = loaded.value.ir
        found.append(made)
    return found


def _mentions(path: str, workflow: SearchedWorkflow) -> bool:
    return os.path.basename(workflow.path) in os.path.basename(path)


def scenario_files(folder: str) -> Iterator[str]:
    """Every scenario file below a folder, in order."""
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        yield from (os.path.join(root, name) for name in sorted(files) if name.endswith(SCENARIO_ENDING))


def write_missing(workflow: SearchedWorkflow, folder: str, results: Sequence[dict[str, Any]]) -> list[str]:
    """Add the scenarios that would have noticed; one that notices several mutants is written once."""
    written: list[str] = []
    seen: list[Any] = []
    stem = os.path.basename(workflow.path).removesuffix(".json")
    for result in results:
        if result["status"] != "survived" or result["missing"] in seen:
            continue
        missing: dict[str, Any] = result["missing"]
        seen.append(missing)
        name = result["id"].lower()
        slug = "".join(char if char.isalnum() else "-" for char in name).strip("-")
        path = os.path.join(folder, f"{stem}.notices-{slug}{SCENARIO_ENDING}")
        value = {
            "description": sentence(result),
            "workflow": shown_path(os.path.relpath(workflow.path, folder)),
            **missing,
        }
        Scenario.model_validate(value)
        write_output(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode(), folder=folder)
        written.append(path)
    return written

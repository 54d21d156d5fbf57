"""The scenarios of a workflow: those that judge its mutants, and those that are still missing."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from pytest_workrail.cli.searched_scenarios import scenarios_about
from pytest_workrail.cli.searches import SearchedWorkflow, shown_path
from pytest_workrail.explore.mutation_report import sentence
from pytest_workrail.golden.files import SCENARIO_ENDING
from workrail_lint.base.terminal import printable
from workrail_lint.cli import UsageError
from workrail_lint.cli.output import write_output
from workrail_lint.systems.workrail.scenario import Scenario


def workflow_scenarios(workflow: SearchedWorkflow, folder: str) -> list[dict[str, Any]]:
    """The scenarios below a folder that run a workflow. One that can't be played is an error."""
    found = list(scenarios_about(workflow, folder))
    for each in found:
        if each.problem is not None:
            raise UsageError(printable(each.problem))
    return [each.to_json() for each in found]


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

"""Runs of blocks from Python: a scenario as data or as a file, with agents that are functions."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_workrail.systems.blocks.block_run import BlockRun, play
from pytest_workrail.systems.blocks.loading import checked_setup, scenario_options
from pytest_workrail.systems.blocks.setup import Agent
from workrail_lint.base.files import read_bytes
from workrail_lint.base.result import Err, Ok
from workrail_lint.findings import Finding
from workrail_lint.systems.blocks.definition import Definition
from workrail_lint.systems.blocks.options import BlockOptions
from workrail_lint.systems.blocks.scenario_check import Definitions, load_definitions, related, usable
from workrail_lint.systems.builtin import scenario_system


class ScenarioInvalid(ValueError):  # noqa: N818 - what it is called in reports
    """A scenario that can't be run; `findings` say why."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("; ".join(f"{finding.pointer or '/'}: {finding.message}" for finding in findings))
        self.findings = tuple(findings)


def run(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    *,
    workflow: Mapping[str, Any] | None = None,
    workflows: Sequence[Mapping[str, Any]] = (),
    replies: Mapping[str, Agent] | None = None,
    keep: str | os.PathLike[str] | None = None,
) -> BlockRun:
    """Run a scenario: a file, or its content. Raises ScenarioInvalid for one that does not hold together.

    `workflow` and `workflows` are definitions at hand, for a scenario that names no files. `replies` are agents in
    Python by node id. `keep` is a folder that gets a copy of the workspace with all records, as the linter reads it.
    """
    text, folder = _scenario(scenario, workflow)
    read = scenario_system().read(text)
    if read.findings:
        raise ScenarioInvalid(read.findings)
    value = read.value
    options = scenario_options(value["block"], folder)
    if isinstance(options, Err):
        raise ScenarioInvalid(options.error)
    definitions = _definitions(value["block"], folder, workflow, workflows, options.value)
    setup = checked_setup(value, definitions, options.value, replies)
    if isinstance(setup, Err):
        raise ScenarioInvalid(setup.error)
    return play(setup.value, str(value.get("name", "")), None if keep is None else Path(keep))


def _scenario(
    scenario: str | os.PathLike[str] | Mapping[str, Any], workflow: Mapping[str, Any] | None
) -> tuple[bytes | str, str]:
    """The text of a scenario, and the folder its names start from."""
    if not isinstance(scenario, Mapping):
        path = Path(scenario)
        return read_bytes(str(path)), str(path.parent)
    value = dict(scenario)
    if workflow is not None:
        value["block"] = {"workflow": "definition.workflow.json", **value.get("block", {})}
    return json.dumps(value), os.curdir


def _definitions(
    block: dict[str, Any],
    folder: str,
    workflow: Mapping[str, Any] | None,
    workflows: Sequence[Mapping[str, Any]],
    options: BlockOptions,
) -> Ok[Definitions] | Err[list[Finding]]:
    if workflow is None:
        return load_definitions(block, folder, options)
    made: list[Definition] = []
    for value in (workflow, *workflows):
        definition = usable(value, "given", options)
        if isinstance(definition, Err):
            return definition
        made.append(definition.value)
    return related(made[0], made[1:])

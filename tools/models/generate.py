"""Writes what is made from the models: `python -m tools.models.generate [--check]`.

The JSON Schemas of the document kinds, the contract packs of teams and blocks, and the classes that the code reads.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic import BaseModel

from tools.generated import bring_up_to_date
from tools.models.blocks import definition, output, run
from tools.models.blocks import packs as block_packs
from tools.models.blocks import runtime as block_classes
from tools.models.blocks import trace as block_trace
from tools.models.schema import json_schema
from tools.models.team import backlog, exchange, status
from tools.models.team import packs as team_packs
from tools.models.team import runtime as team_classes
from tools.models.team import trace as team_trace
from tools.models.workrail import runtime as workflow_classes
from tools.models.workrail.bindings import Bindings
from tools.models.workrail.catalog import catalog_schema
from tools.models.workrail.design import DesignWorkflow
from tools.models.workrail.ir import Program
from tools.models.workrail.workflow import Workflow
from workrail_lint import systems
from workrail_lint.systems.blocks.documents import EXTENDED, SCENARIO, BlockKind
from workrail_lint.systems.blocks.scenario import BlockScenario
from workrail_lint.systems.schemas import SCHEMA_SUFFIX
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.scenario import TeamScenario
from workrail_lint.systems.workrail.scenario import Scenario

_SYSTEMS = os.path.dirname(str(systems.__file__))
# A line of the history has a schema, the file as a whole has none. Scenarios are tests of documents.
_MODELS: dict[str, dict[str, type[BaseModel]]] = {
    "workrail": {
        "bindings": Bindings,
        "ir": Program,
        "workflow": Workflow,
        "workflow-design": DesignWorkflow,
    },
    "scenario": {"scenario": Scenario},
    "team": {
        TeamKind.ACCEPTANCE.value: backlog.Acceptance,
        TeamKind.HISTORY.value: backlog.ChangeRequest,
        TeamKind.INPUT.value: exchange.AgentInput,
        TeamKind.OUTPUT.value: exchange.AgentOutput,
        TeamKind.PLAN.value: exchange.DispatchPlan,
        TeamKind.STATUS.value: status.SessionStatus,
        TeamKind.TASKS.value: backlog.TaskBacklog,
        TeamKind.TRACE.value: team_trace.RunTrace,
        "team-scenario": TeamScenario,
    },
    "blocks": {
        BlockKind.ENVIRONMENT.value: run.Environment,
        BlockKind.FAN_IN.value: run.FanInResult,
        f"{BlockKind.FAN_IN.value}{EXTENDED}": run.ExtendedFanInResult,
        BlockKind.OUTPUT.value: output.BlockOutput,
        f"{BlockKind.OUTPUT.value}{EXTENDED}": output.ExtendedBlockOutput,
        BlockKind.MOUNT.value: run.RepoMount,
        BlockKind.TRACE.value: block_trace.RunTrace,
        BlockKind.WORKFLOW.value: definition.StudioWorkflow,
        SCENARIO: BlockScenario,
    },
}
SCHEMAS: dict[str, dict[str, Callable[[], dict[str, Any]]]] = {
    system: {kind: partial(json_schema, model) for kind, model in models.items()} for system, models in _MODELS.items()
}
"""Functions that return the JSON Schema of a document kind, by system and kind."""
SCHEMAS["workrail"]["catalog"] = catalog_schema


def files() -> dict[str, str]:
    """Return every generated file and its text."""
    schemas = {
        os.path.join(_SYSTEMS, system, "schemas", f"{kind}{SCHEMA_SUFFIX}"): _text(make())
        for system, makers in SCHEMAS.items()
        for kind, make in makers.items()
    }
    packs = {module.PACKS_FILE: _text(module.packs()) for module in (team_packs, block_packs)}
    return {**schemas, **packs, **workflow_classes.modules(), **team_classes.modules(), **block_classes.modules()}


def _text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Bring the files up to date; with `--check` only say which are not."""
    return bring_up_to_date(files(), arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

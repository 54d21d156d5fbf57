"""Writes the classes of the team documents: `workrail_lint/systems/team/model/documents.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.models.runtime import Plan, Runtime
from tools.models.team.backlog import Acceptance, TaskBacklog

PATH = Path(__file__).parents[3] / "workrail_lint" / "systems" / "team" / "model" / "documents.py"
PLAN = Plan(
    "The objects of tasks.yaml and acceptance.json.",
    bases={"Criterion": "CriterionNode", "Task": "TaskNode"},
    bases_module="workrail_lint.systems.team.model.nodes",
)


def render() -> str:
    """Return the text of the module, formatted like all others."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(PATH), "-"]
    text = Runtime(TaskBacklog, PLAN, Acceptance).module()
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=PATH.parent).stdout

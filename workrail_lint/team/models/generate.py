"""Writes schemas and contract packs of the team documents: `python -m workrail_lint.team.models.generate [--check]`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "schemas")
# Module and class of the model behind each kind. A line of the history has a schema, the file as a whole has none.
_MODELS = {
    "team-acceptance": ("models.backlog", "Acceptance"),
    "team-history": ("models.backlog", "ChangeRequest"),
    "team-input": ("models.exchange", "AgentInput"),
    "team-output": ("models.exchange", "AgentOutput"),
    "team-plan": ("models.exchange", "DispatchPlan"),
    "team-status": ("models.status", "SessionStatus"),
    "team-tasks": ("models.backlog", "TaskBacklog"),
}
# No document of the contract: a test of it.
SCENARIO = "team-scenario"


def _schema(module: str, name: str) -> dict[str, Any]:
    from workrail_lint.workrail.model.schema import json_schema

    return json_schema(getattr(import_module(f"workrail_lint.team.{module}"), name))


KINDS: dict[str, Callable[[], dict[str, Any]]] = {kind: partial(_schema, *model) for kind, model in _MODELS.items()}
"""Document kind to its JSON Schema; a model is imported when its schema is asked for, not before."""
SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {**KINDS, SCENARIO: partial(_schema, "scenario", "TeamScenario")}


def files() -> dict[str, str]:
    """Every generated file and its text."""
    from workrail_lint.team.models.packs import PACKS_FILE, packs

    texts = {os.path.join(_FOLDER, f"{kind}.schema.json"): _text(make()) for kind, make in SCHEMAS.items()}
    return {**texts, PACKS_FILE: _text(packs())}


def _text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Bring the files up to date; with `--check` only say which are not."""
    wanted = files()
    stale = [path for path, text in wanted.items() if _read(path) != text]
    if arguments == ["--check"]:
        for path in stale:
            sys.stderr.write(f"{os.path.basename(path)} is out of date\n")
        return 1 if stale else 0
    for path in stale:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(wanted[path])
    return 0


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

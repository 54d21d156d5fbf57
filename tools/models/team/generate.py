"""Writes schemas, packs and classes of the team documents: `python -m tools.models.team.generate [--check]`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from workrail_lint.systems import team

_FOLDER = os.path.join(os.path.dirname(team.__file__), "schemas")
# Module and class of the model behind each kind. A line of the history has a schema, the file as a whole has none.
_MODELS = {
    "team-acceptance": ("tools.models.team.backlog", "Acceptance"),
    "team-history": ("tools.models.team.backlog", "ChangeRequest"),
    "team-input": ("tools.models.team.exchange", "AgentInput"),
    "team-output": ("tools.models.team.exchange", "AgentOutput"),
    "team-plan": ("tools.models.team.exchange", "DispatchPlan"),
    "team-status": ("tools.models.team.status", "SessionStatus"),
    "team-tasks": ("tools.models.team.backlog", "TaskBacklog"),
    "team-trace": ("tools.models.team.trace", "RunTrace"),
}
# No document of the contract: a test of it.
SCENARIO = "team-scenario"


def _schema(module: str, name: str) -> dict[str, Any]:
    from tools.models.schema import json_schema

    return json_schema(getattr(import_module(module), name))


KINDS: dict[str, Callable[[], dict[str, Any]]] = {kind: partial(_schema, *model) for kind, model in _MODELS.items()}
"""Document kind to its JSON Schema; a model is imported when its schema is asked for, not before."""
SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    **KINDS,
    SCENARIO: partial(_schema, "workrail_lint.systems.team.scenario", "TeamScenario"),
}


def files() -> dict[str, str]:
    """Every generated file and its text."""
    from tools.models.team import runtime
    from tools.models.team.packs import PACKS_FILE, packs

    texts = {os.path.join(_FOLDER, f"{kind}.schema.json"): _text(make()) for kind, make in SCHEMAS.items()}
    return {**texts, PACKS_FILE: _text(packs()), **runtime.modules()}


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

"""Writes the shipped contract packs: `python -m workrail_lint.team.models.generate [--check]`.

KINDS are the document kinds that have a JSON Schema, for the generator of all schemas to take in.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

# Module and class of the model behind each kind. A line of the history has a schema, the file as a whole has none.
_MODELS = {
    "team-acceptance": ("backlog", "Acceptance"),
    "team-history": ("backlog", "ChangeRequest"),
    "team-input": ("exchange", "AgentInput"),
    "team-output": ("exchange", "AgentOutput"),
    "team-plan": ("exchange", "DispatchPlan"),
    "team-status": ("status", "SessionStatus"),
    "team-tasks": ("backlog", "TaskBacklog"),
}


def schema_of(kind: str) -> dict[str, Any]:
    """The JSON Schema of a kind; its model is imported now, not before."""
    from workrail_lint.workrail.model.schema import json_schema

    module, name = _MODELS[kind]
    return json_schema(getattr(import_module(f"workrail_lint.team.models.{module}"), name))


KINDS: dict[str, Callable[[], dict[str, Any]]] = {kind: partial(schema_of, kind) for kind in _MODELS}


def packs_text() -> str:
    """The text of the file that ships the packs."""
    from workrail_lint.team.models.packs import packs

    return json.dumps(packs(), indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    from workrail_lint.team.models.packs import PACKS_FILE

    wanted = packs_text()
    try:
        with open(PACKS_FILE, encoding="utf-8") as file:
            is_current = file.read() == wanted
    except FileNotFoundError:
        is_current = False
    if "--check" in arguments:
        if not is_current:
            sys.stderr.write("packs.json is out of date\n")
        return 0 if is_current else 1
    if not is_current:
        with open(PACKS_FILE, "w", encoding="utf-8", newline="\n") as file:
            file.write(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

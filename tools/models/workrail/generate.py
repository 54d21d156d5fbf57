"""Writes the shipped JSON Schemas and the classes of a workflow and its IR: `python -m tools.models.workrail.generate`.

A further document kind is one more entry in KINDS. Its models stay unimported until its schema is
asked for.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from tools.models.workrail.runtime import FOLDER, MODULES
from tools.models.workrail.runtime import render as render_module
from workrail_lint.systems.schemas import schema_path


def _workflow() -> dict[str, Any]:
    from tools.models.schema import json_schema
    from tools.models.workrail.workflow import Workflow

    return json_schema(Workflow)


def _workflow_design() -> dict[str, Any]:
    from tools.models.schema import json_schema
    from tools.models.workrail.design import DesignWorkflow

    return json_schema(DesignWorkflow)


def _ir() -> dict[str, Any]:
    from tools.models.schema import json_schema
    from tools.models.workrail.ir import Program

    return json_schema(Program)


def _bindings() -> dict[str, Any]:
    from tools.models.schema import json_schema
    from tools.models.workrail.bindings import Bindings

    return json_schema(Bindings)


def _catalog() -> dict[str, Any]:
    from tools.models.workrail.catalog import catalog_schema

    return catalog_schema()


def _scenario() -> dict[str, Any]:
    from tools.models.schema import json_schema
    from workrail_lint.systems.workrail.scenario import Scenario

    return json_schema(Scenario)


KINDS: dict[str, Callable[[], dict[str, Any]]] = {
    "bindings": _bindings,
    "catalog": _catalog,
    "ir": _ir,
    "scenario": _scenario,
    "workflow": _workflow,
    "workflow-design": _workflow_design,
}


def render(kind: str) -> str:
    """The text of the file that ships the schema of a kind."""
    return json.dumps(KINDS[kind](), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the schemas of all kinds, and the classes of a workflow and its IR."""
    for kind in KINDS:
        with open(schema_path(kind), "w", encoding="utf-8", newline="\n") as file:
            file.write(render(kind))
        sys.stdout.write(f"{kind}\n")
    for name in MODULES:
        (FOLDER / name).write_text(render_module(name), encoding="utf-8", newline="\n")
        sys.stdout.write(f"model/{name}\n")


if __name__ == "__main__":
    main()

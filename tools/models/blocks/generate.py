"""Writes schemas, contract packs and classes of the block documents: `python -m tools.models.blocks.generate`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from tools.models.blocks import runtime
from tools.models.blocks.packs import PACKS_FILE, packs
from workrail_lint.systems.blocks.documents import EXTENDED, SCENARIO, BlockKind, schema_path


def _schema(module: str, model: str) -> Callable[[], dict[str, Any]]:
    def make() -> dict[str, Any]:
        from importlib import import_module

        from tools.models.schema import json_schema

        return json_schema(getattr(import_module(module), model))

    return make


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    BlockKind.ENVIRONMENT.value: _schema("tools.models.blocks.run", "Environment"),
    BlockKind.FAN_IN.value: _schema("tools.models.blocks.run", "FanInResult"),
    f"{BlockKind.FAN_IN.value}{EXTENDED}": _schema("tools.models.blocks.run", "ExtendedFanInResult"),
    BlockKind.OUTPUT.value: _schema("tools.models.blocks.output", "BlockOutput"),
    f"{BlockKind.OUTPUT.value}{EXTENDED}": _schema("tools.models.blocks.output", "ExtendedBlockOutput"),
    BlockKind.MOUNT.value: _schema("tools.models.blocks.run", "RepoMount"),
    BlockKind.TRACE.value: _schema("tools.models.blocks.trace", "RunTrace"),
    BlockKind.WORKFLOW.value: _schema("tools.models.blocks.definition", "StudioWorkflow"),
    SCENARIO: _schema("workrail_lint.systems.blocks.scenario", "BlockScenario"),
}
"""Document kind to its JSON Schema."""


def files() -> dict[str, str]:
    """Every generated file and its text."""
    texts = {schema_path(kind): _text(make()) for kind, make in SCHEMAS.items()}
    return {**texts, PACKS_FILE: _text(packs()), str(runtime.PATH): runtime.render()}


def _text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Bring the files up to date; with `--check` only say which are not."""
    stale = [path for path, text in files().items() if _read(path) != text]
    if arguments == ["--check"]:
        for path in stale:
            sys.stderr.write(f"{os.path.basename(path)} is out of date\n")
        return 1 if stale else 0
    for path in stale:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(files()[path])
    return 0


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The files of a first workflow."""

from __future__ import annotations

import json
import re

from workrail_lint.base.typed import Any

_ID = re.compile(r"[a-z][a-z0-9_-]+\.[a-z][a-z0-9_-]+")


def id_problem(ident: str) -> str | None:
    """Why an id can't be used for a new workflow."""
    if not _ID.fullmatch(ident):
        return "must be two lower-case words joined by a dot, such as project.code_review"
    if not 3 <= len(ident) <= 64:
        return "must have 3 to 64 characters"
    if ident.startswith("wr."):
        return "the namespace wr is reserved for workflows that come with the engine"
    return None


def workflow_path(ident: str) -> str:
    return f"workflows/{ident.partition('.')[2]}.json"


def scenario_path(ident: str) -> str:
    return f"tests/{ident.partition('.')[2]}.scenario.json"


def files(ident: str, name: str) -> dict[str, str]:
    """Path to content, for everything that is made."""
    stem = ident.partition(".")[2]
    return {
        workflow_path(ident): _json(_workflow(ident, name)),
        scenario_path(ident): _json(_scenario(stem)),
        "workrail-lint.toml": _CONFIG,
        ".pre-commit-config.yaml": _HOOKS,
        ".gitignore": _IGNORED,
    }


def lockfile(ident: str, name: str) -> dict[str, str]:
    """Path to content of the lockfile that pins the new workflow; nothing when its name keeps it from compiling."""
    from workrail_lint.base.result import Err
    from workrail_lint.systems.workrail.catalog.catalog import load_core
    from workrail_lint.systems.workrail.compile import compile_workflow
    from workrail_lint.systems.workrail.lockfile import FILE_NAME, Lockfile, catalog_entry, lock_entry

    compiled = compile_workflow(_workflow(ident, name))
    if isinstance(compiled, Err):
        return {}
    return {FILE_NAME: Lockfile(catalog_entry(load_core()), {workflow_path(ident): lock_entry(compiled.value)}).text()}


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _workflow(ident: str, name: str) -> dict[str, Any]:
    return {
        "id": ident,
        "name": name[:128] or "First workflow",
        "description": "Says what is to be done, does it, and checks the result.",
        "version": "0.1.0",
        "validatedAgainstSpecVersion": 3,
        "about": "A start: three steps, the middle one repeated until a decision ends the loop.",
        "examples": ["Do the task described in the ticket"],
        "steps": [
            {
                "id": "understand-task",
                "title": "Understand the task",
                "prompt": "Say in your own words what is asked, and how you will know that it is done.",
            },
            {
                "id": "work",
                "type": "loop",
                "title": "Work until it is done",
                "loop": {
                    "type": "while",
                    "conditionSource": {
                        "kind": "artifact_contract",
                        "contractRef": "wr.contracts.loop_control",
                        "loopId": "work",
                    },
                    "maxIterations": 5,
                },
                "body": [
                    {
                        "id": "next-piece",
                        "title": "Do the next piece",
                        "prompt": "Do the next piece of the task. Record what you changed and how you checked it.",
                    },
                    {
                        "id": "decide",
                        "title": "Go on or stop",
                        "prompt": (
                            "Hand in a wr.loop_control artifact: decision continue while a piece is left, "
                            "decision stop when none is."
                        ),
                        "outputContract": {"contractRef": "wr.contracts.loop_control"},
                    },
                ],
            },
            {
                "id": "report",
                "title": "Report",
                "prompt": "Report what was done, with the evidence for it, and what is left open.",
            },
        ],
    }


def _scenario(stem: str) -> dict[str, Any]:
    return {
        "workflow": f"../workflows/{stem}.json",
        "profile": "reference",
        "mode": "guided",
        "agent": {"kind": "auto"},
        "expect": {"status": "complete"},
    }


_IGNORED = """\
# Changes of goldens that wait for a decision: workrail-test golden list
*.golden.json.pending
"""

_CONFIG = """\
# workrail-lint: what is checked, and how. Paths are relative to this file.
exclude = []
# catalog = "catalog.json"          # builtins of your engine: workrail-lint catalog import DIR
# routines = "workflows/routines"   # the project's own templates
"""

_HOOKS = """\
repos:
  - repo: local
    hooks:
      - id: workrail-lint
        name: workrail-lint
        entry: workrail-lint check
        language: system
        files: ^workflows/.*\\.json$|\\.scenario\\.json$
        require_serial: true
      - id: workrail-lock
        name: workrail-lint lock --check
        entry: workrail-lint lock --check
        language: system
        files: ^(workflows/.*\\.json|workrail\\.lock\\.json)$
        pass_filenames: false
"""

"""The files of a first workflow."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from workrail_lint.base.result import Err
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.catalog.catalog import Catalog, load_core
from workrail_lint.systems.workrail.catalog.engine_digests import ENGINE_VERSION
from workrail_lint.systems.workrail.catalog.suggestions import KINDS, schema_text
from workrail_lint.systems.workrail.compile import compile_workflow
from workrail_lint.systems.workrail.lockfile import FILE_NAME, Lockfile, catalog_entry, lock_entry
from workrail_lint.systems.workrail.settings import Settings

_ID = re.compile(r"[a-z][a-z0-9_-]+\.[a-z][a-z0-9_-]+")


def id_problem(ident: str) -> str | None:
    """Return why an id can't be used for a new workflow."""
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


class NewFile(NamedTuple):
    """A file of a new project, and what it is for."""

    path: str
    text: str
    purpose: str


def files(ident: str, name: str, profile: str = "reference") -> list[NewFile]:
    """Return the workflow, its test, and what makes people and machines check them."""
    stem = ident.partition(".")[2]
    return [
        NewFile(workflow_path(ident), _json(_workflow(ident, name)), "the workflow: three steps, one of them a loop"),
        NewFile(
            scenario_path(ident), _json(_scenario(stem, profile)), "a test: runs the workflow with a simulated agent"
        ),
        NewFile("workrail-lint.toml", _CONFIG + _PROFILE_SETTINGS[profile], "settings: what is checked, and how"),
        NewFile(".pre-commit-config.yaml", _HOOKS, "checks the workflows at every commit"),
        NewFile(".gitignore", _IGNORED, "keeps golden changes that wait for a decision out of git"),
        NewFile(
            ".gitattributes", _ATTRIBUTES, "keeps goldens and the lockfile byte for byte the same on every machine"
        ),
    ]


def ci_file(service: str, origin: str | None) -> NewFile:
    """Return the job that runs on every push, for one of the CI services.

    It installs from `origin`, an address with a commit. Where that is not known, a variable names it, and the first
    step of the job fails until it is set.
    """
    path, template = _CI[service]
    text = template.replace("UNSET", _UNSET)
    purpose = "checks, verifies the lockfile and runs the tests on every push"
    if origin is None:
        return NewFile(path, text, f"{purpose}; first set its variable WORKRAIL_LINT")
    lines = (line for line in text.splitlines(keepends=True) if not _ABOUT_THE_VARIABLE.search(line))
    return NewFile(path, "".join(lines).replace("git+$WORKRAIL_LINT", f"git+{origin}"), purpose)


def editor_files(catalog: Catalog) -> list[NewFile]:
    """Return JSON Schemas that complete and describe, made from the catalog, and the settings that use them."""
    result = [NewFile(".vscode/settings.json", _EDITOR, "makes VS Code use the schemas below")]
    for kind in ("workflow", "scenario", "bindings"):
        text = schema_text(kind, Settings(catalog)) if kind in KINDS else _json(load_schema(kind))
        purpose = f"completion in your editor; to renew it: workrail-lint schema {kind}"
        result.append(NewFile(f".workrail/schemas/{kind}.json", text, purpose))
    return result


def lockfile(ident: str, name: str) -> list[NewFile]:
    """Return the lockfile that pins the new workflow; nothing when its name keeps it from compiling."""
    compiled = compile_workflow(_workflow(ident, name))
    if isinstance(compiled, Err):
        return []
    entries = {workflow_path(ident): lock_entry(compiled.value)}
    pinned = Lockfile(catalog_entry(load_core()), entries, ENGINE_VERSION)
    return [NewFile(FILE_NAME, pinned.text(), "pins the hash of the workflow: every change shows")]


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
                        "title": "Continue or stop",
                        "prompt": (
                            "Submit a wr.loop_control artifact: decision continue while a piece is left, "
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


def _scenario(stem: str, profile: str) -> dict[str, Any]:
    return {
        "workflow": f"../workflows/{stem}.json",
        "profile": profile,
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

_PROFILE_SETTINGS = {
    "reference": "",
    "locked": """\
# Runs behave as the design says, and workflows may be written in its form, which the public engine rejects.
profile = "locked"
target = "ir"
""",
}

_HOOKS = """\
repos:
  - repo: local
    hooks:
      - id: workrail-lint
        name: workrail-lint
        entry: workrail-lint check --
        language: system
        files: ^workflows/.*\\.json$|\\.scenario\\.json$
        require_serial: true
      - id: workrail-lock
        name: workrail-lint lock --check
        entry: workrail-lint lock --check --
        language: system
        files: ^(workflows/.*\\.json|workrail\\.lock\\.json)$
        pass_filenames: false
"""

_ATTRIBUTES = """\
# Both are compared byte for byte, so git must not change their line ends.
*.golden.json text eol=lf
workrail.lock.json text eol=lf
# Review goldens with workrail-test golden diff; on the web, their diffs stay folded.
*.golden.json linguist-generated
"""

_EDITOR = """\
{
  "json.schemas": [
    {"fileMatch": ["/workflows/**/*.json"], "url": "./.workrail/schemas/workflow.json"},
    {"fileMatch": ["*.scenario.json"], "url": "./.workrail/schemas/scenario.json"},
    {"fileMatch": ["/.workrail/bindings.json"], "url": "./.workrail/schemas/bindings.json"}
  ]
}
"""

_UNSET = "set the CI variable WORKRAIL_LINT to the address of the workrail-lint repository, with @ and a tag or commit"
_GITHUB = """\
name: workflows
on:
  pull_request:
  push:
    branches: [main]
permissions:
  contents: read
jobs:
  workflows:
    runs-on: ubuntu-latest
    env:
      WORKRAIL_LINT: ${{ vars.WORKRAIL_LINT }}
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2
      - uses: actions/setup-python@a26af69be951a213d495a4c3e4e4022e16d87065 # v5.6.0
        with:
          python-version: "3.13"
      - run: test -n "$WORKRAIL_LINT" || { echo "::error::UNSET"; exit 1; }
      - run: pip install "workrail-lint[pytest] @ git+$WORKRAIL_LINT"
      - run: workrail-lint check --format github
      - run: workrail-lint lock --check
      - run: pytest
"""

_GITLAB = """\
workflows:
  image: python:3.13-slim
  script:
    - apt-get update && apt-get install --yes git
    - test -n "$WORKRAIL_LINT" || { echo "UNSET"; exit 1; }
    - pip install "workrail-lint[pytest] @ git+$WORKRAIL_LINT"
    - workrail-lint check --exit-zero --format gitlab --output gl-code-quality-report.json
    - workrail-lint check
    - workrail-lint lock --check
    - pytest
  artifacts:
    when: always
    reports:
      codequality: gl-code-quality-report.json
"""

# Lines that only a job with the variable has.
_ABOUT_THE_VARIABLE = re.compile(r"^    env:$|WORKRAIL_LINT: |test -n ", re.MULTILINE)
_CI = {"github": (".github/workflows/workflows.yml", _GITHUB), "gitlab": (".gitlab-ci.yml", _GITLAB)}
CI_SERVICES = tuple(_CI)

"""Workflows that count even if no test runs them, so that a forgotten one shows up."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from pytest_workrail.coverage.goals import goals
from pytest_workrail.coverage.tally import Tally
from pytest_workrail.engine.core.profiles import REFERENCE
from pytest_workrail.run.project_sources import project_sources
from workrail_lint.base.files import read_bytes
from workrail_lint.base.result import Err
from workrail_lint.project.discovery import discover
from workrail_lint.systems.workrail.compile import compile_workflow
from workrail_lint.systems.workrail.kinds import Kind, kind_of


def add_untested(tally: Tally, paths: Sequence[str], folder: Path, *, strong: bool = False) -> Iterator[str]:
    """Add the workflows below some paths that no test ran; yields why others can't be added."""
    found = discover([os.fspath(folder / path) for path in paths])
    yield from (f"{Path(path).name} {reason}" for path, reason in found.problems)
    for file in found.files:
        path = Path(file.path)
        if _kind(path) is not Kind.WORKFLOW:
            continue
        sources = project_sources(os.fspath(path.parent))
        if isinstance(sources, Err):
            yield f"{path.name} can't be compiled: {sources.error}"
            continue
        compiled = compile_workflow(path, **sources.value._asdict())
        if isinstance(compiled, Err):
            yield f"{path.name} does not compile: {compiled.error[0].message}"
        elif not tally.knows(compiled.value.workflow_id):
            workflow = tally.workflow(compiled.value.workflow_id, compiled.value.hash)
            workflow.expect(REFERENCE.name, goals(compiled.value.ir, REFERENCE, strong=strong))


def workflow_paths(ids: Collection[str], folder: Path) -> list[str]:
    """The files of workflows with these ids below a folder, relative to it."""
    found: list[str] = []
    for file in discover([os.fspath(folder)]).files:
        value = _value(Path(file.path)) if file.path.endswith(".json") else None
        if isinstance(value, dict) and value.get("id") in ids and kind_of(file.path, value) is Kind.WORKFLOW:
            found.append(os.path.relpath(file.path, folder).replace(os.sep, "/"))
    return found


def _kind(path: Path) -> Kind:
    return kind_of(os.fspath(path), _value(path))


def _value(path: Path) -> Any:
    try:
        return json.loads(read_bytes(str(path)))
    except (OSError, ValueError, RecursionError):
        return None

"""The versions of workflows that sessions are replayed on: the files of a project, compiled as the engine would."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_workrail.run.start import project_sources
from workrail_lint.base.files import read_bytes, read_file
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import read_json
from workrail_lint.project.config import find_config
from workrail_lint.project.discovery import discover
from workrail_lint.systems.workrail.compile import compile_pin, compile_workflow
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.kinds import Kind, kind_by_name, kind_of, may_be_ours


class Version(Struct):
    """One workflow file. `problem` says why it can't run, for sessions of either engine."""

    path: Path
    workflow_id: str
    compiled: CompiledWorkflow | None = None
    problem: str = ""
    _engine_ir: dict[str, Any] | None = None
    _engine_problem: str | None = None

    def ir_for(self, of_engine: bool) -> dict[str, Any] | None:
        """The IR to run; None when there is none, and then `problem` says why.

        For a session of the public engine, what that engine would pin: a version that it refuses runs no session.
        """
        if self.compiled is None or not of_engine:
            return None if self.compiled is None else self.compiled.ir
        if self._engine_ir is None and self._engine_problem is None:
            self._compile_for_engine(self.compiled)
        self.problem = self._engine_problem or self.problem
        return self._engine_ir

    def _compile_for_engine(self, compiled: CompiledWorkflow) -> None:
        target = compiled.engine_target()
        if isinstance(target, Err):
            self._engine_problem = f"the engine refuses it: {target.error[0].message}"
            return
        ported = compile_pin(target.value)
        if isinstance(ported, Err):
            self._engine_problem = ported.error
        else:
            self._engine_ir = ported.value.ir


def load_version(path: Path, sources: Mapping[str, object] | None = None) -> Version:
    """A workflow file with what its project gives to it."""
    given = sources
    if given is None:
        found = project_sources(str(path.parent))
        if isinstance(found, Err):
            return Version(path, _id_of(path), problem=found.error)
        given = found.value._asdict()
    compiled = compile_workflow(path, **given)
    if isinstance(compiled, Err):
        return Version(path, _id_of(path), problem=compiled.error[0].message)
    return Version(path, compiled.value.workflow_id, compiled.value)


def versions_below(paths: list[str]) -> Ok[dict[str, Version]] | Err[str]:
    """The workflows at and below some paths, by their ids, as the project's settings include them."""
    start = paths[0] if os.path.isdir(paths[0]) else os.path.dirname(paths[0]) or os.curdir
    config = find_config(start)
    if isinstance(config, Err):
        return config
    settings = config.value
    listed = discover(
        paths, include=settings.strings("include"), exclude=settings.strings("exclude"), root=settings.root
    )
    for path, reason in listed.problems:
        return Err(f"{path} {reason}")
    found: dict[str, Version] = {}
    for file in listed.files:
        read = read_file(file.path)
        if isinstance(read, Err):
            return Err(read.error.message)
        if not file.named and not _is_workflow(file.path, read.value):
            continue
        version = load_version(Path(file.path))
        if not version.workflow_id and file.named:
            return Err(f"{file.path} is not a workflow: {version.problem or 'it has no id'}")
        known = found.get(version.workflow_id)
        if known is not None and known.compiled is not None and version.compiled is not None:
            return Err(f"{file.path} and {known.path} are both {version.workflow_id}; name one of them")
        if known is None or known.compiled is None:
            found[version.workflow_id] = version
    return Ok(found)


def _is_workflow(path: str, data: bytes) -> bool:
    """Whether a file that was found is a workflow, or would be one if it could be read."""
    named = kind_by_name(path)
    if named is not None:
        return named in (Kind.WORKFLOW, Kind.ROUTINE)
    document = read_json(data, parity=True)
    if document.readable:
        return kind_of(path, document.value) in (Kind.WORKFLOW, Kind.ROUTINE)
    return may_be_ours(path, document.text)


def _id_of(path: Path) -> str:
    """The id of a file that does not compile, as far as it can be told; without JSON, the first one in it."""
    try:
        raw = read_bytes(str(path))
    except OSError:
        return ""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        found = re.search(rb'"id"\s*:\s*"([a-z0-9._-]{1,200})"', raw)
        return "" if found is None else found[1].decode("ascii")
    name = value.get("id") if isinstance(value, dict) else None
    return name if isinstance(name, str) else ""

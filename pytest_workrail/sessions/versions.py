"""The versions of workflows that sessions are replayed on, and where sessions come from.

Versions are the files of a project, compiled as the engine would; sessions are in a data folder, or in a bundle.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_workrail.engine.store.bundle import check
from pytest_workrail.run.project import project_sources
from pytest_workrail.sessions.data_folder import SESSION_NAME, SESSIONS, DataFolder, FoundSession
from pytest_workrail.sessions.session_log import SessionLog, trusted_log
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.files import read_bytes, read_file
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import read_json
from workrail_lint.project.config import find_config
from workrail_lint.project.discovery import discover
from workrail_lint.systems.workrail.compile import compile_pin, compile_workflow
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.document_kinds import Kind, kind_by_name, kind_of, may_be_ours


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


def load_version(path: Path) -> Version:
    """A workflow file with what its project gives to it."""
    sources = project_sources(str(path.parent))
    if isinstance(sources, Err):
        return Version(path, _id_of(path), problem=sources.error)
    compiled = compile_workflow(path, **sources.value._asdict())
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
    versions: dict[str, Version] = {}
    for file in listed.files:
        read = read_file(file.path)
        if isinstance(read, Err):
            return Err(read.error.message)
        if not file.named and not _is_workflow(file.path, read.value):
            continue
        version = load_version(Path(file.path))
        if not version.workflow_id and file.named:
            return Err(f"{file.path} is not a workflow: {version.problem or 'it has no id'}")
        known = versions.get(version.workflow_id)
        if known is not None and known.compiled is not None and version.compiled is not None:
            return Err(f"{file.path} and {known.path} are both {version.workflow_id}; name one of them")
        if known is None or known.compiled is None:
            versions[version.workflow_id] = version
    return Ok(versions)


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
        match = re.search(rb'"id"\s*:\s*"([a-z0-9._-]{1,200})"', raw)
        return "" if match is None else match[1].decode("ascii")
    name = value.get("id") if isinstance(value, dict) else None
    return name if isinstance(name, str) else ""


BUNDLE_ENDING = ".session.json"


class BundleFolder(DataFolder):
    """The one session of a bundle, read like a data folder."""

    def __init__(self, path: str, log: SessionLog, snapshots: dict[str, Any], workflows: dict[str, Any]) -> None:
        super().__init__(path)
        self._log = log
        self._snapshots = snapshots
        self._workflows = workflows

    @property
    def exists(self) -> bool:
        return True

    def sessions(self) -> list[FoundSession]:
        return [FoundSession(self._log.session_id, 0)]

    def log(self, session_id: str) -> SessionLog | None:
        return self._log

    def snapshot(self, ref: str) -> Ok[bytes] | Err[str]:
        snapshot = self._snapshots.get(ref)
        return Err("the snapshot is missing") if snapshot is None else Ok(canonical_bytes(snapshot))

    def pinned_workflow(self, workflow_hash: str) -> Ok[dict[str, Any]] | Err[str]:
        workflow = self._workflows.get(workflow_hash)
        return Err("the pinned workflow is missing") if workflow is None else Ok(workflow)


def open_bundle(path: str) -> Ok[BundleFolder] | Err[str]:
    """A bundle in a file, if everything in it is what its digests say."""
    try:
        raw = read_bytes(path)
    except OSError as problem:
        return Err(f"it can't be read ({problem.strerror})")
    return bundle_folder(raw, path)


def bundle_folder(raw: bytes, path: str) -> Ok[BundleFolder] | Err[str]:
    """A bundle, if everything in it is what its digests say; `path` is where it is from."""
    checked = check(raw)
    if isinstance(checked, Err):
        return Err(f"it is not an intact bundle ({checked.error.code}: {checked.error.message})")
    bundle = checked.value
    log = trusted_log(bundle.session_id, bundle.events, bundle.manifest)
    snapshots: dict[str, Any] = {str(ref): content for ref, content in bundle.snapshots.items()}
    workflows: dict[str, Any] = {str(name): content for name, content in bundle.pinned_workflows.items()}
    return Ok(BundleFolder(path, log, snapshots, workflows))


def open_source(path: str) -> Ok[tuple[DataFolder, list[str]]] | Err[str]:
    """The folder to read from and the sessions that a path names."""
    if os.path.isfile(path):
        bundle = open_bundle(path)
        return bundle if isinstance(bundle, Err) else Ok((bundle.value, [bundle.value.sessions()[0].session_id]))
    name = os.path.basename(os.path.normpath(path))
    parent = Path(os.path.normpath(path)).parent
    if SESSION_NAME.fullmatch(name) and parent.name == SESSIONS and os.path.isdir(path):
        return Ok((DataFolder(os.fspath(parent.parent)), [name]))
    folder = DataFolder(path)
    if not folder.exists:
        return Err("there is no session: name a data folder of the engine, a session in it, or an exported session")
    return Ok((folder, [each.session_id for each in folder.sessions()]))

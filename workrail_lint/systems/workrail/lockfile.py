"""`workrail.lock.json`: the golden hashes of a repository's workflows, and what each workflow did when pinned."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import read_json
from workrail_lint.systems.workrail.catalog.catalog import Catalog
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.compiler.engine_target import HashMode
from workrail_lint.systems.workrail.diff import Change, compare, digested, outline, outline_from_json

FILE_NAME = "workrail.lock.json"
VERSION = 1


class Lockfile(NamedTuple):
    """Entries by path, and the catalog they were made with."""

    catalog: dict[str, str]
    workflows: dict[str, dict[str, Any]]

    def text(self) -> str:
        """The file's content: stable order, two-space indentation, a final newline."""
        document = {
            "lockfileVersion": VERSION,
            "catalog": self.catalog,
            "workflows": {path: self.workflows[path] for path in sorted(self.workflows)},
        }
        return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


class Difference(NamedTuple):
    """How a workflow differs from its entry."""

    path: str
    kind: str  # "new", "missing", "changed", "metadata" or "engine"
    changes: tuple[Change, ...]
    before: str | None  # the pinned hash
    after: str | None


def lock_entry(compiled: CompiledWorkflow) -> dict[str, Any]:
    return {
        "workflowId": compiled.workflow_id,
        "hash": compiled.hash,
        "engineHash": compiled.engine_hash,
        "engineMode": HashMode.PINNED.value,
        "outline": outline(compiled.ir).as_json(),
    }


def catalog_entry(catalog: Catalog) -> dict[str, str]:
    return {"id": catalog.catalog_id, "version": catalog.version, "digest": catalog.digest}


def parse_lockfile(data: bytes) -> Ok[Lockfile] | Err[str]:
    """Read a lockfile; a damaged one, or one from a newer version, is an error in words."""
    document = read_json(data, max_bytes=None)
    if not document.readable or document.problems:
        problem = document.problems[0]
        where = document.source.position(problem.start)
        place = f"line {where.line}, column {where.column}: "
        return Err(f"it is not valid JSON ({place}{problem.message.removeprefix(place)})")
    value = document.value
    if not isinstance(value, dict) or type(value.get("lockfileVersion")) is not int:
        return Err("it has no lockfileVersion, so it is not a lockfile")
    version = value["lockfileVersion"]
    if version != VERSION:
        newer = isinstance(version, int) and version > VERSION
        return Err(
            f"it has version {version}, this program knows version {VERSION}"
            + ("; update workrail-lint" if newer else "; remove it and write it again with lock --update")
        )
    catalog, workflows = value.get("catalog"), value.get("workflows")
    if not _is_catalog(catalog) or not isinstance(workflows, dict):
        return Err("its catalog or workflows member is damaged")
    for path, entry in workflows.items():
        if not _is_entry(entry):
            return Err(f"the entry of {path} is damaged")
    return Ok(Lockfile(catalog, workflows))  # type: ignore[arg-type]


def _is_catalog(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("id", "version", "digest"))


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("hash"), str):
        return False
    if not isinstance(entry.get("engineHash", 0), str | None) or not isinstance(entry.get("workflowId"), str):
        return False
    try:
        steps = outline_from_json(entry["outline"]).steps
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
    return all(isinstance(step.id, str) and isinstance(step.parent, str) for step in steps)


def differences(lock: Lockfile, compiled: dict[str, CompiledWorkflow], asked: set[str] | None) -> list[Difference]:
    """Return what no longer is as it was pinned, by path. `asked` restricts the look to some paths."""
    found: list[Difference] = []
    for path in sorted(compiled.keys() | lock.workflows.keys()):
        if asked is not None and path not in asked:
            continue
        entry, now = lock.workflows.get(path), compiled.get(path)
        if entry is None and now is not None:
            found.append(Difference(path, "new", (), None, now.hash))
        elif now is None and entry is not None:
            found.append(Difference(path, "missing", (), entry["hash"], None))
        elif entry is not None and now is not None and (difference := _difference(path, entry, now)):
            found.append(difference)
    return found


def _difference(path: str, entry: dict[str, Any], now: CompiledWorkflow) -> Difference | None:
    if entry["hash"] == now.hash and entry["engineHash"] == now.engine_hash:
        return None
    changes = tuple(compare(outline_from_json(entry["outline"]), digested(outline(now.ir))))
    if entry["workflowId"] != now.workflow_id:  # no behaviour of its own, but all that runs is known by it
        changes = (Change("changed", "", "workflowId", entry["workflowId"], now.workflow_id), *changes)
    kind = "changed" if changes else ("engine" if entry["hash"] == now.hash else "metadata")
    return Difference(path, kind, changes, entry["hash"], now.hash)

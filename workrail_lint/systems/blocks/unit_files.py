"""The disk side of a unit: which files belong together, and the files beside those of a run.

Nothing is followed and nothing is written. A link, a pipe or a file of enormous size is known by its name alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from workrail_lint.base.files import read_bytes, walk
from workrail_lint.documents.json_reader import MAX_BYTES, read_json
from workrail_lint.systems.blocks.documents import (
    MOUNT_FILE,
    WORKFLOW_SUFFIX,
    BlockKind,
    id_in_name,
    is_rejected,
    split_path,
)
from workrail_lint.systems.blocks.options import BlockOptions
from workrail_lint.systems.blocks.paths import OUTPUT_FOLDER, RUN_FOLDER, glob_matches
from workrail_lint.systems.blocks.units import Folder, Unit, record_of

# Files times patterns: in a workspace larger than this nothing is said about patterns without a file.
_MOST_LOOKS = 500_000
# Links are looked for in this many segments of a path; no real workspace is deeper.
_DEEPEST = 100
_SKIPPED = (".git", OUTPUT_FOLDER, RUN_FOLDER, "node_modules")
_RECORDED = (BlockKind.ENVIRONMENT, BlockKind.FAN_IN, BlockKind.PROMPT)

Records = Mapping[str, Mapping[str, Any]]


def units_on_disk(records: Records, options: BlockOptions) -> Iterator[Unit]:
    """Yield the units that files of a run belong to, each completed with the files on disk."""
    by_folder: dict[str, dict[str, Mapping[str, Any]]] = {}
    for path, record in records.items():
        if record["kind"] == BlockKind.OUTPUT.value and split_path(path)[1] != OUTPUT_FOLDER:
            yield Unit({path: record}, options)  # files elsewhere share a unit only by accident
        else:
            by_folder.setdefault(_home(path), {})[path] = record
    tree = None if options.tree is None else DiskTree(options.tree)
    for folder, known in sorted(by_folder.items()):
        yield _unit(folder, known, options, tree)


def lone_units(records: Records, options: BlockOptions) -> Iterator[Unit]:
    """Yield every file as a separate unit, for files named on the command line."""
    for path, record in records.items():
        yield Unit({path: record}, options)


def links(records: Records) -> list[str]:
    """Return the outputs that are symbolic links: what they lead to is not what the block wrote."""
    outputs = [path for path, record in records.items() if record["kind"] == BlockKind.OUTPUT.value]
    return [path for path in outputs if os.path.islink(path)]


def _home(path: str) -> str:
    """Return the folder of a unit."""
    folder = os.path.dirname(path)
    if os.path.basename(folder) in (OUTPUT_FOLDER, RUN_FOLDER):
        folder = os.path.dirname(folder)
    return folder or os.curdir


def _join(folder: str, *names: str) -> str:
    """Return a path spelled the way the run spells it: nothing is put before names in the current folder."""
    return os.path.join(*names) if folder == os.curdir else os.path.join(folder, *names)


def _unit(folder: str, known: dict[str, Mapping[str, Any]], options: BlockOptions, tree: DiskTree | None) -> Unit:
    outputs, recorded = _join(folder, OUTPUT_FOLDER), _join(folder, RUN_FOLDER)
    records: dict[str, Mapping[str, Any]] = dict(known)
    normal = {os.path.normpath(path): path for path in known}
    others: list[str] = []
    rejected: list[str] = []
    for path in _own_entries(outputs):
        name = os.path.basename(path)
        if os.path.normpath(path) in normal:
            continue
        if is_rejected(name):
            rejected.append(path)
        elif id_in_name(path, BlockKind.OUTPUT) is not None:
            records[path] = _read(path, BlockKind.OUTPUT)
        else:
            others.append(path)
    for path in _own_entries(recorded):
        if os.path.normpath(path) not in normal:
            kind = _recorded_kind(path)
            if kind is not None:
                records[path] = _read(path, kind)
    workflow = _workflow(folder, records, normal, options)
    is_ours = workflow is not None or any(record["kind"] == BlockKind.OUTPUT.value for record in records.values())
    for path in links(records):
        records[path] = record_of(BlockKind.OUTPUT, None)
    content = Folder(outputs if os.path.isdir(outputs) else "", tuple(others) if is_ours else (), tuple(rejected))
    return Unit(records, options, folder=content, tree=tree, workflow=workflow)


def _recorded_kind(path: str) -> BlockKind | None:
    if os.path.basename(path) == MOUNT_FILE:
        return BlockKind.MOUNT
    return next((kind for kind in _RECORDED if id_in_name(path, kind) is not None), None)


def _workflow(
    folder: str, records: dict[str, Mapping[str, Any]], normal: dict[str, str], options: BlockOptions
) -> str | None:
    """Return the definition of a unit: the configured one, else the only one beside the folders."""
    if options.workflow is not None:
        path = normal.get(os.path.normpath(options.workflow), options.workflow)
        records.setdefault(path, _read(path, BlockKind.WORKFLOW))
        return path
    beside = [path for path in _entries(folder) if path.endswith(WORKFLOW_SUFFIX)]
    if len(beside) != 1:
        return None
    path = normal.get(os.path.normpath(beside[0]), beside[0])
    if path not in records:
        records[path] = _read(path, BlockKind.WORKFLOW)
    return path if records[path]["kind"] == BlockKind.WORKFLOW.value else None


def _own_entries(folder: str) -> list[str]:
    """Return what a folder of the unit holds; nothing when it is only a link to a folder elsewhere."""
    return [] if os.path.islink(folder) else _entries(folder)


def _entries(folder: str) -> list[str]:
    """Return the paths of what a folder holds, sorted; none when it can't be listed."""
    try:
        return [_join(folder, name) for name in sorted(os.listdir(folder))]
    except (OSError, ValueError):
        return []


def _read(path: str, kind: BlockKind) -> dict[str, Any]:
    """Return the record of a file that the run itself did not look at."""
    data = regular_bytes(path)
    if data is None:
        return record_of(kind, None)
    if kind is BlockKind.PROMPT:
        return record_of(kind, prompt_text(data))
    document = read_json(data)
    return record_of(kind, document.value if document.readable else None)


def regular_bytes(path: str) -> bytes | None:
    """Return what a regular file of a sensible size holds; None for anything else, which is not even opened."""
    try:
        return read_bytes(path, MAX_BYTES, follow=False)
    except OSError:
        return None


def prompt_text(data: bytes) -> str | None:
    """Return the text of a recorded prompt; None if the bytes are not text."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


class DiskTree:
    """A workspace on the disk."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._real = os.path.realpath(root)
        self._outside: dict[str, bool] = {}  # by path, what was found out so far

    def holds(self, path: str) -> bool:
        try:
            return os.path.lexists(os.path.join(self.root, path))
        except ValueError:
            return False

    def way_out(self, path: str) -> str | None:
        names = path.split("/", _DEEPEST)[:_DEEPEST]
        for count in range(1, len(names) + 1):
            part = "/".join(names[:count])
            if part not in self._outside:
                self._outside[part] = self._leads_out(part)
            if self._outside[part]:
                return part
        return None

    def _leads_out(self, path: str) -> bool:
        try:
            place = os.path.join(self._real, path)
            target = os.path.realpath(place) if os.path.islink(place) else self._real
        except (OSError, ValueError):
            return False
        return target != self._real and not target.startswith(self._real + os.sep)

    def unmatched(self, patterns: list[str]) -> list[str]:
        left = list(dict.fromkeys(patterns))
        looks = 0
        for path in self._files():
            looks += len(left) + 1
            if not left or looks > _MOST_LOOKS:
                return []
            left = [pattern for pattern in left if not glob_matches(pattern, path)]
        return left

    def _files(self) -> Iterator[str]:
        for folder, folders, names in walk(self.root):
            folders[:] = sorted(name for name in folders if name not in _SKIPPED)
            for name in sorted(names):
                yield os.path.relpath(os.path.join(folder, name), self.root).replace(os.sep, "/")

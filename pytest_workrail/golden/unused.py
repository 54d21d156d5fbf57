"""Goldens that no test claims any more. Whatever may still have an owner does not count."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from pytest_workrail.golden import files
from pytest_workrail.golden.keys import (
    base_of,
    function_base,
    has_no_parameters,
    is_source,
    owner_base,
    source_base,
    source_folder,
)
from pytest_workrail.golden.test_records import TestRecord
from pytest_workrail.records import Record
from workrail_lint.base.files import read_bytes


class Unused(Record, frozen=False):
    """Unused goldens by their paths, sorted; only the `removable` ones are surely nobody's.

    `idle` ones belong to tests that are there, passed, and looked at no golden: a test that loops over files and finds
    none does that. `mentioned` ones belong to tests that their file still speaks of, but that pytest did not see: left
    out by a plugin, or defined on another system only.
    """

    removable: list[str] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)
    mentioned: list[str] = field(default_factory=list)


def unused_goldens(
    root: Path, folders: Iterable[Path], skipped: Iterable[str], tests: Mapping[str, TestRecord]
) -> Unused:
    """What is left over after all tests below some folders ran."""
    paths: set[str] = set()
    for folder, names in files.goldens_below(folders, skipped):
        place = os.path.relpath(folder, root).replace(os.sep, "/")
        paths.update(f"{place}/{name}" for name in names)
    for test in tests.values():
        paths.difference_update(test.records)
    unused = Unused()
    if not paths:
        return unused
    owners = {owner_base(nodeid): test for nodeid, test in tests.items()}
    functions = {function_base(base) for base in owners}
    emptied = {function_base(owner_base(nodeid)) for nodeid in tests if has_no_parameters(nodeid)}
    collected = {nodeid.partition("::")[0] for nodeid in tests}
    for path in sorted(paths):
        base = base_of(path)
        owner, function = owners.get(base), function_base(base)
        if owner is not None:
            if owner.passed:
                (unused.removable if owner.records else unused.idle).append(path)
        elif function not in emptied:
            sources = _sources(root, path)
            if function in functions or not sources:
                unused.removable.append(path)
            elif sources <= collected:
                is_mentioned = any(_mentions(root / source, function) for source in sources)
                (unused.mentioned if is_mentioned else unused.removable).append(path)
    return unused


def _sources(root: Path, path: str) -> set[str]:
    """The files that are there and may hold the owner of a golden."""
    folder = source_folder(path)
    names = (posixpath.join(folder, name) for name in os.listdir(root / folder) if is_source(name))
    return {name for name in names if path.startswith((f"{source_base(name)}/", f"{source_base(name)}."))}


def _mentions(source: Path, function: str) -> bool:
    name = posixpath.basename(function).rpartition("-")[2]
    try:
        return re.search(rf"\b{re.escape(name)}\b", read_bytes(str(source)).decode(errors="replace")) is not None
    except OSError:
        return True

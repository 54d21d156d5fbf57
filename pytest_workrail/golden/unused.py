"""Goldens that no test claims any more. Whatever may still have an owner does not count."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
from pytest_workrail.golden.records import TestRecord


@dataclass(frozen=True, slots=True)
class Unused:
    """Unused goldens by their paths. `idle` are those of tests that are there, passed, and looked at no golden.

    A test that loops over files and finds none passes as well. It is no reason to remove anything.
    """

    removable: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()


def unused_goldens(
    root: Path, folders: Iterable[Path], skipped: Iterable[str], tests: Mapping[str, TestRecord]
) -> Unused:
    """What is left over after all tests below some folders ran."""
    claimed = {path for test in tests.values() for path in test.records}
    owners = {owner_base(nodeid): test for nodeid, test in tests.items()}
    collected = {nodeid.partition("::")[0] for nodeid in tests}
    emptied = {function_base(owner_base(nodeid)) for nodeid in tests if has_no_parameters(nodeid)}
    removable: list[str] = []
    idle: list[str] = []
    for file in files.goldens_below(folders, skipped):
        path = os.path.relpath(file, root).replace(os.sep, "/")
        if path in claimed:
            continue
        base = base_of(path)
        owner = owners.get(base)
        if owner is None:
            if function_base(base) not in emptied and not _is_uncollected(root, path, collected):
                removable.append(path)
        elif owner.passed:
            (removable if owner.records else idle).append(path)
    return Unused(tuple(sorted(removable)), tuple(sorted(idle)))


def _is_uncollected(root: Path, path: str, collected: set[str]) -> bool:
    """True when a file that may hold the owner is there, but nothing of it took part in this run."""
    folder = source_folder(path)
    sources = (posixpath.join(folder, name) for name in os.listdir(root / folder) if is_source(name))
    return any(path.startswith((f"{base}/", f"{base}.")) for base in map(source_base, set(sources) - collected))

"""The files that other commands wrote: coverage, goldens, mutation scores, sessions, costs. Each is read by its shape,
and what is not of that shape is refused with a sentence."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.typed import Any, NamedTuple
from workrail_lint.studio.runs import run_data
from workrail_lint.studio.shapes import GOLDEN, LOCKS, PENDING, REPORT, fits

Data = dict[str, Any]
_GOLDEN = ".golden.json"
_SHAPES = {"workflows": REPORT, "groups": PENDING, "totalLocks": LOCKS}


class Inputs(NamedTuple):
    """What is shown besides the workflows themselves."""

    coverage: Data | None = None
    goldens: Data | None = None  # pending changes, as `workrail-test golden diff --json` prints them
    runs: tuple[Data, ...] = ()
    mutation: Data | None = None
    sessions: Data | None = None
    cost: Data | None = None
    locks: Data | None = None


def read_data(path: str, what: str, member: str) -> Ok[Data] | Err[str]:
    """A JSON file with the member that such files have."""
    read = read_file(path)
    if isinstance(read, Err):
        return Err(read.error.message)
    try:
        data = json.loads(read.value)
    except (ValueError, RecursionError):
        return Err(f"{path} is not JSON")
    if not isinstance(data, dict) or member not in data:
        return Err(f"{path} is not {what}: it has no `{member}`")
    if not fits(data, _SHAPES[member]):
        return Err(f"{path} is not {what}: what it holds is of another shape")
    return Ok(data)


def read_runs(folders: list[str], root: str) -> Iterator[Data]:
    """The goldens below folders as runs, by path. A file that is damaged is left out: its test says so."""
    for folder in folders:
        for path in _goldens(folder):
            read = read_file(path)
            if isinstance(read, Err):
                continue
            try:
                golden = json.loads(read.value)
            except (ValueError, RecursionError):
                continue
            shown = os.path.relpath(path, root).replace(os.sep, "/")
            name = os.path.basename(path).removesuffix(_GOLDEN)
            run = run_data(golden, name, shown) if fits(golden, GOLDEN) else None
            if run is not None:
                yield run


def _goldens(folder: str) -> Iterator[str]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "node_modules")))
        for name in sorted(names):
            if name.endswith(_GOLDEN):
                yield os.path.join(here, name)


def of_workflow(listed: Data | None, ident: str, hashed: str | None) -> Data | None:
    """The entry about a workflow. One about another version of it is marked as stale."""
    entries: list[Data] = [item for item in (listed or {}).get("workflows", ()) if item.get("workflowId") == ident]
    exact = [item for item in entries if item.get("workflowHash", hashed) == hashed]
    if exact:
        return exact[-1]
    return {**entries[-1], "stale": True} if entries else None

"""The files that other commands wrote: coverage, goldens, runs, mutation scores, sessions, costs. Each is read by its
shape, and what is not of that shape is refused with a sentence."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from workrail_lint.base.files import read_file, walk
from workrail_lint.base.redaction import Redactor
from workrail_lint.base.result import Err, Ok
from workrail_lint.studio.runs import run_data, session_runs, with_outcome

# An object by its members (with `?`: may be missing or null), a list by its items, a text by a pattern, else types.
Shape = dict[str, Any] | list[Any] | re.Pattern[str] | type | tuple[type, ...]

_ANY: Shape = object
_TEXT: Shape = (str, list)
_OBJECTS: Shape = [dict]
_POINT: Shape = {"kind": str, "place": str, "case": str, "tests?": [str]}
_SESSION: Shape = {"id": str, "status": str, "steps": [str], "blocked?": [[str]], "stuck?": str}
_VERSION: Shape = {"hash": str, "version?": str, "sessions": [_SESSION], "older?": dict}
_WORKFLOW: Shape = {
    "workflowId?": str,
    "workflowHash?": str,
    "workflowHashes?": [str],
    "points?": [_POINT],
    "survived?": _OBJECTS,
    "each?": [_VERSION],
    "steps?": (list, dict),
    "cost?": dict,
}
REPORT: Shape = {"workflows": [_WORKFLOW]}
# People copy the id of a group into a shell.
_GROUP: dict[str, Any] = {"id?": re.compile("[0-9A-Za-z-]*"), "goldens?": [str]}
_EDIT: Shape = {**_GROUP, "groups?": list}
_DIFFERENCE: Shape = {"change?": str, "step?": str, "field?": str, "pointer?": str}
_PENDING: Shape = {"golden?": str, "test?": str, "state?": str, "differences?": [_DIFFERENCE]}
PENDING: Shape = {
    "groups": [_GROUP],
    "pending?": [_PENDING],
    "edits?": [_EDIT],
    "unexplained?": list,
    "base?": str,
}
LOCKS: Shape = {
    "totalLocks": int,
    "coveredLocks?": int,
    "provenLocks?": int,
    "byCategory?": dict,
    "locks?": (list, dict),
}
_ENTRY: Shape = {"request?": _ANY, "response?": {"pending?": {"stepId?": str, "prompt?": _TEXT}}}
_MERGE: Shape = {"result?": {"conflicts?": list}, "applied?": _ANY}
GOLDEN: Shape = {
    "prompts?": [{"step?": str, "text?": _TEXT}],
    "transcript?": [_ENTRY],
    "trace?": list,
    "states?": [str],
    "tasks?": dict,
    "decisions?": list,
    "blockers?": _OBJECTS,
    "plan?": _OBJECTS,
    "steps?": list,
    "fanIns?": [_MERGE],
    "events?": list,
}
_EXCERPT: Shape = {"first": int, "lines": [str]}
_OUTCOME: Shape = {
    "test": str,
    "state": re.compile("passed|failed|changed|error|skipped|flaky"),
    "seconds": (int, float),
    **dict.fromkeys(("message?", "file?", "pointer?", "expected?", "found?"), str),
    "line?": int,
    "excerpt?": _EXCERPT,
}
RUNS: Shape = {"runs": list, "tests?": [_OUTCOME]}  # each run is looked at when it is drawn


def fits(value: Any, shape: Shape) -> bool:
    """Return whether a JSON value has a shape."""
    match shape:
        case dict():
            return isinstance(value, dict) and all(_has(value, name, inner) for name, inner in shape.items())
        case list():
            return isinstance(value, list) and all(fits(item, shape[0]) for item in value)
        case re.Pattern():
            return isinstance(value, str) and shape.fullmatch(value) is not None
        case _:
            return isinstance(value, shape)


def _has(value: dict[str, Any], name: str, shape: Shape) -> bool:
    if name.endswith("?"):
        return value.get(name[:-1]) is None or fits(value[name[:-1]], shape)
    return name in value and fits(value[name], shape)


Data = dict[str, Any]
_GOLDEN = ".golden.json"
# The members of entries that a page shows.
_OF_MUTATION = ("stale", "workflowHash", "others", "mutants", "killed", "inert", "score", "survived")
_OF_COST = ("stale", "workflowHash", "others", "cost")
_OF_LOCKS = ("totalLocks", "coveredLocks", "provenLocks", "byCategory", "covered", "uncovered")
_SHAPES = {"workflows": REPORT, "groups": PENDING, "totalLocks": LOCKS, "runs": RUNS, "sessions": {"sessions": list}}


class Inputs(NamedTuple):
    """The reports that a page shows besides the workflows."""

    coverage: Data | None = None
    goldens: Data | None = None  # pending changes, as `workrail-test golden diff --json` prints them
    runs: tuple[Data, ...] = ()
    mutation: Data | None = None
    sessions: Data | None = None
    cost: Data | None = None
    locks: Data | None = None

    @property
    def redacted(self) -> Inputs:
        """The same without secrets, reserved variables and places on a machine: nothing else may reach a page."""
        redactor = Redactor()
        reports = {name: redactor.report(getattr(self, name)) for name in self._fields if name != "runs"}
        # Sessions were redacted when they were read, by the folders that they worked in.
        runs = tuple(run if run["kind"] == "session" else redactor.report(run) for run in self.runs)
        return Inputs(runs=runs, **reports)

    @property
    def observed_workflows(self) -> set[Any]:
        """The ids of the workflows that sessions are about."""
        played = {run["workflow"] for run in self.runs if run["kind"] == "session"}
        return played.union(item.get("workflowId") for item in (self.sessions or {}).get("workflows", ()))

    def coverage_of(self, ident: str, hashes: Collection[str]) -> Data | None:
        """Return the coverage of a workflow, with every test named once."""
        entry = _of_workflow(self.coverage, ident, hashes)
        if entry is None:
            return None
        listed = entry.get("points") or ()
        tests = sorted({test for point in listed for test in point.get("tests") or ()})
        numbers = {test: number for number, test in enumerate(tests)}
        points = [
            {
                **{name: point[name] for name in ("kind", "place", "case")},
                "tests": [numbers[test] for test in point.get("tests") or ()],
            }
            for point in listed
        ]
        totals = {name: entry.get(name) for name in ("total", "kinds")}
        of = _members(entry, ("workflowHash", "others"))
        return {"stale": bool(entry.get("stale")), **of, **totals, "tests": tests, "points": points}

    def mutation_of(self, ident: str, hashes: Collection[str]) -> Data | None:
        entry = _of_workflow(self.mutation, ident, hashes)
        return entry and _members(entry, _OF_MUTATION)

    def sessions_of(self, ident: str, hashes: Collection[str]) -> Data | None:
        """Return the sessions of a workflow; of each version whether it is that of the file."""
        entry = _of_workflow(self.sessions, ident, hashes)
        if entry is None or "each" not in entry:
            return entry
        return {**entry, "each": [{**each, "current": each.get("hash") in hashes} for each in entry["each"]]}

    def cost_of(self, ident: str, hashes: Collection[str]) -> Data | None:
        entry = _of_workflow(self.cost, ident, hashes)
        return entry and _members(entry, _OF_COST)

    @property
    def pending_goldens(self) -> Data | None:
        if self.goldens is None:
            return None
        pending = [
            {
                **{name: item.get(name) for name in ("golden", "state", "test")},
                "differences": [_difference(each) for each in item.get("differences") or ()],
            }
            for item in self.goldens.get("pending") or ()
        ]
        by_edit: Data = {name: self.goldens[name] for name in ("edits", "unexplained", "base") if name in self.goldens}
        return {"groups": self.goldens.get("groups", []), "pending": pending, **by_edit}

    @property
    def lock_counts(self) -> Data | None:
        return self.locks and _members(self.locks, _OF_LOCKS)


def _difference(item: Data) -> Data:
    """Return where a golden differs, with the words of before and now where they are short enough to read in a line."""
    kept = {name: item[name] for name in ("change", "step", "field", "pointer") if item.get(name) is not None}
    if item.get("change") != "changed":
        return kept
    return kept | {name: item[name] for name in ("old", "new") if not isinstance(item.get(name), dict)}


def _members(entry: Data, names: tuple[str, ...]) -> Data:
    """Return an entry without what the page does not show."""
    return {name: entry[name] for name in names if name in entry}


def read_data(path: str, what: str, *members: str) -> Ok[Data] | Err[str]:
    """Return a JSON file with one of the members that such files have."""
    read = read_file(path)
    if isinstance(read, Err):
        return Err(read.error.message)
    try:
        data = json.loads(read.value)
    except (ValueError, RecursionError):
        return Err(f"{path} is not JSON")
    if not isinstance(data, dict) or not any(member in data for member in members):
        missing = " or ".join(f"`{member}`" for member in members)
        return Err(f"{path} is not {what}: it has no {missing}")
    if not all(fits(data, _SHAPES[member]) for member in members if member in data):
        return Err(f"{path} is not {what}: what it holds is of another shape")
    return Ok(data)


def recorded_runs(report: Data) -> Iterator[Data]:
    """Yield the runs that `pytest --workrail-runs-json` wrote down, each named after its test."""
    names: dict[str, int] = {}
    outcomes = {each["test"]: each for each in report.get("tests", ())}
    for item in report.get("runs", ()):
        if not fits(item, GOLDEN):
            continue
        test = str(item.get("test", "run"))
        path, _, inside = test.partition("::")
        name = inside or os.path.basename(path)
        names[test] = names.get(test, 0) + 1
        run = run_data(item, name if names[test] == 1 else f"{name} {names[test]}", path)
        if run is not None:
            run = {**run, "test": test}
            yield with_outcome(run, outcomes[test]) if test in outcomes else run
    for test in sorted(outcomes.keys() - names.keys()):
        path, _, inside = test.partition("::")
        bare = {"name": inside or os.path.basename(path), "path": path, "kind": "test", "test": test, "turns": []}
        yield with_outcome({**bare, "status": None, "blocked": 0}, outcomes[test])


def with_goldens(runs: Sequence[Data], goldens: Iterable[Data]) -> Iterator[Data]:
    """Yield the runs of tests, and the goldens of those that did not run.

    Of a test that ran, the run says more than its golden. A test that passed without a recorded run did what its golden
    says, so the golden takes its place.
    """
    ran = {_place(run["path"], run["name"]): run for run in runs}
    known: dict[tuple[str, str], Data] = {}
    others = []
    for golden in goldens:
        # The folder of the test is the one around `__goldens__`.
        place = os.path.dirname(os.path.dirname(golden["path"])), golden["name"]
        if place in ran:
            known[place] = golden
        else:
            others.append(golden)
    for place, run in ran.items():
        is_bare = run["kind"] == "test" and run["outcome"]["state"] in ("passed", "flaky")
        if is_bare and place in known:
            yield {**known[place], "test": run["test"], "outcome": run["outcome"]}
        else:
            yield run
    yield from others


def _place(path: str, name: str) -> tuple[str, str]:
    return os.path.dirname(path), name


def session_reports(reports: Sequence[tuple[str, Data]]) -> tuple[Data | None, list[Data]]:
    """Return counts over sessions, and sessions as runs. A report has the one or the other."""
    counts = [data for _, data in reports if "workflows" in data]
    runs = [run for path, data in reports if "workflows" not in data for run in session_runs(data, path)]
    return (counts[-1] if counts else None), runs


def read_runs(folders: list[str], root: str) -> Iterator[Data]:
    """Yield the goldens below folders as runs, by path. A file that is damaged is left out: its test says so."""
    for folder in folders:
        for path in _goldens(folder):
            read = read_file(path)
            if isinstance(read, Err):
                continue
            try:
                golden = json.loads(read.value)
            except (ValueError, RecursionError):
                continue
            relative = os.path.relpath(path, root).replace(os.sep, "/")
            name = os.path.basename(path).removesuffix(_GOLDEN)
            run = run_data(golden, name, relative) if fits(golden, GOLDEN) else None
            if run is not None:
                yield run


def _goldens(folder: str) -> Iterator[str]:
    for here, folders, names in walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "node_modules")))
        for name in sorted(names):
            if name.endswith(_GOLDEN):
                yield os.path.join(here, name)


def _of_workflow(listed: Data | None, ident: str, hashes: Collection[str]) -> Data | None:
    """Return the entry about a workflow, with the versions that other entries are about.

    One about another version of it is marked as stale.
    """
    entries: list[Data] = [
        # Some reports call scenarios stale; whether an entry is, is decided here.
        {name: value for name, value in item.items() if name != "stale"}
        for item in (listed or {}).get("workflows", ())
        if item.get("workflowId") == ident
    ]
    exact = [item for item in entries if set(_hashes_of(item)) <= set(hashes)]
    if not entries:
        return None
    chosen = exact[-1] if exact else {**entries[-1], "stale": True}
    others = sorted({each for item in entries for each in _hashes_of(item)} - {*hashes, *_hashes_of(chosen)})
    return {**chosen, "others": others} if others else chosen


def _hashes_of(entry: Data) -> list[str]:
    """Return the versions that an entry is about; none if it does not say."""
    named: list[str] = entry.get("workflowHashes") or [entry.get("workflowHash")]
    return [item for item in named if item]

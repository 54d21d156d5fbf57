"""Code that `generate`, `mutate` and `explore` share: options, processes, and the scenarios about a workflow."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from pytest_workrail.cli.workflows import SearchedWorkflow, shown_path
from pytest_workrail.explore.executor import Executor, Gathered, Task, WorkerLost, gather, open_executor
from pytest_workrail.golden.files import SCENARIO_ENDING
from pytest_workrail.scenarios.drivers import ScenarioDocument, open_scenario
from pytest_workrail.scenarios.workflow_driver import load
from workrail_lint.base.files import is_below, output_root, walk
from workrail_lint.base.js import Json
from workrail_lint.base.progress import Progress
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import err, printable
from workrail_lint.cli import UsageError
from workrail_lint.cli.parser import Parser, add_inputs, add_text_or_json

_SKIPPED = ("node_modules", "__pycache__", "venv")
_WORKFLOW_DRIVER = "workflow_driver"


def add_search_options(parser: Parser, paths: Literal["+", "*"] = "+") -> None:
    """The options of every search."""
    parser.add_argument("paths", nargs=paths, metavar="WORKFLOW", help="workflows, or folders of workflows")
    add_text_or_json(parser, "answer")
    parser.add_argument("--jobs", type=_positive, default=1, metavar="N", help="use N processes (default: 1)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="use the dask cluster of this scheduler instead")
    add_inputs(parser)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


@contextmanager
def executor_of(args: argparse.Namespace) -> Iterator[Executor]:
    """Yield the executor that was asked for."""
    opened = open_executor(args.jobs, args.scheduler)
    if isinstance(opened, Err):
        raise UsageError(opened.error)
    with opened.value as executor:
        yield executor


def perform(
    args: argparse.Namespace,
    task: Task,
    pieces: Sequence[Json],
    label: str,
    noun: str,
    sizes: Sequence[int] | None = None,
) -> Gathered:
    """Perform a task on all pieces, with a counter for whoever watches. An interruption keeps what is done.

    `label` is what pieces are called. `noun` is one of the things that are counted, of which a piece has as many as
    its size says.
    """
    counts = sizes or [1] * len(pieces)
    try:
        with executor_of(args) as executor, Progress(sum(counts), noun, ticking=True) as progress:
            gathered = gather(executor, task, pieces, lambda place: progress.step(counts[place]))
    except WorkerLost as problem:
        raise UsageError(str(problem)) from None
    if gathered.is_interrupted:
        done = len(gathered.results)
        err(f"workrail-test: interrupted after {done} of {len(pieces)} {label}; the rest was not searched")
    return gathered


def interruption(gathered: Gathered) -> dict[str, Json]:
    """Return what marks a report in JSON as incomplete; nothing for one that is complete."""
    return {"interrupted": True} if gathered.is_interrupted else {}


class FoundScenario(Struct, frozen=True):
    """A scenario about a workflow; `problem` says why it can't be played, if it can't."""

    name: str
    value: dict[str, Any]
    ir: dict[str, Any] | None = None  # only where it is not the workflow's, because the scenario has its own bindings
    problem: str | None = None

    def to_json(self) -> dict[str, Any]:
        members: dict[str, Any] = {"name": self.name, "value": self.value}
        more = {"ir": self.ir, "problem": self.problem}
        return members | {name: value for name, value in more.items() if value is not None}


def scenarios_about(workflow: SearchedWorkflow, folder: str) -> Iterator[FoundScenario]:
    """Yield the scenarios below a folder that run a workflow, in order; those that are skipped don't count."""
    target = os.path.realpath(workflow.path)
    for path in scenario_files(folder):
        name = shown_path(os.path.relpath(path, folder))
        opened = open_scenario(Path(path), name)
        value: Any = opened.error.document.value if isinstance(opened, Err) else opened.value.value
        named = value.get("workflow") if isinstance(value, dict) else None
        if not isinstance(named, str) or os.path.realpath(os.path.join(os.path.dirname(path), named)) != target:
            continue
        if isinstance(opened, Err):
            yield FoundScenario(name, value, problem=str(opened.error).splitlines()[0])
        elif _WORKFLOW_DRIVER in opened.value.driver and not _is_left_out(value):
            yield _loaded(opened.value, workflow)


def _is_left_out(value: dict[str, Any]) -> bool:
    return bool(value.get("skip") or (value.get("expect") or {}).get("promise"))


def _loaded(scenario: ScenarioDocument, workflow: SearchedWorkflow) -> FoundScenario:
    loaded = load(scenario)
    if isinstance(loaded, Err):
        return FoundScenario(scenario.file, scenario.value, problem=str(loaded.error).splitlines()[0])
    ir = loaded.value.ir
    return FoundScenario(scenario.file, scenario.value, None if ir == workflow.compiled.ir else ir)


def scenario_files(folder: str) -> Iterator[str]:
    """Yield every scenario file below a folder, in order. A link that leads out of the project is not one."""
    project = (folder, output_root(folder))
    for root, folders, files in walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        for path in (os.path.join(root, name) for name in sorted(files) if name.endswith(SCENARIO_ENDING)):
            if not os.path.islink(path) or is_below(path, project):
                yield path
            else:
                err(
                    f"workrail-test: {printable(path)} is a symbolic link that leads out of the project; it is not read"
                )

"""Code that `generate`, `mutate`, `explore` and `compare` share: options, named workflows and their scenarios."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from pytest_workrail.engine.core.profiles import PROFILES, ProfileName
from pytest_workrail.explore.executor import Executor, Gathered, Task, WorkerLost, gather, open_executor
from pytest_workrail.golden.files import SCENARIO_ENDING
from pytest_workrail.scenarios.drivers import ScenarioDocument, open_scenario
from pytest_workrail.scenarios.workflow_driver import load
from workrail_lint.base.files import is_below, output_root, walk
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import Progress, err, printable
from workrail_lint.cli import INTERRUPTED, NOTHING, USAGE, UsageError
from workrail_lint.cli.arguments import configuration, settings, workflow_files
from workrail_lint.cli.parser import Parser, add_inputs
from workrail_lint.project.config import Config
from workrail_lint.systems.workrail.compile import compile_source
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow

_SKIPPED = ("node_modules", "__pycache__", "venv")
_WORKFLOW_DRIVER = "workflow_driver"


class SearchedWorkflow(Struct, frozen=True):
    """A workflow file, compiled."""

    path: str
    text: bytes
    compiled: CompiledWorkflow


class Searched(Struct, frozen=True):
    """The input of a search. `has_broken`: some workflows don't compile and are left out."""

    config: Config
    workflows: list[SearchedWorkflow]
    has_broken: bool

    def nothing_found(self) -> int:
        """Return the exit code where there is no workflow to search."""
        if self.has_broken:
            return USAGE
        err("workrail-test: no workflow found")
        return NOTHING

    def exit_code(self, otherwise: int, gathered: Gathered | None = None) -> int:
        """Return the exit code of a command that is done; one that left something out has failed."""
        if gathered is not None and gathered.is_interrupted:
            return INTERRUPTED
        return USAGE if self.has_broken else otherwise


def add_search_options(parser: Parser, paths: Literal["+", "*"] = "+") -> None:
    """The options of every search."""
    parser.add_argument("paths", nargs=paths, metavar="WORKFLOW", help="workflows, or folders of workflows")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")
    parser.add_argument("--jobs", type=_positive, default=1, metavar="N", help="use N processes (default: 1)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="use the dask cluster of this scheduler instead")
    add_inputs(parser)


def add_profile_option(parser: Parser, default: str) -> None:
    parser.add_argument(
        "--profile", choices=tuple(PROFILES), action="append", help=f"the run profile, may be repeated ({default})"
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def chosen_profiles(args: argparse.Namespace) -> list[ProfileName]:
    """Return the profiles that were asked for, in their order; all of them if none was."""
    return [name for name in PROFILES if name in (args.profile or PROFILES)]


def searched_workflows(args: argparse.Namespace) -> Searched:
    """The workflows at and below the paths. One that does not compile is reported, and the others are searched."""
    config = configuration(args, args.paths[0] if args.paths else os.curdir)
    active = settings(args, config)
    workflows: list[SearchedWorkflow] = []
    has_broken = False
    for file in workflow_files(args.paths, config):
        compiled = compile_source(file.data, active)
        if isinstance(compiled, Err):
            has_broken = True
            err(f"workrail-test: {printable(file.path)} does not compile: {printable(compiled.error[0].message)}")
        else:
            workflows.append(SearchedWorkflow(file.path, file.data, compiled.value))
    return Searched(config, workflows, has_broken)


@contextmanager
def executor_of(args: argparse.Namespace) -> Iterator[Executor]:
    """Yield the executor that was asked for."""
    opened = open_executor(args.jobs, args.scheduler)
    if isinstance(opened, Err):
        raise UsageError(opened.error)
    with opened.value as executor:
        yield executor


def perform(args: argparse.Namespace, task: Task, pieces: Sequence[Json], label: str) -> Gathered:
    """Perform a task on all pieces, with a counter for whoever watches. An interruption keeps what is done."""
    try:
        with executor_of(args) as executor:
            gathered = gather(executor, task, pieces, Progress(len(pieces), label))
    except WorkerLost as problem:
        raise UsageError(str(problem)) from None
    if gathered.is_interrupted:
        done = len(gathered.results)
        err(f"workrail-test: interrupted after {done} of {len(pieces)} {label}; the rest was not searched")
    return gathered


def interruption(gathered: Gathered) -> dict[str, Json]:
    """Return what marks a report in JSON as incomplete; nothing for one that is complete."""
    return {"interrupted": True} if gathered.is_interrupted else {}


def shown_path(path: str) -> str:
    """Return a path as reports have it: with forward slashes, the same on every machine."""
    return path.replace(os.sep, "/")


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

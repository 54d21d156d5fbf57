"""The actions of the live page. A request names things that the page was given; nothing else is touched."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import tempfile
import threading
from collections.abc import Callable
from itertools import count
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from pytest_workrail.engine.core.profiles import PROFILES
from pytest_workrail.explore.generation import generation_piece, scenario_showing
from pytest_workrail.explore.mutation_report import sentence
from pytest_workrail.golden.files import SCENARIO_ENDING
from pytest_workrail.golden.pending import Outcome
from pytest_workrail.live.board import Board, Data, View, file_hash
from pytest_workrail.live.what_if import Change, ChangedRun, play
from pytest_workrail.scenarios.drivers import file_bytes
from workrail_lint.base.files import read_file
from workrail_lint.base.line_diff import unified_diff
from workrail_lint.base.processes import Child, Ending, Limits, python, start_apart
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.terminal import err, printable
from workrail_lint.cli import UsageError
from workrail_lint.cli.arguments import settings
from workrail_lint.cli.check import checked_projects
from workrail_lint.cli.check import parser as check_parser
from workrail_lint.cli.output import write_output
from workrail_lint.cli.parser import given_inputs
from workrail_lint.project.fixing import fix_once
from workrail_lint.systems.workrail.compile import compile_source
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.scenario import Scenario

_TEST_LIMITS = Limits(seconds=60, memory=None)
_SLUG_LENGTH = 40
# How to open a file at a line in editors with a window. One that needs a terminal would take the server's.
_WITH_LINE = {"code": "-g {}:{}", "codium": "-g {}:{}", "cursor": "-g {}:{}", "subl": "{}:{}", "zed": "{}:{}"}
_IN_TERMINAL = frozenset(("vi", "vim", "nvim", "nano", "emacs", "micro", "hx", "helix", "ed"))


class Refusal(NamedTuple):
    """Why a request was not carried out, as a sentence, with the status of HTTP."""

    status: int
    message: str


class Job(NamedTuple):
    """A test that runs: its number, its process, and the thread that waits for it."""

    number: int
    child: Child
    thread: threading.Thread


Answer = Ok[Data] | Err[Refusal]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class GoldenBody(_Body):
    """Accept or reject the changes of an edit, or one change that no edit explains."""

    edit: str = Field(max_length=100)
    decision: Literal["accept", "reject"]


class FixBody(_Body):
    """Show or apply the fix of a finding, in the state of the file that the page was made from."""

    path: str
    hash: str
    code: str
    pointer: str
    apply: bool = False


class RunBody(_Body):
    """Run a scenario again, or stop the one that runs."""

    test: str = ""
    stop: int = 0


class WhatIfBody(_Body):
    """Another answer at a moment of a run, counted from 0."""

    run: str
    path: str | None = None
    moment: int
    context: dict[str, Any] = {}
    answer: dict[str, Any] = {}


class GoalBody(_Body):
    """A scenario that shows a goal."""

    kind: Literal["goal"]
    workflow: str
    goal: str


class MutantBody(_Body):
    """The scenario that notices a surviving mutant."""

    kind: Literal["mutant"]
    workflow: str
    mutant: str


class SavedWhatIf(WhatIfBody):
    """A what-if to keep as a scenario."""

    kind: Literal["whatif"]


class OpenBody(_Body):
    """A place to open in the editor."""

    path: str
    line: int = Field(default=1, ge=1)


ScenarioBody = Annotated[GoalBody | MutantBody | SavedWhatIf, Field(discriminator="kind")]
_NAMES: dict[Any, str] = {
    GoldenBody: "golden",
    FixBody: "fix",
    RunBody: "run",
    ScenarioBody: "scenario",
    OpenBody: "open",
    WhatIfBody: "whatif",
}


class Actions:
    """The actions by their names. One writes at a time."""

    def __init__(self, board: Board, notify: Callable[[str], None]) -> None:
        self._board = board
        self._notify = notify
        self._lock = threading.Lock()
        self.job: Job | None = None
        self._numbers = count(1)
        actions: dict[Any, Callable[[Any], Answer]] = {WhatIfBody: self._what_if}
        if not board.args.read_only:
            actions |= {
                GoldenBody: self._decide,
                FixBody: self._fix,
                RunBody: self._run,
                ScenarioBody: self._add_scenario,
                OpenBody: self._open,
            }
        self._by_name = {_NAMES[body]: (TypeAdapter[Any](body), action) for body, action in actions.items()}

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._by_name)

    def do(self, name: str, body: Data) -> Answer:
        """Carry out an action; what does not have the right shape is refused."""
        adapter, action = self._by_name[name]
        try:
            parsed = adapter.validate_python(body)
        except ValidationError as problem:
            first = problem.errors()[0]
            return _refused(400, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        return action(parsed)

    def close(self) -> None:
        """End what still runs."""
        job = self.job
        if job is not None:
            job.child.kill()

    # ------------------------------------------------------------------------------------------------- what it does

    def _decide(self, body: GoldenBody) -> Answer:
        with self._lock:
            self._board.refresh()
            view = self._board.view
            groups = next(
                (each.groups for each in view.explained.in_goldens if each.id == body.edit),
                [each for each in view.changes.groups if each.key.id == body.edit],
            )
            if not groups:
                return _refused(409, "this change is no longer pending; look again")
            ids = {group.key.id for group in groups}
            outcome: Outcome = view.changes.accept(ids) if body.decision == "accept" else view.changes.reject(ids)
            if outcome.refused:
                name, problem = outcome.refused[0]
                return _refused(409, f"{name}: {problem}")
            for name in outcome.done:
                _say(f"{body.decision}ed a change of {name}")
            return self._changed({"goldens": outcome.done})

    def _fix(self, body: FixBody) -> Answer:
        with self._lock:
            path = self._board.view.files.get(body.path)
            if path is None:
                return _refused(404, "the page shows no such file")
            read = read_file(path)
            if isinstance(read, Err) or file_hash(path) != body.hash:
                return _refused(409, "the file changed; look again")
            text = read.value.decode("utf-8", "surrogateescape")
            finding = next(
                (
                    each
                    for project in checked_projects(self._check_arguments(path))
                    for each in project.outcome.findings
                    if (each.code, each.pointer) == (body.code, body.pointer) and each.fix is not None
                ),
                None,
            )
            fixed = None if finding is None else fix_once(text, [finding], unsafe=True)
            if fixed is None or not fixed.applied:
                return _refused(409, "this finding no longer has a fix; look again")
            diff = list(unified_diff(text.split("\n"), fixed.text.split("\n"), body.path))
            if not body.apply:
                return Ok({"diff": diff})
            problem = self._write(path, fixed.text.encode("utf-8", "surrogateescape"))
            return _refused(500, problem) if problem else self._changed({"diff": diff})

    def _check_arguments(self, path: str) -> argparse.Namespace:
        args = self._board.args
        return check_parser().parse_args(["--severity", "info", *given_inputs(args), "--", path])

    def _add_scenario(self, body: GoalBody | MutantBody | SavedWhatIf) -> Answer:
        with self._lock:
            scenario = self._scenario(body)
            if isinstance(scenario, Err):
                return scenario
            name, source, document = scenario.value
            folder = self._scenario_folder(source)
            path = os.path.join(folder, f"{name}{SCENARIO_ENDING}")
            number = 2
            while os.path.lexists(path):
                path = os.path.join(folder, f"{name}-{number}{SCENARIO_ENDING}")
                number += 1
            relative = os.path.relpath(source, folder).replace(os.sep, "/")
            document = {**document, "workflow": relative}
            Scenario.model_validate(document)
            problem = self._write(path, file_bytes(document))
            if problem:
                return _refused(500, problem)
            return self._changed({"scenario": os.path.relpath(path, self._board.root).replace(os.sep, "/")})

    def _scenario(self, body: GoalBody | MutantBody | SavedWhatIf) -> Ok[tuple[str, str, Data]] | Err[Refusal]:
        """Return the name, the workflow and the text of a new scenario."""
        view = self._board.view
        if isinstance(body, SavedWhatIf):
            played = self._played(view, body)
            if isinstance(played, Err):
                return played
            path, outcome = played.value
            document = {"description": "Made from a run with another answer.", **outcome.scenario}
            return Ok((f"{_stem(path)}.what-if", path, document))
        workflow = self._workflow(view, body.workflow)
        if isinstance(workflow, Err):
            return workflow
        path, compiled = workflow.value
        if isinstance(body, MutantBody):
            entries = (view.collected.inputs.mutation or {}).get("workflows", ())
            survivors = (
                each
                for entry in entries
                if entry.get("workflowId") == body.workflow
                for each in entry.get("survived", ())
            )
            survivor = next((each for each in survivors if each.get("id") == body.mutant and each.get("missing")), None)
            if survivor is None:
                return _refused(404, "no scenario is known that would notice this change")
            document = {"description": sentence(survivor), "workflow": "", **survivor["missing"]}
            return Ok((f"{_stem(path)}.notices-{_slug(body.mutant)}", path, document))
        piece = generation_piece(path, dict(compiled.ir), list(PROFILES))
        scenario = scenario_showing(piece, body.goal)
        if scenario is None:
            return _refused(404, "no run was found that shows this goal")
        return Ok((f"{_stem(path)}.{_slug(body.goal)}", path, scenario))

    def _scenario_folder(self, workflow: str) -> str:
        """Return where the scenarios of a workflow are: in `tests`, if the project has it, else beside the workflow."""
        tests = os.path.join(self._board.root, "tests")
        return tests if os.path.isdir(tests) and not os.path.islink(tests) else os.path.dirname(workflow)

    def _run(self, body: RunBody) -> Answer:
        with self._lock:
            job = self.job
            if body.stop:
                if job is None or job.number != body.stop:
                    return _refused(409, "this job has ended")
                job.child.kill()
                return Ok({"job": body.stop})
            if job is not None:
                return _refused(409, "a test is running; wait for it, or stop it")
            scenario = body.test.partition("::")[0]
            if scenario not in self._board.scenarios():
                return _refused(404, "the project has no such scenario")
            number = next(self._numbers)
            folder = tempfile.mkdtemp(prefix="workrail-studio-")
            report = os.path.join(folder, "runs.json")
            # No code of the project: no conftest.py, no configuration that loads a plugin.
            options = ["-q", "--noconftest", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", self._board.root]
            command = python("-m", "pytest", *options, f"--workrail-runs-json={report}", "--", scenario)
            child = Child(command, folder=self._board.root, limits=_TEST_LIMITS)
            thread = threading.Thread(target=self._follow_job, args=(number, child, report), daemon=True)
            self.job = Job(number, child, thread)
            thread.start()
            _say(f"runs {scenario}")
            return Ok({"job": number})

    def _follow_job(self, number: int, child: Child, report: str) -> None:
        state = "failed"
        try:
            ran = child.result()
            read = read_file(report)
            if ran.ending is Ending.EXITED and ran.code in (0, 1) and isinstance(read, Ok):
                self._board.add_suite(json.loads(read.value))
                state = "done"
        finally:
            shutil.rmtree(os.path.dirname(report), ignore_errors=True)
            self.job = None
            self._notify(f"job {number} {state}")
        if self._board.refresh():
            self._notify(f"changed {self._board.view.digest}")

    def _what_if(self, body: WhatIfBody) -> Answer:
        played = self._played(self._board.view, body)
        return played if isinstance(played, Err) else Ok(played.value[1].to_json())

    def _played(self, view: View, body: WhatIfBody) -> Ok[tuple[str, ChangedRun]] | Err[Refusal]:
        """Return the file of the workflow, and the run with the change."""
        run = view.run(body.run, body.path)
        if run is None or not isinstance(run.get("workflow"), str):
            return _refused(404, "the page shows no such run of a workflow")
        workflow = self._workflow(view, run["workflow"])
        if isinstance(workflow, Err):
            return workflow
        path, compiled = workflow.value
        outcome = play(run, Change(body.moment, body.context, body.answer), compiled, os.path.basename(path))
        return _refused(409, outcome.error) if isinstance(outcome, Err) else Ok((path, outcome.value))

    def _workflow(self, view: View, ident: str) -> Ok[tuple[str, CompiledWorkflow]] | Err[Refusal]:
        path = view.files.get(view.workflow_path(ident) or "")
        read = None if path is None else read_file(path)
        if path is None or read is None or isinstance(read, Err):
            return _refused(404, "the page shows no such workflow")
        compiled = compile_source(read.value, settings(self._board.args, self._board.config))
        if isinstance(compiled, Err):
            return _refused(409, f"the workflow does not compile: {compiled.error[0].message}")
        return Ok((path, compiled.value))

    def _open(self, body: OpenBody) -> Answer:
        path = self._board.view.files.get(body.path)
        if path is None and body.path in self._board.scenarios():
            path = os.path.join(self._board.root, body.path)
        if path is None:
            return _refused(404, "the page shows no such file")
        editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
        if not editor:
            return _refused(409, "set VISUAL to your editor, for example: export VISUAL=code")
        name = os.path.basename(editor[0]).removesuffix(".exe")
        if name in _IN_TERMINAL:
            return _refused(409, f"{name} needs a terminal; set VISUAL to an editor with a window")
        words = _WITH_LINE.get(name, "{}").split(" ")
        try:
            start_apart([*editor, *(word.format(path, body.line) for word in words)])
        except OSError as problem:
            return _refused(500, f"{editor[0]} can't be started: {problem.strerror or problem}")
        return Ok({})

    # ------------------------------------------------------------------------------------------------------ writing

    def _write(self, path: str, data: bytes) -> str:
        """Write a file of the project; return why it can't be written, or nothing."""
        try:
            write_output(path, data, folder=self._board.root)
        except UsageError as problem:
            return str(problem)
        _say(f"wrote {os.path.relpath(path, self._board.root)}")
        return ""

    def _changed(self, answer: Data) -> Answer:
        if self._board.refresh():
            self._notify(f"changed {self._board.view.digest}")
        return Ok({**answer, "digest": self._board.view.digest})


def _refused(status: int, message: str) -> Err[Refusal]:
    return Err(Refusal(status, message))


def _say(message: str) -> None:
    err(f"workrail-test studio: {printable(message)}")


def _stem(path: str) -> str:
    return os.path.basename(path).removesuffix(".json").removesuffix(".workflow")


def _slug(text: str) -> str:
    slug = "".join(char if char.isalnum() and char.isascii() else "-" for char in text.lower())
    return "-".join(part for part in slug.split("-") if part)[:_SLUG_LENGTH].strip("-")
